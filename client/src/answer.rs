//! Answers, read or still to be read.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use reqwest::blocking::Response;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};
use serde_json::Deserializer;
use serde_json::error::Category;

use crate::bounded::{Bounded, Excess};
use crate::causes::{AnswerError, ConnectionError};
use crate::error::Error;
use crate::observer::Observer;
use crate::streamed::{Object, Streamed};

/// How much of an answer is read at once.
const PIECE: usize = 64 * 1024;

/// The text of a successful answer, which parses as a `T`.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    text: String,
    says: PhantomData<fn() -> T>,
}

impl<T> Answer<T> {
    /// Returns the text, unchanged.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that it is JSON: what answers in the platform's place, such as a proxy's login page, is not.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let checked = serde_json::from_str::<IgnoredAny>(&self.text);
        Ok(checked.map(drop).map_err(AnswerError::from)?)
    }

    /// Returns the text, unchanged, and consumes the answer.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns the same answer, to be parsed as another type: that which the request asked for, if an operation can
    /// answer several.
    pub fn cast<U>(self) -> Answer<U> {
        let (text, says) = (self.text, PhantomData);
        Answer { text, says }
    }
}

impl<T: DeserializeOwned> Answer<T> {
    /// Parses the text.
    pub fn read(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.text).map_err(AnswerError::from)?)
    }
}

/// A successful answer that is still to be read. Reading goes on for as long as it keeps arriving: it may take the
/// client's [time-out](crate::Builder::timeout), and a second more per 16 KiB. Dropping it gives up the rest.
pub struct Body<T> {
    response: Bounded<Response>,
    origin: Origin,
    observer: Option<Arc<dyn Observer>>,
    says: PhantomData<fn() -> T>,
}

impl<T> Body<T> {
    pub(crate) fn new(
        response: Response,
        host: &str,
        timeout: Duration,
        observer: Option<Arc<dyn Observer>>,
    ) -> Self {
        Self {
            response: Bounded::new(response, timeout),
            origin: Origin {
                host: host.into(),
                timeout,
            },
            observer,
            says: PhantomData,
        }
    }

    /// Reads all of it, and checks that it is JSON: at most 256 MiB, more is an [`AnswerError::TooLarge`].
    pub fn text(self) -> Result<Answer<T>, Error> {
        let answer = self.unchecked()?;
        answer.check()?;
        Ok(answer)
    }

    /// Reads all of it, whatever it is.
    pub(crate) fn unchecked(mut self) -> Result<Answer<T>, Error> {
        let mut text = String::new();
        match self.response.read_to_string(&mut text) {
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(AnswerError::NotUtf8.into());
            }
            Err(cause) => return Err(self.origin.broken(cause)),
        }
        self.observe(&text);
        let says = PhantomData;
        Ok(Answer { text, says })
    }

    /// Reads the next bytes; 0 at the end.
    pub fn read(&mut self, piece: &mut [u8]) -> Result<usize, Error> {
        let read = self.response.read(piece);
        self.response.held().empty();
        read.map_err(|cause| self.origin.broken(cause))
    }

    /// Parses JSON as it arrives, so that no more of it need be held in memory than the reader keeps.
    pub(crate) fn parse<V>(
        self,
        reader: impl for<'de> DeserializeSeed<'de, Value = V>,
    ) -> Result<V, Error> {
        self.observe("");
        let mut json = Deserializer::from_reader(BufReader::with_capacity(PIECE, self.response));
        let read = reader.deserialize(&mut json).and_then(|value| {
            json.end()?;
            Ok(value)
        });
        read.map_err(|cause| match cause.classify() {
            Category::Io => self.origin.broken(cause.into()),
            _ => AnswerError::from(cause).into(),
        })
    }

    fn observe(&self, text: &str) {
        if let Some(observer) = &self.observer {
            let response = self.response.answer();
            observer.received(response.status(), response.headers(), text);
        }
    }
}

impl<T: Streamed> Body<T> {
    /// Passes each element of the long array to `reader` as soon as it is read, so that only one is held at a time;
    /// then returns the rest, in which the array is empty. An error of `reader` ends it early and is returned. Of an
    /// element, or the rest, at most 256 MiB are read; more is an [`AnswerError::TooLarge`].
    pub fn each<E: From<Error>>(
        self,
        mut reader: impl FnMut(T::Element) -> Result<(), E>,
    ) -> Result<T, E> {
        let mut stopped = None;
        let held = self.response.held();
        let mut each = |element| {
            held.empty();
            reader(element).map_err(|error| stopped = Some(error))
        };
        let fields = self.parse(Object {
            array: T::ARRAY,
            each: &mut each,
        });
        // The reader's error is why parsing failed.
        if let Some(error) = stopped {
            return Err(error);
        }
        let rest = serde_json::to_string(&fields?).and_then(|text| serde_json::from_str(&text));
        Ok(rest.map_err(|cause| Error::from(AnswerError::from(cause)))?)
    }
}

impl<T> fmt::Debug for Body<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Body({})", self.response.answer().url())
    }
}

/// Where an answer comes from, for error messages.
struct Origin {
    host: String,
    timeout: Duration,
}

impl Origin {
    /// Returns the error for an answer that stops in the middle.
    fn broken(&self, cause: io::Error) -> Error {
        let (host, timeout) = (self.host.clone(), self.timeout);
        let inner = cause
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        if inner.is_some_and(reqwest::Error::is_timeout) {
            return Error::NoAnswer { host, timeout };
        }
        let cause = match cause.downcast() {
            Ok(Excess::TooLarge(limit)) => return AnswerError::TooLarge(limit).into(),
            Ok(Excess::TooSlow(timeout)) => return Error::NoAnswer { host, timeout },
            Err(cause) => ConnectionError::BrokeOff(cause),
        };
        Error::Broken { host, cause }
    }
}
