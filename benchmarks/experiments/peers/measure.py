"""What all peers' scripts share: clocks, and the line of JSON at the end."""

import json
import os
import time

RUNS = 4


def since_start():
    """Seconds since the process was asked for."""
    return time.time() - float(os.environ["STARTED"])


def timed(operation, between=lambda: None, runs=RUNS):
    """The seconds of each run, and what the last one gave; `between` is called before each, without its predecessor's
    outcome."""
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
