#!/usr/bin/env python3
"""The Python package beside its bars: import, read, memory, write, the way around a statement, Ray.

    bench/python.py --lineitem L.parquet [--threads N] [--json OUT] [--only import,read,…]

Others run in turn with Basalt, in the same process and with the same number of threads, and the fastest run of each
counts: ratios hold on a busy machine, too. pybasalt must be importable: installed, or by PYTHONPATH=build/python. What
needs Vortex (vortex-data) or Ray is left out where they are not installed.
"""
import argparse
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import pybasalt


class Results:
    """A row of the table for each measurement; `bar` is what `value` must be."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, bar=None, at_most=True, unit="×", detail=""):
        met = None if bar is None else (value <= bar if at_most else value >= bar)
        self.rows.append({"what": what, "value": round(value, 3), "unit": unit, "bar": bar,
                          "bar_is": "at most" if at_most else "at least", "met": met, "detail": detail})
        words = "" if met is None else f"{'≤' if at_most else '≥'} {bar} {unit}: {'met' if met else 'MISSED'}"
        print(f"{what:46} {value:9.2f} {unit:3} {words:18} {detail}", flush=True)

    def faster(self, what, ours, theirs, name, bar=None):
        """How many times as fast as another one, in seconds each."""
        self.add(what, theirs / ours, bar, at_most=False, detail=f"{ours:.3f} s, {name} {theirs:.3f} s")


def in_turns(actions, runs):
    """The fewest seconds of each action."""
    best = [float("inf")] * len(actions)
    for _ in range(runs):
        for i, action in enumerate(actions):
            begin = time.perf_counter()
            result = action()
            best[i] = min(best[i], time.perf_counter() - begin)
            del result
    return best


def python(code):
    """What a fresh interpreter prints: its output, and its errors, where -X importtime writes."""
    return subprocess.run([sys.executable, *code], check=True, capture_output=True, text=True)


def measure_import(results, _):
    def cumulative():
        lines = python(["-X", "importtime", "-c", "import pybasalt"]).stderr.splitlines()
        return int(next(line for line in lines if line.split("|")[-1].strip() == "pybasalt").split("|")[1]) / 1000

    times = [cumulative() for _ in range(11)]
    results.add("import, median", statistics.median(times), 60, unit="ms", detail=f"fastest {min(times):.1f} ms")
    maps = python(["-c", "import pybasalt; print(open('/proc/self/maps').read())"]).stdout
    results.add("import, CUDA libraries loaded", sum(name in maps for name in ("libcuda.so", "libcudart", "libnvrtc")),
                0, unit="")


def vortex_readers(data):
    """What reads the table by Vortex: as it comes, with views of strings, and in the table's own types. Nothing where
    it is not installed."""
    if importlib.util.find_spec("vortex") is None:
        return {}
    import vortex

    path = os.path.join(data.folder, "lineitem.vortex")
    vortex.io.write(data.table, path)
    vortex.set_worker_threads(max(data.threads - 1, 1))  # beside the thread that asks
    return {"Vortex": lambda: vortex.open(path).to_arrow().read_all(),
            "Vortex in the same types": lambda: vortex.open(path).to_arrow().read_all().cast(data.table.schema)}


def measure_read(results, data):
    import pyarrow.compute as pc

    others = {"Parquet": lambda: pq.read_table(data.parquet), **vortex_readers(data)}
    ours, *taken = in_turns([lambda: pybasalt.read(data.file, threads=data.threads).arrow(), *others.values()], 7)
    for (name, _), theirs, bar in zip(others.items(), taken, (1.3, 1, None)):
        results.faster(f"read, all columns, against {name}", ours, theirs, name, bar)
    some = data.numbers.column_names
    ours, parquet = in_turns([lambda: pybasalt.read(data.file, some, threads=data.threads).arrow(),
                              lambda: pq.read_table(data.parquet, columns=some)], 5)
    results.faster("read, numbers and dates, against Parquet", ours, parquet, "pyarrow")
    day = datetime.date(1998, 9, 1)
    ours, parquet = in_turns(
        [lambda: pybasalt.read(data.file, filter=pybasalt.col("l_shipdate") >= day, threads=data.threads).arrow(),
         lambda: pq.read_table(data.parquet, filters=pc.field("l_shipdate") >= day)], 5)
    results.faster("read, filtered by date, against Parquet", ours, parquet, "pyarrow")


def measure_memory(results, data):
    def peak(code):
        text = python(["-c", "import pybasalt, pyarrow, pyarrow.parquet\n" + code +
                       "\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"]).stdout
        return int(text.split()[-1]) * 1024

    base = peak("pass")
    size = data.table.nbytes
    ours = peak(f"t = pybasalt.read({data.file!r}, threads={data.threads}).arrow()") - base
    parquet = peak(f"t = pyarrow.parquet.read_table({data.parquet!r})") - base
    results.add("most memory of a read, of the Arrow table", ours / size, 1.2,
                detail=f"table {size / 1e6:.0f} MB, pyarrow {parquet / size:.2f} ×")
    # The session's own memory apart: it is there before the first row.
    session = f"con = pybasalt.connect(device='cpu', threads={data.threads}); con.sql('select 1').fetchall()\n"
    query = f"select * from '{data.file}'"
    streamed = peak(session + f"for batch in con.sql({query!r}).batches(): pass") - peak(session)
    results.add("most memory of a streamed result, of all rows", streamed / size, detail=f"{streamed / 1e6:.0f} MB")


def measure_write(results, data):
    ours, theirs = os.path.join(data.folder, "w.basalt"), os.path.join(data.folder, "w.parquet")
    for what, table, bar in (("write, numbers and dates, against Parquet", data.numbers, 1),
                             ("write, all columns, against Parquet", data.table, 0.5)):
        taken, parquet = in_turns([lambda: pybasalt.write(table, ours, threads=data.threads),
                                   lambda: pq.write_table(table, theirs, compression="zstd")], 3)
        results.faster(what, taken, parquet, "pyarrow", bar)
        results.add("  bytes, of Parquet's", os.path.getsize(ours) / os.path.getsize(theirs))


def measure_statement(results, data):
    """A statement that takes little itself, in a session that has run it before: in Python, and by the program."""
    query = f"select sum(l_extendedprice * l_discount) from '{data.file}' where l_orderkey < 1000"
    count = 400
    program = os.path.join(os.path.dirname(pybasalt.__file__), "bin", "basalt")

    def by_the_program(statements):
        begin = time.perf_counter()
        subprocess.run([program, "sql", "--device", "cpu", "--threads", str(data.threads), "--format", "csv", "-f", "-"],
                       input=(query + ";\n") * statements, text=True, check=True, capture_output=True)
        return time.perf_counter() - begin

    con = pybasalt.connect(device="cpu", threads=data.threads)

    def by_python(statements):
        begin = time.perf_counter()
        for _ in range(statements):
            con.sql(query).fetchall()
        return time.perf_counter() - begin

    by_python(10)
    rounds = [((by_the_program(count + 10) - by_the_program(10)) / count, by_python(count) / count) for _ in range(5)]
    theirs, ours = (min(column) * 1000 for column in zip(*rounds))
    results.add("a statement, Python less the program", ours - theirs, 2, unit="ms",
                detail=f"Python {ours:.2f} ms, the program {theirs:.2f} ms")


RAY = """
import sys, time, ray, pybasalt
from pybasalt.ray import sql
ray.init(num_cpus=int(sys.argv[1]), include_dashboard=False, logging_level="error", log_to_driver=False)
query = '''select l_returnflag, l_shipmode, count(*), sum(l_extendedprice), avg(l_discount) from lineitem
           where l_comment like '%a%' and l_quantity < 40 group by l_returnflag, l_shipmode'''
