//! Choices by name, as suites, flags, tables and JSON have them.

/// An enum each of whose variants has a name, and the name's text forms; `$what` is what messages call it.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$of:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every value, in the order in which tables show them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The name in files, flags and tables.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::unit::UnitError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = $name::ALL.iter().copied().find(|c| c.as_str() == text);
                found.ok_or_else(|| $crate::unit::UnitError {
                    what: $what,
                    found: text.to_owned(),
                    reason: "there is no such value".into(),
                    example: concat!($("`", $text, "` "),+),
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
