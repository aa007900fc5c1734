"""Runs functions of Python as OpenWhisk has them, and speaks the runtime's control protocol for them
(docs/architecture/program.md). The runtime hands it to the interpreter on standard input, and tells it the function, and
where that is, by the first frame, for which it may have to wait: whatever does not depend on that is done before.

A pack of one worker is this process. For more it starts a process for each, which stays for the next flare, carries
what they say to the runtime, and runs nothing of the user's itself.
"""

import sys

# The working directory, whatever that is by then.
sys.path.pop(0)

import fcntl
import importlib.machinery
import importlib.util
import json
import os
import selectors
import signal
import site
import socket
import struct
import time
import traceback

HEADER = struct.Struct("<I")
OUTPUT_LIMIT = 16 << 20
PIECE = 1 << 16
NO_RESULT = "The action did not return a dictionary or array."
SOURCE, SHOWN = "source", "main.py"
NOT_INITIALISED = "Initialization has failed due to"
WANTED, INSTALLED = "requirements.txt", ".requirements"
STREAMS = ("stdout", "stderr")
# Signals by which a program may say that it dies.
DYING = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
PR_SET_PDEATHSIG = 1

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def frame(text):
    data = text if isinstance(text, bytes) else encode(text).encode("utf-8", "replace")
    return HEADER.pack(len(data)) + data


