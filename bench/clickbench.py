#!/usr/bin/env python3
"""Queries over one wide table of page views: Basalt on the CPU and the GPU beside DuckDB's native table, in one program.

    bench/clickbench.py --queries Q.sql --schema CREATE.sql --rows 20000000 --stage 0/4     (only makes the data)
    bench/clickbench.py --queries Q.sql --rows 20000000 --stage 1/4 --json OUT.json         (every fourth query)

The queries, one statement each over a table `hits`, and the table's definition are given; the rows come from `basalt gen
hits`. Each engine runs its queries in one session. Cold is the first run of a query in its session, hot the fastest of
those that follow, whose LIMIT, HAVING or added constants differ from run to run where a query has them; no engine keeps
results. A stage stops after --minutes; stages that write the same --json are put together.

Results are compared with DuckDB's: as many rows; every row occurs in DuckDB's result without LIMIT, at most as often as
there; sort keys are equal at every position. Integers, decimals, dates and strings are equal exactly, doubles (averages)
within 1e-9 of the larger one.

Needs Python 3.11 and the program `basalt`, nothing else.
"""
import argparse
import collections
import json
import os
import platform
import re
import sys
import tempfile
import time

from query_text import find_words, read_queries, sort_keys, split_at
from sessions import (Failed, Number, call, chosen_stage, described_types, device_names, geometric_mean, has_gpu,
                      numbers_equal, parsed_rows, row_equal, run_groups, run_script, short_place)

ENGINES = {"cpu": "Basalt, CPU", "gpu": "Basalt, GPU", "parquet": "DuckDB, Parquet", "duckdb": "DuckDB, native table"}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", required=True, help="statements over the table hits, separated by semicolons")
    parser.add_argument("--schema", help="its CREATE TABLE statement; needed where the table is not there yet")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bin", default="build/release/basalt")
    parser.add_argument("--folder", default="build/clickbench", help="where the tables are made and kept")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=3, help="hot runs")
    parser.add_argument("--stage", default="1/1", help="K/M: every M-th query from the K-th on; 0/M only makes the data")
    parser.add_argument("--only", help="numbers of queries, 1,20,33, instead of a stage's")
    parser.add_argument("--minutes", type=float, default=8, help="after which a stage stops")
    parser.add_argument("--strict", action="store_true", help="refuse what does not run in Basalt, where it can")
    parser.add_argument("--parquet", action="store_true", help="also over Parquet with zstd")
    parser.add_argument("--no-compare", action="store_true", help="times only")
    parser.add_argument("--json")
    options = parser.parse_args()
    return options, *chosen_stage(parser, options.stage)


def without_limit(query):
    """The query without ORDER BY, LIMIT and OFFSET."""
    ends = [place for place in (find_words(query, words) for words in (r"ORDER\s+BY", "LIMIT", "OFFSET")) if place >= 0]
    return query[:min(ends)].strip() if ends else query


def select_list(query):
    return split_at(query[len("SELECT"):find_words(query, "FROM")], ",")


def key_columns(query):
    """For each sort key its place among the result's columns, None where it is not one."""
    names = []
    for item in select_list(query):
        place = find_words(item, "AS")
        names.append({item.lower()} if place < 0 else {item[:place].strip().lower(), item[place + 2:].strip().lower()})
    return [next((i for i, name in enumerate(names) if key.lower() in name), None) for key in sort_keys(query)]


def with_keys(query):
    """The query with its sort keys as further columns."""
    place = find_words(query, "FROM")
    extra = "".join(f", {key} AS sort_key_{i}" for i, key in enumerate(sort_keys(query)))
    return query[:place].rstrip() + extra + " " + query[place:]


def varied(query, run):
    """The same work with other numbers, and whether there were any to change."""
    if run == 0:
        return query, False
    more = lambda match: match.group(1) + str(int(match.group(2)) + run) + match.group(3)
    text = re.sub(r"(\bLIMIT\s+)(\d+)()", more, query, flags=re.I)
    text = re.sub(r"(\bHAVING\s+COUNT\(\*\)\s*>\s*)(\d+)()", more, text, flags=re.I)
    text = re.sub(r"(\bSUM\(\w+ \+ )(\d+)(\))", more, text, flags=re.I)
    text = re.sub(r"(\bWHERE \w+ = )(\d{15,})($)", more, text, flags=re.I)
    return text, text != query


