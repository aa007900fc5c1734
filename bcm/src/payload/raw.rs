//! Types whose memory is their encoding.
//!
//! All packs of a flare run the same program on the same architecture (the platform checks the
//! package's), so memory is written in the machine's own byte order. This applies to little-endian
//! machines only; the others use the serde encoding.

use std::any::Any;
use std::fmt;

use bytes::Bytes;

use super::{Buffer, NoValue};

macro_rules! encodings {
    ($($variant:ident = $code:literal, $element:ty, $name:literal;)*) => {
        /// How a value's bytes are encoded.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Encoding {
            /// Compact serde encoding.
            Serde = 0,
            /// UTF-8 text of a `String`.
            Text = 1,
            /// A `Bytes`.
            Bytes = 2,
            /// Values of several workers, each encoded separately.
            Bundle = 31,
            $(#[doc = $name] $variant = $code,)*
        }

        impl Encoding {
            pub(crate) fn from_code(code: u8) -> Option<Self> {
                match code {
                    0 => Some(Self::Serde),
                    1 => Some(Self::Text),
                    2 => Some(Self::Bytes),
                    31 => Some(Self::Bundle),
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Size of one element; the number of bytes is a multiple of it.
            pub(crate) fn width(self) -> usize {
                match self {
                    Self::Serde | Self::Text | Self::Bytes | Self::Bundle => 1,
                    $(Self::$variant => size_of::<$element>(),)*
                }
            }
        }

        impl fmt::Display for Encoding {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    Self::Serde => "a serde value",
                    Self::Text => "text",
                    Self::Bytes => "bytes",
                    Self::Bundle => "a bundle",
                    $(Self::$variant => $name,)*
                })
            }
        }

        /// Returns the value's memory if that is its whole encoding.
        pub(super) fn view<T: Any>(value: &T) -> Option<(Encoding, &[u8])> {
            if cfg!(target_endian = "big") {
                return None;
            }
            let any = value as &dyn Any;
            if let Some(text) = any.downcast_ref::<String>() {
                return Some((Encoding::Text, text.as_bytes()));
            }
            if let Some(bytes) = any.downcast_ref::<Bytes>() {
                return Some((Encoding::Bytes, bytes));
            }
            $(if let Some(elements) = any.downcast_ref::<Vec<$element>>() {
                return Some((Encoding::$variant, bytemuck::cast_slice(elements)));
            })*
            None
        }

        /// Turns the buffer into the value that it was read for.
        pub(super) fn adopt<T: Any>(encoding: Encoding, buffer: Buffer) -> Result<T, NoValue> {
            let mut value: Option<T> = None;
            let slot = &mut value as &mut dyn Any;
            match encoding {
                Encoding::Serde | Encoding::Bundle => {}
                Encoding::Text => {
                    if let Some(slot) = slot.downcast_mut::<Option<String>>() {
                        let bytes = vector::<u8>(buffer)?;
                        *slot = Some(String::from_utf8(bytes)?);
                    }
                }
                Encoding::Bytes => {
                    if let Some(slot) = slot.downcast_mut::<Option<Bytes>>() {
                        *slot = Some(Bytes::from(vector::<u8>(buffer)?));
                    }
                }
                $(Encoding::$variant => {
                    if let Some(slot) = slot.downcast_mut::<Option<Vec<$element>>>() {
                        *slot = Some(vector::<$element>(buffer)?);
                    }
                })*
            }
            value.ok_or(NoValue::OtherEncoding(encoding))
        }
    };
}

encodings! {
    U8 = 3, u8, "a vector of u8";
    U16 = 4, u16, "a vector of u16";
    U32 = 5, u32, "a vector of u32";
    U64 = 6, u64, "a vector of u64";
    I8 = 7, i8, "a vector of i8";
    I16 = 8, i16, "a vector of i16";
    I32 = 9, i32, "a vector of i32";
    I64 = 10, i64, "a vector of i64";
    F32 = 11, f32, "a vector of f32";
    F64 = 12, f64, "a vector of f64";
    Usize = 13, usize, "a vector of usize";
    Isize = 14, isize, "a vector of isize";
}

impl Encoding {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

/// Returns the buffer's memory as a vector of numbers of the same size, without copying it.
fn vector<E: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    buffer: Buffer,
) -> Result<Vec<E>, NoValue> {
    let cast = match buffer {
        Buffer::One(elements) => bytemuck::allocation::try_cast_vec(elements).map_err(|e| e.0),
        Buffer::Two(elements) => bytemuck::allocation::try_cast_vec(elements).map_err(|e| e.0),
        Buffer::Four(elements) => bytemuck::allocation::try_cast_vec(elements).map_err(|e| e.0),
        Buffer::Eight(elements) => bytemuck::allocation::try_cast_vec(elements).map_err(|e| e.0),
    };
    cast.map_err(NoValue::Memory)
}
