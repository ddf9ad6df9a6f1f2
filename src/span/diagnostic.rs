//! [`Diagnostic`]: one thing that is wrong, where it is, what to write instead; as one line or drawn.

use super::text::{Location, floor_boundary};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One thing that is wrong (or odd), where it is, and what to write instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// What is wrong, one sentence, lower case, no full stop.
    pub message: String,
    pub location: Option<Location>,
    /// Further places with their words ("first given here").
    pub related: Vec<(Location, String)>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            location: None,
            related: Vec::new(),
            help: None,
        }
    }

    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    #[must_use]
    pub fn at(mut self, location: Option<Location>) -> Diagnostic {
        self.location = location;
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds another place and what it has to do with this; nothing if the place is not known.
    #[must_use]
    pub fn related(mut self, location: Option<Location>, words: impl Into<String>) -> Diagnostic {
        if let Some(location) = location {
            self.related.push((location, words.into()));
        }
        self
    }

    /// Adds `did you mean …?` as help if there is a name near to `wanted`, else `otherwise` (if not empty).
    #[must_use]
    pub fn suggest<'a>(
        self,
        wanted: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl Into<String>,
    ) -> Diagnostic {
        let otherwise = otherwise.into();
        match super::nearest(wanted, known).as_slice() {
            [] if otherwise.is_empty() => self,
            [] => self.help(otherwise),
            near => {
                let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
                self.help(format!("did you mean {}?", names.join(" or ")))
            }
        }
    }

    /// `file:line:col: error: text`, one line (two with help), as `nbrs check` prints it.
    pub fn one_line(&self) -> String {
        let mut line = String::new();
        if let Some(location) = &self.location {
            let _ = write!(line, "{location}: ");
        }
        let _ = write!(line, "{}: {}", self.severity.word(), flat(&self.message));
        for (location, words) in &self.related {
            let _ = write!(line, " ({}: {location})", flat(words));
        }
        if let Some(help) = &self.help {
            let _ = write!(line, "\n  help: {}", flat(help));
        }
        line
    }

    /// The message with `file:line:col`, the source line and a caret, as shown to a person. No line end at the
    /// end.
    pub fn render(&self, color: bool) -> String {
        match self.location.as_ref().filter(|location| !location.source.text.is_empty()) {
            Some(location) => self.draw(location, color),
            None => self.one_line(),
        }
    }

    fn draw(&self, location: &Location, color: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        // A byte order mark is not a character that anybody sees.
        let text = location.source.text.as_str();
        let shown = text.strip_prefix('\u{feff}').unwrap_or(text);
        let range = |place: &Location| {
            let range = visible(place);
            let mark = text.len() - shown.len();
            range.start.saturating_sub(mark)..range.end.saturating_sub(mark)
        };
        let snippet = Snippet::source(shown).path(location.source.name.as_str());
        let mut snippet = snippet.annotation(AnnotationKind::Primary.span(range(location)));
        let mut elsewhere = Vec::new();
        for (other, words) in &self.related {
            if Arc::ptr_eq(&other.source, &location.source) {
                snippet =
                    snippet.annotation(AnnotationKind::Context.span(range(other)).label(words.as_str()));
            } else {
                elsewhere.push(Level::NOTE.message(format!("{words}: {other}")));
            }
        }
        let group = level.primary_title(self.message.as_str()).element(snippet).elements(elsewhere);
        let group = group.elements(self.help.iter().map(|help| Level::HELP.message(help.as_str())));
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// The location's range within its text and on character boundaries, at most its first line, and at least one
/// character wide where there is one.
fn visible(location: &Location) -> Range<usize> {
    let text = location.source.text.as_str();
    let start = floor_boundary(text, location.range.start);
    let end = floor_boundary(text, location.range.end).max(start);
    let first_line = text[start..end].find('\n').map_or(end, |at| start + at);
    let wide = if first_line == start {
        start + text[start..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8)
    } else {
        first_line
    };
    start..wide
}

fn flat(text: &str) -> String {
    if text.contains(['\n', '\r']) {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;

    #[test]
    fn one_line_says_where_what_and_what_instead() {
        let text = Text::of_source("f.yaml", "a: 1\nb: 2\na: 3\n");
        let found = Diagnostic::error("`a` is given twice")
            .at(text.locate(10..11))
            .related(text.locate(0..1), "first given here")
            .help("remove one");
        assert_eq!(
            found.one_line(),
            "f.yaml:3:1: error: `a` is given twice (first given here: f.yaml:1:1)\n  help: remove one"
        );
        assert_eq!(Diagnostic::warning("two\n  lines").one_line(), "warning: two lines");
    }

    #[test]
    fn drawing_shows_the_place_the_line_and_a_caret() {
        let text = Text::of_source("f.yaml", "ops:\n  é: {{Identty()}}\n");
        let at = text.as_str().find("Identty").expect("the name is there");
        let drawn = Diagnostic::error("no function `Identty`")
            .at(text.locate(at..at + 7))
            .suggest("Identty", ["Identity", "Hash"], "")
            .render(false);
        assert!(drawn.contains("f.yaml:2:8"), "{drawn}");
        assert!(drawn.contains("é: {{Identty()}}"), "{drawn}");
        assert!(drawn.contains("did you mean `Identity`?"), "{drawn}");
        assert!(drawn.contains('^'), "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "{drawn}");
    }

    #[test]
    fn drawing_never_panics_wherever_the_place_is() {
        for content in ["", "\n", "a", "é漢😀\n\n\tb", "\u{feff}x: y\r\nz"] {
            let text = Text::of_source("f", content);
            for start in 0..content.len() + 3 {
                for end in start..content.len() + 3 {
                    let mut location = text.location().expect("a text of a source has a place");
                    location.range = start..end;
                    let diagnostic =
                        Diagnostic::error("m").at(Some(location.clone())).related(Some(location), "r");
                    assert!(diagnostic.render(true).contains('m'));
                    assert!(diagnostic.one_line().contains('m'));
                }
            }
        }
    }
}
