//! The log of a flare's workers and of its pack: bounded here, whatever the program does, and gathered into few events,
//! so that later components do not have one for each line.

use std::ops::Range;

use burst_protocol::{LINE, LINE_COST, LOG_LIMIT, LogStream, PackEvent, Timestamp};
use tokio::time::Instant;

use crate::limits;

/// The part of the log of one flare on this pack that has not been passed on.
pub(crate) struct LogBuffer {
    first: u32,
    /// The workers of this pack, by their index in it, and then the pack itself.
    sources: Vec<LogSource>,
    rate: RateLimit,
    waiting: usize,
}

/// Consecutive lines of one stream, and when the first of them was written.
struct LogChunk {
    stream: LogStream,
    at: Timestamp,
    text: String,
    cost: usize,
}

struct LogSource {
    worker: Option<u32>,
    limit: usize,
    left: usize,
    silenced: bool,
    chunks: Vec<LogChunk>,
}

impl LogBuffer {
    /// Makes the buffer for a pack of these workers, each of which may log `limit` bytes. The pack itself may log as
    /// many, but no more than `LOG_LIMIT`.
    pub(crate) fn new(workers: Range<u32>, limit: usize) -> Self {
        let (first, size) = (workers.start, workers.len());
        let sources = workers.map(|worker| LogSource::new(Some(worker), limit));
        let pack = LogSource::new(None, limit.min(LOG_LIMIT));
        Self {
            first,
            sources: sources.chain([pack]).collect(),
            rate: RateLimit::new(at_once(size), Instant::now()),
            waiting: 0,
        }
    }

    /// Adds lines of a worker, or of the pack itself, as far as the limits allow.
    pub(crate) fn append(
        &mut self,
        worker: Option<u32>,
        stream: LogStream,
        text: &str,
        at: Timestamp,
    ) {
        let index = self.index(worker);
        let Some(source) = self.sources.get_mut(index) else {
            return;
        };
        let moment = Instant::now();
        for line in text.split('\n').flat_map(pieces) {
            let cost = line.len() + LINE_COST;
            if source.silenced {
                return;
            }
            if source.left < cost {
                source.silenced = true;
                let who = source.worker.map_or("pack", |_| "worker");
                let limit = size(source.limit);
                let notice = format!(
                    "[burst] further output of this {who} is left out: it exceeds {limit}, each line counted as \
                     {LINE_COST} bytes more than it has"
                );
                self.waiting += source.add(stream, &notice, at);
                return;
            }
            if self.rate.allows(cost, moment) {
                source.left -= cost;
                self.waiting += source.add(stream, line, at);
            }
        }
        self.note_losses();
    }

    /// Returns how many bytes wait to be taken.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes the lines of this worker, as events.
    pub(crate) fn take_of(&mut self, worker: u32) -> Vec<PackEvent> {
        let index = self.index(Some(worker));
        let taken = self.sources.get_mut(index).map(LogSource::take);
        let events = taken.unwrap_or_default();
        self.waiting -= events.iter().map(length).sum::<usize>();
        events
    }

    /// Takes the lines of all, as events.
    pub(crate) fn take(&mut self) -> Vec<PackEvent> {
        self.waiting = 0;
        self.sources.iter_mut().flat_map(LogSource::take).collect()
    }

    /// Closes the log: notes how much was lost last.
    pub(crate) fn close(&mut self) {
        self.rate.settle();
        self.note_losses();
    }

    fn note_losses(&mut self) {
        if let Some(lines) = self.rate.losses()
            && let Some(pack) = self.sources.last_mut()
        {
            let rate = limits::LOG_RATE >> 20;
            let notice = format!(
                "[burst] {lines} lines were left out before this one: the pack wrote more than {rate} MiB a second"
            );
            self.waiting += pack.add(LogStream::Stderr, &notice, Timestamp::now());
        }
    }

    fn index(&self, worker: Option<u32>) -> usize {
        let index = |worker: u32| worker.checked_sub(self.first).map(|index| index as usize);
        match worker {
            Some(worker) => index(worker)
                .filter(|index| index + 1 < self.sources.len())
                .unwrap_or(usize::MAX),
            None => self.sources.len() - 1,
        }
    }
}

impl LogSource {
    fn new(worker: Option<u32>, limit: usize) -> Self {
        Self {
            worker,
            limit,
            left: limit,
            // A client that wants no log gets no notice that there is none.
            silenced: limit == 0,
            chunks: Vec::new(),
        }
    }

