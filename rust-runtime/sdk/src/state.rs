//! The state of workers, which is kept from one flare of a group to the next.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The state of the workers of one pack, by their index in the pack.
pub(crate) struct WorkerStates {
    workers: Vec<TypeMap>,
}

/// The values of one worker, one of each type; `None` while a value is in use.
#[derive(Default)]
struct TypeMap(Mutex<HashMap<TypeId, Option<Box<dyn Any + Send>>>>);

impl WorkerStates {
    pub(crate) fn new(workers: u32) -> Arc<Self> {
        Arc::new(Self {
            workers: (0..workers).map(|_| TypeMap::default()).collect(),
        })
    }

    /// How many workers there are.
    pub(crate) fn size(&self) -> u32 {
        self.workers.len() as u32
    }

    /// Takes the value of type `T` of the worker at `index`; `init` makes it if there is none.
    pub(crate) fn take<T: Send + 'static>(
        self: &Arc<Self>,
        index: u32,
        init: impl FnOnce() -> Result<T, Error>,
    ) -> Result<State<T>, Error> {
        let values = self
            .workers
            .get(index as usize)
            .ok_or_else(|| Error::new("this worker is not of this pack"))?;
        let left = match values.lock().entry(TypeId::of::<T>()) {
            Entry::Vacant(entry) => {
                entry.insert(None);
                None
            }
            Entry::Occupied(mut entry) => match entry.get_mut().take() {
                Some(left) => Some(left),
                None => {
                    let name = std::any::type_name::<T>();
                    return Err(Error::new(format!(
                        "the state of type {name} is in use already; drop it before asking again"
                    )));
                }
            },
        };
        // From here on the entry is in use: it is returned whatever happens in `init`.
        let mut state = State {
            states: Arc::clone(self),
            index,
            value: left.and_then(|left| left.downcast().ok()),
        };
        if state.value.is_none() {
            state.value = Some(Box::new(init()?));
        }
        Ok(state)
    }
}

impl TypeMap {
    fn lock(&self) -> MutexGuard<'_, HashMap<TypeId, Option<Box<dyn Any + Send>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's state, as [`BurstContext::state`](crate::BurstContext::state) returns it. The value
/// that it holds when it is dropped is kept for the next call.
pub struct State<T: Send + 'static> {
    states: Arc<WorkerStates>,
    index: u32,
    /// `None` only until `init` has made it.
    value: Option<Box<T>>,
}

impl<T: Send + 'static> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.value {
            Some(value) => value,
            None => unreachable!("a state is given out with its value"),
        }
    }
}

impl<T: Send + 'static> DerefMut for State<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.value {
            Some(value) => value,
            None => unreachable!("a state is given out with its value"),
        }
    }
}

impl<T: Send + fmt::Debug + 'static> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Send + fmt::Display + 'static> fmt::Display for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: Send + 'static> Drop for State<T> {
    fn drop(&mut self) {
        let Some(values) = self.states.workers.get(self.index as usize) else {
            return;
        };
        match self.value.take() {
            Some(value) => drop(values.lock().insert(TypeId::of::<T>(), Some(value))),
            None => drop(values.lock().remove(&TypeId::of::<T>())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn state_is_found_by_worker_and_type() {
        let states = WorkerStates::new(2);
        *states.take(0, || Ok(1_u32)).unwrap() += 1;
        states.take(1, || Ok(7_u32)).unwrap();
        states.take(0, || Ok("text".to_owned())).unwrap().push('!');
        assert_eq!(*states.take::<u32>(0, || Ok(0)).unwrap(), 2);
        assert_eq!(*states.take::<u32>(1, || Ok(0)).unwrap(), 7);
        assert_eq!(*states.take(0, || Ok(String::new())).unwrap(), "text!");
    }

    #[test]
    fn state_whose_creation_failed_is_created_the_next_time() {
        let states = WorkerStates::new(1);
        let refused = states.take::<u32>(0, || Err(Error::new("no disk")));
        assert_eq!(refused.unwrap_err().to_string(), "no disk");
        assert_eq!(*states.take(0, || Ok(3_u32)).unwrap(), 3);
    }

    #[test]
    fn state_in_use_is_refused() {
        let states = WorkerStates::new(1);
        let held = states.take(0, || Ok(1_u8)).unwrap();
        let error = states.take(0, || Ok(2_u8)).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        drop(held);
        assert_eq!(*states.take(0, || Ok(2_u8)).unwrap(), 1);
    }

    #[test]
    fn a_panic_during_creation_leaves_no_state() {
        let states = WorkerStates::new(1);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(states.take::<u8>(0, || panic!("no")));
        }));
        assert!(made.is_err());
        assert_eq!(*states.take(0, || Ok(2_u8)).unwrap(), 2);
    }
}
