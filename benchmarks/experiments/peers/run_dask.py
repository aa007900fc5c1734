"""Dask with a cluster of processes on this machine.

run_dask.py startup WORKERS
run_dask.py join|group-by|sort LEFT RIGHT
"""

import gc
import logging
import sys
import time

from measure import report, since_start, timed


def start(workers):
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )
    return Client(cluster)


def startup(workers):
    client = start(workers)
    client.wait_for_workers(workers)
    addresses = list(client.scheduler_info(n_workers=-1)["workers"])
    done = [client.submit(lambda: 1, workers=[address], pure=False) for address in addresses]
    count = sum(client.gather(done))
    report(since_start(), result=count)
    client.close()
    client.cluster.close()


def tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def tables(operation, left_path, right_path):
    client = start(2)
    ready = since_start()
    import dask.dataframe as dd
    from dask.distributed import wait

    left = dd.read_parquet(left_path + ".parquet", split_row_groups=True).persist()
    right = dd.read_parquet(right_path + ".parquet", split_row_groups=True).persist()
    wait([left, right])
    operations = {
        "join": lambda: left.merge(right, on="key", suffixes=("", "_right")),
        "group-by": lambda: left.groupby("key", sort=False)
        .agg(
            count=("value", "count"),
            value_sum=("value", "sum"),
            value_min=("value", "min"),
            value_max=("value", "max"),
            split_out=4,
        )
        .reset_index(),
        "sort": lambda: left.sort_values("key"),
    }

    held = tasks(client)

    def forget():
        """Waits until Dask holds no previous result, which it would otherwise return immediately."""
        gc.collect()
        deadline = time.monotonic() + 60
        while tasks(client) > held:
            if time.monotonic() > deadline:
                raise TimeoutError("Dask still holds the result of the run before")
            time.sleep(0.01)

    def run():
        result = operations[operation]().persist()
        wait(result)
        return result

    runs, result = timed(run, between=forget)
    checks = {
        "join": lambda: [result.key.sum(), (result.value * result.value_right).sum()],
        "group-by": lambda: [(result.key * result["count"]).sum(), result.value_sum.sum()],
        "sort": lambda: [result.key.sum(), result.value.sum()],
    }
    check = [len(result)] + [int(value.compute()) for value in checks[operation]()]
    report(ready, runs, {"check": check})
    client.close()
    client.cluster.close()


if __name__ == "__main__":
    if sys.argv[1] == "startup":
        startup(int(sys.argv[2]))
    else:
        tables(*sys.argv[1:])
