//! A runtime in a separate process, with which tests communicate over plain sockets.

mod events;
mod packages;
mod waits;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use burst_test_servers::wait;
use serde_json::{Value, json};

pub use events::{end, failure, logs, named};
pub use packages::{Package, acts, exec_of, package_of};
pub use waits::{assert_at_once, now_micros, process_exists, wait_until_gone};

/// The limit for any single response in these tests, which only a hang exceeds: a busy machine needs half a minute to
/// unpack a program that was built without optimisation.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Runtime {
    child: Child,
    address: String,
    token: Option<&'static str>,
    /// The time a program has until its hello, if the runtime is given one.
    patience: Option<Duration>,
    stdout: BufReader<std::process::ChildStdout>,
    /// The package of the running program, removed after the runtime has been killed.
    package: Option<Package>,
}

impl Runtime {
    pub fn start() -> Self {
        Self::start_with(Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test")))
    }

    /// A runtime that accepts commands only with its token, which these requests carry.
    pub fn with_token() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
        command.env("BURST_RUNTIME_TOKEN", "token");
        let mut runtime = Self::start_with(command);
        runtime.token = Some("token");
        runtime
    }

    /// Starts a runtime with a command that ends in the runtime's path.
    pub fn start_with(command: Command) -> Self {
        Self::serve(command, &[])
    }

    /// A runtime that is called without a limit for a program's hello, as by OpenWhisk.
    pub fn untold(command: Command) -> Self {
        let mut runtime = Self::start_with(command);
        runtime.patience = None;
        runtime
    }

    /// A runtime that gives up on a program that does not send its hello within this time.
    pub fn impatient(command: Command, patience: Duration) -> Self {
        let mut runtime = Self::start_with(command);
        runtime.patience = Some(patience);
        runtime
    }

    /// A runtime in a sandbox, which is specified by a line of its standard input.
    pub fn sandboxed(mut command: Command, description: &Value) -> Self {
        Self::launch(command.arg("sandbox"), Some(description))
    }

    /// Starts a runtime with a scratch directory of its own, if given.
    pub fn start_with_scratch(command: Command, scratch: Option<&Path>) -> Self {
        let options = scratch.map(|own| [OsStr::new("--scratch"), own.as_os_str()]);
        Self::serve(command, options.as_ref().map_or(&[], |options| options))
    }

