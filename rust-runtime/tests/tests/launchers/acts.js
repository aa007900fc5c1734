// Performs the act in its argument.
const fs = require('fs');
const path = require('path');
const { execFileSync, spawn } = require('child_process');

let runs = 0;

const nest = (levels) => {
  let deep = {};
  for (let level = 0; level < levels; level++) deep = { x: deep };
  return deep;
};

const acts = {
  count({ x = null }) {
    console.log('out é');
    console.error('err');
    return { runs: ++runs, x };
  },
  variables: () => Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(__OW_.*|TRACEPARENT)$/.test(name))),
  async meet({ directory, workers }) {
    console.log('here');
    fs.writeFileSync(path.join(directory, String(require('worker_threads').threadId)), '');
    while (fs.readdirSync(directory).length < workers) await new Promise((resolve) => setTimeout(resolve, 1));
  },
  number: () => 1,
  nothing: () => null,
  circle() {
    const circle = {};
    circle.of = circle;
    return circle;
  },
  huge: () => ({ x: 'x'.repeat(17 << 20) }),
  endless: () => nest(100000),
  deep: () => nest(300),
  array: () => [1, {}],
  error: () => Promise.reject(new Error('boom')),
  later: () => new Promise((resolve) => setTimeout(() => resolve({ late: true }), 5)),
  throw() {
    throw new Error('at once');
  },
  exit: () => process.exit(3),
  spin() {
    for (;;);
  },
  wait: () => new Promise(() => {}),
  read: () => (fs.readFileSync(0).length === 0 ? {} : { read: true }),
  bytes() {
    process.stdout.write(Buffer.from([0xff, 0xfe, 10]));
  },
  much() {
    for (let line = 0; line < 100; line++) process.stdout.write('x'.repeat(1 << 20) + '\n');
  },
  children() {
    execFileSync('true');
    spawn('sleep', ['600']).unref();
  },
  close() {
    fs.closeSync(3);
  },
};

function main(args) {
  return args.act ? acts[args.act](args) : {};
}
