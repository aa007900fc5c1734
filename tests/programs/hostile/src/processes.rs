//! Processes, threads and signals.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::Builder;
use std::time::Duration;

use serde_json::{Value, json};

use crate::player::{Player, Step, number, word};
use crate::system::{self, address, call, kill};

pub const STEPS: &[(&str, Step)] = &[
    ("fork", fork),
    ("bomb", bomb),
    ("daemon", daemon),
    ("threads", threads),
    ("kill", signal),
    ("call", plain),
    ("name", name),
    ("deaf", deaf),
    ("trace", trace),
    ("read-memory", read_memory),
    ("first-of-all", first_of_all),
    ("exec", |_, _| Err(Command::new("/proc/self/exe").exec())),
];

/// The behaviour of a child that is left behind.
fn live(how: &str) -> ! {
    match how {
        "spin" => system::spin(),
        "exit" => system::exit(0),
        "eat" => crate::memory::eat(),
        "headless" => {
            std::thread::spawn(|| system::spin());
            system::exit_thread()
        }
        _ => system::sleep_for_ever(),
    }
}

/// Creates children, each of which `lives` in its way, until this many exist or no more are
/// allowed.
fn fork(_: &mut Player, step: &Value) -> io::Result<Value> {
    let wanted = number(step, "count", 1);
    for made in 0..wanted {
        match system::fork() {
            Ok(Some(_)) => {}
            Ok(None) => live(word(step, "lives")),
            Err(_) => return Ok(json!(made)),
        }
    }
    Ok(json!(wanted))
}

/// Creates children that create children, for this many generations or until no more are allowed.
fn bomb(_: &mut Player, step: &Value) -> io::Result<Value> {
    if system::fork()?.is_none() {
        for _ in 0..number(step, "generations", 6) {
            let _ = system::fork();
        }
        system::sleep_for_ever();
    }
    std::thread::sleep(Duration::from_millis(100));
    Ok(Value::Null)
}

/// Creates a grandchild in a session of its own.
fn daemon(_: &mut Player, step: &Value) -> io::Result<Value> {
    if let Some(child) = system::fork()? {
        let none = 0;
        call(libc::SYS_wait4, &[child, none, none, none])?;
        return Ok(Value::Null);
    }
    let _ = call(libc::SYS_setsid, &[]);
    match system::fork() {
        Ok(None) => live(word(step, "lives")),
        _ => system::exit(0),
    }
}

fn threads(_: &mut Player, step: &Value) -> io::Result<Value> {
    let wanted = number(step, "count", 1);
    let spins = word(step, "lives") == "spin";
    for made in 0..wanted {
        let thread = Builder::new().stack_size(16 << 10).spawn(move || {
            if spins {
                system::spin();
            }
            system::sleep_for_ever()
        });
        if thread.is_err() {
            return Ok(json!(made));
        }
    }
    Ok(json!(wanted))
}

/// The process that a word stands for.
fn process(word: &str) -> i64 {
    match word {
        "runtime" => system::parent(),
        "all" => -1,
        _ => i64::from(std::process::id()),
    }
}

fn signal(_: &mut Player, step: &Value) -> io::Result<Value> {
    let number = number(step, "signal", libc::SIGKILL as u64) as i32;
    kill(process(word(step, "who")), number)?;
    Ok(Value::Null)
}

/// Makes a system call with numbers as arguments, or `runtime` and `self` for processes.
fn plain(_: &mut Player, step: &Value) -> io::Result<Value> {
    let number = match word(step, "name") {
        "prctl" => libc::SYS_prctl,
        "setsid" => libc::SYS_setsid,
        "setpgid" => libc::SYS_setpgid,
        "unshare" => libc::SYS_unshare,
        "setpriority" => libc::SYS_setpriority,
        "mlockall" => libc::SYS_mlockall,
        "umask" => libc::SYS_umask,
        "kcmp" => libc::SYS_kcmp,
        "io_uring_setup" => libc::SYS_io_uring_setup,
        "bpf" => libc::SYS_bpf,
        "userfaultfd" => libc::SYS_userfaultfd,
        "perf_event_open" => libc::SYS_perf_event_open,
        "add_key" => libc::SYS_add_key,
        "keyctl" => libc::SYS_keyctl,
        "personality" => libc::SYS_personality,
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    let arguments = step["arguments"].as_array().into_iter().flatten();
    let arguments: Vec<usize> = arguments
        .map(|argument| match argument.as_str() {
            Some(who) => process(who) as usize,
            None => argument.as_i64().unwrap_or_default() as usize,
        })
        .collect();
    call(number, &arguments)?;
    Ok(Value::Null)
}

/// Changes its own name, as shown in the kernel's tables.
fn name(_: &mut Player, step: &Value) -> io::Result<Value> {
    let name = format!("{}\0", word(step, "name"));
    let arguments = [libc::PR_SET_NAME as usize, address(name.as_bytes())];
    call(libc::SYS_prctl, &arguments)?;
    Ok(Value::Null)
}

/// Blocks all signals that can be blocked.
fn deaf(_: &mut Player, _: &Value) -> io::Result<Value> {
    let all = u64::MAX;
    let arguments = [libc::SIG_BLOCK as usize, address(&all), 0, size_of::<u64>()];
    call(libc::SYS_rt_sigprocmask, &arguments)?;
    Ok(Value::Null)
}

fn trace(_: &mut Player, step: &Value) -> io::Result<Value> {
    let who = process(word(step, "who")) as usize;
    let arguments = [libc::PTRACE_ATTACH as usize, who];
    call(libc::SYS_ptrace, &arguments)?;
    Ok(Value::Null)
}

/// Reads the runtime's memory, without tracing it.
fn read_memory(_: &mut Player, _: &Value) -> io::Result<Value> {
    let mut here = [0_u8; 8];
    let local = [here.as_mut_ptr() as usize, here.len()];
    let remote = [0x40_0000_usize, here.len()];
    let arguments = [
        system::parent() as usize,
        address(&local),
        1,
        address(&remote),
        1,
    ];
    call(libc::SYS_process_vm_readv, &arguments)?;
    Ok(Value::Null)
}

/// Tries to be exempt from the out-of-memory killer, and to get the processor before everyone else.
fn first_of_all(_: &mut Player, _: &Value) -> io::Result<Value> {
    let spared = std::fs::write("/proc/self/oom_score_adj", "-1000");
    let priority = 1_i32;
    let arguments = [0, libc::SCHED_FIFO as usize, address(&priority)];
    let prompt = call(libc::SYS_sched_setscheduler, &arguments);
    let nice = call(libc::SYS_setpriority, &[0, 0, -20_isize as usize]);
    Ok(json!([spared.is_ok(), prompt.is_ok(), nice.is_ok()]))
}