    fn serve(mut command: Command, options: &[&OsStr]) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        Self::launch(command.args(options), None)
    }

    fn launch(command: &mut Command, first: Option<&Value>) -> Self {
        let mut child = command
            .env("BURST_AUTH", "not for the program")
            // Making a stack trace of a test's program takes longer than workers have to return.
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(first) = first {
            writeln!(child.stdin.as_mut().unwrap(), "{first}").unwrap();
        }
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.starts_with("processes ") {
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self {
            child,
            address,
            token: None,
            patience: Some(PATIENCE),
            stdout,
            package: None,
        }
    }

    /// A runtime that is ready with the program `acts`.
    pub fn with_acts() -> Self {
        Self::with_acts_and(None)
    }

    /// The same with a scratch directory of its own, if given.
    pub fn with_acts_and(scratch: Option<&Path>) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_burst-runtime-under-test"));
        let own = scratch.map(|own| ["--scratch".as_ref(), own.as_os_str()]);
        let mut runtime = Self::serve(command, own.as_ref().map_or(&[], |own| own));
        runtime.init_with(acts());
        runtime
    }

    /// A runtime that is ready with the program `liar`.
    pub fn with_liar() -> Self {
        let mut runtime = Self::start();
        runtime.init_with(package_of(env!("CARGO_BIN_EXE_burst-runtime-test-liar")));
        runtime
    }

    pub fn init_with(&mut self, package: Package) {
        self.init(package.path());
        self.hold(package);
    }

    /// Keeps a package, which is removed after the runtime has been killed.
    pub fn hold(&mut self, package: Package) {
        self.package = Some(package);
    }

    /// Opens a connection to the runtime's port.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn init(&self, directory: &Path) {
        let answer = self.post("/init", &json!({"value": {"path": directory}}));
        assert_eq!(answer, (200, json!({"ok": true})));
    }

    /// Sends a `POST` and returns the status and JSON body of the response.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_text(path, &body.to_string())
    }

    pub fn post_text(&self, path: &str, body: &str) -> (u16, Value) {
        answer(self.request("POST", path, body))
    }

    /// Returns the text of a successful response, which may be nested too deeply to be parsed.
    pub fn text(&self, path: &str, body: &Value) -> String {
        let (status, mut body) = self.request("POST", path, &body.to_string());
        let mut text = String::new();
        body.read_to_string(&mut text).unwrap();
        assert_eq!(status, 200, "{text}");
        text
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request("GET", path, ""))
    }

    /// Sends raw bytes of a package to `/init`, declaring this length.
    pub fn send_package(&self, package: &[u8], length: u64) -> (u16, Value) {
        answer(self.send("POST", "/init", "application/octet-stream", length, package))
    }

    fn request(&self, method: &str, path: &str, body: &str) -> (u16, Body) {
        let bytes = body.as_bytes();
        self.send(method, path, "application/json", bytes.len() as u64, bytes)
    }

    fn send(&self, method: &str, path: &str, form: &str, length: u64, body: &[u8]) -> (u16, Body) {
        let path = &self.patient(path);
        let mut stream = self.connect();
        stream.set_nodelay(true).unwrap();
        let token = self.token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\
             Content-Type: {form}\r\n{token}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is rejected early is not read to its end.
        let _ = stream.write_all(body);
        Body::begin(BufReader::new(stream))
    }

    /// Returns the path of a call that may start a program, with the limit for its hello, if any.
    fn patient(&self, path: &str) -> String {
        let (call, query) = path.split_once('?').unwrap_or((path, ""));
        match self.patience {
            Some(patience) if ["/init", "/packs"].contains(&call) => {
                format!("{call}?startTimeout={}&{query}", patience.as_millis())
            }
            _ => path.to_owned(),
        }
    }

    /// Starts a flare and returns an iterator over its events as they arrive.
    pub fn flare(&self, run: &Run) -> Events {
        self.flare_at("/packs", run)
    }

    /// Starts a flare with this path and query.
    pub fn flare_at(&self, path: &str, run: &Run) -> Events {
        let (status, body) = self.request("POST", path, &run.body().to_string());
        assert_eq!(status, 200);
        Events {
            body: BufReader::new(body),
            flare_id: run.flare_id.clone(),
            outputs: HashMap::new(),
        }
    }

    /// Runs a flare and returns all of its events.
    pub fn events(&self, run: &Run) -> Vec<Value> {
        self.flare(run).collect()
    }

    /// Runs a flare with one worker for each act.
    pub fn act(&self, acts: &[Value]) -> Vec<Value> {
        self.events(&Run::new(acts))
    }

    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    pub fn terminate(&mut self) {
        let id = self.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    /// Waits until the runtime has exited, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let ended = wait::until("the runtime has ended", wait::SOON, || {
            self.child.try_wait().unwrap()
        });
        ended.code()
    }

    pub fn wait_until_programs_end(&self) {
        let threads = format!("/proc/{}/task", self.id());
        wait::until("no program runs", wait::SOON, || {
            let mut threads = std::fs::read_dir(&threads).unwrap();
            // If a thread has exited meanwhile, its children belong to another one: look again.
            let none = threads.all(|thread| {
                std::fs::read_to_string(thread.unwrap().path().join("children"))
                    .is_ok_and(|children| children.is_empty())
            });
            none.then_some(())
        });
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the next line of the runtime's own output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the status and JSON body of a response.
fn answer((status, mut body): (u16, Body)) -> (u16, Value) {
    let mut text = String::new();
    body.read_to_string(&mut text).unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// A response body, chunked or by length.
struct Body {
    stream: BufReader<TcpStream>,
    chunked: bool,
    left: usize,
}

impl Body {
    fn begin(mut stream: BufReader<TcpStream>) -> (u16, Self) {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let (mut chunked, mut left) = (false, 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                return (
                    status,
                    Self {
                        stream,
                        chunked,
                        left,
                    },
                );
            }
            chunked |= line == "transfer-encoding: chunked";
            if let Some(length) = line.strip_prefix("content-length: ") {
                left = length.parse().unwrap();
            }
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && self.chunked {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                self.chunked = false;
                return Ok(0);
            }
        }
        let length = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..length])?;
        self.left -= read;
        if self.left == 0 && self.chunked && read > 0 {
            self.stream.read_line(&mut String::new())?;
        }
        Ok(read)
    }
}

