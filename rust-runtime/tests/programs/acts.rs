//! The program of the runtime's tests: each worker performs the act in its input.
#![allow(clippy::unwrap_used, clippy::panic, clippy::exit)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use burst::{BurstContext, Error};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
enum Act {
    /// Returns the worker's identity, and how many acts this process has seen.
    Hello,
    Nothing,
    /// Returns how often this worker has been called in its group.
    Count,
    Error {
        text: String,
    },
    Panic,
    Abort,
    Segfault,
    Overflow,
    Exit {
        code: i32,
    },
    Kill,
    Eat,
    /// Like `Eat`, but in small allocations.
    Nibble,
    /// Allocates this much and never frees it.
    Keep {
        bytes: usize,
    },
    Forever,
    /// Ends once this file exists.
    Await {
        file: PathBuf,
    },
    Print {
        lines: Vec<String>,
    },
    PrintMuch {
        bytes: usize,
    },
    PrintElsewhere {
        line: String,
    },
    /// Prints forever.
    Shout,
    /// Has a child process print forever.
    ShoutElsewhere,
    Receive {
        from: u32,
    },
    ReceiveOrPanic {
        from: u32,
    },
    /// Prints a whole line and half of one, then aborts.
    PrintAndAbort,
    /// Sums the ids of all workers of all packs.
    Sum,
    /// Like `Sum`, and returns the process id, too.
    SumAndProcess,
    Large {
        bytes: usize,
    },
    Phase {
        name: String,
    },
    /// Leaves a process behind that nobody waits for, and writes its id to a file.
    LeaveBehind {
        file: String,
    },
    /// Writes a file, and returns the names of the other files in its directory.
    Write {
        file: PathBuf,
    },
    /// Leaves threads behind that compute forever.
    LeaveSpinning {
        threads: u32,
    },
    /// Leaves a timer behind that continues this process when it is stopped, and returns the process id.
    LeaveWaking {
        milliseconds: u32,
    },
    /// Returns the names of its environment variables, its open descriptors, its working directory, its OOM score and
    /// its process limits.
    Surroundings,
    /// Returns its environment variables.
    Variables,
    /// Returns its trace context.
    Traceparent,
}

static SEEN: AtomicU64 = AtomicU64::new(0);