class Engine:
    def __init__(self, name, program, arguments, setup):
        self.name, self.program, self.arguments, self.setup = name, program, arguments, setup

    def run(self, queries, runs, deadline):
        """Results by number of query, of all in one session."""
        groups = {}
        for number, query in queries.items():
            groups[number] = [varied(query, run)[0] for run in range(runs + 1)]
            if None in key_columns(query):
                groups[number].append(with_keys(query))
        found = run_groups(self.program, self.arguments, self.setup, groups, deadline)
        return {number: {"error": result} if isinstance(result, str) else self.result(queries[number], result, runs)
                for number, result in found.items()}

    @staticmethod
    def result(query, finished, runs):
        keyed = finished[runs + 1] if len(finished) > runs + 1 else finished[0]
        return {"cold_ms": finished[0].ms, "hot_ms": [one.ms for one in finished[1:runs + 1]],
                "varied": varied(query, 1)[1], "where": finished[runs].last_line, "lines": finished[0].lines,
                "keyed": keyed.lines}


# Comparison.

def keys_of(query, lines):
    """Sort keys of each row, as values."""
    places = key_columns(query)
    rows = parsed_rows(lines)
    if None in places:
        return [row[len(row) - len(places):] for row in rows]
    return [[row[place] for place in places] for row in rows]


def types_of(program, database, query):
    lines = call(program, ["sql", "--quiet", "--format", "ndjson", "--database", database, f"describe {query}"]).splitlines()
    return described_types(lines)


def comparison(program, database, threads, query, lines, types, seconds):
    """The rows of DuckDB's result without LIMIT that equal one of ours in all but doubles, with their number."""
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson", delete=False, encoding="utf-8", errors="surrogateescape") as file:
        for line in lines:
            pairs = json.loads(line, object_pairs_hook=list)
            file.write(json.dumps({f"c{i}": value for i, (_, value) in enumerate(pairs)}, ensure_ascii=False) + "\n")
    try:
        exact = [i for i, kind in enumerate(types) if kind not in ("DOUBLE", "FLOAT")]
        columns = ", ".join(f"c{i}: '{kind}'" for i, kind in enumerate(types))
        names = ", ".join(f"c{i}" for i in range(len(types)))
        same = " and ".join(f"theirs.c{i} is not distinct from ours.c{i}" for i in exact) or "true"
        text = (f"with theirs({names}) as ({without_limit(query)}), ours as (select * from read_json('{file.name}', "
                f"format = 'newline_delimited', columns = {{{columns}}})) "
                f"select {names}, count(*) as n from theirs semi join ours on {same} group by all")
        finished, error = run_script(program, ["--device", "cpu", "--threads", str(threads), "--database", database],
                                     [text], seconds)
    finally:
        os.unlink(file.name)
    if error:
        raise Failed(error)
    return parsed_rows(finished[0].lines)


def compare(program, database, threads, query, ours, theirs, deadline):
    """None if all is as it must be; else what is not."""
    rows = parsed_rows(ours["lines"])
    if len(rows) != len(theirs["lines"]):
        return f"{len(rows)} rows, DuckDB has {len(theirs['lines'])}"
    if not rows:
        return None
    types = types_of(program, database, query)
    key_pairs = zip(keys_of(query, ours["keyed"]), keys_of(query, theirs["keyed"]))
    for place, (left, right) in enumerate(key_pairs):
        if not all(a == b or numbers_or_differ(a, b) for a, b in zip(left, right)):
            return f"sort keys of row {place + 1}: {left}, DuckDB has {right}"
    seconds = deadline - time.monotonic()
    if seconds < 1:
        raise Failed("not compared: the time was over")
    found = comparison(program, database, threads, query, ours["lines"], types, seconds)
    counts = collections.Counter(tuple(row) for row in rows)
    for row, count in counts.items():
        there = sum(other[-1] for other in found if row_equal(row, other[:-1], types))
        if there < count:
            return f"row {str(row)[:200]} occurs {count} times, in DuckDB {there}"
    return None


