"""A benchmark of queries over several tables (bench/tpch.py, bench/ssb.py): data, sessions, stages, JSON.

Each engine is the program `basalt`: Basalt on the CPU and on the GPU over .basalt files, strictly, so that a query runs
wholly in Basalt or is refused with its reason; `auto`, what `--device cpu` does with the same files, where DuckDB runs
what it runs faster over Basalt's scan; DuckDB over its native tables in a database file, and over Parquet.

Hot: all queries of a stage in one session, each first with the standard literals, then --runs times with others, the
same for every engine; the median of those counts. A further run is planned anew ("new text"), and one is explained: its
steps say kernels, waits, bytes and memory. All runs must give DuckDB's rows.
Fresh: the first statement of a process, its files in the page cache. Cold: the same, its files dropped from the page
cache. Kernels are in the cache on disk for both; --stage compile measures a process that has none.
"""
import argparse
import dataclasses
import datetime
import json
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
import typing

import query_chart
from query_report import add_ratios, differing, print_table, steps_of
from query_text import sort_keys
from sessions import (Failed, call, chosen_stage, described_types, device_names, has_gpu, parsed_rows, row_equal,
                      run_groups, run_script, short_place)

ENGINES = ("gpu", "cpu", "auto", "duckdb", "parquet")
BASALT = ("gpu", "cpu")
# Any statement that is no query makes a session plan its next queries anew.
FORGET_PLANS = "set basalt_strict = true"


@dataclasses.dataclass
class QuerySet:
    """What one benchmark is."""
    name: str                   # of `basalt gen`
    title: str
    tables: list
    warm_up: str                # a small query that opens the device
    texts: typing.Callable      # program, scale -> standard texts by name
    vary: typing.Callable       # name, text, random -> the text with other literals


def read_arguments(benchmark, description):
    parser = argparse.ArgumentParser(description=description + __doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--order", choices=["natural", "clustered"], default="natural")
    parser.add_argument("--for", dest="purpose", choices=["balanced", "resident", "transfer", "disk"],
                        default="balanced", help="what .basalt files are written for")
    parser.add_argument("--bin", default="build/release/basalt")
    parser.add_argument("--folder", default=f"build/{benchmark.name}", help="where the tables are made and kept")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--gpu-memory", default="", metavar="SIZE",
                        help="of the device, for example 512MiB: stages that it does not hold run in parts")
    parser.add_argument("--runs", type=int, default=3, help="hot runs")
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of gpu,cpu,auto,duckdb,parquet")
    parser.add_argument("--stage", default="1/1",
                        help="K/M: every M-th query from the K-th on; 0/M only makes the data; compile: kernels only")
    parser.add_argument("--only", help="names of queries, separated by commas, instead of a stage's")
    parser.add_argument("--minutes", type=float, default=8, help="after which a stage stops")
    parser.add_argument("--no-cold", action="store_true", help="hot runs only")
    parser.add_argument("--json", help="stages that write the same file are put together")
    parser.add_argument("--chart", metavar="FILE.svg", help="only draws the chart of what is in --json")
    options = parser.parse_args()
    if options.chart and not options.json:
        parser.error("--chart draws what is in --json")
    options.engines = options.engines.split(",")
    for engine in options.engines:
        if engine not in ENGINES:
            parser.error(f"there is no engine {engine}")
    options.compile = options.stage == "compile"
    options.stage, options.stages = (1, 1) if options.compile else chosen_stage(parser, options.stage)
    return options


# Data.

