//! Answers whose size depends on their flare: an object with one long array in it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

/// An answer with a long array that can be read element by element.
pub trait Streamed: DeserializeOwned {
    /// An element of the array.
    type Element: DeserializeOwned;
    /// The array's name.
    const ARRAY: &'static str;
}

type Each<'a, T> = &'a mut dyn FnMut(T) -> Result<(), ()>;

/// Reads such an object: passes each element to `each`, and returns the other fields.
pub(crate) struct Object<'a, T> {
    pub(crate) array: &'static str,
    /// An error ends the reading.
    pub(crate) each: Each<'a, T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Object<'_, T> {
    type Value = BTreeMap<String, Box<RawValue>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Object<'_, T> {
    type Value = BTreeMap<String, Box<RawValue>>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(name) = from.next_key::<String>()? {
            if name == self.array {
                from.next_value_seed(Array(&mut *self.each))?;
                fields.insert(
                    name,
                    RawValue::from_string("[]".into()).map_err(A::Error::custom)?,
                );
            } else {
                fields.insert(name, from.next_value()?);
            }
        }
        Ok(fields)
    }
}

struct Array<'a, T>(Each<'a, T>);

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Array<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Array<'_, T> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(element) = from.next_element()? {
            (self.0)(element).map_err(|()| A::Error::custom("the reader stopped"))?;
        }
        Ok(())
    }
}
