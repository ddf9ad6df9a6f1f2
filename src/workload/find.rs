//! Workload name → file: the working directory, then `--include` folders, then the bundled files.

use crate::span::{Diagnostic, Source, Text, nearest};
use rust_embed::RustEmbed;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bundled scenarios, part of the binary.
#[derive(RustEmbed)]
#[folder = "scenarios/"]
struct Bundled;

/// A local folder that is searched like an `--include` folder, as in the reference.
const LOCAL_FOLDER: &str = "activities";

/// Folders of the reference within which its users know the bundled files.
const REFERENCE_FOLDERS: &[&str] = &["activities/", "baselinesv2/"];

/// Extensions of files that can be read, the first tried first.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json", "json5"];

/// Extensions that are added to a name; JSON files are given in full.
const ADDED_EXTENSIONS: &[&str] = &["yaml", "yml"];

/// Folders within an include folder are searched down to this depth.
const MAX_DEPTH: usize = 8;

/// The longest workload file. All of it is kept, with the place of every character.
const MAX_FILE_BYTES: u64 = 20_000_000;

/// Where a workload is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Local(PathBuf),
    /// The file name of a bundled workload, with its extension.
    Bundled(String),
}

impl Place {
    /// As shown to users: the path relative to the working directory where it is below it, or the file name of
    /// a bundled file.
    pub fn shown(&self) -> String {
        match self {
            Place::Bundled(name) => name.clone(),
            Place::Local(path) => {
                let below = std::env::current_dir()
                    .ok()
                    .and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
                let path = below.as_deref().unwrap_or(path);
                path.strip_prefix(".").unwrap_or(path).display().to_string()
            }
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// What cannot be read, and what is not UTF-8.
    pub fn read(&self) -> Result<Arc<Source>, Diagnostic> {
        let name = self.shown();
        let bytes = match self {
            Place::Bundled(file) => Bundled::get(file)
                .map(|file| file.data.into_owned())
                .ok_or_else(|| Diagnostic::error(format!("no bundled workload `{file}`")))?,
            Place::Local(path) => {
                let mut bytes = Vec::new();
                let read = fs::File::open(path)
                    .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
                read.map_err(|error| Diagnostic::error(format!("cannot read `{name}`: {error}")))?;
                bytes
            }
        };
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(Diagnostic::error(format!(
                "`{name}` is longer than {} MB: this is no workload",
                MAX_FILE_BYTES / 1_000_000
            ))
            .help(
                "texts to cut values from belong into a file of their own, see `HashedFileExtractToString`",
            ));
        }
        String::from_utf8(bytes).map(|text| Arc::new(Source { name: name.clone(), text })).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let shown = Text::of_source(name, text);
            Diagnostic::error("the workload is not UTF-8 from here on").at(shown.locate(good..good))
        })
    }
}

/// Finds and reads the workload `name`.
///
/// # Errors
/// No such workload (with the nearest names), or a file that cannot be read.
pub fn find(name: &str, includes: &[PathBuf]) -> Result<Arc<Source>, Diagnostic> {
    if name.trim().is_empty() {
        return Err(Diagnostic::error("the name of the workload is missing").help("write `workload=NAME`"));
    }
    if name.starts_with("http://") || name.starts_with("https://") {
        return Err(Diagnostic::error(format!("`{name}`: workloads are not read from the web"))
            .help("save the file and give its path"));
    }
    let place = locate(name, includes).ok_or_else(|| unknown(name, includes))?;
    if let Place::Local(path) = &place
        && !has_extension(path, EXTENSIONS)
    {
        return Err(Diagnostic::error(format!("`{name}` is not a workload file"))
            .help("a workload is a .yaml, .yml or .json file"));
    }
    place.read()
}

/// Where the workload `name` is, if anywhere: whether a word of the command line names one.
pub fn locate(name: &str, includes: &[PathBuf]) -> Option<Place> {
    let names = candidates(name);
    let folders: Vec<PathBuf> = search_folders(includes);
    let direct = std::iter::once(PathBuf::new())
        .chain(folders.iter().cloned())
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file());
    if let Some(path) = direct {
        return Some(Place::Local(path));
    }
    if !Path::new(name).is_absolute() && !name.starts_with('.') {
        for folder in &folders {
            let below = files_below(folder);
            let found = names.iter().find_map(|name| below.iter().find(|path| path.ends_with(name)));
            if let Some(path) = found {
                return Some(Place::Local(path.clone()));
            }
        }
    }
    names.iter().find_map(|name| bundled_name(name)).map(Place::Bundled)
}

/// The bundled file that `name` (with its extension) stands for.
fn bundled_name(name: &Path) -> Option<String> {
    let mut bare = name.to_str()?;
    for folder in REFERENCE_FOLDERS {
        bare = bare.strip_prefix(folder).unwrap_or(bare);
    }
    let is_workload = bare.ends_with(".yaml") && !bare.contains('/');
    (is_workload && Bundled::get(bare).is_some()).then(|| bare.to_owned())
}

