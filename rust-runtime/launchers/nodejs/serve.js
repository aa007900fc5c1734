// Runs functions for Node as in OpenWhisk, and speaks the runtime's control protocol for them
// (docs/architecture/program.md). The runtime passes it, preceded by its other parts, to Node on standard input, and
// names the function and its directory in the first frame, for which it may have to wait: whatever does not depend on
// that is done before. The first line, RUNTIME, has the values shared with the runtime (server/src/launcher.rs).
//
// A pack of one worker is this thread, which then has nothing else to do: the control socket is read and written as a
// file, and between flares no code of the user runs. For more workers it starts a thread for each, which stays for
// the next flare. Concurrent calls have a lane each, and share this thread (ADR 0083).

const threads = require('worker_threads');

/** The tasks of this pack's workers. */
function tasksOf(command, run) {
  const { pack, packSizes, inputs, deadline, invocation = {}, logLimit = 0 } = command;
  const first = packSizes.slice(0, pack).reduce((sum, size) => sum + size, 0);
  const told = { deadline: String(Math.floor(deadline / 1000)), ...invocation };
  const input = (index) => (inputs.each ? inputs.each[index] : inputs.shared);
  return Array.from({ length: packSizes[pack] }, (_, index) => ({
    run,
    worker: first + index,
    input: input(index),
    logLimit,
    told: { ...told, ...traced(command, index) },
  }));
}

/** The place of a worker of this pack in the flare's trace. */
function traced({ trace }, index) {
  if (!trace) return {};
  return { traceparent: `00-${trace.id}-${trace.workers[index]}-${trace.sampled ? '01' : '00'}` };
}

/** Reports that the pack is ready; returns whether to run it. */
async function begin(control, command, run, tasks) {
  const ready = event('ready', run, ',"endpoint":null');
  const started = tasks.map((task) => ofWorker('worker-started', task));
  if (command.autostart) {
    control.send(ready, ...started);
    return true;
  }
  control.send(ready);
  const text = await control.receive();
  if (text === null) process.exit();
  const order = JSON.parse(text);
  if (order.command === 'start') {
    control.send(...started);
    return true;
  }
  const { error } = order;
  control.send(...tasks.map((task) => failed(task, error.message, error.kind)));
  control.send(ended(run, `false,"error":${JSON.stringify(error)}`));
  return false;
}

/** A pack of several workers. */
class Pack {
  constructor(channel, launcher, name) {
    this.channel = channel;
    this.launcher = launcher;
    this.name = name;
    this.workers = [];
  }

  async run(tasks) {
    while (this.workers.length < tasks.length) this.workers.push(this.start());
    await Promise.all(tasks.map((task, index) => this.work(this.workers[index], task)));
  }

  work(worker, task) {
    const end = (code) => {
      this.channel.send(dying(task));
      process.exit(code);
    };
    return new Promise((resolve) => {
      worker.removeAllListeners();
      worker.once('message', resolve);
      worker.once('error', (problem) => {
        show(problem);
        end(1);
      });
      worker.once('exit', end);
      worker.postMessage(task);
    });
  }

  start() {
    const { descriptor, turn } = this.channel;
    const workerData = { descriptor, turn: turn.buffer, name: this.name };
    return new threads.Worker(this.launcher, { eval: true, workerData });
  }
}

/** The life of a worker's thread, which reports its output and its end itself. */
function work({ descriptor, turn, name }) {
  const channel = new Channel(descriptor, turn);
  const func = new UserFunction(name);
  let log;
  redirectAll(() => log);
  threads.parentPort.on('message', async (task) => {
    log = new Log(channel, task);
    func.tell(task.told);
    const end = await perform(func, task);
    log.end();
    log = undefined;
    channel.send(end);
    threads.parentPort.postMessage(null);
  });
}

/** Waits for the function's name, enters its directory, and sends the hello. */
function introduce(channel) {
  const text = channel.receive();
  if (text === null) process.exit();
  const init = JSON.parse(text);
  process.chdir(init.directory);
  channel.send('{"event":"hello","sdk":"nodejs"}');
  return init;
}

/** Takes flares from a control socket, one after the other, until it is closed. */
async function take(control, init, pack, run) {
  for (let text; (text = await control.receive()) !== null; ) {
    const command = JSON.parse(text);
    // An abort may arrive after the end of its flare.
    if (command.command !== 'run') continue;
    const number = /^\{"command":"run","run":(\d+)/.exec(text)[1];
    const tasks = tasksOf(command, number);
    if (!(await begin(control, command, number, tasks))) continue;
    const ends = [];
    const lacks = await complete(init);
    for (const task of tasks) task.lacks = lacks;
    if (tasks.length === 1) ends.push(await run(tasks[0]));
    else await pack.run(tasks);
    control.send(...ends, ended(number, 'true,"error":null'));
  }
  process.exit();
}

/** One flare at a time. */
function serveOne(channel, launcher) {
  let current;
  redirectAll(() => undefined);
  process.on('exit', () => current && channel.send(dying(current)));
  const init = introduce(channel);
  const func = new UserFunction(init.main);
  return take(channel, init, new Pack(channel, launcher, init.main), async (task) => {
    current = task;
    func.tell(task.told);
    const end = await perform(func, task);
    current = undefined;
    return end;
  });
}

/** Concurrent flares of one worker: a call is recognised by its asynchronous context. */
function serveSeveral(channel, launcher, descriptors) {
  const { AsyncLocalStorage } = require('async_hooks');
  const calls = new AsyncLocalStorage();
  const running = new Set();
  const current = () => {
    const call = calls.getStore();
    return running.has(call) ? call : undefined;
  };
  redirectAll(() => current()?.log);
  process.env = personal(process.env, () => calls.getStore()?.variables ?? {});
  process.on('exit', () => {
    const call = current();
    if (call) call.lane.sendLast(dying(call.task));
  });
  const init = introduce(channel);
  const func = new UserFunction(init.main);
  const pack = new Pack(channel, launcher, init.main);
  const run = (lane) => async (task) => {
    const call = { lane, task, log: new Log(lane, task), variables: variablesOf(task.told) };
    running.add(call);
    const end = await calls.run(call, perform, func, task);
    running.delete(call);
    call.log.end();
    return end;
  };
  for (const descriptor of descriptors) {
    const lane = new Lane(descriptor);
    take(lane, init, pack, run(lane));
  }
}

function serve() {
  const named = process.env.BURST_LANE_FDS ?? process.env.BURST_CONTROL_FD;
  const descriptors = named.split(',').map(Number);
  delete process.env.BURST_LANE_FDS;
  delete process.env.BURST_CONTROL_FD;
  // The text of this program, for its threads.
  const text = Buffer.allocUnsafe(fs.fstatSync(0).size);
  fs.readSync(0, text, 0, text.length, 0);
  const launcher = text.toString();
  const channel = new Channel(descriptors[0], new SharedArrayBuffer(4));
  if (descriptors.length === 1) serveOne(channel, launcher);
  else serveSeveral(channel, launcher, descriptors);
}

if (threads.isMainThread) serve();
else work(threads.workerData);
