"""Draws an experiment's picture from its CSV files.

plot.py RESULTS NAME
"""

import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

results, name = sys.argv[1:]
figures = pd.read_csv(os.path.join(results, name + ".csv"))
timeline = os.path.join(results, name + "-timeline.csv")
spans = pd.read_csv(timeline) if os.path.exists(timeline) else None


def medians(figure):
    """Returns the medians by setting and system, in the order of measurement."""
    chosen = figures[figures.figure == figure]
    table = chosen.groupby(["setting", "system"], sort=False).value.median().unstack("system")
    return table.reindex(chosen.setting.unique())[chosen.system.unique()]


def lines(axes, figure, log=False):
    table = medians(figure)
    unit = figures[figures.figure == figure].unit.iloc[0]
    table.index = [setting.removeprefix("g=") for setting in table.index]
    table.plot(ax=axes, marker="o", logy=log)
    axes.set_xticks(range(len(table)), table.index)
    axes.set(title=f"{figure}, {unit}", xlabel="granularity")
    axes.set_ylim(bottom=None if log else 0)


def bars(axes, figure, log=False):
    table = medians(figure)
    unit = figures[figures.figure == figure].unit.iloc[0]
    table.plot.bar(ax=axes, logy=log, rot=0)
    axes.set(title=f"{figure}, {unit}", xlabel="")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def phases(axes, system, names):
    chosen = figures[(figures.system == system) & figures.figure.isin(names)]
    table = chosen.groupby(["setting", "figure"], sort=False).value.median().unstack("figure")
    table = table.reindex(chosen.setting.unique())[names]
    table.index = [setting.removeprefix("g=") for setting in table.index]
    table.plot.bar(ax=axes, stacked=True, rot=0)
    axes.set(title=f"{system}: phases, s", xlabel="granularity")


def lifetimes(axes, system, marked):
    chosen = spans[(spans.system == system) & ~spans.phase.isin(["invocation", "start"])]
    for phase, color in [(None, "black"), *marked.items()]:
        part = chosen[chosen.phase == phase] if phase else chosen
        axes.barh(part.worker, part.end - part.start, left=part.start, color=color, height=0.8)
    axes.set(title=system, xlabel="s since the request", ylabel="worker")
    axes.set_xlim(0, spans.end.max() * 1.02)


def panels(count):
    figure, axes = plt.subplots(1, count, figsize=(6 * count, 4), squeeze=False)
    return figure, axes[0]


PAGERANK = ["load", "degrees", "compute", "wait", "communicate"]

if name == "latency":
    picture, axes = panels(3)
    lines(axes[0], "all running", log=True)
    lines(axes[1], "spread", log=True)
    lines(axes[2], "MAD", log=True)
elif name == "simultaneity":
    systems = spans.system.unique()
    picture, axes = panels(len(systems))
    for place, system in zip(axes, systems):
        lifetimes(place, system, {})
elif name == "loading":
    picture, axes = panels(2)
    lines(axes[0], "loading")
    lines(axes[1], "fetched", log=True)
elif name == "ready":
    picture, axes = panels(2)
    lines(axes[0], "ready")
    lines(axes[1], "loading")
elif name == "pagerank":
    picture, axes = panels(3)
    phases(axes[0], "direct", PAGERANK)
    phases(axes[1], "redis-list", PAGERANK)
    lines(axes[2], "traffic", log=True)
elif name == "terasort":
    systems = spans.system.unique()
    picture, axes = panels(len(systems))
    for place, system in zip(axes, systems):
        lifetimes(place, system, {"shuffle": "red"})
elif name == "startup":
    picture, axes = panels(1)
    bars(axes[0], "start-up", log=True)
else:
    picture, axes = panels(3)
    for place, figure in zip(axes, ["start-up", "first", "best"]):
        bars(place, figure, log=True)

picture.tight_layout()
picture.savefig(os.path.join(results, name + ".png"), dpi=100)