/// Every workload that is found without naming it: bundled ones, and those in `activities` and the include
/// folders; sorted by the path shown.
pub fn list(includes: &[PathBuf]) -> Vec<Place> {
    let mut places: Vec<Place> =
        bundled_names().into_iter().map(|name| Place::Bundled(name + ".yaml")).collect();
    for folder in search_folders(includes) {
        places.extend(files_below(&folder).into_iter().map(Place::Local));
    }
    places.retain(|place| match place {
        Place::Bundled(_) => true,
        Place::Local(path) => has_extension(path, ADDED_EXTENSIONS),
    });
    places.sort_by_cached_key(Place::shown);
    places.dedup();
    places
}

/// The text of the bundled file `name`, with its file name; only bundled files, for `--copy`.
pub fn bundled(name: &str) -> Option<(String, Vec<u8>)> {
    let file = candidates(name).iter().find_map(|name| bundled_name(name))?;
    let content = Bundled::get(&file)?.data.into_owned();
    Some((file, content))
}

/// The bundled workloads by bare name.
pub fn bundled_names() -> Vec<String> {
    let mut names: Vec<String> = Bundled::iter()
        .filter(|name| !name.contains('/'))
        .filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// What a name may stand for: itself, or itself with an extension.
fn candidates(name: &str) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let path = PathBuf::from(name);
    if path.extension().is_some() {
        names.push(path.clone());
    }
    if has_extension(&path, ADDED_EXTENSIONS) {
        names.extend(
            ADDED_EXTENSIONS.iter().map(|extension| path.with_extension(extension)).filter(|n| *n != path),
        );
    } else if path.file_name().is_some() {
        names.extend(ADDED_EXTENSIONS.iter().map(|extension| PathBuf::from(format!("{name}.{extension}"))));
    }
    names
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension().is_some_and(|given| known.iter().any(|known| given.eq_ignore_ascii_case(known)))
}

fn search_folders(includes: &[PathBuf]) -> Vec<PathBuf> {
    includes.iter().cloned().chain([PathBuf::from(LOCAL_FOLDER)]).collect()
}

/// All workload files below a folder, sorted; what cannot be read is passed over, since nobody asked for it. A
/// folder that links lead to again is looked into once, and what is no file (a pipe would wait for a writer) is
/// none.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    fn walk(folder: &Path, depth: usize, seen: &mut HashSet<PathBuf>, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::canonicalize(folder).and_then(|real| {
            if !seen.insert(real) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::read_dir(folder)
        }) else {
            return;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    walk(&path, depth + 1, seen, found);
                }
            } else if has_extension(&path, EXTENSIONS) && path.is_file() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, 0, &mut HashSet::new(), &mut found);
    found.sort();
    found
}

