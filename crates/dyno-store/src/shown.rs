//! What `dyno show` printed of a large run, kept beside it: ten thousand trials take seconds to summarise, and
//! trials are not changed once they are stored.
//!
//! What is kept is used only where everything that it was made of is as it was: the bytes of the manifest, the parts
//! and every trial, and what the caller says of itself (its program and how it lays text out). All of these go
//! into one SHA-256, and so does what is kept itself; anything that does not fit is as if it were not there.

use crate::error::StoreError;
use crate::files::{self, MANIFEST_BYTES, Place, SHOWN_BYTES, TRIAL_BYTES, write_whole};
use crate::layout::{self, PARTS, SHOWN, TRIALS};
use dyno_model::record::FORMAT;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs with fewer trials are summarised in less than a second, so nothing is kept beside them.
pub const KEPT_FROM: usize = 256;

type Sum = [u8; 32];

/// One text of a run, by what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    dir: PathBuf,
    name: String,
    maker: String,
    of: Sum,
}

impl Shown {
    /// The text `name` (letters only) of the run in `dir` as it is now; `maker` is everything besides the run that
    /// the text depends on. `None` of a run with fewer than [`KEPT_FROM`] trials.
    ///
    /// # Errors
    ///
    /// When a file of the run cannot be read.
    pub fn of(dir: &Path, name: &str, maker: &str) -> Result<Option<Shown>, StoreError> {
        let mut files = layout::json_files(&dir.join(TRIALS))?;
        if files.len() < KEPT_FROM {
            return Ok(None);
        }
        files.extend(layout::json_files(&dir.join(PARTS))?);
        files.push(layout::manifest(dir));
        let sums = dyno_parallel::map(&files, |path| -> Result<Sum, StoreError> {
            let place = match path.parent() == Some(dir) {
                true => Place::Run,
                false => Place::Folder,
            };
            let most = match path.parent() == Some(&dir.join(TRIALS)) {
                true => TRIAL_BYTES,
                false => MANIFEST_BYTES,
            };
            let bytes = files::read(path, place, most).map_err(StoreError::io("read", path))?;
            Ok(Sha256::digest(bytes).into())
        });
        let mut all = Sha256::new();
        all.update(format!("{FORMAT} {name} {maker}\0"));
        for (path, sum) in files.iter().zip(sums) {
            let below = path.strip_prefix(dir).unwrap_or(path);
            all.update(below.as_os_str().as_encoded_bytes());
            all.update([0]);
            all.update(sum?);
        }
        Ok(Some(Shown {
            dir: dir.to_owned(),
            name: name.to_owned(),
            maker: maker.to_owned(),
            of: all.finalize().into(),
        }))
    }

    /// What is kept, if it was made of the same and is whole.
    pub fn read(&self) -> Option<String> {
        let bytes = files::read(&self.path(), Place::Folder, SHOWN_BYTES).ok()?;
        let (sum, rest) = bytes.split_first_chunk::<32>()?;
        let (text_sum, text) = rest.split_first_chunk::<32>()?;
        let fits = *sum == self.of && *text_sum == Sum::from(Sha256::digest(text));
        fits.then(|| String::from_utf8(text.to_vec()).ok())?
    }

    /// Keeps the text, unless the run changed since [`Shown::of`].
    ///
    /// # Errors
    ///
    /// When the directory cannot be written to, as where a run is read-only; then nothing is kept and nothing is
    /// lost.
    pub fn keep(&self, text: &str) -> Result<(), StoreError> {
        let now = Shown::of(&self.dir, &self.name, &self.maker)?;
        if now.as_ref() != Some(self) {
            return Ok(());
        }
        let place = self.dir.join(SHOWN);
        fs::create_dir_all(&place).map_err(StoreError::io("create", &place))?;
        let own = Sum::from(Sha256::digest(text));
        let bytes = [&self.of[..], &own[..], text.as_bytes()].concat();
        let path = self.path();
        write_whole(&path, Place::Folder, bytes.as_slice()).map_err(StoreError::io("write", &path))
    }

    fn path(&self) -> PathBuf {
        self.dir.join(SHOWN).join(&self.name)
    }
}
