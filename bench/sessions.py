"""What benchmarks of queries share: sessions of the program `basalt`, what they print, and rows that must be equal."""
import dataclasses
import json
import math
import os
import re
import subprocess
import tempfile
import time

TOLERANCE = 1e-9
MARKER = "end of statement"


class Failed(Exception):
    pass


class Number(str):
    """A number as it was written."""


@dataclasses.dataclass
class Finished:
    """One statement: its lines on standard output and what was said about it."""
    lines: list
    ms: float
    compile_ms: float = 0.0
    kernel_ms: float = 0.0
    last_line: str = ""


def call(program, arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"basalt {' '.join(arguments)[:200]}: {done.stderr[-2000:]}")
    return done.stdout


def parse_report(report):
    """What the lines on standard error say of each statement."""
    found = []
    for line in report:
        time_line = re.match(r"time: ([0-9.]+) ms total(?: · compile ([0-9.]+) ms .* kernel ([0-9.]+) ms)?", line)
        if time_line:
            found.append(Finished([], *(float(ms or 0) for ms in time_line.groups())))
        elif re.match(r"\d+ rows? ", line) and found:
            found[-1].last_line = line
    return found


def parse_rows(lines):
    """The lines of each statement, which a marker ends."""
    rows, current = [], []
    for line in lines:
        if line == json.dumps({"marker": MARKER}, separators=(",", ":")):
            rows.append(current)
            current = []
        else:
            current.append(line)
    return rows


def said_of_error(report, code):
    said = [line.strip() for line in report if not re.match(r"time: |tiles: |strings: |notice: |\d+ rows? ", line)]
    return " ".join(line for line in said if line) or f"exit {code}"


def run_script(program, arguments, statements, seconds, environment=None):
    """Runs statements in one session. Gives what each that was finished gave; then the error that ended the session, or
    None."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("script.sql", "out", "err")]
        with open(paths[0], "w", encoding="utf-8") as script:
            for statement in statements:
                script.write(f"{statement};\nselect '{MARKER}' as marker;\n")
        with open(paths[1], "wb") as out, open(paths[2], "wb") as err:
            process = subprocess.Popen([program, "sql", "--timing", "--format", "ndjson", *arguments, "-f", paths[0]],
                                       stdout=out, stderr=err, env={**os.environ, **(environment or {})})
            error = None
            try:
                process.wait(timeout=max(seconds, 1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                error = f"not finished when the time was over ({seconds:.0f} s)"
        with open(paths[1], encoding="utf-8", errors="surrogateescape") as out:
            rows = parse_rows(out.read().splitlines())
        with open(paths[2], encoding="utf-8", errors="replace") as err:
            report = err.read().splitlines()
    if process.returncode != 0 and error is None:
        error = said_of_error(report, process.returncode)
    # Every second statement is the marker's.
    finished = [dataclasses.replace(said, lines=lines) for lines, said in zip(rows, parse_report(report)[::2])]
    return finished[:len(statements)], error


def run_groups(program, arguments, setup, groups, deadline, environment=None):
    """Runs groups of statements, by name, in one session. Gives for each what its statements gave, or the error that
    one of them ended with; another session goes on with the next group."""
    results, left = {}, dict(groups)
    while left and time.monotonic() < deadline:
        statements = [*setup, *(statement for group in left.values() for statement in group)]
        finished, error = run_script(program, arguments, statements, deadline - time.monotonic(), environment)
        finished = finished[len(setup):]
        for name, group in list(left.items()):
            del left[name]
            if len(finished) < len(group):
                results[name] = error or "no result"
                break
            results[name] = finished[:len(group)]
            finished = finished[len(group):]
        if error and error.startswith("not finished"):
            break
    return {**results, **{name: "not run: the time was over" for name in left}}


def parsed_rows(lines):
    """Rows of NDJSON as lists of values; numbers with a point stay text, so that none is rounded."""
    return [[value for _, value in json.loads(line, object_pairs_hook=list, parse_float=Number)] for line in lines]


def described_types(lines):
    """Types of columns, from the rows of DESCRIBE."""
    return [json.loads(line)["column_type"] for line in lines]


def numbers_equal(left, right):
    left, right = float(left), float(right)
    return left == right or math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=0) or left != left and right != right


def row_equal(left, right, types):
    """Integers, decimals, dates and strings are equal exactly, doubles within the tolerance."""
    return all(a == b or (kind in ("DOUBLE", "FLOAT") and a is not None and b is not None and numbers_equal(a, b))
               for a, b, kind in zip(left, right, types))


def short_place(last_line):
    """What the last line says about where a statement ran."""
    if "footer" in last_line:
        return "footers"
    inside, rest = "ran in Basalt on" in last_line, "in DuckDB on the CPU" in last_line
    device = "CPU" if "ran in Basalt on the CPU" in last_line else "GPU"
    return f"{device} + DuckDB" if inside and rest else device if inside else "DuckDB"


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def has_gpu(program):
    try:
        call(program, ["sql", "-q", "--device", "cuda", "select 42"])
        return True
    except Failed:
        print("note: no GPU here", flush=True)
        return False


def device_names(program):
    """The machine's CPU and its GPUs."""
    lines = call(program, ["devices"]).splitlines()
    return [" ".join(line.split()) for line in lines if line.startswith(("CPU", "GPU"))]


def chosen_stage(parser, text):
    """K and M of --stage K/M."""
    if not re.fullmatch(r"\d+/[1-9]\d*", text):
        parser.error("--stage is written K/M, for example 1/4")
    stage, stages = (int(part) for part in text.split("/"))
    if stage > stages:
        parser.error(f"there is no stage {stage} of {stages}")
    return stage, stages
