// A part of Node's launcher (serve.js): what it says to the runtime, and how that goes over a control socket.

const fs = require('fs');

const HEADER = 4;
// What is said at once: a frame has its limit.
const PIECE = 256 * 1024;
// How long, in milliseconds, is waited for room: at first, at most, and by a process that ends.
const ROOM = { soon: 1, late: 50, last: 250 };

const now = () => Date.now() * 1000;

// Numbers of runs have 64 bits, which Node's have not: they are texts here.
const event = (name, run, fields = '') => `{"event":"${name}","run":${run}${fields},"at":${now()}}`;
const ofWorker = (name, { run, worker }, fields = '') => event(name, run, `,"worker":${worker}${fields}`);
const ended = (run, fields) => event('pack-ended', run, `,"reusable":${fields}`);
const dying = ({ run, worker }) => `{"event":"dying","run":${run},"worker":${worker},"signal":null}`;

function failed(task, message, kind = 'error') {
  const error = JSON.stringify({ kind, message: wellFormed(String(message).slice(0, RUNTIME.messageLimit)), operation: 'work' });
  return ofWorker('worker-failed', task, `,"error":${error}`);
}

/** Without halves of characters, which no JSON has. */
const wellFormed = (text) => Buffer.from(text).toString();

/** Each a length and then JSON. */
function frames(texts) {
  const bodies = texts.map((text) => Buffer.from(text));
  return Buffer.concat(bodies.flatMap((body) => [header(body.length), body]));
}

function header(length) {
  const head = Buffer.allocUnsafe(HEADER);
  head.writeUInt32LE(length);
  return head;
}

/** A control socket that is waited for, also by several threads, which take turns, a frame at a time. */
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

  /** Waits for the next frame; none when the other end is closed. */
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

/** A control socket that nothing stands still for, as functions run that others have called. */
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

  /** What there is no room for waits here. */
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
        // Node does not tell when there is room again.
        this.patience = sent > 0 ? ROOM.soon : Math.min(2 * this.patience, ROOM.late);
        setTimeout(() => this.flush(), this.patience);
        return;
      }
      this.unsent.shift();
    }
  }

  /** Says it before the process ends, unless nobody reads it. */
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

/** Writes all of it, also to what does not wait by itself. */
function writeAll(descriptor, bytes) {
  for (let written = 0; written < bytes.length; ) {
    const sent = writeSome(descriptor, bytes.subarray(written));
    if (sent === 0) pause();
    written += sent;
  }
}

const pause = () => Atomics.wait(PAUSE, 0, 0, 1);
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** What the function prints in one run, as events of its worker. */
class Log {
  constructor(control, task) {
    this.control = control;
    this.task = task;
    // The runtime leaves out what is more, and says so; it may be told of more.
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

  /** A line that has no end yet. */
  flush(stream) {
    if (this.begun[stream]) this.say(stream, this.begun[stream]);
    this.begun[stream] = '';
  }

  end() {
    for (const stream in this.begun) this.flush(stream);
  }

  /** Up to the first piece that is more than the runtime takes. */
  say(stream, lines) {
    for (let from = 0; (from === 0 || from < lines.length) && this.room >= 0; ) {
      const piece = lines.slice(from, endOfPiece(lines, from));
      from += piece.length || 1;
      this.room -= piece.length + RUNTIME.lineCost;
      this.control.send(ofWorker('log', this.task, `,"stream":"${stream}","text":${JSON.stringify(piece)}`));
    }
  }
}

/** Not between the two halves of a character. */
function endOfPiece(text, from) {
  const end = from + PIECE;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

/** What is printed goes this way: at once, as Node's own streams write while nothing of the user's runs. */
function redirect(stream, say) {
  process[stream].write = (chunk, encoding, done) => {
    const named = typeof encoding === 'string' ? encoding : 'utf8';
    say(typeof chunk === 'string' ? Buffer.from(chunk, named) : Buffer.from(chunk));
    const after = typeof encoding === 'function' ? encoding : done;
    if (after) process.nextTick(after);
    return true;
  };
}

/** To the log of whoever prints, or to the process's own output where nobody knows who that is. */
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