class Data:
    """Files of one scale and order: TABLE.basalt, TABLE.parquet, tables.duckdb."""

    def __init__(self, benchmark, options):
        self.benchmark, self.options = benchmark, options
        self.program = os.path.abspath(options.bin)
        order = "" if options.order == "natural" else "-" + options.order
        order += "" if options.purpose == "balanced" else "-" + options.purpose
        self.folder = os.path.abspath(os.path.join(options.folder, f"scale-{options.scale}{order}"))
        self.threads = ["--threads", str(options.threads)]

    def files(self, kind):
        names = ["tables.duckdb"] if kind == "duckdb" else [f"{table}.{kind}" for table in self.benchmark.tables]
        return [os.path.join(self.folder, kind, name) for name in names]

    def bytes(self, kind):
        return sum(os.path.getsize(path) for path in self.files(kind) if os.path.exists(path))

    def generate(self, folder):
        call(self.program, ["gen", self.benchmark.name, "-q", "--scale", self.options.scale, "--out", folder, "--order",
                            self.options.order, "--for", self.options.purpose, *self.threads])

    def write_parquet(self, folder):
        self.sql([], [f"copy (from '{source}') to '{folder}/{table}.parquet' (format parquet, compression zstd)"
                      for table, source in zip(self.benchmark.tables, self.files("basalt"))])

    def load(self, folder):
        self.sql(["--database", os.path.join(folder, "tables.duckdb")],
                 [f"create table {table} as from '{source}'"
                  for table, source in zip(self.benchmark.tables, self.files("basalt"))] + ["checkpoint"])

    def sql(self, arguments, statements):
        call(self.program, ["sql", "-q", "--device", "cpu", *self.threads, *arguments, "; ".join(statements)])

    def make(self, deadline):
        """Makes what the engines need and is not there yet, until the time is over. Gives seconds by kind, and whether
        all is there."""
        seconds = {}
        for kind, make in (("basalt", self.generate), ("parquet", self.write_parquet), ("duckdb", self.load)):
            folder = os.path.join(self.folder, kind)
            if os.path.exists(folder) or (kind != "basalt" and kind not in self.options.engines):
                continue
            if time.monotonic() > deadline:
                return seconds, False
            start = time.monotonic()
            shutil.rmtree(folder + ".part", ignore_errors=True)
            os.makedirs(folder + ".part")
            make(folder + ".part")
            os.sync()
            os.rename(folder + ".part", folder)
            seconds[kind] = round(time.monotonic() - start, 2)
            print(f"made {kind:<8} {seconds[kind]:8.1f} s", flush=True)
        return seconds, True

    def drop_from_page_cache(self, kind):
        for path in self.files(kind):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


# Engines.

class Engine:
    def __init__(self, name, data):
        self.name, self.data = name, data
        self.kind = "basalt" if name in (*BASALT, "auto") else name
        device = ["--device", "cuda" if name == "gpu" else "cpu", *data.threads]
        database = ["--database", *data.files("duckdb")] if name == "duckdb" else []
        memory = ["--gpu-memory", data.options.gpu_memory] if name == "gpu" and data.options.gpu_memory else []
        self.arguments = device + database + memory + (["--strict"] if name in BASALT else [])
        views = zip(data.benchmark.tables, data.files(self.kind)) if name != "duckdb" else []
        self.setup = [f"create view {table} as from '{path}'" for table, path in views] + [data.benchmark.warm_up]

    def hot(self, queries, deadline):
        """queries: texts by name, the last of each is the one that is planned anew."""
        groups = {}
        for name, texts in queries.items():
            if self.name in BASALT:
                groups[name] = [*texts[:-1], FORGET_PLANS, texts[-1], f"explain (analyze, format json) {texts[-1]}"]
            else:
                groups[name] = [*texts, f"describe {texts[0]}"]
        found = run_groups(self.data.program, self.arguments, self.setup, groups, deadline)
        return {name: {"error": one} if isinstance(one, str) else self.result(one, len(queries[name]))
                for name, one in found.items()}

    def result(self, finished, texts):
        first, hot = finished[0], finished[1:texts - 1]
        result = {"standard_ms": first.ms, "hot_ms": statistics.median(one.ms for one in hot),
                  "hot_runs_ms": [one.ms for one in hot], "where": short_place(hot[-1].last_line)}
        if self.name in BASALT:
            result |= {"new_text_ms": finished[texts].ms, **steps_of("\n".join(finished[texts + 1].lines))}
            planned = finished[texts]
        else:
            result["types"] = described_types(finished[texts].lines)
            planned = finished[texts - 1]
        if self.name == "gpu":
            result |= {"kernel_ms": statistics.median(one.kernel_ms for one in hot), "compile_ms": first.compile_ms}
        return result | {"rows": [one.lines for one in (first, *hot, planned)]}

    def one(self, text, seconds):
        """Milliseconds of a statement that is the first of its process."""
        finished, error = run_script(self.data.program, self.arguments, [*self.setup, text], seconds)
        if error or len(finished) <= len(self.setup):
            raise Failed(error or "no result")
        return finished[-1].ms

    def cold(self, queries, deadline):
        results = {}
        for name, text in queries.items():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                self.data.drop_from_page_cache(self.kind)
                results[name] = {"cold_ms": self.one(text, left)}
                results[name]["fresh_ms"] = self.one(text, deadline - time.monotonic())
            except Failed as failure:
                results[name] = {**results.get(name, {}), "cold_error": str(failure)[:300]}
        return results


