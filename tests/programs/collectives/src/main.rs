//! A work function that calls every operation of workers, with values of several sizes, and compares each result with
//! the expected one.

use std::collections::BTreeMap;
use std::ops::Range;

use burst::{BurstContext, Error, Reducer, Tag};

/// How many numbers each message has: small ones that are bundled with others, and large ones that are sent separately,
/// in two chunks on most backends.
const LENGTHS: [usize; 2] = [10, 150_000];

fn work(_: BTreeMap<String, u32>, burst: &BurstContext) -> Result<Vec<String>, Error> {
    let mut called = Vec::new();
    for length in LENGTHS {
        called = operations(burst, length)?;
    }
    Ok(called)
}

/// The value that a worker sends; no other worker sends the same one.
fn value(from: u32, to: u32, length: usize) -> Vec<u64> {
    (0..length as u64)
        .map(|place| (u64::from(from) << 40) | (u64::from(to) << 20) | place)
        .collect()
}

fn sum(one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    one.iter().zip(other).map(|(a, b)| a + b).collect()
}

/// The sum of the values that these workers have for this one.
fn sum_of(workers: Range<u32>, to: u32, length: usize) -> Vec<u64> {
    workers
        .map(|from| value(from, to, length))
        .reduce(sum)
        .unwrap_or_default()
}

fn operations(burst: &BurstContext, length: usize) -> Result<Vec<String>, Error> {
    let (me, all) = (burst.worker_id(), burst.burst_size());
    let root = all - 1;
    let at_root = |value: Vec<u64>| (me == root).then_some(value);
    let mine = || value(me, 0, length);
    let everyone = || (0..all).map(|from| value(from, 0, length));
    let for_each = || (0..all).map(|to| value(me, to, length)).collect::<Vec<_>>();
    let from_each = (0..all).map(|from| value(from, me, length));
    let total = sum_of(0..all, 0, length);

    let mut called = Vec::new();
    let mut check = |name: &str, good: bool| {
        called.push(name.to_owned());
        let wrong = || Error::new(format!("{name} of {length} gave something else"));
        good.then_some(()).ok_or_else(wrong)
    };
    burst.barrier()?;
    check("barrier", true)?;
    let got = burst.broadcast(at_root(mine()), root)?;
    check("broadcast", *got == value(root, 0, length))?;
    let got = burst.scatter((me == root).then(for_each), root)?;
    check("scatter", got == value(root, me, length))?;
    let got = burst.gather(mine(), root)?;
    check("gather", got == (me == root).then(|| everyone().collect()))?;
    let got = burst.all_gather(mine())?;
    check("all_gather", got.iter().cloned().eq(everyone()))?;
    let got = burst.reduce(mine(), root, sum)?;
    check("reduce", got == at_root(total.clone()))?;
    let got = burst.all_reduce(mine(), sum)?;
    check("all_reduce", *got == total)?;
    let mut elements = mine();
    burst.reduce_elements(&mut elements, root, Reducer::Sum)?;
    check("reduce_elements", me != root || elements == total)?;
    let got = burst.all_reduce_elements(mine(), Reducer::Sum)?;
    check("all_reduce_elements", *got == total)?;
    let got = burst.all_to_all(for_each())?;
    check("all_to_all", got.into_iter().eq(from_each))?;
    let got = burst.reduce_scatter(for_each(), sum)?;
    check("reduce_scatter", got == sum_of(0..all, me, length))?;
    let got = burst.scan(mine(), sum)?;
    check("scan", got == sum_of(0..me + 1, 0, length))?;
    let got = burst.exclusive_scan(mine(), sum)?;
    let before = (me > 0).then(|| sum_of(0..me, 0, length));
    check("exclusive_scan", got == before)?;
    let next = (me + 1) % all;
    let last = (me + all - 1) % all;
    burst.send(value(me, next, length), next)?;
    check("send", true)?;
    burst.send_tagged(mine(), next, Tag(1))?;
    check("send_tagged", true)?;
    // The message that was sent first is received last.
    let got: Vec<u64> = burst.recv_tagged(last, Tag(1))?;
    check("recv_tagged", got == value(last, 0, length))?;
    let got: Vec<u64> = burst.recv(last)?;
    check("recv", got == value(last, me, length))?;
    let got: Vec<u64> = burst.send_recv(value(me, next, length), next, last)?;
    check("send_recv", got == value(last, me, length))?;
    let sending = burst.isend(mine(), root, Tag(2))?;
    let senders = if me == root { 0..all } else { 0..0 };
    let got = senders.clone().map(|_| burst.recv_any::<Vec<u64>>(Tag(2)));
    let got: BTreeMap<u32, Vec<u64>> = got.collect::<Result<_, _>>()?;
    let expected = senders.map(|from| (from, value(from, 0, length)));
    check("recv_any", got.into_iter().eq(expected))?;
    sending.wait()?;
    check("isend", true)?;
    let coming = burst.irecv::<Vec<u64>>(last, Tag(3))?;
    burst.send_tagged(value(me, next, length), next, Tag(3))?;
    check("irecv", coming.wait()? == value(last, me, length))?;
    let half = burst.split(Some(me % 2), 0)?;
    let half = half.ok_or_else(|| Error::new("split gave no group"))?;
    let got = half.all_reduce(u64::from(me), |a, b| a + b)?;
    let expected = (0..all).filter(|worker| worker % 2 == me % 2);
    check("split", *got == expected.map(u64::from).sum::<u64>())?;
    Ok(called)
}

fn main() -> std::process::ExitCode {
    burst::program::run(work)
}
