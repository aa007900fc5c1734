"""Helpers of all peers' scripts: clocks, and the line of JSON at the end."""

import json
import os
import time

RUNS = 4


def since_start():
    """Returns the seconds since this process was requested."""
    return time.time() - float(os.environ["STARTED"])


def timed(operation, between=lambda: None, runs=RUNS):
    """Returns the seconds of each run and the outcome of the last one. Calls `between` before each run, once the previous
    outcome has been released."""
    seconds = []
    for _ in range(runs):
        outcome = None
        between()
        began = time.perf_counter()
        outcome = operation()
        seconds.append(time.perf_counter() - began)
    return seconds, outcome


def report(ready, runs=(), result=None):
    print(json.dumps({"ready": ready, "runs": list(runs), "result": result}), flush=True)
