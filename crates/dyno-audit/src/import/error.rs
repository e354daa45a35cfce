//! Why an output cannot be read, and where.

/// Where in a file something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The whole file.
    File,
    /// A line, from 1.
    Line(u64),
    /// A value of a JSON document, such as `jobs[0].read.iops`.
    Path(String),
}

/// Why the output of a tool cannot be read: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The file.
    pub name: String,
    /// The place in it.
    pub at: At,
    /// What is wrong there, and what to do next.
    pub reason: String,
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, reason) = (&self.name, &self.reason);
        match &self.at {
            At::File => write!(f, "{name}: {reason}"),
            At::Line(line) => write!(f, "{name}:{line}: {reason}"),
            At::Path(path) => write!(f, "{name}, {path}: {reason}"),
        }
    }
}

impl std::error::Error for ImportError {}

impl ImportError {
    pub(super) fn file(reason: impl Into<String>) -> ImportError {
        ImportError {
            name: String::new(),
            at: At::File,
            reason: reason.into(),
        }
    }

    pub(super) fn line(line: u64, reason: impl Into<String>) -> ImportError {
        ImportError {
            at: At::Line(line),
            ..ImportError::file(reason)
        }
    }

    pub(super) fn path(path: impl Into<String>, reason: impl Into<String>) -> ImportError {
        ImportError {
            at: At::Path(path.into()),
            ..ImportError::file(reason)
        }
    }
}

/// What an importer gives.
pub(super) type Imported<T> = Result<T, ImportError>;
