//! What a release is called.

/// What is built and packed, and how it is called.
pub(super) struct Release {
    pub(super) version: String,
    /// Seconds since 1970 of the commit, or of SOURCE_DATE_EPOCH.
    pub(super) time: String,
    /// As Debian says it, such as `amd64`.
    pub(super) architecture: String,
    /// Name and address of whoever answers for the packages.
    pub(super) maintainer: String,
    /// Where Dyno comes from.
    pub(super) homepage: String,
}