    /// Adds a line, and returns by how many bytes it made the log longer.
    fn add(&mut self, stream: LogStream, line: &str, at: Timestamp) -> usize {
        let cost = line.len() + LINE_COST;
        if let Some(last) = self.chunks.last_mut()
            && last.stream == stream
            && last.cost + cost <= limits::LOG_CHUNK
        {
            last.cost += cost;
            last.text.push('\n');
            last.text.push_str(line);
            return line.len() + 1;
        }
        self.chunks.push(LogChunk {
            stream,
            at,
            text: line.to_owned(),
            cost,
        });
        cost
    }

    fn take(&mut self) -> Vec<PackEvent> {
        let worker = self.worker;
        let event = |chunk: LogChunk| PackEvent::Log {
            worker,
            stream: chunk.stream,
            text: chunk.text,
            at: chunk.at,
        };
        self.chunks.drain(..).map(event).collect()
    }
}

/// Returns how many bytes an event added to those that wait.
fn length(event: &PackEvent) -> usize {
    match event {
        PackEvent::Log { text, .. } => text.len() + LINE_COST,
        _ => 0,
    }
}

fn size(bytes: usize) -> String {
    match bytes.is_multiple_of(1 << 20) {
        true => format!("{} MiB", bytes >> 20),
        false => format!("{bytes} bytes"),
    }
}

/// Splits a line into pieces that are not too long.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        let (piece, after) = line.split_at(line.floor_char_boundary(LINE));
        rest = Some(after).filter(|after| !after.is_empty());
        Some(piece)
    })
}

/// Returns how much a pack of this size may log at once. A machine may have as many packs as slots: those of one worker
/// use no more of its memory than a few large ones.
fn at_once(size: usize) -> usize {
    match size {
        1 => limits::LOG_AT_ONCE_OF_ONE,
        _ => limits::LOG_AT_ONCE,
    }
}

/// How fast all sources together may log: a token bucket. Lines that do not fit are lost, not delayed. Once one is
/// lost, all are until there is room for more than a few lines, so that the log has few gaps and reports the size of
/// each.
struct RateLimit {
    most: usize,
    level: usize,
    filled: Instant,
    losing: bool,
    lost: u64,
}

impl RateLimit {
    fn new(most: usize, now: Instant) -> Self {
        Self {
            most,
            level: most,
            filled: now,
            losing: false,
            lost: 0,
        }
    }

