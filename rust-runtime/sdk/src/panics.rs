//! The message and the location of a worker's panic.
//!
//! The payload that `catch_unwind` returns has no location, so a panic hook records both for the panicking thread. On a
//! worker's thread it prints one line instead of the usual three (the failure carries the message anyway); on other
//! threads, and when a backtrace is requested, the previous hook prints instead.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; a panic becomes its message and location.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| hook(info, &before)));
    });
    let outer = RECORDING.replace(true);
    // Clears the record of a panic that was caught earlier, perhaps in another flare's worker: not every panic runs the
    // hook.
    LAST.with(|last| last.take());
    // Whatever the body leaves half-done is never used again: the flare has failed.
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    RECORDING.set(outer);
    result.map_err(|payload| {
        let recorded =
            LAST.with(|last| last.try_borrow_mut().ok().and_then(|mut last| last.take()));
        let message = recorded.unwrap_or_else(|| message(payload.as_ref()).to_owned());
        // A payload may panic when dropped, and nothing in it is needed.
        std::mem::forget(payload);
        message
    })
}

fn hook(info: &PanicHookInfo<'_>, before: &dyn Fn(&PanicHookInfo<'_>)) {
    if !RECORDING.get() {
        return before(info);
    }
    let message = message(info.payload());
    let text = match info.location() {
        Some(location) => format!("{message} (at {}:{})", location.file(), location.line()),
        None => message.to_owned(),
    };
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        before(info);
    } else {
        eprintln!("panicked: {text}");
    }
    LAST.with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Some(text);
        }
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it panicked with a value that is no text")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        let caught = catch(|| panic!("no {}", "luck")).unwrap_err();
        assert!(caught.starts_with("no luck (at "), "{caught}");
        assert!(caught.contains("panics.rs:"), "{caught}");
    }

    #[test]
    fn a_result_without_a_panic_is_returned() {
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn a_payload_without_text_gets_a_message() {
        let caught = catch(|| panic::panic_any(7)).unwrap_err();
        assert!(caught.contains("no text"), "{caught}");
    }

    #[test]
    fn a_panic_caught_by_the_body_is_not_mistaken_for_a_later_one() {
        let caught = catch(|| {
            let _ = panic::catch_unwind(|| panic!("first"));
            panic!("second")
        });
        assert!(caught.unwrap_err().starts_with("second"));
    }

    #[test]
    fn a_panic_without_a_hook_does_not_get_an_earlier_message() {
        let earlier = catch(|| drop(panic::catch_unwind(|| panic!("another's"))));
        assert_eq!(earlier, Ok(()));
        let caught = catch(|| panic::resume_unwind(Box::new("own")));
        assert_eq!(caught, Err("own".to_owned()));
    }
}
