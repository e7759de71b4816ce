"""What a benchmark of queries says: the steps of a plan that was run, and the table of all queries."""
import json
import re

from sessions import geometric_mean

TITLES = {"gpu": "Basalt, GPU", "cpu": "Basalt, CPU", "auto": "Basalt, CPU, auto", "duckdb": "DuckDB, native tables",
          "parquet": "DuckDB, Parquet"}
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


# Steps.

def operators_of(plan):
    yield plan
    for child in plan.get("children", []):
        yield from operators_of(child)


def bytes_of(text):
    value, unit = text.split()
    return round(float(value) * 1024 ** UNITS.index(unit))


def step_of(lines):
    """One step, from the lines that explain analyze shows of it."""
    text = "\n".join(lines)
    step = {"what": lines[0], "on": "GPU" if re.search(r"^kernel ", text, re.M) else "CPU"}
    figures = (("rows_in", r"^rows (\d+) ->", int), ("rows_out", r"^rows \d+ -> (\d+)", int),
               ("bytes", r"^decoded from (.*)$", bytes_of), ("ms", r"^([0-9.]+) ms$", float),
               ("kernel_ms", r"^kernel ([0-9.]+) ms", float), ("wait_ms", r"waited ([0-9.]+) ms", float),
               ("compile_ms", r"^compiled in ([0-9.]+) ms", float),
               ("transferred_bytes", r"^transferred (.*) in ", bytes_of),
               ("device_bytes", r"^device memory (.*)$", bytes_of), ("why_cpu", r"^not on the GPU: (.*)$", str))
    for name, pattern, convert in figures:
        found = re.search(pattern, text, re.M)
        if found:
            step[name] = convert(found.group(1))
    return step


def steps_of(plan_text):
    """The steps of a plan that was run and explained as JSON, with what they come to together."""
    steps = []
    for operator in operators_of(json.loads(plan_text)):
        found = operator.get("extra_info", {})
        for name in sorted((key for key in found if re.fullmatch(r"Step \d+", key)), key=lambda key: int(key[5:])):
            lines = found[name] if isinstance(found[name], list) else found[name].split("\n")
            steps.append(step_of(lines))
    return {"steps": steps, "bytes": sum(step.get("bytes", 0) for step in steps),
            "wait_ms": sum(step.get("wait_ms", 0) for step in steps),
            "device_bytes": max((step.get("device_bytes", 0) for step in steps), default=0),
            "gpu_steps": sum(step["on"] == "GPU" for step in steps),
            "cpu_steps": sum(step["on"] == "CPU" for step in steps)}


# The table.

def times_as_fast(entry, name, other="duckdb"):
    theirs, ours = (entry["engines"].get(engine, {}).get("hot_ms") for engine in (other, name))
    return theirs / ours if theirs and ours else None


def add_ratios(whole):
    for entry in whole["queries"]:
        for name, engine in entry["engines"].items():
            ratio = times_as_fast(entry, name)
            if ratio and name != "duckdb":
                engine["times_as_fast"] = round(ratio, 3)


def shown(value):
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"


def mebibytes(value):
    return None if value is None else value / 2 ** 20


def steps_by_device(engine):
    """How many steps ran on the GPU, how many on the CPU: 3+2."""
    return f"{engine['gpu_steps']}+{engine['cpu_steps']}" if "gpu_steps" in engine else None


def verdict(entry):
    differs = [engine["differs"] for engine in entry["engines"].values() if "differs" in engine]
    return None if not differs else "no" if any(differs) else "yes"


def columns_of(name):
    """Headers and values of an engine's columns."""
    figure = lambda key: lambda entry: entry["engines"].get(name, {}).get(key)
    columns = [("hot", figure("hot_ms"))]
    if name != "duckdb":
        columns.append(("x", lambda entry: times_as_fast(entry, name)))
    if name == "gpu":
        columns = [("kernels", figure("kernel_ms")), ("waits", figure("wait_ms")), *columns]
    if name in ("gpu", "cpu"):
        columns.append(("new", figure("new_text_ms")))
    columns += [("fresh", figure("fresh_ms")), ("cold", figure("cold_ms"))]
    if name in ("gpu", "cpu"):
        columns.append(("MiB", lambda entry: mebibytes(figure("bytes")(entry))))
    if name == "gpu":
        columns += [("peak MiB", lambda entry: mebibytes(figure("device_bytes")(entry))),
                    ("GPU+CPU", lambda entry: steps_by_device(entry["engines"].get(name, {})))]
    return columns


def block(title, columns, entries):
    """Lines of one engine: its title, headers, a line per query."""
    rows = [[header for header, _ in columns], *([shown(value(entry)) for _, value in columns] for entry in entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    lines = [" ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
    width = max(len(title), len(lines[0]))
    return [title.ljust(width), *(line.rjust(width) for line in lines)]


def said_by(whole, *keys):
    """What engines say under these keys, each sentence once, with the queries that it is about."""
    found = {}
    for entry in whole["queries"]:
        for name, engine in entry["engines"].items():
            for said in filter(None, map(engine.get, keys)):
                found.setdefault((TITLES[name], said), []).append(entry["query"])
    return [f"{', '.join(queries)} ({title}): {said}" for (title, said), queries in found.items()]


def differing(whole):
    return said_by(whole, "differs")


def failing(whole):
    return said_by(whole, "error", "cold_error")


def sum_line(entries, name):
    """Sums over the queries that an engine and DuckDB's native tables both ran."""
    both = [entry for entry in entries if times_as_fast(entry, name)]
    if not both:
        return None
    engines = [entry["engines"][name] for entry in both]
    figures = (("kernels", "kernel_ms"), ("other literals", "hot_ms"), ("new texts", "new_text_ms"),
               ("fresh", "fresh_ms"), ("cold", "cold_ms"))
    sums = [f"{title} {sum(engine[key] for engine in engines):.1f}" for title, key in figures
            if all(key in engine for engine in engines)]
    ratios = [times_as_fast(entry, name) for entry in both]
    text = (f"{TITLES[name]}, sum of {len(both)} queries: {' · '.join(sums)} ms; longest "
            f"{max(engine['hot_ms'] for engine in engines):.1f} ms")
    if name == "duckdb":
        return text
    return text + f"; {geometric_mean(ratios):.2f} x DuckDB's speed (geometric mean), at least {min(ratios):.2f}"


def parquet_line(entries):
    """What a user without a GPU gains over Parquet."""
    ratios = [ratio for entry in entries if (ratio := times_as_fast(entry, "auto", "parquet"))]
    if not ratios:
        return None
    return (f"{TITLES['auto']}: {geometric_mean(ratios):.2f} x the speed over Parquet (geometric mean of {len(ratios)} "
            f"queries), at least {min(ratios):.2f}")


def print_table(whole):
    """Times are milliseconds; x is how many times as fast as DuckDB's native tables an engine is, hot."""
    entries = whole["queries"]
    if not entries:
        return
    names = [name for name in TITLES if any(name in entry["engines"] for entry in entries)]
    blocks = [block("", [("", lambda entry: entry["query"]), ("rows", lambda entry: entry["rows"])], entries),
              *(block(TITLES[name], columns_of(name), entries) for name in names),
              block("", [("equal", verdict)], entries)]
    for line in zip(*blocks):
        print(" | ".join(line))
    for title, lines in (("failed", failing(whole)), ("differs", differing(whole))):
        for line in lines:
            print(f"{title}: {line[:400]}")
    for line in filter(None, (*(sum_line(entries, name) for name in names), parquet_line(entries))):
        print(line)
