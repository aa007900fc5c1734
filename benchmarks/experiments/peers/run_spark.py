"""Spark in local mode.

run_spark.py startup WORKERS
run_spark.py join|group-by|sort LEFT RIGHT
run_spark.py pagerank GRAPH ITERATIONS
run_spark.py terasort INPUT OUTPUT
run_spark.py wordcount TEXT
"""

import glob
import os
import shutil
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from measure import RUNS, report, since_start, timed


def start(threads):
    settings = {
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{threads}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def startup(workers):
    workers = int(workers)
    spark = start(workers)
    # Runs in the JVM, because Python workers would take longer.
    count = spark.range(0, workers, 1, workers).select(f.sum(f.lit(1))).first()[0]
    report(since_start(), result=count)


def computed(table):
    """Computes all rows and discards them."""
    table.write.format("noop").mode("overwrite").save()
    return table


def tables(operation, left_path, right_path):
    spark = start(2)
    ready = since_start()
    left = spark.read.parquet(left_path + ".parquet").cache()
    right = spark.read.parquet(right_path + ".parquet").cache()
    left.count(), right.count()
    operations = {
        "join": lambda: left.join(right.withColumnRenamed("value", "value_right"), "key"),
        "group-by": lambda: left.groupBy("key").agg(
            f.count("value").alias("count"),
            f.sum("value").alias("value_sum"),
            f.min("value").alias("value_min"),
            f.max("value").alias("value_max"),
        ),
        "sort": lambda: left.orderBy("key"),
    }
    runs, result = timed(lambda: computed(operations[operation]()))
    checks = {
        "join": ["sum(key)", "sum(value * value_right)"],
        "group-by": ["sum(key * count)", "sum(value_sum)"],
        "sort": ["sum(key)", "sum(value)"],
    }
    check = list(result.selectExpr("count(key)", *checks[operation]).first())
    report(ready, runs, {"check": check})


def pagerank(path, iterations):
    spark = start(2)
    ready = since_start()
    damping = 0.85

    def run():
        edges = spark.read.csv(path, sep="\t", schema="source int, target int", comment="#").cache()
        highest = edges.select(f.greatest(f.max("source"), f.max("target"))).first()[0]
        count = highest + 1
        degrees = edges.groupBy("source").agg(f.count("target").alias("degree"))
        nodes = spark.range(count).select(f.col("id").cast("int").alias("node"))
        nodes = nodes.join(degrees, nodes.node == degrees.source, "left").select("node", "degree").cache()
        ranks = nodes.select("node", "degree", f.lit(1.0 / count).alias("rank")).localCheckpoint()
        for _ in range(int(iterations)):
            lost = ranks.where("degree is null").select(f.sum("rank")).first()[0] or 0.0
            each = ranks.where("degree is not null").select("node", (f.col("rank") / f.col("degree")).alias("each"))
            carried = edges.join(each, edges.source == each.node).groupBy("target").agg(f.sum("each").alias("carried"))
            base = (1.0 - damping + damping * lost) / count
            rank = f.lit(base) + damping * f.coalesce("carried", f.lit(0.0))
            ranks = nodes.join(carried, nodes.node == carried.target, "left").select(
                "node", "degree", rank.alias("rank")
            )
            ranks = ranks.localCheckpoint()
        top = ranks.orderBy(f.desc("rank"), "node").limit(10).collect()
        spark.catalog.clearCache()
        return [{"node": row["node"], "rank": row["rank"]} for row in top]

    runs, top = timed(run)
    report(ready, runs, top)


def terasort(path, output):
    spark = start(2)
    ready = since_start()
    numbers = iter(range(RUNS))

    def run():
        # With this separator the carriage return is kept, so that records are 100 bytes again.
        lines = spark.read.option("lineSep", "\n").text(path)
        ordered = lines.orderBy(f.substring("value", 1, 10))
        written = f"{output}.{next(numbers)}"
        ordered.write.option("lineSep", "\n").text(written)
        return written

    runs, written = timed(run)
    for part in glob.glob(written + "/part-*"):
        shutil.move(part, os.path.join(output, os.path.basename(part)))
    for number in range(RUNS):
        shutil.rmtree(f"{output}.{number}")
    report(ready, runs)


def wordcount(path):
    spark = start(2)
    ready = since_start()

    def run():
        lines = spark.read.text(path)
        words = lines.select(f.explode(f.split(f.lower("value"), "[^a-z]+")).alias("word")).where("word != ''")
        counts = words.groupBy("word").count()
        return [list(row) for row in counts.orderBy(f.desc("count"), "word").limit(10).collect()]

    runs, top = timed(run)
    report(ready, runs, top)


if __name__ == "__main__":
    programs = {"startup": startup, "pagerank": pagerank, "terasort": terasort, "wordcount": wordcount}
    program, arguments = sys.argv[1], sys.argv[2:]
    if program in programs:
        programs[program](*arguments)
    else:
        tables(program, *arguments)