fn unknown(name: &str, includes: &[PathBuf]) -> Diagnostic {
    let error = Diagnostic::error(format!("no workload `{name}`"));
    // What is there by name and cannot be followed: a link to nothing or in a ring, a folder that is closed to us.
    let unreadable = |path: PathBuf| {
        let cause = fs::metadata(&path).err()?;
        let is_there = cause.kind() != io::ErrorKind::NotFound || fs::symlink_metadata(&path).is_ok();
        (is_there && cause.kind() != io::ErrorKind::NotADirectory).then_some((path, cause))
    };
    if let Some((path, cause)) = candidates(name).into_iter().find_map(unreadable) {
        let shown = path.display();
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        return match is_link {
            true => Diagnostic::error(format!("`{shown}` is a link that leads to no file: {cause}")),
            false => Diagnostic::error(format!("cannot read `{shown}`: {cause}")),
        };
    }
    if candidates(name).iter().chain([&PathBuf::from(name)]).any(|path| path.is_dir()) {
        return error.help("this is a folder: give a file in it");
    }
    if Path::new(name).is_file() {
        return error.help("a workload is a .yaml, .yml or .json file");
    }
    if let Some(path) = candidates(name).iter().chain([&PathBuf::from(name)]).find(|path| path.exists()) {
        return Diagnostic::error(format!("`{}` is a pipe or a device, and no file", path.display()))
            .help("a workload is read more than once: write it into a file");
    }
    let mut known = bundled_names();
    let here = fs::read_dir(".").into_iter().flatten().flatten().map(|entry| entry.path());
    let local = search_folders(includes).into_iter().flat_map(|folder| files_below(&folder));
    for path in here.chain(local).filter(|path| has_extension(path, EXTENSIONS)) {
        let path = path.strip_prefix(".").unwrap_or(&path);
        known.extend(path.to_str().map(str::to_owned));
        known.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    let near = nearest(name, known.iter().map(String::as_str));
    if near.is_empty() {
        error.help("`nbrs --list-workloads` lists what is there; `--include DIR` adds a folder")
    } else {
        error.suggest(name, known.iter().map(String::as_str), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_too_long_to_be_a_workload_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.yaml");
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = find(path.to_str().unwrap(), &[]).unwrap_err();
        assert!(error.message.contains("is longer than 20 MB"), "{}", error.message);
    }

    #[test]
    fn a_name_is_a_path_with_or_without_its_extension() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        fs::create_dir(at("dir.v2")).expect("a folder");
        for file in ["a.yaml", "b.yml", "c.v2.yaml", "dir.v2/d.yaml", "e.json", "f.txt"] {
            fs::write(at(file), "ops: x\n").expect("a file");
        }
        for (name, file) in [
            ("a", "a.yaml"),
            ("a.yaml", "a.yaml"),
            ("a.yml", "a.yaml"),
            ("b", "b.yml"),
            ("c.v2", "c.v2.yaml"),
            ("dir.v2/d", "dir.v2/d.yaml"),
            ("e.json", "e.json"),
        ] {
            let source = find(&at(name), &[]).expect(name);
            assert_eq!(source.name, at(file), "{name}");
        }
        for (name, part) in
            [("f.txt", "not a workload file"), ("dir.v2", "folder"), ("nothing", "no workload")]
        {
            let error = find(&at(name), &[]).expect_err(name).one_line();
            assert!(error.contains(part), "{name}: {error}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_followed_is_said_with_the_reason_and_nothing_is_suggested() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        for (to, link) in
            [("ring.yaml", "ring.yaml"), ("b.yml", "a.yml"), ("a.yml", "b.yml"), ("gone", "dangling.yaml")]
        {
            std::os::unix::fs::symlink(to, at(link)).expect("a link");
        }
        fs::write(at("file.yaml"), "ops: x\n").expect("a file");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("a pipe");
        let long = "x".repeat(300);
        for (name, part) in [
            ("ring.yaml", "is a link that leads to no file: Too many levels"),
            ("ring", "ring.yaml` is a link that leads to no file: Too many levels"),
            ("a", "a.yml` is a link that leads to no file: Too many levels"),
            ("dangling", "dangling.yaml` is a link that leads to no file: No such file"),
            (&long, "cannot read"),
            ("file.yaml/x", "no workload"),
            ("pipe", "pipe` is a pipe or a device"),
        ] {
            let error = find(&at(name), &[]).expect_err(name).one_line();
            assert!(error.contains(part) && !error.contains("did you mean"), "{name}: {error}");
        }
    }

    #[test]
    fn include_folders_are_searched_all_the_way_down() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = folder.path().join("x/y");
        fs::create_dir_all(&deep).expect("folders");
        fs::write(deep.join("mine.yaml"), "ops: x\n").expect("a file");
        let includes = [folder.path().to_owned()];
        for name in ["mine", "mine.yaml", "y/mine", "x/y/mine.yml"] {
            assert!(find(name, &includes).is_ok(), "{name}");
        }
        assert!(find("z/mine", &includes).is_err());
        let listed: Vec<String> = list(&includes).iter().map(Place::shown).collect();
        assert!(listed.iter().any(|name| name.ends_with("mine.yaml")), "{listed:?}");
    }

    #[test]
    fn links_in_a_ring_and_pipes_do_not_hold_up_the_search() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("below");
        fs::create_dir(&below).expect("a folder");
        fs::write(below.join("a.yaml"), "ops: x\n").expect("a file");
        std::os::unix::fs::symlink(folder.path(), below.join("up")).expect("a link");
        std::os::unix::fs::symlink("gone.yaml", below.join("gone.yaml")).expect("a link");
        let pipe = below.join("pipe.yaml");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        assert_eq!(files_below(folder.path()), [below.join("a.yaml")]);
        assert!(find(pipe.to_str().expect("UTF-8"), &[]).is_err());
    }

    #[test]
    fn bundled_files_have_bare_names_and_those_of_the_reference() {
        for name in [
            "mongodb-keyvalue2",
            "mongodb-keyvalue2.yaml",
            "mongodb-keyvalue2.yml",
            "activities/baselinesv2/mongodb-keyvalue2",
            "baselinesv2/mongodb-keyvalue2.yaml",
        ] {
            assert_eq!(find(name, &[]).expect(name).name, "mongodb-keyvalue2.yaml");
        }
        let error = find("mongodb-keyvalu2", &[]).expect_err("misspelt").one_line();
        assert!(error.contains("did you mean `mongodb-keyvalue2`"), "{error}");
        assert!(find("https://x.y/z.yaml", &[]).expect_err("web").message.contains("web"));
        assert!(find("", &[]).expect_err("empty").message.contains("missing"));
    }

    #[test]
    fn a_file_that_is_not_utf8_says_where() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("latin.yaml");
        fs::write(&path, b"ops: a\nx: caf\xe9\n").expect("a file");
        let error = find(path.to_str().expect("UTF-8"), &[]).expect_err("latin 1").one_line();
        assert!(error.contains("latin.yaml:2:7: error") && error.contains("not UTF-8"), "{error}");
    }
}
