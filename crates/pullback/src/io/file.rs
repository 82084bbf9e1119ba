//! Files, opened and replaced.

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use crate::{Error, ErrorKind, Result};

/// What formats are written to.
pub(super) trait Sink: Write + Seek {}

impl<T: Write + Seek> Sink for T {}

/// The file at `path` and how long it is.
pub(super) fn open(path: &Path) -> Result<(BufReader<File>, u64)> {
    let opened = File::open(path).and_then(|file| {
        let len = file.metadata()?.len();
        Ok((BufReader::new(file), len))
    });
    opened.map_err(|e| Error::new(ErrorKind::Io, format!("expected a file that can be read, got: {e}")).with_source(e))
}

/// Writes a file in one piece: under another name at first, so that what was there is replaced only by something whole.
pub(super) fn create(path: &Path, write: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
    // A device cannot be replaced.
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        let mut file = BufWriter::new(File::create(path).map_err(unwritable)?);
        write(&mut file)?;
        return file.flush().map_err(unwritable);
    }
    let mut builder = tempfile::Builder::new();
    // What others may do with the file is left to the mask of the process, as for every new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The error of the system, without the name that nobody gave.
    let bare = |e: io::Error| {
        let system = e.source().and_then(|e| e.downcast_ref::<io::Error>());
        system.and_then(io::Error::raw_os_error).map_or(e, io::Error::from_raw_os_error)
    };
    let mut file = BufWriter::new(builder.tempfile_in(folder).map_err(|e| unwritable(bare(e)))?);
    write(&mut file)?;
    let file = file.into_inner().map_err(|e| unwritable(e.into_error()))?;
    file.persist(path).map_err(|e| unwritable(e.error))?;
    Ok(())
}

#[cold]
pub(super) fn unwritable(source: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("expected a file that can be written, got: {source}")).with_source(source)
}
