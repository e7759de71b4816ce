#!/usr/bin/env python3
"""What the Python package takes, beside pyarrow's Parquet with zstd in the same process: import, read, write, overhead.

    bench/python.py --lineitem L.parquet [--threads N] [--json OUT]

The fastest of five runs each. pybasalt must be importable: installed, or by PYTHONPATH=build/python.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import pybasalt

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--lineitem", required=True)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--json")
options = parser.parse_args()
results = {"machine": os.uname().machine, "threads": options.threads, "date": time.strftime("%Y-%m-%d")}
pa.set_cpu_count(options.threads)


def fastest(action, runs=5):
    """Seconds."""
    best = None
    for _ in range(runs):
        begin = time.perf_counter()
        action()
        took = time.perf_counter() - begin
        best = took if best is None else min(best, took)
    return best


def note(name, ours, theirs=None):
    results[name] = {"pybasalt": ours, "pyarrow": theirs}
    beside = "" if theirs is None else f"   pyarrow {theirs * 1000:9.1f} ms   {theirs / ours:5.2f} ×"
    print(f"{name:42} {ours * 1000:9.1f} ms{beside}")


def import_seconds():
    code = "import time; t = time.perf_counter(); import pybasalt; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7))


def peak_bytes(statement):
    """The most memory of a process that reads, beyond one that has only imported."""
    def run(code):
        text = subprocess.check_output([sys.executable, "-c", "import pybasalt, pyarrow\n" + code +
                                        "\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"])
        return int(text.split()[-1]) * 1024
    return run(statement) - run("pass")


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "lineitem.basalt")
    parquet = os.path.join(folder, "lineitem.parquet")
    table = pq.read_table(options.lineitem)
    numbers = table.select([name for name in table.column_names
                            if not pa.types.is_string(table.schema.field(name).type)])
    note("import", import_seconds())
    note("write, numbers and dates", fastest(lambda: pybasalt.write(numbers, file, threads=options.threads), 3),
         fastest(lambda: pq.write_table(numbers, parquet, compression="zstd"), 3))
    note("write, all columns", fastest(lambda: pybasalt.write(table, file, threads=options.threads), 3),
         fastest(lambda: pq.write_table(table, parquet, compression="zstd"), 3))
    results["bytes"] = {"pybasalt": os.path.getsize(file), "pyarrow": os.path.getsize(parquet)}
    print(f"{'bytes':42} {os.path.getsize(file):12}   pyarrow {os.path.getsize(parquet):12}")
    note("read, all columns", fastest(lambda: pybasalt.read(file, threads=options.threads)),
         fastest(lambda: pq.read_table(parquet)))
    some = numbers.column_names
    note("read, numbers and dates", fastest(lambda: pybasalt.read(file, some, threads=options.threads)),
         fastest(lambda: pq.read_table(parquet, columns=some)))
    condition = "l_shipdate >= date '1998-09-01'"
    note("read, filtered by date", fastest(lambda: pybasalt.read(file, filter=condition, threads=options.threads)),
         fastest(lambda: pq.read_table(parquet, filters=[("l_shipdate", ">=", datetime.date(1998, 9, 1))])))
    size = pybasalt.read(file).arrow().nbytes
    del table, numbers
    peak = peak_bytes(f"t = pybasalt.read({file!r}, threads={options.threads}).arrow()")
    results["memory"] = {"table": size, "peak": peak}
    print(f"{'memory of a read, beside the Arrow table':42} {peak / size:9.2f} ×")
    con = pybasalt.connect(device="cpu", threads=options.threads)
    overheads = []
    for _ in range(20):
        begin = time.perf_counter()
        relation = con.sql(f"select sum(l_extendedprice * l_discount) from '{file}' where l_quantity < 24")
        relation.fetchone()
        overheads.append(time.perf_counter() - begin - relation.report["total_ms"] / 1000)
    note("overhead of a statement, median", sorted(overheads)[10])

if options.json:
    with open(options.json, "w") as out:
        json.dump(results, out, indent=1)
