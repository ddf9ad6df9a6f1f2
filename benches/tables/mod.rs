//! The tables of `docs/performance.md`, each between marks of its own.

/// Puts `table` in the place of the one that is called `name` there.
pub fn write(name: &str, table: &str) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");
    let text = std::fs::read_to_string(page).expect("docs/performance.md is there");
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the page has the place where the table begins");
    let (_, after) = rest.split_once(&end).expect("the page has the place where the table ends");
    std::fs::write(page, format!("{before}{begin}{table}{end}{after}")).expect("the page can be written");
}
