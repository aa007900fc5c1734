//! A type-erased value, on its way to a thread that knows its type.

use std::any::TypeId;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Room for a `Vec`, a `String`, or three words of anything else.
type Room = [usize; 3];

/// A value of any type: a small one is stored inline, so that sending it allocates nothing; a
/// larger one is in a box.
pub(crate) struct ErasedValue {
    kind: &'static Kind,
    room: MaybeUninit<Room>,
}

// SAFETY: `new` is the only constructor and requires a value that is `Send`; the other field, the kind, is a
// reference to a constant. The value moves with the room, whose owner takes or drops it.
unsafe impl Send for ErasedValue {}

struct Kind {
    type_id: TypeId,
    type_name: fn() -> &'static str,
    /// Drops the value in the room.
    drop: unsafe fn(*mut Room),
}

/// How values of a type are erased.
struct Erasure<T>(std::marker::PhantomData<T>);

impl<T: Send + 'static> Erasure<T> {
    const INSIDE: bool =
        size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>();
    const KIND: Kind = Kind {
        type_id: TypeId::of::<T>(),
        type_name: std::any::type_name::<T>,
        drop: Self::drop,
    };

    /// # Safety
    /// The room must hold a `T` erased in this way, which must not be used afterwards.
    unsafe fn drop(room: *mut Room) {
        if Self::INSIDE {
            // SAFETY: the caller vouches for the value, `INSIDE` for size and alignment.
            unsafe { room.cast::<T>().drop_in_place() };
        } else {
            // SAFETY: as above; what lies in the room is the box.
            unsafe { room.cast::<Box<T>>().drop_in_place() };
        }
    }
}

impl ErasedValue {
    #[inline]
    pub(crate) fn new<T: Send + 'static>(value: T) -> Self {
        let mut room = MaybeUninit::<Room>::uninit();
        if Erasure::<T>::INSIDE {
            // SAFETY: `INSIDE` ensures that size and alignment fit, and the room is this value's.
            unsafe { room.as_mut_ptr().cast::<T>().write(value) };
        } else {
            // SAFETY: a box of a sized type is one pointer, for which a room is always large and aligned enough,
            // and the room is this value's.
            unsafe { room.as_mut_ptr().cast::<Box<T>>().write(Box::new(value)) };
        }
        Self {
            kind: &Erasure::<T>::KIND,
            room,
        }
    }

    /// Returns the value if it is of this type; otherwise returns `self`.
    #[inline]
    pub(crate) fn take<T: Send + 'static>(self) -> Result<T, Self> {
        if self.kind.type_id != TypeId::of::<T>() {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        let room = this.room.as_ptr();
        Ok(if Erasure::<T>::INSIDE {
            // SAFETY: the type is the one it was made from, and `this` is never dropped.
            unsafe { room.cast::<T>().read() }
        } else {
            // SAFETY: as above; what lies in the room is the box.
            *unsafe { room.cast::<Box<T>>().read() }
        })
    }

    pub(crate) fn type_name(&self) -> &'static str {
        (self.kind.type_name)()
    }
}

impl Drop for ErasedValue {
    fn drop(&mut self) {
        // SAFETY: the kind is the value's own, and `take` does not drop what it has taken from.
        unsafe { (self.kind.drop)(self.room.as_mut_ptr()) };
    }
}

impl fmt::Debug for ErasedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErasedValue")
            .field(&self.type_name())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::sync::Arc;

    use super::*;

    #[test]
    fn small_and_large_values_come_back() {
        assert_eq!(ErasedValue::new(7u8).take::<u8>().unwrap(), 7);
        assert_eq!(
            ErasedValue::new([1u64; 9]).take::<[u64; 9]>().unwrap(),
            [1; 9]
        );
        let text = "text".to_owned();
        let at = text.as_ptr();
        let back = ErasedValue::new(text).take::<String>().unwrap();
        assert_eq!((back.as_str(), back.as_ptr()), ("text", at));
        #[derive(Debug, PartialEq)]
        #[repr(align(64))]
        struct Wide(u8);
        assert_eq!(ErasedValue::new(Wide(3)).take::<Wide>().unwrap(), Wide(3));
        ErasedValue::new(()).take::<()>().unwrap();
    }

    #[test]
    fn taking_another_type_leaves_the_value_unchanged() {
        let erased = ErasedValue::new(7u32).take::<i32>().unwrap_err();
        assert_eq!(erased.type_name(), "u32");
        assert_eq!(erased.take::<u32>().unwrap(), 7);
    }

    #[test]
    fn a_value_that_is_not_taken_is_dropped_once() {
        let value = Arc::new(());
        drop(ErasedValue::new(Arc::clone(&value)));
        drop(ErasedValue::new((Arc::clone(&value), [0u64; 9])));
        let taken = ErasedValue::new(Arc::clone(&value))
            .take::<Arc<()>>()
            .unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        drop(taken);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
