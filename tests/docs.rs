//! The documentation says what is so: its workloads are good, its commands print what it shows, and its links
//! lead somewhere.
//!
//! In a file of `docs/`, a block that opens with ```` ```yaml NAME [k=v…] ```` is a workload of that name, and is
//! checked (with those parameters); in a
//! ```` ```console ```` block each line `$ COMMAND` is run by a shell, all of a file in one folder, and what follows is
//! what it prints. There a line `…` stands for any lines, and `…` in a line for any text.

mod program;

use program::{Place, Ran};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files that users read.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .expect("there are docs")
        .map(|entry| entry.expect("docs are readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

/// A fenced block: its first line without the fence, the number of the line after it, and its text.
struct Block {
    info: String,
    line: usize,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block { info: info.trim().to_owned(), line: number + 2, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Commands with the lines that they print.
fn commands(block: &Block) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    let mut continued = false;
    for line in block.text.lines() {
        let command = match line.strip_prefix("$ ") {
            Some(command) => {
                commands.push((String::new(), Vec::new()));
                Some(command)
            }
            None if continued => Some(line.trim_start()),
            None => None,
        };
        let Some(last) = commands.last_mut() else { panic!("a block of commands opens with `$ `: {line}") };
        match command {
            Some(command) => {
                continued = command.ends_with('\\');
                last.0.push_str(command.trim_end_matches('\\'));
            }
            None => last.1.push(line.to_owned()),
        }
    }
    commands
}

/// Whether a line is as the documentation has it.
fn is_line(expected: &str, line: &str) -> bool {
    let parts: Vec<&str> = expected.split('…').collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return line.trim_end() == expected.trim_end();
    }
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.trim_end().ends_with(last.trim_end())
}

/// Whether lines are as the documentation has them.
fn are_lines(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => (0..=lines.len()).any(|at| are_lines(rest, &lines[at..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| is_line(first, line) && are_lines(rest, others))
        }
    }
}

/// Runs `command` in a shell that knows nbrs, and gives what it prints.
fn printed(place: &Place, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_nbrs")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = place.shell(&format!("exec 2>&1; {command}"));
    let ran = Ran::of(shell.env("PATH", format!("{}:{path}", program.display())));
    ran.stdout
}

#[test]
fn examples_print_what_the_documentation_shows() {
    let mut run = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let place = Place::new();
        let name = page.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        for block in blocks(&read(&page)) {
            match block.info.split_once(' ').unwrap_or((&block.info, "")) {
                ("yaml", file) if !file.is_empty() => {
                    let words: Vec<&str> = file.split(' ').collect();
                    place.file(words[0], &block.text);
                    let words: Vec<&str> = ["check"].iter().chain(&words).copied().collect();
                    let found = place.run(&words).stdout;
                    if !found.is_empty() {
                        wrong.push(format!("docs/{name}:{}: `nbrs check` says\n{found}", block.line));
                    }
                }
                ("text", file) if !file.is_empty() => place.file(file, &block.text),
                ("console", _) => {
                    for (command, expected) in commands(&block) {
                        run += 1;
                        let text = printed(&place, &command);
                        let lines: Vec<&str> = text.lines().collect();
                        if !are_lines(&expected, &lines) {
                            wrong.push(format!("docs/{name}:{}: `{command}` prints\n{text}", block.line));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 20, "only {run} commands were found");
}

/// Set to write what the program says now into `docs/functions.md`.
const UPDATE: &str = "NBRS_UPDATE_DOCS";

#[test]
fn the_reference_of_the_functions_is_current() {
    let place = Place::new();
    let current = place.run(&["help", "functions", "--markdown"]);
    let page = root().join("docs/functions.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&page, &current.ok().stdout).expect("docs can be written");
    }
    assert!(
        read(&page) == current.ok().stdout,
        "docs/functions.md is not what `nbrs help functions --markdown` prints: run the tests with {UPDATE}=1"
    );
}

#[test]
fn links_lead_somewhere() {
    let mut pages = pages();
    pages.push(root().join("README.md"));
    let mut links = 0;
    for page in pages {
        let text = read(&page);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            if target.contains("://") || target.starts_with('#') {
                continue;
            }
            let file = target.split('#').next().unwrap_or(target);
            let path = page.parent().expect("a folder").join(file);
            assert!(path.exists(), "{}: {target} leads nowhere", page.display());
            links += 1;
        }
    }
    assert!(links > 5, "only {links} links were found");
}

#[test]
fn the_examples_language_is_understood() {
    let block =
        Block {
            info: "console".to_owned(), line: 1, text: "$ a \\\n    b\nx\n…\nz 5 …s\n$ c\n".to_owned()
        };
    let read = commands(&block);
    assert_eq!(read[0].0, "a b");
    assert_eq!(read[1], ("c".to_owned(), Vec::new()));
    for (lines, good) in [
        (&["x", "z 5 ms"][..], true),
        (&["x", "y", "y", "z 5 s"], true),
        (&["x", "z 6 ms"], false),
        (&["y", "z 5 ms"], false),
        (&["x", "z 5 ms", "more"], false),
        (&["x"], false),
    ] {
        assert_eq!(are_lines(&read[0].1, lines), good, "{lines:?}");
    }
}
