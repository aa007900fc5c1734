"""Converts Arrow files to Parquet files beside them, for engines that cannot read Arrow files."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

for path in sys.argv[1:]:
    with pa.memory_map(path) as file:
        table = pa.ipc.open_file(file).read_all()
    pq.write_table(table, path + ".parquet", row_group_size=len(table) // 4 + 1, compression="none")
