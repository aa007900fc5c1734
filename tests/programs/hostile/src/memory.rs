//! Memory of every kind.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

use serde_json::{Value, json};

use crate::player::{Player, Step, number, word};
use crate::system::{self, address, call};

pub const STEPS: &[(&str, Step)] = &[
    ("touch", touch),
    ("reserve", reserve),
    ("lock", lock),
    ("memory-file", memory_file),
    ("fill", fill),
    ("shared-segment", shared_segment),
    ("overflow", |_, _| Ok(json!(overflow(1)))),
];

/// Writes to memory that is never given back, all of it together or in steps.
fn touch(_: &mut Player, step: &Value) -> io::Result<Value> {
    let all = number(step, "mebibytes", 16);
    let each = number(step, "each", all).max(1);
    for _ in 0..all / each {
        let memory = Vec::leak(vec![1_u8; (each << 20) as usize]);
        black_box(memory);
        std::thread::sleep(Duration::from_millis(number(step, "millis", 0)));
    }
    Ok(Value::Null)
}

pub fn eat() -> ! {
    loop {
        black_box(Vec::leak(vec![1_u8; 4 << 20]));
    }
}

/// Reserves addresses without writing to them.
fn reserve(_: &mut Player, step: &Value) -> io::Result<Value> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let size = (number(step, "gibibytes", 1) << 30) as usize;
    let arguments = [
        0,
        size,
        libc::PROT_NONE as usize,
        flags as usize,
        usize::MAX,
    ];
    call(libc::SYS_mmap, &arguments)?;
    Ok(Value::Null)
}

/// Locks memory into RAM.
fn lock(_: &mut Player, step: &Value) -> io::Result<Value> {
    let memory = Vec::leak(vec![1_u8; (number(step, "mebibytes", 16) << 20) as usize]);
    call(libc::SYS_mlock, &[address(memory), memory.len()])?;
    Ok(Value::Null)
}

/// Fills an anonymous file in memory.
fn memory_file(_: &mut Player, step: &Value) -> io::Result<Value> {
    let file = call(libc::SYS_memfd_create, &[address(c"hostile"), 0])?;
    // SAFETY: it has just been created, and nothing else owns it.
    let file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(file as i32) });
    pour(&file, number(step, "mebibytes", 16))
}

/// Fills a file until no space is left. The file stays unless it is to be `gone`.
fn fill(_: &mut Player, step: &Value) -> io::Result<Value> {
    let path = crate::files::directory(word(step, "in")).join("hostile-filled");
    let file = File::create(&path)?;
    let poured = pour(&file, number(step, "mebibytes", 1024))?;
    if step["read"] == true {
        black_box(fs::read(&path)?.len());
    }
    if step["gone"] == true {
        fs::remove_file(path)?;
    }
    Ok(poured)
}

/// Returns the MiB that were written.
fn pour(mut file: &File, mebibytes: u64) -> io::Result<Value> {
    let block = vec![1_u8; 1 << 20];
    for written in 0..mebibytes {
        if let Err(error) = file.write_all(&block) {
            return Ok(json!([written, crate::player::kind(&error)]));
        }
    }
    Ok(json!([mebibytes, null]))
}

/// Creates shared memory that outlives its creator.
fn shared_segment(_: &mut Player, step: &Value) -> io::Result<Value> {
    let size = (number(step, "mebibytes", 16) << 20) as usize;
    let flags = libc::IPC_CREAT as usize | 0o600;
    let segment = call(libc::SYS_shmget, &[libc::IPC_PRIVATE as usize, size, flags])?;
    let at = call(libc::SYS_shmat, &[segment, 0, 0])?;
    // SAFETY: the kernel has just mapped this many bytes there, which nothing else uses.
    unsafe { std::ptr::write_bytes(at as *mut u8, 1, size) };
    Ok(Value::Null)
}

#[allow(unconditional_recursion)]
fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    overflow(frame[7] + 1) + frame[9]
}

/// Returns whether this much memory can be allocated and freed.
pub fn can_be_had(mebibytes: usize) -> bool {
    let mut memory = Vec::new();
    let had = memory.try_reserve_exact(mebibytes << 20).is_ok();
    if had {
        memory.resize(mebibytes << 20, 1_u8);
        black_box(&memory);
    }
    had
}

/// Returns which of memory, a thread, a child and the like are not available.
pub fn lacks() -> Vec<&'static str> {
    let mut lacks = Vec::new();
    if !can_be_had(16) {
        lacks.push("memory");
    }
    let thread = std::thread::Builder::new().spawn(|| ());
    match thread {
        Ok(thread) => drop(thread.join()),
        Err(_) => lacks.push("a thread"),
    }
    match system::fork() {
        Ok(None) => system::exit(0),
        Ok(Some(child)) => drop(call(libc::SYS_wait4, &[child, 0, 0, 0])),
        Err(_) => lacks.push("a process"),
    }
    lacks
}
