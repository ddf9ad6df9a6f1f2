//! Text files that the command line names, read whole: regular files, and pipes that somebody writes to.

use rustix::fs::{OFlags, fcntl_setfl};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Reads `path`, which may have `most` bytes.
///
/// # Errors
/// What cannot be read, is longer, or is not UTF-8; a pipe that nothing has opened for writing.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    // Opening a pipe that has no writer would wait for one, perhaps for ever.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    let is_pipe = file.metadata()?.file_type().is_fifo();
    let mut text = String::new();
    file.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} MB", most / 1_000_000)));
    }
    if is_pipe && text.is_empty() {
        return Err(io::Error::other("it is a pipe that nothing writes to"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::io::Write;

    #[test]
    fn a_pipe_is_read_where_somebody_writes_to_it_and_refused_where_nobody_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("p");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("a pipe");
        let error = read(&pipe, 10).expect_err("nobody writes").to_string();
        assert!(error.contains("nothing writes to"), "{error}");
        // Open for reading too, so that opening it for writing waits for nobody.
        let mut held = OpenOptions::new().read(true).write(true).open(&pipe).expect("the pipe opens");
        held.write_all(b"0123456789ab").expect("a pipe takes a little");
        let error = read(&pipe, 5).expect_err("too long").to_string();
        assert!(error.contains("longer"), "{error}");
    }

    #[test]
    fn a_file_is_read_up_to_its_longest_length() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("f");
        std::fs::write(&file, "abc").expect("a file");
        assert_eq!(read(&file, 3).expect("not too long"), "abc");
        assert!(read(&file, 2).is_err() && read(folder.path(), 9).is_err());
    }
}
