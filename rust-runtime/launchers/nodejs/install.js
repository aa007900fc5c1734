// A part of Node's launcher (serve.js): packages that a function does not contain.

const Module = require('module');

const PREFIX = path.resolve(process.execPath, '../..');
// Where `npm install -g` puts them: Debian's npm does not write to /usr.
const GLOBAL = (PREFIX === '/usr' ? ['/usr/local', PREFIX] : [PREFIX]).map((prefix) => path.join(prefix, 'lib/node_modules'));
// How much of npm's output is kept: the end tells most.
const TAIL = 64 * 1024;

/** Makes `require` look there last. Node reads it from a variable, which is hidden from the function. */
function lookInGlobalFolders() {
  const own = process.env.NODE_PATH;
  process.env.NODE_PATH = [own, ...GLOBAL].filter(Boolean).join(path.delimiter);
  Module._initPaths?.();
  if (own === undefined) delete process.env.NODE_PATH;
  else process.env.NODE_PATH = own;
}

lookInGlobalFolders();

let completing;

/** Installs missing dependencies, once for all workers; returns why not. The function may not need them. */
function complete(init) {
  completing ??= obtain(init);
  return completing;
}

async function obtain({ installs, lacks }) {
  const problem = installs ? await install() : lacks;
  if (problem) writeAll(2, Buffer.from(`${problem}\n`));
  return problem;
}

/** Has npm install them in the package, of which the runtime has given the pack a copy for that. */
async function install() {
  const failing = 'the dependencies of package.json cannot be installed';
  const npm = findNpm();
  if (!npm) return `${failing}, as there is no npm here: bring them as node_modules/`;
  let scratch;
  try {
    scratch = fs.mkdtempSync(path.resolve('.npm-'));
    const words = await runNpm(npm, scratch);
    return words && `${failing}: ${words}`;
  } catch (problem) {
    return `${failing}: ${problem.message}`;
  } finally {
    // Processes that npm left may still write there: it is removed with the copy.
    if (scratch) await fs.promises.rm(scratch, { recursive: true, force: true }).catch(() => {});
  }
}

/** The command that starts npm: the one of this Node, or else the one in PATH. */
function findNpm() {
  const isThere = (file) => fs.existsSync(file);
  const own = GLOBAL.map((folder) => path.join(folder, 'npm/bin/npm-cli.js')).find(isThere);
  if (own) return [process.execPath, own];
  const found = (process.env.PATH ?? '').split(path.delimiter).map((place) => path.join(place, 'npm')).find(isThere);
  return found && [found];
}

/** Returns npm's explanation if it fails. */
function runNpm([program, ...first], scratch) {
  const { spawn } = require('child_process');
  const network = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000'];
  const options = [...network, '--no-audit', '--no-fund', '--omit=dev', '--no-update-notifier', '--cache', scratch];
  const env = { ...process.env, HOME: scratch, TMPDIR: scratch };
  const npm = spawn(program, [...first, 'install', ...options], { stdio: ['ignore', 'inherit', 'pipe'], env });
  let said = '';
  npm.stderr.on('data', (bytes) => {
    writeAll(2, bytes);
    said = (said + bytes).slice(-TAIL);
  });
  return new Promise((resolve, reject) => {
    npm.on('error', reject);
    npm.on('close', (code) => resolve(code === 0 ? undefined : telling(said) || `npm ended with exit code ${code}`));
  });
}

/** The first of npm's lines about an error that is not a detail. */
function telling(said) {
  const lines = said.split('\n').map((line) => line.trim());
  const errors = lines.map((line) => /^npm (?:error|ERR!) (.+)$/.exec(line)?.[1].trim()).filter(Boolean);
  return errors.find((line) => !/^(code|syscall|path|dest|errno|command sh) /.test(line)) ?? lines.filter(Boolean).pop();
}
