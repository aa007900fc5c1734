// Runs functions of Node as OpenWhisk has them, and speaks the runtime's control protocol for them
// (docs/architecture/program.md). The runtime hands it to Node on standard input, with the name of the function.
//
// A pack of one worker is this thread. For more it starts a thread for each, which stays for the next flare. The control
// socket is read and written as a file: between flares nothing of the user's runs.

'use strict';

const fs = require('fs');
const path = require('path');
const util = require('util');
const vm = require('vm');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');
const threads = require('worker_threads');

const HEADER = 4;
const OUTPUT_LIMIT = 16 * 1024 * 1024;
const NO_RESULT = 'The action did not return a dictionary or array.';
// Long enough for a timer that is only there so that Node does not end.
const FOREVER = 2 ** 31 - 1;

const now = () => Date.now() * 1000;

/** Frames over a socket, each a length and then JSON. Threads take turns, a frame at a time. */
class Channel {
  constructor(descriptor, turn) {
    this.descriptor = descriptor;
    this.turn = new Int32Array(turn);
  }

  send(...texts) {
    const bodies = texts.map((text) => Buffer.from(text));
    const frames = Buffer.concat(bodies.flatMap((body) => [header(body.length), body]));
    while (Atomics.compareExchange(this.turn, 0, 0, 1) !== 0) Atomics.wait(this.turn, 0, 1);
    try {
      for (let sent = 0; sent < frames.length; ) sent += fs.writeSync(this.descriptor, frames, sent);
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

function header(length) {
  const head = Buffer.allocUnsafe(HEADER);
  head.writeUInt32LE(length);
  return head;
}

// Numbers of runs have 64 bits, which Node's have not: they are texts here.
const event = (name, run, fields = '') => `{"event":"${name}","run":${run}${fields},"at":${now()}}`;
const ofWorker = (name, { run, worker }, fields = '') => event(name, run, `,"worker":${worker}${fields}`);

function failed(task, message, kind = 'error') {
  const error = JSON.stringify({ kind, message: String(message).slice(0, 4000), operation: 'work' });
  return ofWorker('worker-failed', task, `,"error":${error}`);
}

/** The user's function, loaded when it is first called. */
class UserFunction {
  constructor(name) {
    this.name = name;
    this.told = [];
  }

  async load() {
    if (!/^[\w$]+(\.[\w$]+)*$/.test(this.name)) throw new Error(`'${this.name}' is no name of a function`);
    const isSource = fs.existsSync('source') && !isPackage();
    const found = isSource ? this.ofSource(path.resolve('source')) : await this.ofPackage();
    if (typeof found !== 'function') throw new Error(`there is no function '${this.name}'`);
    this.call = found;
  }

  ofSource(file) {
    const text = fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '').replace(/^#!/, '//');
    const find = `;try { return ${this.name} } catch (problem) {
      if (problem instanceof ReferenceError) return module.exports.${this.name};
      throw problem;
    }`;
    const names = ['exports', 'require', 'module', '__filename', '__dirname'];
    const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    const options = { filename: file, ...(importModuleDynamically && { importModuleDynamically }) };
    // By itself first: an error is not to be about what is added.
    vm.compileFunction(text, names, options);
    const main = vm.compileFunction(`${text}\n${find}`, names, options);
    const module = { exports: {} };
    return main.call(module.exports, module.exports, createRequire(file), module, file, path.dirname(file));
  }

  async ofPackage() {
    const parts = this.name.split('.');
    if (parts.length < 2 && !isPackage()) {
      throw new Error('Zipped actions must contain either package.json or index.js at the root.');
    }
    const file = parts.length < 2 ? process.cwd() : path.resolve(parts.shift());
    const require = createRequire(path.join(process.cwd(), 'index.js'));
    let module;
    try {
      module = require(file);
    } catch (problem) {
      if (problem.code !== 'ERR_REQUIRE_ESM') throw problem;
      module = await import(pathToFileURL(require.resolve(file)));
    }
    return parts.reduce((found, name) => found?.[name], module);
  }

  /** Says, by environment variables, which run this is. */
  tell(told) {
    for (const name of this.told) delete process.env[name];
    const names = Object.keys(told).map((name) => [`__OW_${name.toUpperCase()}`, told[name]]);
    if (told.traceparent) names.push(['TRACEPARENT', told.traceparent]);
    names.forEach(([name, value]) => (process.env[name] = value));
    this.told = names.map(([name]) => name);
  }
}

const isPackage = () => fs.existsSync('package.json') || fs.existsSync('index.js');

/** Calls the function; the event that says what came of it. */
async function answer(func, task) {
  func.tell(task.told);
  if (!func.call) {
    try {
      await func.load();
    } catch (problem) {
      show(problem);
      return failed(task, `Initialization has failed due to: ${problem}`);
    }
  }
  let promised;
  try {
    const { call } = func;
    promised = call(task.input);
  } catch (problem) {
    show(problem);
    return failed(task, `An error has occurred: ${problem}`);
  }
  let result;
  try {
    result = await promised;
    if (result === undefined) result = {};
  } catch (problem) {
    if (problem instanceof Error) show(problem);
    if ('flare_id' in task.told) return failed(task, problem instanceof Error ? problem : util.inspect(problem));
    // An activation's result, as OpenWhisk has it.
    result = { error: problem ? plain(problem) : {} };
  }
  if (typeof result !== 'object' || result === null) return failed(task, NO_RESULT);
  let output;
  try {
    output = JSON.stringify(result);
  } catch (problem) {
    return failed(task, `The action did not return what can be JSON: ${problem.message}`);
  }
  if (!/^[{[]/.test(output)) return failed(task, NO_RESULT);
  if (Buffer.byteLength(output) > OUTPUT_LIMIT) return failed(task, 'the output is larger than 16 MiB as JSON');
  return ofWorker('worker-succeeded', task, `,"output":${output}`);
}

/** Shows an error and where it came from, which is nowhere here. */
function show(problem) {
  if (typeof problem?.stack === 'string') {
    const ours = /\((?:\[stdin\]|\[worker eval\]|node:internal)|at (?:\[stdin\]|\[worker eval\]|node:internal)/;
    problem.stack = problem.stack.split('\n').filter((line) => !ours.test(line)).join('\n');
  }
  console.error(problem);
}

/** What an error is as JSON, which shows nothing of it otherwise. */
function plain(problem) {
  if (!(problem instanceof Error)) return problem;
  const { name, message, stack } = problem;
  return { name, message, stack, ...problem };
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

/** Writes all of it, also to a pipe that does not wait. */
function write(descriptor, bytes) {
  for (let written = 0; written < bytes.length; ) {
    try {
      written += fs.writeSync(descriptor, bytes, written);
    } catch (problem) {
      // The function has closed it.
      if (problem.code !== 'EAGAIN') return;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** Runs a worker to its end; its event. */
async function perform(func, task) {
  // A promise that nothing keeps waits for the deadline.
  const alive = setInterval(() => {}, FOREVER);
  try {
    return await answer(func, task);
  } catch (problem) {
    return failed(task, `An error has occurred: ${util.inspect(problem)}`);
  } finally {
    clearInterval(alive);
  }
}

/** What each worker of this pack is to do. */
function tasksOf(command, run) {
  const { pack, packSizes, inputs, deadline, invocation = {} } = command;
  const first = packSizes.slice(0, pack).reduce((sum, size) => sum + size, 0);
  const told = { deadline: String(Math.floor(deadline / 1000)), ...invocation };
  const input = (index) => (inputs.each ? inputs.each[index] : inputs.shared);
  return Array.from({ length: packSizes[pack] }, (_, index) => ({
    run,
    worker: first + index,
    input: input(index),
    told: { ...told, ...traced(command, index) },
  }));
}

/** Where a worker of this pack is in the flare's trace. */
function traced({ trace }, index) {
  if (!trace) return {};
  return { traceparent: `00-${trace.id}-${trace.workers[index]}-${trace.sampled ? '01' : '00'}` };
}

/** Says that the pack is ready; whether it is to run. */
function begin(control, command, run, tasks) {
  const ready = event('ready', run, ',"endpoint":null');
  const started = tasks.map((task) => ofWorker('worker-started', task));
  if (command.autostart) {
    control.send(ready, ...started);
    return true;
  }
  control.send(ready);
  const text = control.receive();
  if (text === null) process.exit();
  const order = JSON.parse(text);
  if (order.command === 'start') {
    control.send(...started);
    return true;
  }
  const { error } = order;
  control.send(...tasks.map((task) => failed(task, error.message, error.kind)));
  control.send(event('pack-ended', run, `,"reusable":false,"error":${JSON.stringify(error)}`));
  return false;
}

/** A pack of several workers. */
class Pack {
  constructor(control, launcher) {
    this.control = control;
    this.launcher = launcher;
    this.workers = [];
  }

  run(tasks, dying) {
    while (this.workers.length < tasks.length) this.workers.push(this.start());
    const ends = tasks.map((task, index) => {
      const worker = this.workers[index];
      return new Promise((resolve) => {
        worker.removeAllListeners();
        worker.once('message', resolve);
        worker.once('error', (problem) => {
          show(problem);
          dying(task);
          process.exit(1);
        });
        worker.once('exit', (code) => {
          dying(task);
          process.exit(code);
        });
        worker.postMessage(task);
      });
    });
    return Promise.all(ends);
  }

  start() {
    const { descriptor, turn } = this.control;
    const workerData = { descriptor, turn: turn.buffer, name: process.argv[2] };
    return new threads.Worker(this.launcher, { eval: true, workerData });
  }
}

/** The life of a worker's thread: it says by itself what it prints, and how it ends. */
function work({ descriptor, turn, name }) {
  const control = new Channel(descriptor, turn);
  const func = new UserFunction(name);
  let current;
  for (const stream of ['stdout', 'stderr']) {
    let rest = '';
    redirect(stream, (bytes) => {
      const lines = (rest + bytes).split('\n');
      rest = lines.pop();
      say(stream, lines);
    });
    flushes.push(() => {
      if (rest) say(stream, [rest]);
      rest = '';
    });
  }
  function say(stream, lines) {
    if (!current || lines.length === 0) return;
    const whole = lines.join('\n');
    for (let from = 0; from === 0 || from < whole.length; from += PIECE) {
      const text = JSON.stringify(whole.slice(from, from + PIECE));
      control.send(ofWorker('log', current, `,"stream":"${stream}","text":${text}`));
    }
  }
  threads.parentPort.on('message', async (task) => {
    current = task;
    const end = await perform(func, task);
    flushes.forEach((flush) => flush());
    current = undefined;
    control.send(end);
    threads.parentPort.postMessage(null);
  });
}

const flushes = [];
// What is said at once: a frame has its limit.
const PIECE = 256 * 1024;

async function serve() {
  const descriptor = Number(process.env.BURST_CONTROL_FD);
  delete process.env.BURST_CONTROL_FD;
  const control = new Channel(descriptor, new SharedArrayBuffer(4));
  const func = new UserFunction(process.argv[2]);
  // The text of this program, for its threads.
  const launcher = Buffer.allocUnsafe(fs.fstatSync(0).size);
  fs.readSync(0, launcher, 0, launcher.length, 0);
  redirect('stdout', (bytes) => write(1, bytes));
  redirect('stderr', (bytes) => write(2, bytes));
  const pack = new Pack(control, launcher.toString());
  let current;
  const dying = ({ run, worker }) => {
    process.removeListener('exit', last);
    control.send(`{"event":"dying","run":${run},"worker":${worker},"signal":null}`);
  };
  const last = () => current && dying(current);
  process.on('exit', last);
  control.send('{"event":"hello","sdk":"nodejs"}');
  for (let text; (text = control.receive()) !== null; ) {
    const command = JSON.parse(text);
    // An abort may cross the end of its flare.
    if (command.command !== 'run') continue;
    const run = /^\{"command":"run","run":(\d+)/.exec(text)[1];
    const tasks = tasksOf(command, run);
    if (!begin(control, command, run, tasks)) continue;
    const ends = [];
    if (tasks.length === 1) {
      [current] = tasks;
      ends.push(await perform(func, current));
      current = undefined;
    } else {
      await pack.run(tasks, dying);
    }
    control.send(...ends, event('pack-ended', run, ',"reusable":true,"error":null'));
  }
  process.exit();
}

if (threads.isMainThread) serve();
else work(threads.workerData);
