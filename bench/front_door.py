#!/usr/bin/env python3
"""What a person waits for, beside DuckDB's Parquet with zstd in the same program and run: conversions, exports, queries on strings, small files, memory.

    bench/front_door.py BASALT --lineitem L.parquet --orders O.parquet [--wide W.parquet] [--small FILE.parquet ...] [--threads N] [--json OUT]

Whole commands are timed, the fastest of three runs (one where a run takes more than ten seconds); ratios count, times depend on the machine.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("basalt")
parser.add_argument("--lineitem", required=True)
parser.add_argument("--orders", required=True)
parser.add_argument("--wide", help="a table of many columns, text and numbers")
parser.add_argument("--small", nargs="*", default=[])
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--json")
options = parser.parse_args()
folder = tempfile.mkdtemp(prefix="basalt_bench_")
rows = []


def path(name):
    return os.path.join(folder, name)


def run(*arguments):
    """Seconds of the fastest run, the most memory of any in MiB, and what the last one printed."""
    best, memory, text = None, 0, ""
    for _ in range(3):
        start = time.monotonic()
        process = subprocess.Popen([options.basalt, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        if status != 0:
            raise SystemExit(f"{arguments}: {text}")
        memory = max(memory, usage.ru_maxrss / 1024)
        best = seconds if best is None else min(best, seconds)
        if seconds > 10:
            break
    return best, memory, text


def convert(source, name, *more):
    given = ["--query", source] if source.startswith("select") else [source]
    return run("convert", "-q", "--threads", str(options.threads), *more, *given, path(name))


def to_parquet(source, name):
    query = source if source.startswith("select") else f"select * from '{source}'"
    return run("sql", "-q", "--device", "cpu", "--threads", str(options.threads),
               f"copy ({query}) to '{path(name)}' (format parquet, compression zstd)")


def add(what, basalt, parquet, unit="s", **more):
    row = {"what": what, "basalt": round(basalt, 4), "parquet": None if parquet is None else round(parquet, 4), "unit": unit, **more}
    if parquet:
        row["ratio"] = round(basalt / parquet, 3)
    rows.append(row)
    print(f"{what:58s} {basalt:12.3f} {'' if parquet is None else format(parquet, '12.3f'):>12s} {unit:6s} {row.get('ratio', ''):>7} "
          + " ".join(f"{key} {value}" for key, value in more.items()), flush=True)


def size(name):
    return os.path.getsize(path(name))


print(f"{'what':58s} {'Basalt':>12s} {'Parquet':>12s} {'':6s} {'ratio':>7}")
inputs = [("wide", options.wide)] if options.wide else []
for name, source in inputs + [("lineitem", options.lineitem)]:
    theirs, _, _ = to_parquet(source, name + ".parquet")
    times = {}
    for effort in ("balanced", "fast") + (("best",) if name == "wide" else ()):
        times[effort], _, _ = convert(source, f"{name}.{effort}.basalt", "--effort", effort)
        add(f"convert {name}, {effort}", times[effort], theirs, "s", bytes=size(f"{name}.{effort}.basalt"), parquet_bytes=size(name + ".parquet"))
    if "best" in times:
        add("convert wide, best beside balanced", times["best"], times["balanced"])
numbers = f"select o_orderkey, o_custkey, o_totalprice, o_orderdate, o_shippriority from '{options.orders}'"
add("convert orders, numbers", convert(numbers, "orders.basalt")[0], to_parquet(numbers, "orders.parquet")[0])
add("export lineitem to Parquet", run("export", "-q", "--threads", str(options.threads), path("lineitem.balanced.basalt"), path("x.parquet"))[0],
    to_parquet(path("lineitem.parquet"), "y.parquet")[0])
free, memory, _ = convert(options.wide or options.lineitem, "limited.basalt")
limited, memory, _ = convert(options.wide or options.lineitem, "limited.basalt", "--memory-limit", "256MiB")
add("convert with 256 MiB beside the default", limited, free, "s", peak_mib=round(memory))


def statement_ms(query):
    _, _, text = run("sql", "--device", "cpu", "--threads", str(options.threads), ";".join([query] * 7))
    return min(float(value) * {"ms": 1, "µs": 0.001, "s": 1000}[unit] for value, unit in re.findall(r"rows? in ([\d.]+) (ms|µs|s)", text))


queries = [("group by a string", "select l_shipmode, count(*) from {l} group by 1"),
           ("group by two strings, sum", "select l_returnflag, l_linestatus, sum(l_quantity) from {l} group by 1, 2"),
           ("count(distinct) of a string", "select count(distinct l_shipinstruct) from {l}"),
           ("join on a string", "select count(*) from {l} join (select distinct l_shipmode m from {l}) t on l_shipmode = m")]
for name, query in queries:
    add(name, statement_ms(query.replace("{l}", f"'{path('lineitem.balanced.basalt')}'")),
        statement_ms(query.replace("{l}", f"'{path('lineitem.parquet')}'")), "ms")
few = "select i as id, 'name' || i as s, i * 1.5::double as d, date '2020-01-01' + i::int as t from range(10) r(i)"
convert(few, "few.basalt"), to_parquet(few, "few.parquet")
add("10 rows, 4 columns", size("few.basalt"), size("few.parquet"), "bytes")
for source in options.small:
    name = os.path.basename(source)
    convert(source, name + ".basalt"), to_parquet(source, name + ".p.parquet")
    add(name, size(name + ".basalt"), size(name + ".p.parquet"), "bytes")
line = "select floor(21.47 * i)::bigint as x from range(1000000) r(i)"
convert(line, "line.basalt")
add("a column that is one line", size("line.basalt"), None, "bytes")
if "kernel" in run("sql", "--timing", f"select count(*) from '{path('lineitem.balanced.basalt')}' where l_quantity < 24")[2]:
    add("process start to first row on the GPU", run("sql", "--device", "cuda", f"select count(*) from '{path('lineitem.balanced.basalt')}' where l_quantity < 24")[0], None)
if options.json:
    with open(options.json, "w") as file:
        json.dump({"threads": options.threads, "rows": rows}, file, indent=1)
subprocess.run(["rm", "-rf", folder])
