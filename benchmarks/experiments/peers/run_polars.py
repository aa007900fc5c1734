"""Joins, groups or sorts tables with Polars, and compares Burst's result with its own.

run_polars.py OPERATION LEFT RIGHT PARTS
"""

import glob
import os
import sys

os.environ["POLARS_MAX_THREADS"] = "2"

import polars as pl

from measure import report, since_start, timed

operation, left_path, right_path, parts = sys.argv[1:]
ready = since_start()

left = pl.read_ipc(left_path).rechunk()
right = pl.read_ipc(right_path).rechunk()

value = pl.col("value")
operations = {
    "join": lambda: left.join(right, on="key"),
    "group-by": lambda: left.group_by("key").agg(
        pl.len().cast(pl.Int64).alias("count"),
        value.sum().alias("value_sum"),
        value.min().alias("value_min"),
        value.max().alias("value_max"),
    ),
    "sort": lambda: left.sort("key"),
}
runs, expected = timed(operations[operation])


def in_order(table):
    return table.sort(table.columns)


found = pl.concat([pl.read_ipc(path) for path in sorted(glob.glob(parts + "/*.arrow"))])
same = in_order(found).equals(in_order(expected))
if operation == "sort":
    same = same and found["key"].equals(expected["key"])

# Sums by which the other engines' results are checked.
checks = {
    "join": lambda: [expected["key"].sum(), (expected["value"] * expected["value_right"]).sum()],
    "group-by": lambda: [(expected["key"] * expected["count"]).sum(), expected["value_sum"].sum()],
    "sort": lambda: [expected["key"].sum(), expected["value"].sum()],
}
report(ready, runs, {"same": same, "check": [len(expected), *checks[operation]()]})