times = []
for _ in range(5):
    begin = time.perf_counter()
    assert sql(query, {"lineitem": sys.argv[2]}, tasks=10).num_rows == 21
    times.append(time.perf_counter() - begin)
print("fastest", min(times[1:]))
"""


def measure_ray(results, data):
    if importlib.util.find_spec("ray") is None:
        return
    folder = os.path.join(data.folder, "parts")
    share = -(-data.table.num_rows // 10)
    for i in range(10):
        pybasalt.write(data.table.slice(i * share, share), folder, append=True, threads=data.threads)

    os.environ["RAY_worker_niceness"] = "0"  # else others come first on a busy machine

    def seconds(workers):
        return float(python(["-c", RAY, str(workers), folder]).stdout.split("fastest")[1])

    one, two = (min(times) for times in zip(*((seconds(1), seconds(2)) for _ in range(2))))
    results.faster("Ray, 2 workers against one, 10 files", two, one, "one", 1.3)


class Data:
    """The table in memory, and as files of both kinds."""

    def __init__(self, lineitem, folder, threads):
        self.threads = threads
        self.folder = folder
        self.table = pq.read_table(lineitem)
        self.numbers = self.table.select([field.name for field in self.table.schema
                                          if not pa.types.is_string(field.type)])
        self.file = os.path.join(folder, "lineitem.basalt")
        self.parquet = os.path.join(folder, "lineitem.parquet")
        pybasalt.write(self.table, self.file, threads=threads)
        pq.write_table(self.table, self.parquet, compression="zstd")


SECTIONS = {"import": measure_import, "read": measure_read, "memory": measure_memory, "write": measure_write,
            "statement": measure_statement, "ray": measure_ray}


def versions():
    for name in ("pybasalt", "pyarrow", "vortex-data", "ray"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lineitem", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    parser.add_argument("--only", default=",".join(SECTIONS))
    options = parser.parse_args()
    pa.set_cpu_count(options.threads)
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        data = Data(options.lineitem, folder, options.threads)
        for name in options.only.split(","):
            SECTIONS[name](results, data)
        rows = data.table.num_rows
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"date": time.strftime("%Y-%m-%d"), "machine": os.uname().machine, "cores": os.cpu_count(),
                       "threads": options.threads, "load": os.getloadavg()[0], "rows": rows,
                       "python": sys.version.split()[0], "versions": dict(versions()), "results": results.rows}, out,
                      indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
