//! "Did you mean": the known names nearest to one that is not known.

/// At most this many names are suggested.
const MOST: usize = 3;

/// Names near to `wanted`, best first, at most three: for "did you mean".
///
/// Case, `-` and `_` do not count as differences; after that the order is the number of edits
/// (Damerau–Levenshtein). A name that merely starts or ends with the wanted one (or the other way round) is
/// near too, behind those with few edits.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = fold(wanted);
    if folded.is_empty() {
        // Every short name would be near.
        return Vec::new();
    }
    // A third of the letters may be wrong, and at least one in a short word.
    let tolerated = (folded.chars().count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let other = fold(name);
            let edits = strsim::damerau_levenshtein(&folded, &other);
            let shorter = folded.len().min(other.len());
            let affix = shorter >= 3
                && (other.starts_with(&folded)
                    || other.ends_with(&folded)
                    || folded.starts_with(&other)
                    || folded.ends_with(&other));
            match (edits <= tolerated, affix) {
                (true, _) => Some((edits, name)),
                (false, true) => Some((tolerated + edits, name)),
                (false, false) => None,
            }
        })
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().map(|(_, name)| name).take(MOST).collect()
}

fn fold(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_best_first() {
        let known =
            ["cycles", "cyclerate", "threads", "keycount", "main-write", "main-read", "rampup-cycles"];
        let cases: &[(&str, &[&str])] = &[
            ("cycels", &["cycles"]),
            ("Threads", &["threads"]),
            ("thread", &["threads"]),
            ("main_read", &["main-read"]),
            ("keycuont", &["keycount"]),
            ("main", &["main-read", "main-write"]),
            ("zzz", &[]),
            ("", &[]),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, known), *expected, "{wanted}");
        }
    }
}
