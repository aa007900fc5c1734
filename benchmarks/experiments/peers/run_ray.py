"""Ray on this machine.

run_ray.py startup WORKERS
"""

import sys

import ray

from measure import report, since_start

workers = int(sys.argv[2])
ray.init(num_cpus=workers, include_dashboard=False, logging_level="error", log_to_driver=False)


@ray.remote(num_cpus=1)
class Worker:
    """An actor, because fewer workers could execute the same number of tasks."""

    def work(self):
        return 1


actors = [Worker.remote() for _ in range(workers)]
count = sum(ray.get([actor.work.remote() for actor in actors]))
report(since_start(), result=count)
ray.shutdown()