# Rows.

def row_runs(query, lines):
    """Rows in runs of equal sort keys; one run where the query asks for no order."""
    names = list(json.loads(lines[0]))
    places = [names.index(key) for key in sort_keys(query)]
    runs = []
    for row in parsed_rows(lines):
        keys = [row[place] for place in places]
        if not runs or runs[-1][0] != keys:
            runs.append((keys, []))
        runs[-1][1].append(row)
    return [rows for _, rows in runs]


def difference(query, ours, theirs, types):
    """None if two results hold the same rows in the order that the query asks for; else what differs."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, DuckDB has {len(theirs)}"
    left, right = parsed_rows(ours), parsed_rows(theirs)
    wrong = next((place for place, pair in enumerate(zip(left, right)) if not row_equal(*pair, types)), None)
    if wrong is None:
        return None
    said = f"row {wrong + 1}: {left[wrong]}, DuckDB has {right[wrong]}"[:300]
    our_runs, their_runs = row_runs(query, ours), row_runs(query, theirs)
    if [len(run) for run in our_runs] != [len(run) for run in their_runs]:
        return said
    for our_run, their_run in zip(our_runs, their_runs):
        for row in our_run:
            same = next((place for place, other in enumerate(their_run) if row_equal(row, other, types)), None)
            if same is None:
                return said
            del their_run[same]
    return None


def compare(texts, results):
    """Says in the results of Basalt whether their rows are DuckDB's, and takes the rows out of all of them."""
    theirs = results.get("duckdb", {})
    for name, result in results.items():
        if name == "duckdb" or "rows" not in result or "rows" not in theirs:
            continue
        found = (difference(*four, theirs["types"]) for four in zip(texts, result["rows"], theirs["rows"]))
        result["differs"] = next((one for one in found if one), None)
    rows = next((len(result["rows"][0]) for result in results.values() if "rows" in result), None)
    for result in results.values():
        result.pop("rows", None)
        result.pop("types", None)
    return rows


# Stages.

def literals(benchmark, standard, runs):
    """The texts of a query: standard, one for each hot run, one that is planned anew. The same in every process."""
    name, text = standard
    return [text] + [benchmark.vary(name, text, random.Random(f"{benchmark.name} {name} {run}"))
                     for run in range(1, runs + 2)]


def measure(engines, queries, options, deadline):
    """Entries of the queries, whose texts are given by name."""
    results = {name: {} for name in queries}
    parts = len(engines) * (1 if options.no_cold else 2)
    # Every engine gets an equal share of what is left.
    for part, engine in enumerate(engines):
        share = (deadline - time.monotonic()) / (parts - part)
        for name, result in engine.hot(queries, time.monotonic() + share).items():
            results[name][engine.name] = result
    entries = []
    for name, texts in queries.items():
        rows = compare(texts, results[name])
        entries.append({"query": name, "rows": rows, "engines": results[name]})
    if options.no_cold:
        return entries
    for part, engine in enumerate(engines):
        share = (deadline - time.monotonic()) / (len(engines) - part)
        texts = {name: queries[name][0] for name in queries if "error" not in results[name][engine.name]}
        for name, result in engine.cold(texts, time.monotonic() + share).items():
            results[name][engine.name] |= result
    return entries