fn work(act: Act, burst: &BurstContext) -> Result<Value, Error> {
    let seen = SEEN.fetch_add(1, Ordering::Relaxed);
    Ok(match act {
        Act::Hello => json!({
            "worker": burst.worker_id(), "pack": burst.pack_id(), "size": burst.burst_size(),
            "process": std::process::id(), "seen": seen, "flare": burst.flare_id(),
            "thread": std::thread::current().name(),
        }),
        Act::Nothing => Value::Null,
        Act::Count => {
            let mut calls = burst.state(|| Ok(0_u32))?;
            *calls += 1;
            json!(*calls)
        }
        Act::Error { text } => return Err(Error::new(text)),
        Act::Panic => panic!("worker {} panics", burst.worker_id()),
        Act::Abort => std::process::abort(),
        Act::Segfault => {
            let nowhere = std::hint::black_box(8) as *const u8;
            // SAFETY: none; dying of this read is the act.
            json!(unsafe { std::ptr::read_volatile(nowhere) })
        }
        Act::Overflow => json!(overflow(1)),
        Act::Exit { code } => std::process::exit(code),
        Act::Kill => {
            Command::new("kill")
                .args(["-9", &std::process::id().to_string()])
                .status()?;
            forever()
        }
        Act::Eat => {
            let mut eaten = Vec::new();
            loop {
                eaten.push(vec![1u8; 1 << 20]);
                std::hint::black_box(&eaten);
            }
        }
        Act::Nibble => loop {
            std::hint::black_box(Box::leak(Box::new([1u64; 4])));
        },
        Act::Keep { bytes } => json!(Vec::leak(vec![1u8; bytes]).len()),
        Act::Shout => loop {
            println!("shouted");
        },
        Act::ShoutElsewhere => json!(Command::new("yes").status()?.success()),
        Act::Await { file } => {
            while !file.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Value::Null
        }
        Act::Forever => forever(),
        Act::Print { lines } => {
            for line in lines {
                println!("{line}");
                eprintln!("aside: {line}");
            }
            print!("unended");
            Value::Null
        }
        Act::PrintMuch { bytes } => {
            let line = "x".repeat(99);
            (0..bytes / 100).for_each(|_| println!("{line}"));
            Value::Null
        }
        Act::PrintElsewhere { line } => {
            std::thread::spawn(move || println!("{line}"))
                .join()
                .unwrap();
            Value::Null
        }
        Act::Receive { from } => json!(burst.recv::<u8>(from)?),
        Act::ReceiveOrPanic { from } => json!(burst.recv::<u8>(from).unwrap()),
        Act::PrintAndAbort => {
            println!("whole");
            eprint!("half");
            std::process::abort()
        }
        Act::Sum => json!(*burst.all_reduce(burst.worker_id(), |a, b| a + b)?),
        Act::SumAndProcess => {
            let sum = burst.all_reduce(burst.worker_id(), |a, b| a + b)?;
            json!({ "sum": *sum, "process": std::process::id() })
        }
        Act::Large { bytes } => json!("y".repeat(bytes)),
        Act::Phase { name } => {
            burst.phase(&name);
            Value::Null
        }
        Act::LeaveBehind { file } => {
            let script = "setsid sh -c 'echo $$ > \"$1.part\"; mv \"$1.part\" \"$1\"; sleep 600' sh \"$1\" &";
            Command::new("sh")
                .args(["-c", script, "sh", &file])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            while fs::metadata(&file).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Value::Null
        }
        Act::Write { file } => {
            let directory = file.parent().unwrap_or(&file);
            let before: Vec<_> = fs::read_dir(directory)?
                .flatten()
                .map(|entry| entry.file_name().display().to_string())
                .collect();
            fs::write(file, "left")?;
            json!(before)
        }
        Act::LeaveSpinning { threads } => {
            for _ in 0..threads {
                std::thread::spawn(|| {
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
            Value::Null
        }
        Act::LeaveWaking { milliseconds } => {
            wake_every(milliseconds)?;
            json!({ "process": std::process::id() })
        }
        Act::Variables => std::env::vars()
            .map(|(name, value)| (name, Value::String(value)))
            .collect(),
        Act::Traceparent => json!(burst.traceparent()),
        Act::Surroundings => {
            let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
            let descriptors: Vec<_> = fs::read_dir("/proc/self/fd")?
                .flatten()
                .filter_map(|entry| {
                    let target = fs::read_link(entry.path()).ok()?;
                    Some(format!(
                        "{}={}",
                        entry.file_name().display(),
                        target.display()
                    ))
                })
                .collect();
            let oom_score = fs::read_to_string("/proc/self/oom_score_adj")?;
            json!({
                "environment": names, "descriptors": descriptors,
                "directory": std::env::current_dir()?, "oomScore": oom_score.trim(),
                "processes": most_processes()?,
            })
        }
    })
}

/// Makes the kernel send `SIGCONT` to this process regularly from now on.
fn wake_every(milliseconds: u32) -> std::io::Result<()> {
    // Without a handler the signal would be ignored, and newer kernels would stop the timer at its first signal.
    extern "C" fn notice(_: i32) {}
    let check = |result: i32| match result {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    };
    let interval = libc::timespec {
        tv_sec: (milliseconds / 1000).into(),
        tv_nsec: (milliseconds % 1000 * 1_000_000).into(),
    };
    let times = libc::itimerspec {
        it_interval: interval,
        it_value: interval,
    };
    // SAFETY: `sigaction` and `sigevent` are plain data, of which all zeroes is a valid value. All pointers are to
    // values on this stack that outlive their calls, or null where none is asked for. The handler does nothing, which
    // is safe in any context.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = notice as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART;
        check(libc::sigaction(
            libc::SIGCONT,
            &action,
            std::ptr::null_mut(),
        ))?;
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGCONT;
        let mut timer: libc::timer_t = std::mem::zeroed();
        check(libc::timer_create(
            libc::CLOCK_MONOTONIC,
            &mut event,
            &mut timer,
        ))?;
        check(libc::timer_settime(timer, 0, &times, std::ptr::null_mut()))
    }
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}

#[allow(unconditional_recursion)]
fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    overflow(frame[7] + 1) + frame[9]
}

/// Returns this process's limits on its user's processes and threads: the soft and the hard one.
fn most_processes() -> Result<Vec<u64>, Error> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max processes"));
    let limits = line.unwrap_or_default().split_ascii_whitespace();
    Ok(limits.filter_map(|limit| limit.parse().ok()).collect())
}

burst::main!(work);
