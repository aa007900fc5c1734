// A part of Node's launcher (serve.js): what it reports to the runtime, and how that is sent over a control socket.

const fs = require('fs');

const HEADER = 4;
// The longest text in one event: the size of frames is limited.
const PIECE = 256 * 1024;
// How long to wait for room, in milliseconds: at first, at most, and in a process that is ending.
const ROOM = { soon: 1, late: 50, last: 250 };

const now = () => Date.now() * 1000;

// Run numbers have 64 bits, too many for Node's numbers: they are strings here.
const event = (name, run, fields = '') => `{"event":"${name}","run":${run}${fields},"at":${now()}}`;
const ofWorker = (name, { run, worker }, fields = '') => event(name, run, `,"worker":${worker}${fields}`);
const ended = (run, fields) => event('pack-ended', run, `,"reusable":${fields}`);
const dying = ({ run, worker }) => `{"event":"dying","run":${run},"worker":${worker},"signal":null}`;

function failed(task, message, kind = 'error') {
  const error = JSON.stringify({ kind, message: wellFormed(String(message).slice(0, RUNTIME.messageLimit)), operation: 'work' });
  return ofWorker('worker-failed', task, `,"error":${error}`);
}

/** Without unpaired surrogates, which JSON cannot contain. */
const wellFormed = (text) => Buffer.from(text).toString();

/** Each frame is a length followed by JSON. */
function frames(texts) {
  const bodies = texts.map((text) => Buffer.from(text));
  return Buffer.concat(bodies.flatMap((body) => [header(body.length), body]));
}

function header(length) {
  const head = Buffer.allocUnsafe(HEADER);
  head.writeUInt32LE(length);
  return head;
}

/** A control socket whose calls block; several threads may share it, and take turns, a frame at a time. */
class Channel {
  constructor(descriptor, turn) {
    this.descriptor = descriptor;
    this.turn = new Int32Array(turn);
  }

  send(...texts) {
    const bytes = frames(texts);
    while (Atomics.compareExchange(this.turn, 0, 0, 1) !== 0) Atomics.wait(this.turn, 0, 1);
    try {
      writeAll(this.descriptor, bytes);
    } finally {
      Atomics.store(this.turn, 0, 0);
      Atomics.notify(this.turn, 0, 1);
    }
  }

  /** Waits for the next frame; returns null when the other end is closed. */
  receive() {
    const head = this.exactly(HEADER);
    return head && this.exactly(head.readUInt32LE(0)).toString();
  }

  exactly(length) {
    const bytes = Buffer.allocUnsafe(length);
    for (let got = 0; got < length; ) {
      const read = fs.readSync(this.descriptor, bytes, got, length - got, null);
      if (read === 0) return null;
      got += read;
    }
    return bytes;
  }
}

/** A control socket whose calls do not block, as functions of other calls run in the meantime. */
class Lane {
  constructor(descriptor) {
    const { Socket } = require('net');
    this.descriptor = descriptor;
    this.unsent = [];
    this.patience = ROOM.soon;
    this.socket = new Socket({ fd: descriptor });
    this.socket.on('readable', () => this.wake?.());
    for (const end of ['end', 'error']) this.socket.on(end, () => process.exit());
  }

  /** Bytes for which there is no room yet wait here. */
  send(...texts) {
    this.unsent.push(frames(texts));
    if (this.unsent.length === 1) this.flush();
  }

  flush() {
    while (this.unsent.length > 0) {
      const [bytes] = this.unsent;
      const sent = writeSome(this.descriptor, bytes);
      if (sent < bytes.length) {
        this.unsent[0] = bytes.subarray(sent);
        // Node does not report when there is room again.
        this.patience = sent > 0 ? ROOM.soon : Math.min(2 * this.patience, ROOM.late);
        setTimeout(() => this.flush(), this.patience);
        return;
      }
      this.unsent.shift();
    }
  }

  /** Sends it before the process ends, unless nobody reads it. */
  sendLast(text) {
    this.send(text);
    for (let waited = 0; this.unsent.length > 0 && waited < ROOM.last; waited++) {
      pause();
      this.flush();
    }
  }

  /** Waits for the next frame. */
  async receive() {
    const head = await this.exactly(HEADER);
    return (await this.exactly(head.readUInt32LE(0))).toString();
  }

  async exactly(length) {
    for (;;) {
      const bytes = this.socket.read(length);
      if (bytes?.length === length) return bytes;
      await new Promise((resolve) => (this.wake = resolve));
    }
  }
}

/** Writes as much as there is room for. */
function writeSome(descriptor, bytes) {
  try {
    return fs.writeSync(descriptor, bytes);
  } catch (problem) {
    if (problem.code !== 'EAGAIN') throw problem;
    return 0;
  }
}

/** Writes all of it, even if the descriptor is non-blocking. */
function writeAll(descriptor, bytes) {
  for (let written = 0; written < bytes.length; ) {
    const sent = writeSome(descriptor, bytes.subarray(written));
    if (sent === 0) pause();
    written += sent;
  }
}

const pause = () => Atomics.wait(PAUSE, 0, 0, 1);
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** The function's output in one run, as events of its worker. */
class Log {
  constructor(control, task) {
    this.control = control;
    this.task = task;
    // The runtime drops what exceeds the limit and reports that, so sending more than that does no harm.
    this.room = Math.max(RUNTIME.logLimit, task.logLimit);
    this.begun = { stdout: '', stderr: '' };
  }

  print(stream, bytes) {
    const text = bytes.toString();
    const end = text.lastIndexOf('\n');
    if (end >= 0) this.say(stream, this.begun[stream] + text.slice(0, end));
    this.begun[stream] = end < 0 ? this.begun[stream] + text : text.slice(end + 1);
    if (this.begun[stream].length > PIECE) this.flush(stream);
  }

  /** A line that is not complete yet. */
  flush(stream) {
    if (this.begun[stream]) this.say(stream, this.begun[stream]);
    this.begun[stream] = '';
  }

  end() {
    for (const stream in this.begun) this.flush(stream);
  }

  /** Up to the first piece that exceeds the runtime's limit. */
  say(stream, lines) {
    for (let from = 0; (from === 0 || from < lines.length) && this.room >= 0; ) {
      const piece = lines.slice(from, endOfPiece(lines, from));
      from += piece.length || 1;
      this.room -= piece.length + RUNTIME.lineCost;
      this.control.send(ofWorker('log', this.task, `,"stream":"${stream}","text":${JSON.stringify(piece)}`));
    }
  }
}

/** Does not separate a surrogate pair. */
function endOfPiece(text, from) {
  const end = from + PIECE;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

/** Output is written here immediately: Node's own streams write only while no code of the user runs. */
function redirect(stream, say) {
  process[stream].write = (chunk, encoding, done) => {
    const named = typeof encoding === 'string' ? encoding : 'utf8';
    say(typeof chunk === 'string' ? Buffer.from(chunk, named) : Buffer.from(chunk));
    const after = typeof encoding === 'function' ? encoding : done;
    if (after) process.nextTick(after);
    return true;
  };
}

/** To the log of the call that prints, or to the process's own output if the call is not known. */
function redirectAll(log) {
  for (const [stream, descriptor] of [['stdout', 1], ['stderr', 2]]) {
    redirect(stream, (bytes) => {
      const own = log();
      if (own) return own.print(stream, bytes);
      try {
        writeAll(descriptor, bytes);
      } catch {
        // The function has closed it.
      }
    });
  }
}
