"""Performs the act in its argument."""

import ctypes
import os
import subprocess
import sys
import threading
import time

runs = 0


def main(args):
    return globals()["act_" + args["act"]](args) if args else {}


def act_count(args):
    global runs
    runs += 1
    print("out é")
    print("err", file=sys.stderr)
    return {"runs": runs, "x": args.get("x")}


def act_variables(args):
    return {name: value for name, value in os.environ.items() if name.startswith("__OW_") or name == "TRACEPARENT"}


def act_meet(args):
    print("here")
    open(os.path.join(args["directory"], str(os.getpid())), "w").close()
    while len(os.listdir(args["directory"])) < args["workers"]:
        time.sleep(0.001)
    return {}


def act_number(args):
    return 1


def act_nothing(args):
    return None


def act_circle(args):
    circle = {}
    circle["of"] = circle
    return circle


def act_huge(args):
    return {"x": "x" * (17 << 20)}


def act_endless(args):
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    return deep


def act_deep(args):
    deep = {}
    for _ in range(300):
        deep = {"x": deep}
    return deep


def act_array(args):
    return [1, {}]


def act_error(args):
    raise ValueError("boom")


def act_exit(args):
    sys.exit(3)


def act_crash(args):
    ctypes.string_at(0)


def act_spin(args):
    while True:
        pass


def act_wait(args):
    time.sleep(600)


def act_read(args):
    try:
        input()
    except EOFError:
        return {}


def act_bytes(args):
    sys.stdout.buffer.write(b"\xff\xfe\n")
    return {}


def act_much(args):
    for _ in range(100):
        sys.stdout.write("x" * (1 << 20) + "\n")
    return {}


def act_children(args):
    subprocess.run(["true"], check=True)
    subprocess.Popen(["sleep", "600"])
    return {}


def act_leave(args):
    return {"pid": subprocess.Popen(["sleep", "600"]).pid}


def act_close(args):
    for descriptor in range(3, 20):
        try:
            os.close(descriptor)
        except OSError:
            pass
    return {}


def act_fork(args):
    if os.fork() == 0:
        return {"of": "a child"}
    os.wait()
    return {}


def act_thread(args):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return {}