def numbers_or_differ(a, b):
    """Whether two values are numbers with a point that are equal but for rounding."""
    return isinstance(a, Number) and isinstance(b, Number) and numbers_equal(a, b)


# The whole.

def prepare(options, program):
    table = os.path.join(options.folder, f"hits-{options.rows}.basalt")
    database = os.path.join(options.folder, f"hits-{options.rows}.duckdb")
    os.makedirs(options.folder, exist_ok=True)
    made = {}
    if not os.path.exists(table):
        if not options.schema:
            sys.exit(f"{table} is not there: give --schema, so that it can be made")
        start = time.monotonic()
        call(program, ["gen", "hits", "-q", "--rows", str(options.rows), "--schema", options.schema, "-o", table,
                       "--threads", str(options.threads)])
        made["generate_s"] = round(time.monotonic() - start, 2)
    if not os.path.exists(database):
        start = time.monotonic()
        part = database + ".part"
        for left_over in (part, part + ".wal"):
            if os.path.exists(left_over):
                os.unlink(left_over)
        call(program, ["sql", "-q", "--device", "cpu", "--threads", str(options.threads), "--database", part,
                       f"create table hits as from '{table}'; checkpoint"])
        os.rename(part, database)
        made["load_duckdb_s"] = round(time.monotonic() - start, 2)
    parquet = os.path.join(options.folder, f"hits-{options.rows}.parquet")
    if options.parquet and not os.path.exists(parquet):
        start = time.monotonic()
        call(program, ["sql", "-q", "--device", "cpu", "--threads", str(options.threads),
                       f"copy (from '{table}') to '{parquet}.part' (format parquet, compression zstd)"])
        os.rename(parquet + ".part", parquet)
        made["write_parquet_s"] = round(time.monotonic() - start, 2)
    for name, seconds in made.items():
        print(f"{name:<14} {seconds:.1f} s", flush=True)
    return table, database, made


def engines_of(options, program, table, database):
    help_text = call(program, ["sql", "--help"])
    strict = []
    if options.strict:
        if "--strict" in help_text:
            strict = ["--strict"]
        else:
            print("note: this basalt has no --strict; what does not run in Basalt runs in DuckDB", flush=True)
    threads = ["--threads", str(options.threads)]
    view = [f"create view hits as from '{table}'"]
    engines = [Engine("cpu", program, ["--device", "cpu", *threads, *strict], view)]
    if has_gpu(program):
        engines.append(Engine("gpu", program, ["--device", "cuda", *threads, *strict], view))
    if options.parquet:
        over = table.removesuffix(".basalt") + ".parquet"
        engines.append(Engine("parquet", program, ["--device", "cpu", *threads], [f"create view hits as from '{over}'"]))
    engines.append(Engine("duckdb", program, ["--device", "cpu", *threads, "--database", database], []))
    return engines, bool(strict)


def summarize(number, results, verdicts):
    entry = {"query": number, "engines": {}}
    for name, result in results.items():
        if "error" in result:
            entry["engines"][name] = {"error": result["error"]}
            continue
        entry["rows"] = len(result["lines"])
        entry["engines"][name] = {"cold_ms": result["cold_ms"], "hot_ms": min(result["hot_ms"] or [result["cold_ms"]]),
                                  "hot_runs_ms": result["hot_ms"], "varied": result["varied"], "where": result["where"]}
        if name in verdicts:
            entry["engines"][name]["differs"] = verdicts[name]
    for field, other in (("times_as_fast", "duckdb"), ("times_parquet", "parquet")):
        theirs = entry["engines"].get(other, {}).get("hot_ms")
        for name, engine in entry["engines"].items():
            if name != other and theirs and engine.get("hot_ms"):
                engine[field] = round(theirs / engine["hot_ms"], 3)
    return entry