    fn allows(&mut self, cost: usize, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.filled).as_micros();
        let more = usize::try_from(since * limits::LOG_RATE as u128 / 1_000_000);
        // Time too short for one byte is not lost.
        if let Ok(more @ 1..) = more {
            self.level = (self.level.saturating_add(more)).min(self.most);
            self.filled = now;
        }
        let wanted = match self.losing {
            true => limits::LOG_RATE,
            false => cost,
        };
        self.losing = self.level < wanted;
        if self.losing {
            self.lost += 1;
            return false;
        }
        self.level -= cost;
        true
    }

    fn settle(&mut self) {
        self.losing = false;
    }

    /// Returns how many lines were lost, once no more are being lost.
    fn losses(&mut self) -> Option<u64> {
        (!self.losing && self.lost > 0).then(|| std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::time::Duration;

    use super::*;

    fn texts(events: &[PackEvent]) -> Vec<(Option<u32>, LogStream, u64, &str)> {
        let text = |event| match event {
            &PackEvent::Log {
                worker,
                stream,
                ref text,
                at,
            } => (worker, stream, at.as_micros(), text.as_str()),
            other => panic!("{other:?}"),
        };
        events.iter().map(text).collect()
    }

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    const OUT: LogStream = LogStream::Stdout;
    const ERR: LogStream = LogStream::Stderr;

    #[test]
    fn lines_of_one_stream_are_one_event_and_keep_their_order_among_streams() {
        let mut log = LogBuffer::new(4..6, LOG_LIMIT);
        log.append(Some(4), OUT, "a", at(1));
        log.append(Some(5), OUT, "other", at(2));
        log.append(Some(4), OUT, "", at(3));
        log.append(Some(4), ERR, "b\nc", at(4));
        log.append(Some(4), OUT, "d", at(5));
        log.append(None, ERR, "pack", at(6));
        log.append(Some(6), OUT, "nobody", at(7));
        log.append(Some(3), OUT, "nobody", at(7));
        let first = log.take_of(4);
        let four = Some(4);
        assert_eq!(
            texts(&first),
            [
                (four, OUT, 1, "a\n"),
                (four, ERR, 4, "b\nc"),
                (four, OUT, 5, "d")
            ]
        );
        assert!(log.take_of(4).is_empty());
        assert_eq!(
            texts(&log.take()),
            [(Some(5), OUT, 2, "other"), (None, ERR, 6, "pack")]
        );
        assert_eq!(log.waiting(), 0);
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_a_long_passage_between_lines() {
        let mut log = LogBuffer::new(0..1, LOG_LIMIT);
        log.append(None, OUT, &"é".repeat(LINE), at(1));
        let lengths = |log: &mut LogBuffer| -> Vec<Vec<usize>> {
            texts(&log.take())
                .iter()
                .map(|(.., text)| text.split('\n').map(str::len).collect())
                .collect()
        };
        assert_eq!(lengths(&mut log), [[LINE], [LINE]]);
        let line = "x".repeat(limits::LOG_CHUNK / 4);
        (0..6).for_each(|_| log.append(Some(0), OUT, &line, at(1)));
        assert_eq!(
            lengths(&mut log),
            [vec![line.len(); 3], vec![line.len(); 3]]
        );
    }

    #[test]
    fn empty_lines_count_and_the_limit_is_reported_once() {
        for worker in [Some(0), None] {
            let mut log = LogBuffer::new(0..1, LOG_LIMIT);
            (0..100_000).for_each(|_| log.append(worker, OUT, "", at(1)));
            log.append(worker, OUT, &"\n".repeat(100_000), at(1));
            let events = log.take();
            let lines: Vec<_> = texts(&events)
                .iter()
                .flat_map(|(.., text)| text.split('\n'))
                .collect();
            assert_eq!(lines.len(), LOG_LIMIT / LINE_COST + 1);
            assert!(lines.last().unwrap().contains("exceeds 1 MiB"));
        }
    }

    #[test]
    fn a_flare_has_a_limit_of_its_own() {
        // How many lines each source keeps of 4 MiB, and its last line.
        let kept = |limit: usize| {
            let mut log = LogBuffer::new(0..1, limit);
            let line = "x".repeat(1024 - LINE_COST);
            [Some(0), None].map(|worker| {
                (0..4096).for_each(|_| log.append(worker, OUT, &line, at(1)));
                let events = log.take();
                let texts = texts(&events);
                let lines: Vec<_> = texts
                    .iter()
                    .flat_map(|(.., text)| text.split('\n'))
                    .collect();
                let last = lines.last().map(|line| (*line).to_owned());
                (lines.len(), last.unwrap_or_default())
            })
        };
        let [worker, pack] = kept(3 << 20);
        assert_eq!((worker.0, pack.0), (3 * 1024 + 1, 1024 + 1));
        assert!(
            worker
                .1
                .contains("this worker is left out: it exceeds 3 MiB")
        );
        assert!(pack.1.contains("this pack is left out: it exceeds 1 MiB"));
        let [worker, pack] = kept(2000);
        assert_eq!((worker.0, pack.0), (2, 2));
        assert!(worker.1.contains("exceeds 2000 bytes"));
        assert_eq!(kept(0), [(0, String::new()), (0, String::new())]);
    }

    #[test]
    fn a_worker_beyond_the_limit_takes_no_room_from_others() {
        let mut log = LogBuffer::new(0..1, 0);
        let line = "x".repeat(LINE);
        (0..2 * limits::LOG_AT_ONCE / LINE).for_each(|_| log.append(Some(0), OUT, &line, at(1)));
        log.close();
        assert_eq!((log.waiting(), log.take().len()), (0, 0));
    }

    #[test]
    fn lines_that_come_too_fast_are_dropped_and_counted() {
        let workers = u32::try_from(2 * limits::LOG_AT_ONCE / LOG_LIMIT).unwrap();
        let mut log = LogBuffer::new(0..workers, LOG_LIMIT);
        let line = "x".repeat(1024 - LINE_COST);
        for worker in 0..workers {
            (0..LOG_LIMIT / 1024).for_each(|_| log.append(Some(worker), OUT, &line, at(1)));
        }
        log.close();
        let events = log.take();
        let said: usize = texts(&events).iter().map(|(.., text)| text.len()).sum();
        assert!(said >= limits::LOG_AT_ONCE * 9 / 10, "{said}");
        let (worker, _, _, last) = texts(&events)[events.len() - 1];
        assert!(worker.is_none() && last.contains("lines were left out"));
    }

    #[test]
    fn losses_are_reported_once_when_the_rate_is_kept_again() {
        let start = Instant::now();
        let mut rate = RateLimit::new(limits::LOG_AT_ONCE, start);
        assert!(rate.allows(limits::LOG_AT_ONCE, start));
        assert!(!rate.allows(10, start));
        let soon = start + Duration::from_millis(500);
        // There would be room, but only for a few lines.
        assert!(!rate.allows(10, soon));
        assert_eq!(rate.losses(), None);
        assert!(rate.allows(10, start + Duration::from_secs(2)));
        assert_eq!(rate.losses(), Some(2));
        assert_eq!(rate.losses(), None);
    }
}
