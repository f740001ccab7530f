use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use footprint::json::JsonSink;

use super::document::{IoSink, Packed, write_either};
use super::error::SinkConfigError;
use super::pretty::Pretty;
use super::{RecordingEnvelope, RecordingError};

/// Writes a file so that a reader — or a crash — sees the old content or the new one, never a part: a
/// temporary file beside it, flushed to disk, then renamed.
///
/// # Errors
/// What `write` or the file system reports; the target is then as it was.
///
/// ```
/// use agentfootprint_record::recording::save_atomically;
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("afp-doc-{}.txt", std::process::id()));
/// save_atomically(&path, |file| file.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn save_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (temporary, mut file) = temporary_beside(path)?;
    let written = write(&mut file).and_then(|()| file.sync_all());
    drop(file);
    let done = written.and_then(|()| std::fs::rename(&temporary, path));
    if done.is_err() {
        // The error to report is the first one; a leftover temporary file harms nobody.
        let _ = std::fs::remove_file(&temporary);
    }
    done?;
    sync_directory(path)
}

/// A new file `<name>.<pid>.<seq>.tmp`; the first `seq` nobody uses.
fn temporary_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    for sequence in 0_u32.. {
        let mut temporary = name.to_os_string();
        temporary.push(format!(".{}.{sequence}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Makes the rename itself durable, where directories can be flushed.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The longest id that may name a file.
const MAX_ID_CHARS: usize = 200;

/// Checks that an id can name a file on every system (REC-26). It is refused, never folded or escaped: two
/// runs must never share a file.
///
/// # Errors
/// [`RecordingError::UnsafeRecordingId`] with the reason.
pub fn check_recording_id(id: &str) -> Result<(), RecordingError> {
    let refuse = |why| Err(RecordingError::UnsafeRecordingId { id: id.to_owned(), why });
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    if id.is_empty() {
        return refuse("it is empty");
    }
    if id.len() > MAX_ID_CHARS {
        return refuse("it has more than 200 characters");
    }
    if id.chars().any(|c| c.is_ascii_uppercase()) {
        return refuse("upper case is not distinct on every file system");
    }
    if !id.chars().all(allowed) {
        return refuse("only a-z, 0-9, `.`, `_` and `-` are allowed");
    }
    if !id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()) {
        return refuse("it must start with a letter or digit");
    }
    if is_device_name(id.split('.').next().unwrap_or(id)) {
        return refuse("it is the name of a device on Windows");
    }
    Ok(())
}

fn is_device_name(stem: &str) -> bool {
    let numbered =
        |prefix| stem.strip_prefix(prefix).is_some_and(|n: &str| matches!(n.as_bytes(), [b'1'..=b'9']));
    matches!(stem, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Where a recording was filed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filed {
    /// Its id in the sink.
    pub id: String,
    /// Where a person finds it.
    pub uri: Option<String>,
}

/// A directory of recordings, one file `<runId>.json` each (REC-25). Writing the same run again replaces its
/// file.
///
/// The file is plain, indented JSON as long as that is at most [`PLAIN_FILE_BYTES`](super::PLAIN_FILE_BYTES) before
/// it is indented; a longer recording is filed in packed form (REC-18). Every reader of this project opens both.
#[derive(Clone, Debug)]
pub struct FileRecordingSink {
    directory: PathBuf,
}

impl FileRecordingSink {
    /// A sink into this directory, which is created when it does not exist.
    ///
    /// # Errors
    /// [`SinkConfigError`] for a blank directory or one that cannot be created.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Self, SinkConfigError> {
        let directory = directory.into();
        let refuse = |value: String, accepted| SinkConfigError { option: "directory", value, accepted };
        if directory.to_string_lossy().trim().is_empty() {
            return Err(refuse(String::new(), "name a directory"));
        }
        match std::fs::create_dir_all(&directory).and_then(|()| directory.canonicalize()) {
            Ok(directory) => Ok(Self { directory }),
            Err(error) => Err(refuse(
                format!("{} ({error})", directory.display()),
                "name a directory that can be created and written",
            )),
        }
    }

    /// Files an envelope under its run id.
    ///
    /// # Errors
    /// [`RecordingError`]: an id that cannot name a file, before anything is written, or what the file
    /// system reports.
    pub fn file(&self, envelope: &RecordingEnvelope) -> Result<Filed, RecordingError> {
        let run = envelope.header.run().map_err(|_| RecordingError::MissingRunFact {
            field: "runId",
            remedy: "the envelope has no readable run facts: seal it with them",
        })?;
        check_recording_id(&run.run_id)?;
        let path = self.directory.join(format!("{}.json", run.run_id));
        let packed = Packed::of(|sink| envelope.write_to(sink))?;
        save_atomically(&path, |file| {
            write_either(
                packed,
                file,
                || envelope.to_json(),
                |file| {
                    let mut sink = Pretty::new(IoSink::new(file));
                    envelope.write_to(&mut sink);
                    sink.put("\n");
                    sink.into_inner().finish()
                },
            )
        })
        .map_err(|error| RecordingError::io(&path, error))?;
        Ok(Filed { id: run.run_id.to_string(), uri: Some(format!("file://{}", path.display())) })
    }
}