def measure_compilation(engine, queries, deadline):
    """All queries in one process with an empty cache of kernels, then in another one that finds them there."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for process in ("first", "second"):
            found = run_groups(engine.data.program, engine.arguments, engine.setup,
                               {name: [text] for name, text in queries.items()}, deadline, {"XDG_CACHE_HOME": folder})
            ran = {name: result[0] for name, result in found.items() if not isinstance(result, str)}
            measured[process] = {"statement_ms": {name: one.ms for name, one in ran.items()},
                                 "compile_ms": {name: one.compile_ms for name, one in ran.items()},
                                 "errors": {name: result for name, result in found.items() if name not in ran}}
            print(f"kernels, {process} process: {len(ran)} of {len(queries)} statements took "
                  f"{sum(one.ms for one in ran.values()) / 1000:.2f} s, the longest "
                  f"{max((one.ms for one in ran.values()), default=0) / 1000:.2f} s; compiled in "
                  f"{sum(one.compile_ms for one in ran.values()) / 1000:.2f} s")
    return measured


def read_json(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def identity(benchmark, options):
    """What stages must have in common to be put together."""
    return {"benchmark": benchmark.name, "scale": options.scale, "order": options.order, "threads": options.threads,
            "runs": options.runs, "gpu_memory": options.gpu_memory, "purpose": options.purpose}


def merged(before, whole):
    """What earlier stages left, with this one's in place of what it measured again."""
    if not before:
        return whole
    entries = {entry["query"]: entry for entry in before["queries"]}
    for entry in whole["queries"]:
        engines = {**entries.get(entry["query"], {}).get("engines", {}), **entry["engines"]}
        entries[entry["query"]] = {**entry, "engines": engines}
    queries = [entries[name] for name in sorted(entries, key=lambda name: [int(part) for part in name.split(".")])]
    return {**before, **whole, "made_s": {**before["made_s"], **whole["made_s"]}, "queries": queries}


def run_stage(benchmark, options):
    """What one stage measured, as the JSON holds it."""
    deadline = time.monotonic() + options.minutes * 60
    data = Data(benchmark, options)
    made, complete = data.make(deadline)
    whole = {**identity(benchmark, options), "title": benchmark.title, "date": datetime.date.today().isoformat(),
             "machine": platform.machine(), "devices": device_names(data.program), "made_s": made, "queries": [],
             "bytes": {kind: data.bytes(kind) for kind in ("basalt", "parquet", "duckdb")}}
    if not complete:
        print("not all data is there yet: run this stage again")
    if not complete or options.stage == 0:
        return whole
    standard = benchmark.texts(data.program, float(options.scale))
    names = options.only.split(",") if options.only else list(standard)[options.stage - 1::options.stages]
    unknown = [name for name in names if name not in standard]
    if unknown:
        raise Failed(f"there is no query {unknown[0]}")
    gpu = "gpu" in options.engines and has_gpu(data.program)
    if options.compile:
        if not gpu:
            raise Failed("--stage compile needs a GPU")
        texts = {name: standard[name] for name in names}
        return {**whole, "compilation": measure_compilation(Engine("gpu", data), texts, deadline)}
    engines = [Engine(name, data) for name in ENGINES if name in options.engines and (gpu or name != "gpu")]
    queries = {name: literals(benchmark, (name, standard[name]), options.runs) for name in names}
    return {**whole, "queries": measure(engines, queries, options, deadline)}


def main(benchmark, description):
    options = read_arguments(benchmark, description)
    if options.chart:
        query_chart.draw(read_json(options.json), options.chart)
        return 0
    before = read_json(options.json)
    for name, value in identity(benchmark, options).items():
        if before and before.get(name, value) != value:
            sys.exit(f"{options.json} is of another measurement: its {name} is {before[name]}, not {value}")
    try:
        whole = merged(before, run_stage(benchmark, options))
    except Failed as failure:
        sys.exit(str(failure))
    add_ratios(whole)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1)
            file.write("\n")
    print_table(whole)
    return 1 if differing(whole) else 0