def print_table(entries):
    names = [name for name in ENGINES if any(name in entry["engines"] for entry in entries)]
    header = f"{'query':>5} {'rows':>7}"
    for name in names:
        header += f" | {ENGINES[name] + ': cold':>26} {'hot ms':>10}" + ("" if name == "duckdb" else f" {'x':>6} {'ran on':<13} equal")
    print(header)
    for entry in entries:
        line = f"{entry['query']:>5} {entry.get('rows', ''):>7}"
        for name in names:
            engine = entry["engines"].get(name, {"error": "not run"})
            if "error" in engine:
                line += " | " + engine["error"][:70]
                continue
            line += f" | {engine['cold_ms']:>26.2f} {engine['hot_ms']:>10.2f}"
            if name != "duckdb":
                verdict = "-" if "differs" not in engine else engine["differs"] or "yes"
                line += f" {engine.get('times_as_fast', ''):>6} {short_place(engine['where']):<13} {verdict}"
        print(line)
    for name in names:
        for field, other in (("times_as_fast", "DuckDB"), ("times_parquet", "DuckDB over Parquet")):
            ratios = [entry["engines"][name][field] for entry in entries if field in entry["engines"].get(name, {})]
            if ratios and not (name == "duckdb" and field == "times_parquet"):
                print(f"{ENGINES[name]}: {geometric_mean(ratios):.2f} x as fast as {other}, geometric mean of {len(ratios)} "
                      f"queries, hot; faster in {sum(ratio > 1 for ratio in ratios)}, at least {min(ratios):.2f} x")


def main():
    options, stage, stages = read_arguments()
    program = os.path.abspath(options.bin)
    queries = dict(enumerate(read_queries(options.queries), 1))
    try:
        table, database, made = prepare(options, program)
        if stage == 0:
            return 0
        deadline = time.monotonic() + options.minutes * 60
        if options.only:
            chosen = {int(number): queries[int(number)] for number in options.only.split(",")}
        else:
            chosen = {number: query for number, query in queries.items() if number % stages == stage % stages}
        by_engine = {}
        engines, strict = engines_of(options, program, table, database)
        for i, engine in enumerate(engines):
            # Comparison gets a share of the time as well.
            left = deadline - time.monotonic()
            by_engine[engine.name] = engine.run(chosen, options.runs, time.monotonic() + left / (len(engines) - i + 1))
    except Failed as failure:
        sys.exit(str(failure))
    entries = []
    for number, query in chosen.items():
        results = {name: found[number] for name, found in by_engine.items()}
        verdicts = {}
        for name, result in results.items():
            if name in ("duckdb", "parquet") or options.no_compare or "error" in result or "error" in results["duckdb"]:
                continue
            try:
                verdicts[name] = compare(program, database, options.threads, query, result, results["duckdb"], deadline)
            except Failed as failure:
                verdicts[name] = str(failure)[:300]
        entries.append(summarize(number, results, verdicts))
    if options.json:
        whole = {"benchmark": "clickbench", "rows": options.rows, "threads": options.threads, "runs": options.runs,
                 "strict": strict, "date": time.strftime("%Y-%m-%d"), "machine": platform.machine(),
                 "devices": device_names(program), "table_bytes": os.path.getsize(table),
                 "duckdb_bytes": os.path.getsize(database), **made}
        kept = []
        if os.path.exists(options.json):
            with open(options.json, encoding="utf-8") as file:
                before = json.load(file)
            if all(before.get(name) == whole[name] for name in ("rows", "threads", "table_bytes")):
                kept = [entry for entry in before["queries"] if entry["query"] not in chosen]
                whole = {**{name: before[name] for name in ("generate_s", "load_duckdb_s") if name in before}, **whole}
        entries = sorted(kept + entries, key=lambda entry: entry["query"])
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({**whole, "queries": entries}, file, indent=1)
            file.write("\n")
    print_table(entries)
    differs = [entry["query"] for entry in entries
               if any(engine.get("differs") for engine in entry["engines"].values())]
    if differs:
        print(f"differ from DuckDB, or were not compared: {', '.join(map(str, differs))}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
