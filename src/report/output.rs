//! Files that appear whole or not at all: written under another name beside their own, put on disk, and then
//! renamed. A full disk or a closed pipe is an error, never half a report.

use rustix::fs::{Access, OFlags, access, fcntl_setfl};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}; what was written before is in {}", path.display(), part.display())]
    Part { path: PathBuf, part: PathBuf, source: io::Error },
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
    #[error("cannot write {}: {} is not a folder", path.display(), folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    #[error("cannot write {}: it is a folder; give the name of a file", path.display())]
    IsFolder { path: PathBuf },
    #[error("cannot write into {}: it is not a folder", path.display())]
    NotFolder { path: PathBuf },
    #[error("{0}")]
    Other(String),
    /// Told while the run went on, and so no more.
    #[error("a report could not be written, as was said before")]
    Said,
}

/// Where a report goes that is written in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// `-` (and `/dev/stdout`) is standard output. Says at once what could not work at the end of the run.
    pub fn new(file: impl Into<OsString>) -> Result<Destination, ReportError> {
        let file: OsString = file.into();
        if file == "-" || file == "/dev/stdout" {
            return Ok(Destination::Stdout);
        }
        let path = PathBuf::from(file);
        check(&path)?;
        rehearse(&path)?;
        Ok(Destination::File(path))
    }

    /// Writes what `render` gives, whole or not at all.
    pub fn write(&self, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), ReportError> {
        match self {
            Destination::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                render(&mut out).and_then(|()| out.flush()).map_err(ReportError::Stdout)
            }
            Destination::File(path) => {
                to_file(path, render).map_err(|source| ReportError::File { path: path.clone(), source })
            }
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::Stdout => None,
            Destination::File(path) => Some(path),
        }
    }
}

fn check(path: &Path) -> Result<(), ReportError> {
    if path.as_os_str().is_empty() {
        return Err(ReportError::Other("the name of a report's file is empty".to_owned()));
    }
    if path.is_dir() {
        return Err(ReportError::IsFolder { path: path.to_owned() });
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(ReportError::NoFolder { folder: folder.to_owned(), path: path.to_owned() });
    }
    Ok(())
}

/// A device or a pipe.
fn is_other(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Makes the file that will grow to a report and takes it away again, to see whether that can be done.
fn rehearse(path: &Path) -> Result<(), ReportError> {
    let rehearsed = names(path).and_then(|(part, path)| match part {
        Some(part) => File::create(&part).and_then(|_| fs::remove_file(&part)),
        None => Ok(access(&path, Access::WRITE_OK)?),
    });
    rehearsed.map_err(|source| ReportError::File { path: path.to_owned(), source })
}

/// The first of `paths` that leads to the same file as one before it. Devices and pipes take several reports.
pub fn same_file<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<&'a Path> {
    let mut seen = HashSet::new();
    paths.into_iter().filter(|path| !is_other(path)).find(|path| {
        let real = fs::canonicalize(path).or_else(|_| {
            fs::canonicalize(folder_of(path)).map(|folder| folder.join(path.file_name().unwrap_or_default()))
        });
        !seen.insert(real.unwrap_or_else(|_| path.to_path_buf()))
    })
}

/// Where `path` is to be written: under which name until it is whole, and under which then. No first name: it is
/// a pipe or a device, which is written to as it is; renaming would put a file in its place. Of a link, the file
/// that it leads to is replaced, not the link.
fn names(path: &Path) -> io::Result<(Option<PathBuf>, PathBuf)> {
    let path = match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Ok((None, path.to_owned())),
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => path.to_owned(),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    Ok((Some(folder_of(&path).join(name)), path))
}

fn to_file(path: &Path, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (part, path) = names(path)?;
    let Some(part) = part else {
        let mut out = BufWriter::new(open_other(&path)?);
        return render(&mut out).and_then(|()| out.flush());
    };
    let written = write_through(&part, render).and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        // The error that counts is the first.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Opens what is no file. A pipe that nobody reads from is an error: to wait for a reader may be to wait for ever.
fn open_other(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path).map_err(|error| {
        match error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
            true => io::Error::other("it is a pipe that nobody reads from"),
            false => error,
        }
    })?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// On disk when this returns, so that a full disk shows here and not after the rename.
