#!/usr/bin/env python3
"""Basalt's CPU backend beside DuckDB on the same TPC-H data: sizes, conversion, Q6 and full sums at equal threads.

DuckDB is the engine inside `basalt sql`, so that both run in one program on one machine: over Parquet (zstd) files, over
native tables in memory, and over .basalt files through Basalt's pipelines. Prints a table with the ratio that each bar
asks for; --json writes the same.

    bench/against_duckdb.py --bin build/release/basalt --scale 1 --threads 2
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

Q6 = ("select sum(l_extendedprice * l_discount) from {t} where l_shipdate >= date '1994-01-01' and "
      "l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24")
SUMS = ["l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax"]
WITHOUT_TEXT = {
    "lineitem": "* exclude (l_comment)",
    "orders": "* exclude (o_comment)",
    "partsupp": "* exclude (ps_comment)",
}
REPEATS = 7
WRITES = 3


def run(program, arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)[:200]}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr + done.stdout


def seconds_of(program, arguments):
    start = time.monotonic()
    run(program, arguments)
    return time.monotonic() - start


def times_of(program, threads, setup, statements):
    """Milliseconds of each statement, the fastest of REPEATS runs in one process."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql", delete=False) as script:
        script.write(setup)
        for statement in statements:
            script.write((statement + ";\n") * REPEATS)
    try:
        text = run(program, ["sql", "--device", "cpu", "--threads", str(threads), "--timing", "--format", "csv",
                             "-f", script.name])
    finally:
        os.unlink(script.name)
    found = [float(ms) for ms in re.findall(r"^time: ([0-9.]+) ms total", text, re.M)]
    found = found[len(found) - len(statements) * REPEATS:]
    return [min(found[i * REPEATS:(i + 1) * REPEATS]) for i in range(len(statements))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/basalt")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder", help="where the data is made (default: a temporary folder)")
    parser.add_argument("--json")
    options = parser.parse_args()
    program = os.path.abspath(options.bin)
    rows = []

    def add(name, value, unit, bar=None, good=None):
        verdict = "" if bar is None else ("ok" if good else "BELOW THE BAR")
        rows.append({"name": name, "value": round(value, 4), "unit": unit, "bar": bar, "ok": good})
        print(f"{name:<56} {value:>10.3f} {unit:<6} {verdict}", flush=True)

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        parquet = os.path.join(folder, "parquet")
        run(program, ["gen", "tpch", "--scale", options.scale, "--out", parquet, "--format", "parquet", "--quiet"])
        threads = ["--threads", str(options.threads)]
        for table, columns in WITHOUT_TEXT.items():
            source = os.path.join(parquet, table + ".parquet")
            packed = os.path.join(folder, table + ".basalt")
            again = os.path.join(folder, table + ".zstd.parquet")
            select = f"select {columns} from '{source}'"
            # In turn, so that a busy moment of the machine does not hit one side only; the fastest of each counts.
            copy = f"copy ({select}) to '{again}' (format parquet, compression zstd)"
            pairs = [(seconds_of(program, ["sql", *threads, copy]),
                      seconds_of(program, ["convert", "--quiet", *threads, "--query", select, packed]))
                     for _ in range(WRITES)]
            parquet_seconds, basalt_seconds = (min(side) for side in zip(*pairs))
            size = os.path.getsize(packed) / os.path.getsize(again)
            add(f"{table}: bytes, Basalt / Parquet zstd", size, "x", 1.0, size < 1.0)
            add(f"{table}: time to write, Basalt / Parquet zstd", basalt_seconds / parquet_seconds, "x",
                1.0 if table == "lineitem" else None, basalt_seconds <= parquet_seconds)

        basalt_table = f"'{os.path.join(folder, 'lineitem.basalt')}'"
        parquet_table = f"'{os.path.join(folder, 'lineitem.zstd.parquet')}'"
        statements = [Q6] + ["select sum(" + column + ") from {t}" for column in SUMS]
        basalt = times_of(program, options.threads, "", [s.format(t=basalt_table) for s in statements])
        duckdb = times_of(program, options.threads, "", [s.format(t=parquet_table) for s in statements])
        native = times_of(program, options.threads, f"create table l as select * from {parquet_table};\n",
                          [s.format(t="l") for s in statements])
        for name, ours, theirs in zip(["Q6"] + ["sum " + c for c in SUMS], basalt, duckdb):
            add(f"{name}: Parquet zstd in DuckDB / Basalt", theirs / ours, "x", 1.5, theirs / ours >= 1.5)
        add("Q6: Basalt / native tables in DuckDB", basalt[0] / native[0], "x", 1.5, basalt[0] / native[0] <= 1.5)
        add("Q6: Basalt", basalt[0], "ms")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"benchmark": "against_duckdb", "scale": options.scale, "threads": options.threads, "rows": rows},
                      out, indent=1)


if __name__ == "__main__":
    main()