def event(name, run, **fields):
    return frame({"event": name, "run": run, "at": time.time_ns() // 1000, **fields})


class Failed(bytes):
    """The frame that says why a worker failed."""


def failed(run, worker, message, kind="error"):
    error = {"kind": kind, "message": message[:4000], "operation": "work"}
    return Failed(event("worker-failed", run, worker=worker, error=error))


class Channel:
    """Frames over a socket, each a length and then JSON."""

    def __init__(self, descriptor):
        # Neither where a function's `os.close` looks for it, nor open in what it starts.
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)
        os.close(descriptor)
        self.socket = socket.socket(fileno=moved)
        self.received = bytearray()

    def fileno(self):
        return self.socket.fileno()

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def fill(self):
        data = self.socket.recv(PIECE)
        self.received += data
        return bool(data)

    def next(self):
        """The next frame, if all of it has come."""
        if len(self.received) < HEADER.size:
            return None
        end = HEADER.size + HEADER.unpack_from(self.received)[0]
        if len(self.received) < end:
            return None
        data = bytes(self.received[HEADER.size : end])
        del self.received[:end]
        return data

    def receive(self):
        """Waits for the next frame; none when the other end is closed."""
        while (data := self.next()) is None:
            if not self.fill():
                return None
        return json.loads(data)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a function's module. A source that is a package by itself came without a name: traces have one that says
    what it is, in place of that of the file it was put into."""

    def source_to_code(self, data, path, *more, **options):
        # More: since Python 3.15, the module's full name.
        shown = SHOWN if os.path.basename(path) == SOURCE else path
        return super().source_to_code(data, shown, *more, **options)


class Function:
    """The user's function, loaded when it is first called."""

    def __init__(self, init):
        self.name = init["main"]
        self.call = None
        self.told = set()
        self.is_complete = False
        self.installs, self.lacks = init.get("installs", False), init.get("lacks")

    def complete(self):
        """Has what the package wants and does not bring, once for all workers; why not, if so. It may do without."""
        if not self.is_complete:
            self.is_complete = True
            if self.installs:
                self.lacks = install()
            if self.lacks is not None:
                print(self.lacks, file=sys.stderr)
        return self.lacks

    def load(self):
        directory = os.getcwd()
        path = next((path for path in ("__main__.py", SOURCE) if os.path.isfile(path)), None)
        if path is None:
            raise ImportError("Zip file does not include __main__.py")
        own = len(sys.path)
        libraries = os.path.join(directory, "virtualenv", "lib")
        for version in sorted(os.listdir(libraries)) if os.path.isdir(libraries) else ():
            site.addsitedir(os.path.join(libraries, version, "site-packages"))
        if os.path.isdir(INSTALLED):
            site.addsitedir(os.path.join(directory, INSTALLED))
        # What the package brings goes before what the machine has.
        sys.path[:] = [directory, *sys.path[own:], *sys.path[:own]]
        loader = Loader("main__", os.path.join(directory, path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("main__", loader))
        sys.modules["main__"] = module
        loader.exec_module(module)
        call = getattr(module, self.name, None)
        if not callable(call):
            raise ImportError(f"there is no function '{self.name}'")
        self.call = call

    def tell(self, told):
        """Says, by environment variables, which run this is."""
        names = {"__OW_" + name.upper(): value for name, value in told.items()}
        if "traceparent" in told:
            names["TRACEPARENT"] = told["traceparent"]
        for name in self.told - names.keys():
            os.environ.pop(name, None)
        os.environ.update(names)
        self.told = names.keys()


def install():
    """Has pip install what the package wants beside it: the runtime has given the pack a copy of it for that."""
    import shutil
    import subprocess
    import tempfile

    if importlib.util.find_spec("pip") is None:
        return f"{WANTED} cannot be installed, as {sys.executable} has no pip: bring what it names as virtualenv/"
    pip = [sys.executable, "-I", "-m", "pip", "install", "--target", INSTALLED, "--no-input", "--no-cache-dir"]
    pip += ["--disable-pip-version-check", "--retries", "1", "-r", WANTED]
    flush()
    scratch = None
    try:
        scratch = tempfile.mkdtemp(prefix=".pip-", dir=os.getcwd())
        told = {**os.environ, "HOME": scratch, "TMPDIR": scratch}
        started = subprocess.Popen(pip, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=told)
        with started:
            words = last_words(started.stderr)
    except OSError as problem:
        return f"{WANTED} cannot be installed: {problem}"
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    if started.returncode == 0:
        return None
    return f"{WANTED} cannot be installed: {words or f'pip ended with exit code {started.returncode}'}"


def last_words(pipe):
    """Passes on what comes; the last of it that is told as an error, or else the last of it."""
    last = error = before = ""
    while line := pipe.readline(PIECE):
        os.write(2, line)
        text = line.decode("utf-8", "replace").strip()
        last = text or last
        if text.startswith("ERROR: "):
            error = text.removeprefix("ERROR: ")
        elif "connection broken by" in text:
            # What pip says in the end is that there is no such package.
            before = "pip cannot reach the index of packages, and says: "
    return before + (error or last)


def trace(problem):
    """The frames of the launcher are nobody's business."""
    frames = problem.__traceback__
    while frames and frames.tb_frame.f_code.co_filename.startswith(("<stdin>", "<frozen importlib")):
        frames = frames.tb_next
    traceback.print_exception(type(problem), problem, frames)


def is_for_want(problem, task):
    """Whether what was not installed may be the reason: of what is imported an error has the name."""
    return bool(task["lacks"]) and isinstance(problem, ImportError) and problem.name is not None


def why(problem, task):
    """What went wrong, or what was not installed where it may be for that."""
    reason = f"{type(problem).__name__}: {problem}"
    return f"{task['lacks']} ({reason})" if is_for_want(problem, task) else reason


def attempt(otherwise, task, call, *given):
    """What a call gives, or what `otherwise` makes of its exception, which nothing keeps then, nor what its frames have.
    By itself: an interpreter without memory spins for ever where a handler begins after a function's 256th instruction
    (python/cpython#132508)."""
    try:
        return call(*given)
    except Exception as problem:
        release(problem)
        return otherwise(problem, task)


def release(problem):
    """Gives back what a function has filled its memory with, which the frames of the trace keep: the trace is still to
    be printed. Generators among them run to their end. The exceptions before may be in a circle."""
    for _ in range(16):
        if problem is None:
            break
        frames = problem.__traceback__
        while frames is not None and isinstance(problem, MemoryError):
            clear(frames.tb_frame)
            frames = frames.tb_next
        problem = problem.__context__


def clear(frame):
    try:
        frame.clear()
    except Exception:
        # It is running, or there is no memory to say so.
        pass


def answer(function, task):
    """Calls the function; the frame that says what came of it."""
    return attempt(unanswered, task, outcome, function, task)


def outcome(function, task):
    function.tell(task["told"])
    if function.call is None:
        loaded = attempt(not_loaded, task, function.load)
        if isinstance(loaded, Failed):
            return loaded
    result = attempt(raised, task, function.call, task["input"])
    if isinstance(result, Failed):
        return result
    run, worker = task["run"], task["worker"]
    if not isinstance(result, (dict, list, tuple)):
        return failed(run, worker, NO_RESULT)
    output = encode(result).encode()
    if len(output) > OUTPUT_LIMIT:
        return failed(run, worker, "the output is larger than 16 MiB as JSON")
    head = {"event": "worker-succeeded", "run": run, "worker": worker, "at": time.time_ns() // 1000}
    return frame(encode(head)[:-1].encode() + b',"output":' + output + b"}")


def not_loaded(problem, task):
    trace(problem)
    return failed(task["run"], task["worker"], f"{NOT_INITIALISED}: {why(problem, task)}")


def raised(problem, task):
    trace(problem)
    # Another pack tries once more to have what this one lacks.
    if "flare_id" in task["told"] or is_for_want(problem, task):
        return failed(task["run"], task["worker"], why(problem, task))
    # An activation's result, as OpenWhisk has it. Of some, such as `MemoryError`, there is nothing but the name.
    return {"error": str(problem) or type(problem).__name__}


def unanswered(problem, task):
    if isinstance(problem, MemoryError):
        message = f"{type(problem).__name__}: there is no memory left to say what came of it"
    else:
        message = f"The action did not return what can be JSON: {problem}"
    return failed(task["run"], task["worker"], message)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            # The function has closed or replaced it.
            pass


def perform(function, task, channel):
    """Runs a worker; whoever the function has made of this process says nothing."""
    process = os.getpid()
    try:
        result = answer(function, task)
    except SystemExit as end:
        code = end.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
        leave(0 if code is None else code & 0xFF if isinstance(code, int) else 1, process, task, channel)
    except BaseException as problem:
        trace(problem)
        leave(1, process, task, channel)
    flush()
    if os.getpid() != process:
        os._exit(0)
    return result


def leave(code, process, task, channel):
    flush()
    if os.getpid() == process and channel is not None:
        channel.send(frame({"event": "dying", "run": task["run"], "worker": task["worker"], "signal": None}))
    os._exit(code)


class Lines:
    """What a worker's process writes to one of its pipes, as the events of its log."""

    def __init__(self, pipe, stream):
        os.set_blocking(pipe, False)
        self.pipe, self.stream, self.rest = pipe, stream, b""

    def fileno(self):
        return self.pipe

    def read(self):
        """What is there now: nothing at the end, none where there is none yet."""
        try:
            return os.read(self.pipe, PIECE)
        except BlockingIOError:
            return None

    def take(self, data, run, worker):
        whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
        if newline or len(self.rest) < PIECE:
            return [self.said(whole, run, worker)] if newline else []
        return self.finish(run, worker)

    def finish(self, run, worker):
        rest, self.rest = self.rest, b""
        return [self.said(rest, run, worker)] if rest else []

    def said(self, lines, run, worker):
        text = lines.decode("utf-8", "replace")
        return event("log", run, worker=worker, stream=self.stream, text=text)


class Worker:
    """A process that runs one worker of a pack, from flare to flare."""

    def __init__(self, function, inherited):
        ours, theirs = socket.socketpair()
        pipes = [os.pipe() for _ in STREAMS]
        flush()
        self.process = os.fork()
        if self.process == 0:
            for channel in inherited:
                channel.socket.close()
            ours.close()
            for descriptor, (reader, writer) in enumerate(pipes, 1):
                os.dup2(writer, descriptor)
                os.close(reader)
                os.close(writer)
            work(function, Channel(theirs.detach()))
        theirs.close()
        for _, writer in pipes:
            os.close(writer)
        self.channel = Channel(ours.detach())
        self.pipes = [Lines(reader, stream) for (reader, _), stream in zip(pipes, STREAMS)]
        self.number = None

    def rest(self, run):
        """What it has written and nobody has read. Bounded, as what it has started may write for ever."""
        said = []
        for lines in self.pipes:
            for _ in range(64):
                if not (data := lines.read()):
                    break
                said += lines.take(data, run, self.number)
            said += lines.finish(run, self.number)
        return said

    def has_ended(self):
        return os.waitpid(self.process, os.WNOHANG)[0] != 0

    def forget(self, selector):
        for end in (self.channel, *self.pipes):
            try:
                selector.unregister(end)
            except KeyError:
                # A pipe that the function has closed.
                pass
        self.channel.socket.close()
        for lines in self.pipes:
            os.close(lines.fileno())


def work(function, channel):
    """The life of a worker's process, which ends with its pack's."""
    import ctypes

    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        while (task := channel.receive()) is not None:
            channel.send(perform(function, task, None))
    finally:
        os._exit(0)


class Pack:
    """A pack of several workers."""

    def __init__(self, function, control):
        self.function, self.control = function, control
        self.workers = []
        self.selector = selectors.DefaultSelector()

    def make_ready(self, size):
        """Has a process for each worker; none stays that has ended since the last flare."""
        for worker in [worker for worker in self.workers if worker.has_ended()]:
            worker.forget(self.selector)
            self.workers.remove(worker)
        while len(self.workers) < size:
            worker = Worker(self.function, [self.control, *(other.channel for other in self.workers)])
            self.selector.register(worker.channel, selectors.EVENT_READ, worker)
            for lines in worker.pipes:
                self.selector.register(lines, selectors.EVENT_READ, worker)
            self.workers.append(worker)

    def run(self, run, tasks):
        """Until all workers have ended, or this process ends as one of theirs has."""
        for worker in self.workers:
            # What was said since the last flare is of none.
            worker.rest(run)
            worker.number = None
        for worker, task in zip(self.workers, tasks):
            worker.number = task["worker"]
            worker.channel.send(frame(task))
        left = len(tasks)
        while left:
            for key, _ in self.selector.select():
                worker, end = key.data, key.fileobj
                if isinstance(end, Lines):
                    self.pass_on(worker, end, run)
                elif not end.fill():
                    self.end_like(worker, run)
                elif (told := end.next()) is not None and worker.number is not None:
                    self.control.send(*worker.rest(run), HEADER.pack(len(told)), told)
                    worker.number = None
                    left -= 1

    def pass_on(self, worker, lines, run):
        data = lines.read()
        if data == b"":
            self.selector.unregister(lines)
        elif data and worker.number is not None:
            self.control.send(*lines.take(data, run, worker.number))

    def end_like(self, worker, run):
        """A worker that ends its process ends its pack's, as it would with threads."""
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        told = -status if -status in DYING else None
        dying = {"event": "dying", "run": run, "worker": worker.number, "signal": told}
        self.control.send(*worker.rest(run), frame(dying))
        if status < 0:
            if -status != signal.SIGKILL:
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status & 0xFF)


def tasks_of(command):
    """What each worker of this pack is to do."""
    sizes, inputs = command["packSizes"], command["inputs"]
    size, first = sizes[command["pack"]], sum(sizes[: command["pack"]])
    told = {"deadline": str(command["deadline"] // 1000), **command.get("invocation", {})}
    inputs = inputs["each"] if "each" in inputs else [inputs["shared"]] * size
    run = command["run"]
    return [
        {"run": run, "worker": first + index, "input": value, "told": {**told, **traced(command, index)}}
        for index, value in enumerate(inputs)
    ]


def traced(command, index):
    """Where a worker of this pack is in the flare's trace."""
    trace = command.get("trace")
    if not trace:
        return {}
    sampled = "01" if trace["sampled"] else "00"
    return {"traceparent": f"00-{trace['id']}-{trace['workers'][index]}-{sampled}"}


def begin(control, command, tasks):
    """Says that the pack is ready; whether it is to run."""
    run = command["run"]
    started = [event("worker-started", run, worker=task["worker"]) for task in tasks]
    ready = event("ready", run, endpoint=None)
    if command["autostart"]:
        control.send(ready, *started)
        return True
    control.send(ready)
    order = control.receive()
    if order is None:
        os._exit(0)
    if order["command"] == "start":
        control.send(*started)
        return True
    error = order["error"]
    for task in tasks:
        message, kind = error.get("message", ""), error.get("kind", "error")
        control.send(failed(run, task["worker"], message, kind))
    control.send(event("pack-ended", run, reusable=False, error=error))
    return False


def serve(control, function):
    control.send(frame({"event": "hello", "sdk": "python"}))
    pack = Pack(function, control)
    while (command := control.receive()) is not None:
        if command["command"] != "run":
            # An abort that crossed the end of its flare.
            continue
        tasks = tasks_of(command)
        if len(tasks) > 1:
            pack.make_ready(len(tasks))
        if not begin(control, command, tasks):
            continue
        ends = []
        lacks = function.complete()
        for task in tasks:
            task["lacks"] = lacks
        if len(tasks) > 1:
            pack.run(command["run"], tasks)
        else:
            ends.append(perform(function, tasks[0], control))
        control.send(*ends, event("pack-ended", command["run"], reusable=True, error=None))


def start():
    descriptor = int(os.environ.pop("BURST_CONTROL_FD"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # Packages are read-only.
    sys.dont_write_bytecode = True
    control = Channel(descriptor)
    if (init := control.receive()) is not None:
        os.chdir(init["directory"])
        serve(control, Function(init))
    os._exit(0)


start()