fn write_through(path: &Path, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = File::create(path)?;
    let mut out = BufWriter::new(&file);
    render(&mut out)?;
    out.flush()?;
    file.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that grows while a run goes on. Until [`finish`](Growing::finish) it is called `NAME.PID.part`, which
/// stays where the run breaks off, if there is more in it than a head.
#[derive(Debug)]
pub struct Growing {
    /// As the user named it.
    named: PathBuf,
    part: Option<PathBuf>,
    path: PathBuf,
    file: Option<File>,
    /// It holds something that was measured.
    precious: bool,
}

impl Growing {
    /// Begins the file; what was there before stays until the end.
    pub fn create(path: impl Into<PathBuf>) -> Result<Growing, ReportError> {
        let named: PathBuf = path.into();
        check(&named)?;
        let begun = names(&named).and_then(|(part, path)| {
            let file = match &part {
                Some(part) => File::create(part)?,
                None => open_other(&path)?,
            };
            Ok((part, path, file))
        });
        match begun {
            Ok((part, path, file)) => Ok(Growing { named, part, path, file: Some(file), precious: false }),
            Err(source) => Err(ReportError::File { path: named, source }),
        }
    }

    /// Adds `bytes` at the end.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ReportError> {
        self.precious = true;
        self.head(bytes)
    }

    /// Adds `bytes` that are not worth keeping on their own.
    pub fn head(&mut self, bytes: &[u8]) -> Result<(), ReportError> {
        let written = self.open().and_then(|file| file.write_all(bytes));
        written.map_err(|source| self.error(source))
    }

    /// Lets go of the file until the next write: of hundreds of files, only some can be open.
    pub fn rest(&mut self) {
        // A pipe would end.
        if self.part.is_some() {
            self.file = None;
        }
    }

    fn open(&mut self) -> io::Result<&mut File> {
        let file = match (self.file.take(), &self.part) {
            (Some(file), _) => file,
            (None, Some(part)) => OpenOptions::new().append(true).open(part)?,
            (None, None) => open_other(&self.path)?,
        };
        Ok(self.file.insert(file))
    }

    fn error(&self, source: io::Error) -> ReportError {
        match self.part.as_ref().filter(|_| self.precious) {
            Some(part) => ReportError::Part { path: self.named.clone(), part: part.clone(), source },
            None => ReportError::File { path: self.named.clone(), source },
        }
    }

    /// Gives the file its own name, which is returned. One that does not rest is on disk by then.
    pub fn finish(mut self) -> Result<PathBuf, ReportError> {
        self.precious = true;
        let finished = match self.part.clone() {
            // What cannot be put on a disk, such as a pipe, is in good hands already.
            None => Ok(()),
            // Of hundreds of files, each would wait for the disk.
            Some(part) => {
                self.file.as_ref().map_or(Ok(()), File::sync_all).and_then(|()| fs::rename(part, &self.path))
            }
        };
        match finished {
            Ok(()) => Ok(self.named.clone()),
            Err(source) => Err(self.error(source)),
        }
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if let Some(part) = self.part.as_ref().filter(|_| !self.precious) {
            // It may never have been made.
            let _ = fs::remove_file(part);
        }
    }
}

/// The log of a run: grows under its own name, so that it is there however the run ends.
#[derive(Debug)]
pub struct Logbook {
    path: PathBuf,
    file: File,
    /// The first line that could not be written.
    error: Option<io::Error>,
}

impl Logbook {
    /// Begins `folder/session.log`, and makes the folder where it is missing.
    pub fn create(folder: &Path, session: &str) -> Result<Logbook, ReportError> {
        let path = folder.join(format!("{session}.log"));
        let begun = fs::create_dir_all(folder)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        match begun {
            Ok(file) => Ok(Logbook { path, file, error: None }),
            Err(source) => Err(ReportError::File { path, source }),
        }
    }