pub struct Events {
    body: BufReader<Body>,
    pub flare_id: String,
    outputs: HashMap<String, String>,
}

impl Events {
    /// Skips to the next event of this name.
    pub fn until(&mut self, name: &str) -> Value {
        let found = self.find(|event| event["event"] == name);
        found.unwrap_or_else(|| panic!("no {name} event came"))
    }
}

impl Iterator for Events {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            self.body.read_line(&mut line).unwrap();
            if line.is_empty() {
                return None;
            }
            let mut event: Value = serde_json::from_str(&line).unwrap();
            // An output is assembled from its pieces, as every reader of these events does.
            let worker = event["worker"].to_string();
            match event["event"].as_str() {
                Some("output") => {
                    let output = self.outputs.entry(worker).or_default();
                    output.push_str(event["text"].as_str().unwrap());
                }
                Some("worker-succeeded") => {
                    let mut output = self.outputs.remove(&worker).unwrap_or_default();
                    output.push_str(event["output"].as_str().unwrap());
                    event["output"] = serde_json::from_str(&output).unwrap();
                    return Some(event);
                }
                _ => return Some(event),
            }
        }
    }
}

/// A request for a flare.
pub struct Run {
    pub flare_id: String,
    pub pack: usize,
    pub pack_sizes: Vec<usize>,
    pub inputs: Value,
    pub secret: String,
    pub timeout: Duration,
    pub autostart: bool,
    pub group: Option<&'static str>,
    pub lease: Option<Duration>,
    pub memory: Option<u64>,
    pub backend: Value,
    pub invocation: Value,
    pub trace: Value,
    pub log_limit: Option<usize>,
}

impl Run {
    pub fn new(acts: &[Value]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            flare_id: format!("{:016x}{number:016x}", std::process::id()),
            pack: 0,
            pack_sizes: vec![acts.len()],
            inputs: json!({ "each": acts }),
            secret: "00".repeat(32),
            // Much longer than `PATIENCE`.
            timeout: Duration::from_secs(600),
            autostart: true,
            group: None,
            lease: None,
            memory: None,
            backend: json!({"kind": "direct", "uri": null, "chunkSize": 1 << 20}),
            invocation: json!({}),
            trace: Value::Null,
            log_limit: None,
        }
    }

    pub fn body(&self) -> Value {
        let deadline = UNIX_EPOCH.elapsed().unwrap() + self.timeout;
        let mut body = json!({
            "flareId": self.flare_id, "pack": self.pack, "packSizes": self.pack_sizes,
            "inputs": self.inputs, "secret": self.secret, "advertise": "127.0.0.1",
            "backend": self.backend,
            "deadline": deadline.as_micros() as u64, "autostart": self.autostart,
            "group": self.group, "memory": self.memory, "invocation": self.invocation, "trace": self.trace,
            "lease": self.lease.map(|time| time.as_millis() as u64),
        });
        if let Some(limit) = self.log_limit {
            body["logLimit"] = limit.into();
        }
        body
    }
}

pub fn act(name: &str) -> Value {
    json!({ "act": name })
}
