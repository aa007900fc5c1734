//! `burst logs`: what the workers wrote, all at once or as it arrives.

use std::time::{Duration, Instant};

use burst_client::{Body, Client, Flare, FlareState, GetLogsQuery, LogLine, Logs};

use crate::args::{Format, LogsArgs};
use crate::error::Error;
use crate::output::{self, Printer};
use crate::{follow, ids, times};

/// The time between two requests for a growing log, unless an answer takes longer.
const PAUSE: Duration = Duration::from_millis(500);

/// Prints what the workers wrote.
pub fn run(client: &Client, args: &LogsArgs, format: Format) -> Result<(), Error> {
    let id = ids::flare(client, &args.flare)?;
    let whose = match args.worker {
        Some(worker) => {
            expect(client, &id, worker)?;
            format!("worker {worker} of flare {id}")
        }
        None => format!("flare {id}"),
    };
    let mut log = Log::new(client, &id, args.worker, Printer::new).format(format);
    if args.follow {
        follow::watch(PAUSE, || {
            // The state is read before the log, so that the log is complete once the state is final.
            let flare = client.get_flare(&id)?;
            let flare = flare.read()?;
            if log.is_due(&flare) {
                log.more()?;
            }
            Ok(flare.state.is_final().then_some(()))
        })?;
        if log.is_empty() {
            output::hint(&format!("{whose} has written nothing"));
        }
        return Ok(());
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
    log.more()?;
    if log.is_empty() {
        output::hint(&format!("{whose} has written nothing so far"));
    }
    Ok(())
}

/// Fails if the flare has no such worker: its log would be as empty as that of a worker that wrote nothing.
fn expect(client: &Client, id: &str, worker: u32) -> Result<(), Error> {
    let size = client.get_flare(id)?.read()?.size;
    if worker < size {
        return Ok(());
    }
    let id = id.to_owned();
    Err(Error::NoWorker { id, size, worker })
}

/// A growing log, printed up to some line.
pub struct Log<'a> {
    client: &'a Client,
    id: &'a str,
    query: GetLogsQuery,
    to: fn() -> Printer,
    format: Format,
    attempt: u32,
    /// How many lines of it have been printed.
    printed: usize,
    /// How many of those come before the part that the next request asks for.
    before: usize,
    /// Whether it has printed that not all lines are kept.
    truncation_shown: bool,
    /// When to request it again.
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
            before: 0,
            truncation_shown: false,
            next: Instant::now(),
        }
    }

    /// Sets the format: text for people, or lines of JSON.
    fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Whether to request more now, given the state of the flare; always true once it has ended. Starts over with a new
    /// attempt.
    pub fn is_due(&mut self, flare: &Flare) -> bool {
        if flare.attempt != self.attempt {
            // What an earlier attempt wrote has been cleared.
            self.attempt = flare.attempt;
            self.printed = 0;
            self.before = 0;
            self.truncation_shown = false;
        }
        match flare.state {
            FlareState::Queued | FlareState::Placing => false,
            _ => flare.state.is_final() || Instant::now() >= self.next,
        }
    }

    /// Whether it has printed nothing so far.
    fn is_empty(&self) -> bool {
        self.printed == 0 && !self.truncation_shown
    }

    /// Requests and prints the lines that have not been printed yet.
    pub fn more(&mut self) -> Result<(), Error> {
        let asked = Instant::now();
        let body = self.ask()?;
        let mut printer = (self.to)();
        // After an answer that broke off, the next one repeats the lines already printed.
        let mut known = self.printed - self.before;
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
        // Shows the lines that came before an answer broke off.
        printer.flush()?;
        let logs = logs?;
        self.begin_at(logs.next);
        if logs.truncated && format == Format::Table && !self.truncation_shown {
            self.truncation_shown = true;
            printer.people("(more was written than is kept)\n")?;
        }
        self.next = Instant::now() + asked.elapsed().max(PAUSE);
        printer.end()
    }

    /// Requests the log from the current position. A controller of an earlier release, in a cluster that is being
    /// upgraded, refuses that and is asked for the whole log again.
    fn ask(&mut self) -> Result<Body<Logs>, Error> {
        match self.client.get_logs(self.id, &self.query) {
            Err(refused) if refused.status() == Some(400) && self.query.from.is_some() => {
                self.begin_at(None);
                Ok(self.client.get_logs(self.id, &self.query)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Sets where the next answer begins: after everything printed, or at the beginning if that position is unknown.
    fn begin_at(&mut self, from: Option<u64>) {
        self.query.from = from;
        self.before = from.map_or(0, |_| self.printed);
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
