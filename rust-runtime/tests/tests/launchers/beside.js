// Performs the act in its argument, concurrently with other calls in its process.
const fs = require('fs');
const { EventEmitter } = require('events');
const { spawnSync } = require('child_process');

const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));

let inside = [];
/** Resolves once this many calls have come here. */
const meet = (of) =>
  new Promise((resolve) => {
    inside.push(resolve);
    if (inside.length < of) return;
    inside.forEach((go) => go());
    inside = [];
  });

// One for all calls, like a connection pool: the first call starts its timer, which runs all callbacks.
const pool = new EventEmitter();
let polling;
const ask = (back) => {
  pool.once('answer', back);
  polling ??= setInterval(() => pool.emit('answer'), 1);
};

const acts = {
  async meet({ n, of }) {
    console.log('in', n);
    await meet(of);
    await sleep(n % 3);
    console.error('out', n);
    return { n, process: process.pid, id: process.env.__OW_ACTIVATION_ID };
  },
  quiet: () => ({}),
  async variables() {
    process.env.SHARED = 'set';
    await meet(2);
    const { __OW_ACTIVATION_ID: own, SHARED: shared } = process.env;
    process.env.__OW_ACTION_NAME = 'mine';
    const child = spawnSync('sh', ['-c', 'echo $__OW_ACTIVATION_ID $__OW_ACTION_NAME']);
    delete process.env.__OW_ACTION_NAME;
    const listed = Object.keys(process.env).filter((name) => /^(__OW_|SHARED|BURST_)/.test(name));
    return { own, shared, listed, child: child.stdout.toString(), gone: process.env.__OW_ACTION_NAME ?? null };
  },
  stay: () => new Promise(() => console.log('staying')),
  exit: () => process.exit(3),
  thrown: () => new Promise(() => setTimeout(() => { throw new Error('later'); })),
  rejected: () => { Promise.reject(new Error('nobody cares')); return new Promise(() => {}); },
  spin() {
    for (;;);
  },
  fail() {
    throw new Error('at once');
  },
  async flood({ of }) {
    await meet(of);
    for (let round = 0; round < 40; round++) {
      for (let line = 0; line < 1000; line++) console.log('x'.repeat(round * 10));
      await sleep(0);
    }
    process.stdout.write('🙂'.repeat(1 << 20));
    return {};
  },
  async large() {
    return { x: 'x'.repeat(15 << 20) };
  },
  async pooled({ n, of }) {
    await meet(of);
    await new Promise((resolve) => ask(() => { console.log('asked', n); resolve(); }));
    console.log('answered', n);
    return { n };
  },
  haunt() {
    setInterval(() => console.log('x'.repeat(1 << 16)), 0);
    return {};
  },
  async native() {
    fs.writeSync(1, 'from below\n');
    return {};
  },
  async later() {
    setTimeout(() => console.log('afterwards'), 50);
    console.log('now');
    return {};
  },
  async until({ file }) {
    console.log('waiting');
    while (!fs.existsSync(file)) await sleep(1);
    return {};
  },
  lie({ to, bytes }) {
    fs.writeSync(to, Buffer.from(bytes));
    console.log('said');
    return new Promise(() => {});
  },
  close({ what }) {
    fs.closeSync(what);
    console.log('closed');
    return new Promise(() => {});
  },
};

function main(args) {
  return acts[args.act](args);
}
