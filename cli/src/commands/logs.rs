//! `burst logs`: what the workers wrote, all at once or as it comes.

use std::time::{Duration, Instant};

use burst_client::{Client, Flare, FlareState, GetLogsQuery, LogLine};

use crate::args::{Format, LogsArgs};
use crate::error::Error;
use crate::output::Printer;
use crate::{follow, ids, times};

/// Longest time between two looks at a log that grows.
const PAUSE: Duration = Duration::from_millis(500);

/// Prints what the workers wrote.
pub fn run(client: &Client, args: &LogsArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, &args.flare)?;
    if args.follow {
        let mut log = Log::new(client, &id, args.worker, Printer::new).format(format);
        return follow::watch(PAUSE, || {
            // Asked for first: what is written after this answer is in the next one.
            let flare = client.get_flare(&id)?;
            let flare = flare.read()?;
            if log.is_due(&flare) {
                log.more()?;
            }
            Ok(flare.state.is_final().then_some(()))
        });
    }
    if format == Format::Json {
        let query = GetLogsQuery {
            worker: args.worker,
            from: None,
        };
        let mut printer = Printer::new();
        printer.body(client.get_logs(&id, &query)?)?;
        return printer.end();
    }
    Log::new(client, &id, args.worker, Printer::new).more()
}

/// A log of which one part is printed already.
pub struct Log<'a> {
    client: &'a Client,
    id: &'a str,
    query: GetLogsQuery,
    to: fn() -> Printer,
    format: Format,
    attempt: u32,
    /// How many lines have been printed that the next answer has again, as when one broke off.
    printed: usize,
    /// Whether it was told that not all lines are kept.
    told: bool,
    /// When to look at it again.
    next: Instant,
}

impl<'a> Log<'a> {
    /// The log of a flare, or of one worker of it.
    pub fn new(client: &'a Client, id: &'a str, worker: Option<u32>, to: fn() -> Printer) -> Self {
        Self {
            client,
            id,
            query: GetLogsQuery { worker, from: None },
            to,
            format: Format::Table,
            attempt: 1,
            printed: 0,
            told: false,
            next: Instant::now(),
        }
    }

    /// In lines of JSON, if that is wanted.
    fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Whether to look for more now, by what the flare has come to. Its end is always a reason.
    pub fn is_due(&mut self, flare: &Flare) -> bool {
        if flare.attempt != self.attempt {
            // What an earlier attempt wrote has been cleared.
            self.attempt = flare.attempt;
            self.printed = 0;
        }
        match flare.state {
            FlareState::Queued | FlareState::Placing => false,
            _ => flare.state.is_final() || Instant::now() >= self.next,
        }
    }

    /// Prints what has not been printed.
    pub fn more(&mut self) -> Result<(), Error> {
        let asked = Instant::now();
        let body = self.client.get_logs(self.id, &self.query)?;
        let mut printer = (self.to)();
        let mut known = self.printed;
        let (printed, format) = (&mut self.printed, self.format);
        let logs = body.each(|line| {
            if known > 0 {
                known -= 1;
                return Ok(());
            }
            print(&mut printer, &line, format)?;
            *printed += 1;
            Ok::<(), Error>(())
        });
        // What came before an answer broke off was read.
        printer.flush()?;
        let logs = logs?;
        // An earlier release answers with all of it again.
        if logs.next.is_some() {
            self.query.from = logs.next;
            self.printed = 0;
        }
        if logs.truncated && format == Format::Table && !self.told {
            self.told = true;
            printer.people("(more was written than is kept)\n")?;
        }
        self.next = Instant::now() + asked.elapsed().max(PAUSE);
        printer.end()
    }
}

fn print(printer: &mut Printer, line: &LogLine, format: Format) -> Result<(), Error> {
    if format == Format::Json {
        let text = serde_json::to_string(line).map_err(std::io::Error::from)?;
        printer.json(&text)?;
        return printer.people("\n");
    }
    let who = match line.worker {
        Some(worker) => format!("worker {worker}"),
        None => format!("pack {}", line.pack),
    };
    let at = times::exact(line.at);
    printer.aside(&format!("{at} {who} {}: ", line.stream))?;
    printer.program(&line.line)?;
    printer.people("\n")
}
