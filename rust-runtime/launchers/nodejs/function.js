// A part of Node's launcher (serve.js): the user's function, and its results.

const path = require('path');
const util = require('util');
const vm = require('vm');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const OUTPUT_LIMIT = RUNTIME.outputLimit;
// Long enough for a timer that only keeps Node from exiting.
const FOREVER = 2 ** 31 - 1;

/** The user's function, loaded when it is first called. */
class UserFunction {
  constructor(name) {
    this.name = name;
    this.told = [];
  }

  /** Loads it once, even if it is called concurrently. */
  load() {
    this.loading ??= this.find();
    return this.loading;
  }

  async find() {
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
    // The source came without a name, so traces show a telling one. Imports are found relative to either name.
    const filename = path.resolve('main.js');
    const options = { filename, ...(importModuleDynamically && { importModuleDynamically }) };
    // Compiled alone first, so that an error does not refer to the added code.
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

  /** Sets the environment variables that identify this run. */
  tell(told) {
    for (const name of this.told) delete process.env[name];
    const variables = variablesOf(told);
    Object.assign(process.env, variables);
    this.told = Object.keys(variables);
  }
}

const isPackage = () => fs.existsSync('package.json') || fs.existsSync('index.js');

/** The environment variables that identify this run. */
function variablesOf(told) {
  const names = Object.entries(told).map(([name, value]) => [`__OW_${name.toUpperCase()}`, String(value)]);
  if (told.traceparent) names.push(['TRACEPARENT', told.traceparent]);
  return Object.fromEntries(names);
}

/** The process's variables, which all calls share, together with those of the call that reads them. */
function personal(shared, own) {
  const holder = (name) => (Object.hasOwn(own(), name) ? own() : shared);
  return new Proxy(shared, {
    get: (_, name) => holder(name)[name],
    set: (_, name, value) => Reflect.set(holder(name), name, holder(name) === shared ? value : String(value)),
    has: (_, name) => name in holder(name),
    deleteProperty: (_, name) => Reflect.deleteProperty(holder(name), name),
    ownKeys: () => [...new Set([...Reflect.ownKeys(shared), ...Object.keys(own())])],
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(holder(name), name),
  });
}

/** Whether a dependency that was not installed may be the reason. */
const isFor = (lacks, problem) => lacks && ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'].includes(problem?.code);

/** The reason of the failure, or the failed installation if that may have caused it. */
const why = (problem, { lacks }) => (isFor(lacks, problem) ? `${lacks} (${String(problem.message ?? util.inspect(problem)).split('\n')[0]})` : problem);

/** Calls the function; returns the event with its result. */
async function answer(func, task) {
  if (!func.call) {
    try {
      await func.load();
    } catch (problem) {
      show(problem);
      return failed(task, `Initialization has failed due to: ${why(problem, task)}`);
    }
  }
  let promised;
  try {
    const { call } = func;
    promised = call(task.input);
  } catch (problem) {
    show(problem);
    return failed(task, `An error has occurred: ${why(problem, task)}`);
  }
  let result;
  try {
    result = await promised;
    if (result === undefined) result = {};
  } catch (problem) {
    if (problem instanceof Error) show(problem);
    // Failed, so that another pack tries again to install what this one lacks.
    if (isFor(task.lacks, problem)) return failed(task, why(problem, task));
    if ('flare_id' in task.told) return failed(task, problem instanceof Error ? problem : util.inspect(problem));
    // The result of an activation, as in OpenWhisk.
    result = { error: problem ? plain(problem) : {} };
  }
  if (typeof result !== 'object' || result === null) return failed(task, RUNTIME.noResult);
  let output;
  try {
    output = JSON.stringify(result);
  } catch (problem) {
    return failed(task, `The action did not return what can be JSON: ${problem.message}`);
  }
  if (!/^[{[]/.test(output)) return failed(task, RUNTIME.noResult);
  if (Buffer.byteLength(output) > OUTPUT_LIMIT) {
    return failed(task, `the output is larger than ${OUTPUT_LIMIT >> 20} MiB as JSON`);
  }
  return ofWorker('worker-succeeded', task, `,"output":${output}`);
}

/** Prints an error and its stack trace, without the launcher's own frames. */
function show(problem) {
  if (typeof problem?.stack === 'string') {
    const ours = /\((?:\[stdin\]|\[worker eval\]|node:internal)|at (?:\[stdin\]|\[worker eval\]|node:internal)/;
    problem.stack = problem.stack.split('\n').filter((line) => !ours.test(line)).join('\n');
  }
  console.error(problem);
}

/** An error as JSON, which would otherwise be empty. */
function plain(problem) {
  if (!(problem instanceof Error)) return problem;
  const { name, message, stack } = problem;
  return { name, message, stack, ...problem };
}

/** Runs a worker to its end; returns its event. */
async function perform(func, task) {
  // A promise that is never settled waits for the deadline.
  const alive = setInterval(() => {}, FOREVER);
  try {
    return await answer(func, task);
  } catch (problem) {
    return failed(task, `An error has occurred: ${util.inspect(problem)}`);
  } finally {
    clearInterval(alive);
  }
}
