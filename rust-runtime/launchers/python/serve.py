# The last part of Python's launcher (control.py): runs flares, with a process for each worker.

import os
import selectors
import signal
import socket
import sys

STREAMS = ("stdout", "stderr")
PR_SET_PDEATHSIG = 1


def leave(code, process, task, channel):
    flush()
    if os.getpid() == process and channel is not None:
        channel.send(frame({"event": "dying", "run": task["run"], "worker": task["worker"], "signal": None}))
    os._exit(code)


class Lines:
    """The output of a worker's process on one of its pipes, as events of its log."""

    def __init__(self, pipe, stream):
        os.set_blocking(pipe, False)
        self.pipe, self.stream, self.rest = pipe, stream, b""

    def fileno(self):
        return self.pipe

    def read(self):
        """The available bytes: empty at the end, none if there are none yet."""
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
        """The output that was not read yet. Bounded, as processes that it has started may write forever."""
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
    """The life of a worker's process, which ends with its pack."""
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
        """Starts a process for each worker, and replaces those that have ended since the last flare."""
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
        """Runs until all workers have ended, or this process ends because one of theirs has."""
        for worker in self.workers:
            # Output since the last flare belongs to no worker.
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
        """A worker that ends its process ends its pack's process as well, as with threads."""
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        told = -status if -status in RUNTIME["dyingSignals"] else None
        dying = {"event": "dying", "run": run, "worker": worker.number, "signal": told}
        self.control.send(*worker.rest(run), frame(dying))
        if status < 0:
            if -status != signal.SIGKILL:
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status & 0xFF)


def tasks_of(command):
    """The tasks of this pack's workers."""
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
    """The place of a worker of this pack in the flare's trace."""
    trace = command.get("trace")
    if not trace:
        return {}
    sampled = "01" if trace["sampled"] else "00"
    return {"traceparent": f"00-{trace['id']}-{trace['workers'][index]}-{sampled}"}


def begin(control, command, tasks):
    """Reports that the pack is ready; returns whether to run it."""
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
            # An abort that arrived after the end of its flare.
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
