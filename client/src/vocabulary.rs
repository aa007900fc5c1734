//! Names that the API gives to things, such as states. Later versions may have more of them.

/// Makes an enum of names, with one more variant for names that this version does not know.
macro_rules! vocabulary {
    ($(#[$about:meta])* $type:ident { $($variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $(
                #[doc = concat!("`", $name, "`.")]
                $variant,
            )+
            /// A name that this version does not know.
            Unknown(String),
        }

        impl $type {
            /// All names that this version knows, as the API spells them.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The name as the API spells it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Unknown(name) => name,
                }
            }
        }

        impl From<&str> for $type {
            fn from(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)+
                    other => Self::Unknown(other.into()),
                }
            }
        }

        impl PartialEq<&str> for $type {
            fn eq(&self, name: &&str) -> bool {
                self.as_str() == *name
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.pad(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(|name| Self::from(name.as_str()))
            }
        }
    };
}
pub(crate) use vocabulary;
