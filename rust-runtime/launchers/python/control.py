"""Python's launcher: runs functions for Python as in OpenWhisk, and speaks the runtime's control protocol for them
(docs/architecture/program.md). Its parts in this directory follow each other: this one, function.py, serve.py.
The runtime passes it to the interpreter on standard input, and names the function and its directory in the first frame,
for which it may have to wait: whatever does not depend on that is done before. Its first line, RUNTIME, has the
values shared with the runtime (server/src/launcher.rs).

A pack of one worker is this process. For more it starts a process for each, which stays for the next flare, passes
their events on to the runtime, and runs no code of the user itself.
"""

import sys

# The working directory at the time of an import, which may change.
sys.path.pop(0)

import fcntl
import json
import os
import socket
import struct
import time

HEADER = struct.Struct("<I")
PIECE = 1 << 16

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def frame(text):
    data = text if isinstance(text, bytes) else encode(text).encode("utf-8", "replace")
    return HEADER.pack(len(data)) + data


def event(name, run, **fields):
    return frame({"event": name, "run": run, "at": time.time_ns() // 1000, **fields})


class Failed(bytes):
    """The frame that reports why a worker failed."""


def failed(run, worker, message, kind="error"):
    error = {"kind": kind, "message": message[: RUNTIME["messageLimit"]], "operation": "work"}
    return Failed(event("worker-failed", run, worker=worker, error=error))


class Channel:
    """Frames over a socket, each a length followed by JSON."""

    def __init__(self, descriptor):
        # At a number that a function's `os.close` does not hit by accident, and not open in processes it starts.
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
        """The next frame, if it has arrived completely."""
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
