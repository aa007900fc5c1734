//! Answers that are as large as their flare made them: an object with one long array in it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::answer::Body;
use crate::error::Error;

/// What has a long array in it that can be read element by element.
pub trait Streamed: DeserializeOwned {
    /// What is in the array.
    type Element: DeserializeOwned;
    /// The array's name.
    const ARRAY: &'static str;
}

/// Hands over each element, and comes back with the rest.
pub(crate) fn each<T: Streamed, E: From<Error>>(
    body: Body<T>,
    mut reader: impl FnMut(T::Element) -> Result<(), E>,
) -> Result<T, E> {
    let mut stopped = None;
    let mut each = |element| reader(element).map_err(|error| stopped = Some(error));
    let fields = body.parse(Object {
        array: T::ARRAY,
        each: &mut each,
    });
    // Then it is the reason why reading failed.
    if let Some(error) = stopped {
        return Err(error);
    }
    let rest = serde_json::to_string(&fields?).and_then(|text| serde_json::from_str(&text));
    Ok(rest.map_err(|cause| Error::BadAnswer(cause.to_string()))?)
}

type Each<'a, T> = &'a mut dyn FnMut(T) -> Result<(), ()>;

struct Object<'a, T> {
    array: &'static str,
    each: Each<'a, T>,
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
