# A part of Python's launcher (control.py): the user's function, and its results.

import importlib.machinery
import importlib.util
import os
import site
import sys
import time
import traceback

OUTPUT_LIMIT = RUNTIME["outputLimit"]
SOURCE, SHOWN = "source", "main.py"
NOT_INITIALISED = "Initialization has failed due to"
WANTED, INSTALLED = "requirements.txt", ".requirements"


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a function's module. A single source came without a name, so traces show a telling one instead of
    the name of the file that it was stored in."""

    def source_to_code(self, data, path, *more, **options):
        # `more`: since Python 3.15, the module's full name.
        shown = SHOWN if os.path.basename(path) == SOURCE else path
        return super().source_to_code(data, shown, *more, **options)


class Function:
    """The user's function, loaded when it is first called."""

    def __init__(self, init):
        self.name = init["main"]
        self.call = None
        self.told = set()
        self.is_complete = False
        self.installs, self.lacks = init.get("installs", False), init.get("lacks")

    def complete(self):
        """Installs missing dependencies, once for all workers; returns why not. The function may not need them."""
        if not self.is_complete:
            self.is_complete = True
            if self.installs:
                self.lacks = install()
            if self.lacks is not None:
                print(self.lacks, file=sys.stderr)
        return self.lacks

    def load(self):
        directory = os.getcwd()
        path = next((path for path in ("__main__.py", SOURCE) if os.path.isfile(path)), None)
        if path is None:
            raise ImportError("Zip file does not include __main__.py")
        own = len(sys.path)
        libraries = os.path.join(directory, "virtualenv", "lib")
        for version in sorted(os.listdir(libraries)) if os.path.isdir(libraries) else ():
            site.addsitedir(os.path.join(libraries, version, "site-packages"))
        if os.path.isdir(INSTALLED):
            site.addsitedir(os.path.join(directory, INSTALLED))
        # The package's modules take precedence over the machine's.
        sys.path[:] = [directory, *sys.path[own:], *sys.path[:own]]
        loader = Loader("main__", os.path.join(directory, path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("main__", loader))
        sys.modules["main__"] = module
        loader.exec_module(module)
        call = getattr(module, self.name, None)
        if not callable(call):
            raise ImportError(f"there is no function '{self.name}'")
        self.call = call

    def tell(self, told):
        """Sets the environment variables that identify this run."""
        names = {"__OW_" + name.upper(): value for name, value in told.items()}
        if "traceparent" in told:
            names["TRACEPARENT"] = told["traceparent"]
        for name in self.told - names.keys():
            os.environ.pop(name, None)
        os.environ.update(names)
        self.told = names.keys()


def install():
    """Has pip install the dependencies in the package, of which the runtime has given the pack a copy for that."""
    import shutil
    import subprocess
    import tempfile

    if importlib.util.find_spec("pip") is None:
        return f"{WANTED} cannot be installed, as {sys.executable} has no pip: bring what it names as virtualenv/"
    pip = [sys.executable, "-I", "-m", "pip", "install", "--target", INSTALLED, "--no-input", "--no-cache-dir"]
    pip += ["--disable-pip-version-check", "--retries", "1", "-r", WANTED]
    flush()
    scratch = None
    try:
        scratch = tempfile.mkdtemp(prefix=".pip-", dir=os.getcwd())
        told = {**os.environ, "HOME": scratch, "TMPDIR": scratch}
        started = subprocess.Popen(pip, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=told)
        with started:
            words = pass_on(started.stderr)
    except OSError as problem:
        return f"{WANTED} cannot be installed: {problem}"
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    if started.returncode == 0:
        return None
    return f"{WANTED} cannot be installed: {words or f'pip ended with exit code {started.returncode}'}"


def pass_on(pipe):
    """Passes pip's output on; returns its last error message, or else its last line."""
    last = error = before = ""
    while line := pipe.readline(PIECE):
        os.write(2, line)
        text = line.decode("utf-8", "replace").strip()
        last = text or last
        if text.startswith("ERROR: "):
            error = text.removeprefix("ERROR: ")
        elif "connection broken by" in text:
            # In the end pip only reports that there is no such package.
            before = "pip cannot reach the index of packages, and says: "
    return before + (error or last)


def trace(problem):
    """Prints the trace without the launcher's own frames."""
    frames = problem.__traceback__
    while frames and frames.tb_frame.f_code.co_filename.startswith(("<stdin>", "<frozen importlib")):
        frames = frames.tb_next
    traceback.print_exception(type(problem), problem, frames)


def is_for_lack(problem, task):
    """Whether a dependency that was not installed may be the reason: a failed import has its name."""
    return bool(task["lacks"]) and isinstance(problem, ImportError) and problem.name is not None


def why(problem, task):
    """The reason of the failure, or the failed installation if that may have caused it."""
    reason = f"{type(problem).__name__}: {problem}"
    return f"{task['lacks']} ({reason})" if is_for_lack(problem, task) else reason


def attempt(otherwise, task, call, *given):
    """The result of a call, or of `otherwise` for its exception; then nothing refers to that or to its frames any more.
    A function of its own: an interpreter without memory spins forever if a handler begins after a function's 256th
    instruction (python/cpython#132508)."""
    try:
        return call(*given)
    except Exception as problem:
        release(problem)
        return otherwise(problem, task)


def release(problem):
    """Frees the memory that a function has filled, which the frames of the trace refer to: the trace is still to be
    printed. Generators among them run to their end. The previous exceptions may form a cycle."""
    for _ in range(16):
        if problem is None:
            break
        frames = problem.__traceback__
        while frames is not None and isinstance(problem, MemoryError):
            clear(frames.tb_frame)
            frames = frames.tb_next
        problem = problem.__context__


def clear(frame):
    try:
        frame.clear()
    except Exception:
        # It is running, or there is no memory for the error that says so.
        pass


def answer(function, task):
    """Calls the function; returns the frame with its result."""
    return attempt(unanswered, task, outcome, function, task)


def outcome(function, task):
    function.tell(task["told"])
    if function.call is None:
        loaded = attempt(not_loaded, task, function.load)
        if isinstance(loaded, Failed):
            return loaded
    result = attempt(raised, task, function.call, task["input"])
    if isinstance(result, Failed):
        return result
    run, worker = task["run"], task["worker"]
    if not isinstance(result, (dict, list, tuple)):
        return failed(run, worker, RUNTIME["noResult"])
    output = encode(result).encode()
    if len(output) > OUTPUT_LIMIT:
        return failed(run, worker, f"the output is larger than {OUTPUT_LIMIT >> 20} MiB as JSON")
    head = {"event": "worker-succeeded", "run": run, "worker": worker, "at": time.time_ns() // 1000}
    return frame(encode(head)[:-1].encode() + b',"output":' + output + b"}")


def not_loaded(problem, task):
    trace(problem)
    return failed(task["run"], task["worker"], f"{NOT_INITIALISED}: {why(problem, task)}")


def raised(problem, task):
    trace(problem)
    # Failed, so that another pack tries again to install what this one lacks.
    if "flare_id" in task["told"] or is_for_lack(problem, task):
        return failed(task["run"], task["worker"], why(problem, task))
    # The result of an activation, as in OpenWhisk. Some errors, such as `MemoryError`, have only a name.
    return {"error": str(problem) or type(problem).__name__}


def unanswered(problem, task):
    if isinstance(problem, MemoryError):
        message = f"{type(problem).__name__}: there is no memory left to say what came of it"
    else:
        message = f"The action did not return what can be JSON: {problem}"
    return failed(task["run"], task["worker"], message)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            # The function has closed or replaced it.
            pass


def perform(function, task, channel):
    """Runs a worker; processes that the function has forked report nothing."""
    process = os.getpid()
    try:
        result = answer(function, task)
    except SystemExit as end:
        code = end.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
        leave(0 if code is None else code & 0xFF if isinstance(code, int) else 1, process, task, channel)
    except BaseException as problem:
        trace(problem)
        leave(1, process, task, channel)
    flush()
    if os.getpid() != process:
        os._exit(0)
    return result
