//! The formats of `dyno show` that are files for other tools.

use crate::exit::{Code, Failure, Result};
use crate::output::{self, Folder};
use crate::terminal;
use dyno_model::record::Run;
use dyno_report::Summary;
use std::path::Path;

/// Formats that are several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderFormat {
    Parquet,
    Hdr,
}

impl FolderFormat {
    /// The directory that was named, if it may be made; looked at before anything is computed.
    pub(crate) fn target(self, out: Option<&Path>) -> Result<&Path> {
        let (name, files) = match self {
            FolderFormat::Parquet => (
                "parquet",
                "binary files, results.parquet and, if raw samples were kept, samples.parquet",
            ),
            FolderFormat::Hdr => ("hdr", "two files for each experiment and metric"),
        };
        #[cfg(not(feature = "parquet"))]
        if self == FolderFormat::Parquet {
            return crate::absent::absent(
                "`--format parquet` (`--format csv` holds the same results)",
                "parquet",
            );
        }
        let Some(target) = output::named(out) else {
            return Err(failure!(
                Usage,
                "{name} is {files}: name a new directory for them with -o DIR"
            ));
        };
        Folder::refuse_occupied(target)?;
        Ok(target)
    }

    /// Writes the run to `target`; `directory` is where it is stored. Returns what could not be exported.
    pub(crate) fn write(
        self,
        run: &Run,
        summary: &Summary,
        directory: &Path,
        target: &Path,
    ) -> Result<Vec<String>> {
        let mut folder = Folder::create(target)?;
        let left_out = match self {
            FolderFormat::Hdr => hdr(run, summary, &mut folder)?,
            FolderFormat::Parquet => parquet(run, summary, directory, &mut folder)?,
        };
        let files = folder.finish()?;
        let shown = match files.as_slice() {
            [] => "nothing: no trial was completed".to_owned(),
            [one] => one.clone(),
            [one, two] => format!("{one} and {two}"),
            several => format!("{} files", several.len()),
        };
        terminal::say(format!("{}: {shown}", target.display()));
        Ok(left_out)
    }
}

fn hdr(run: &Run, summary: &Summary, folder: &mut Folder) -> Result<Vec<String>> {
    // The folder's failure is kept apart: it is more than the text that an export error could carry.
    let mut failure = None;
    let mut put = |name: &str, bytes: &[u8]| {
        folder.file(name, |out| out.write_all(bytes)).map_err(|e| {
            failure = Some(e);
            dyno_export::ExportError::Io(std::io::ErrorKind::Other.into())
        })
    };
    let written = dyno_export::hdr::write(run, summary, &mut put);
    match (written, failure) {
        (_, Some(failure)) => Err(failure),
        (written, None) => written.map_err(Failure::with(Code::Store)),
    }
}

#[cfg(feature = "parquet")]
fn parquet(
    run: &Run,
    summary: &Summary,
    directory: &Path,
    folder: &mut Folder,
) -> Result<Vec<String>> {
    use dyno_export::parquet;
    folder.file("results.parquet", |out| parquet::results(run, summary, out))?;
    let mut left_out = Vec::new();
    if parquet::has_samples(run) {
        let mut raw = |id| {
            dyno_store::read_raw(directory, id).unwrap_or_else(|e| {
                left_out.push(e.to_string());
                Vec::new()
            })
        };
        folder.file("samples.parquet", |out| {
            parquet::samples(run, out, &mut raw)
        })?;
    }
    Ok(left_out)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Run, _: &Summary, _: &Path, _: &mut Folder) -> Result<Vec<String>> {
    // `target` has refused it.
    Ok(Vec::new())
}
