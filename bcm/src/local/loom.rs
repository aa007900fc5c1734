//! Models of the queue and the park protocol: every interleaving of a few threads.

use loom::sync::Arc;
use loom::thread;

use super::primitives::{AtomicBool, Mutex, Ordering};
use super::ring::{First, Ring};
use super::waiters::Waiters;

fn push<T>(ring: &Ring<T>, value: T) -> bool {
    let reservation = ring.reserve();
    let room = reservation.is_some();
    if let Some(reservation) = reservation {
        reservation.fill(value);
    }
    room
}

#[test]
fn values_of_a_sender_stay_in_order_when_the_ring_is_full() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        let sender = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for i in 0..3 {
                    while !push(&ring, i) {
                        thread::yield_now();
                    }
                }
            })
        };
        let mut next = 0;
        while next < 3 {
            // SAFETY: this is the only thread that takes.
            match unsafe { ring.first() }.map(First::take) {
                Some(value) => {
                    assert_eq!(value, next);
                    next += 1;
                }
                None => thread::yield_now(),
            }
        }
        sender.join().unwrap();
        assert!(ring.drained() && !ring.ready());
    });
}

#[test]
fn two_senders_never_fill_the_same_slot() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        let senders: Vec<_> = (0..2)
            .map(|value| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || assert!(push(&ring, value)))
            })
            .collect();
        let mut sum = 0;
        let mut count = 0;
        while count < 2 {
            // SAFETY: this is the only thread that takes.
            match unsafe { ring.first() }.map(First::take) {
                Some(value) => {
                    sum += value;
                    count += 1;
                }
                None => thread::yield_now(),
            }
        }
        assert_eq!(sum, 1);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

/// `loom` fails a model in which a thread is left sleeping.
#[test]
fn a_push_wakes_a_parked_receiver() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        let waiters = Arc::new(Waiters::default());
        let sender = {
            let (ring, waiters) = (Arc::clone(&ring), Arc::clone(&waiters));
            thread::spawn(move || {
                assert!(push(&ring, 7));
                waiters.wake();
            })
        };
        loop {
            waiters.announce(None);
            // SAFETY: this is the only thread that takes.
            let found = unsafe { ring.first() }.map(First::take);
            if found.is_none() {
                thread::park();
            }
            waiters.withdraw();
            // SAFETY: as above.
            if let Some(value) = found.or_else(|| unsafe { ring.first() }.map(First::take)) {
                assert_eq!(value, 7);
                break;
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_value_published_under_a_lock_wakes_a_parked_receiver() {
    loom::model(|| {
        let delivered = Arc::new(Mutex::<Option<u32>>::default());
        let ended = Arc::new(AtomicBool::new(false));
        let waiters = Arc::new(Waiters::default());
        let sender = {
            let (delivered, ended) = (Arc::clone(&delivered), Arc::clone(&ended));
            let waiters = Arc::clone(&waiters);
            thread::spawn(move || {
                *delivered.lock() = Some(7);
                waiters.wake();
                // Then the way an abort does it.
                ended.store(true, Ordering::Release);
                waiters.wake_all();
            })
        };
        while delivered.lock().is_none() {
            waiters.announce(None);
            if delivered.lock().is_none() {
                thread::park();
            }
            waiters.withdraw();
        }
        while !ended.load(Ordering::Acquire) {
            waiters.announce(None);
            if !ended.load(Ordering::Acquire) {
                thread::park();
            }
            waiters.withdraw();
        }
        sender.join().unwrap();
    });
}