    /// Adds a text, each line of which begins with `stamp`.
    pub fn say(&mut self, stamp: &str, text: &str) {
        let lines: String = text.lines().map(|line| format!("{stamp} {line}\n")).collect();
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            self.error.get_or_insert(error);
        }
    }

    /// The file, if all of it was written.
    pub fn close(mut self) -> Result<PathBuf, ReportError> {
        match self.error.take() {
            None => Ok(self.path),
            Some(source) => Err(ReportError::File { path: self.path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"hello")
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).expect("readable").count()
    }

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("result.json");
        fs::write(&file, "old").expect("writable");
        let to = Destination::new(&file).expect("a file");
        to.write(hello).expect("written");
        assert_eq!(fs::read_to_string(&file).expect("readable"), "hello");
        to.write(|out| out.write_all(b"half").and_then(|()| Err(io::Error::other("cut"))))
            .expect_err("it is passed on");
        assert_eq!(
            fs::read_to_string(&file).expect("readable"),
            "hello",
            "half a report replaced a whole one"
        );
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn a_growing_file_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("h.hlog");
        fs::write(&file, "old").expect("writable");
        let mut growing = Growing::create(&file).expect("writable");
        growing.write(b"a\n").expect("written");
        growing.rest();
        growing.write(b"b\n").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("readable"), "old");
        assert_eq!(growing.finish().expect("renamed"), file);
        assert_eq!(fs::read_to_string(&file).expect("readable"), "a\nb\n");
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn what_broke_off_stays_beside_the_file_unless_it_is_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("h.hlog");
        let mut growing = Growing::create(&file).expect("writable");
        growing.head(b"#head\n").expect("written");
        drop(growing);
        assert_eq!(files(folder.path()), 0);
        let mut growing = Growing::create(&file).expect("writable");
        growing.write(b"row\n").expect("written");
        drop(growing);
        assert_eq!(files(folder.path()), 1);
        assert!(!file.exists());
    }

    #[test]
    fn a_log_is_there_from_its_first_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = Logbook::create(&folder.path().join("logs"), "S").expect("writable");
        log.say("12:00:00", "one\ntwo");
        let path = folder.path().join("logs/S.log");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "12:00:00 one\n12:00:00 two\n");
        assert_eq!(log.close().expect("all written"), path);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&file, "old").expect("writable");
        std::os::unix::fs::symlink(&file, &link).expect("links work here");
        Destination::new(&link).expect("a file").write(hello).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("readable"), "hello");
    }

    #[test]
    fn what_cannot_work_is_said_before_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(matches!(Destination::new(folder.path()), Err(ReportError::IsFolder { .. })));
        let nowhere = folder.path().join("no/r.json");
        assert!(matches!(Destination::new(&nowhere), Err(ReportError::NoFolder { .. })));
        assert!(matches!(Growing::create(&nowhere), Err(ReportError::NoFolder { .. })));
        assert_eq!(Destination::new("-").expect("standard output"), Destination::Stdout);
        assert!(matches!(Destination::new("r.json"), Ok(Destination::File(_))));
    }

    #[test]
    fn two_names_of_one_file_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("writable");
        fs::write(folder.path().join("there"), "").expect("writable");
        let found = |names: [&str; 2]| {
            let paths = names.map(|name| folder.path().join(name));
            same_file(paths.iter().map(PathBuf::as_path)).is_some()
        };
        assert!(found(["a", "a"]) && found(["a", "inner/../a"]) && found(["there", "inner/../there"]));
        assert!(!found(["a", "b"]) && !found(["a", "inner/a"]) && !found(["/dev/null", "/dev/null"]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_files_is_said_before_the_run() {
        // Which not even root may write to.
        let (empty, folder) = (Destination::new(""), tempfile::tempdir().expect("a folder"));
        assert!(empty.expect_err("no name").to_string().contains("is empty"));
        Destination::new(folder.path().join("r.json")).expect("a file can be made there");
        assert_eq!(files(folder.path()), 0, "nothing is left of the attempt");
        let error = Destination::new("/proc/self/r.json").expect_err("no files can be made there");
        assert!(error.to_string().starts_with("cannot write /proc/self/r.json: "), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_said_to_be_kept_is_kept() {
        // A file of which not even the head could be written is taken away.
        let folder = tempfile::tempdir().expect("a folder");
        let mut growing = Growing::create(folder.path().join("h.hlog")).expect("writable");
        growing.file = Some(OpenOptions::new().write(true).open("/dev/full").expect("a device"));
        assert!(matches!(growing.head(b"#"), Err(ReportError::File { .. })));
        growing.file = Some(OpenOptions::new().write(true).open("/dev/full").expect("a device"));
        assert!(matches!(growing.write(b"row"), Err(ReportError::Part { .. })));
        drop(growing);
        assert_eq!(files(folder.path()), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_the_device_stays() {
        let error = Destination::new("/dev/full").expect("a device").write(hello).expect_err("nothing fits");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
        let mut growing = Growing::create("/dev/full").expect("a device can be written to");
        let error = growing.write(b"x").expect_err("nothing fits");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
        assert!(!fs::metadata("/dev/full").expect("still there").is_file());
    }
}
