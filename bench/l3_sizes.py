#!/usr/bin/env python3
"""Sizes of the 20 integer columns of `basalt gen l3` under several encodings, in bits per value with all bytes counted:
packed, delta(packed), rle, and l3 at each effort; last, what the chooser takes by itself. Prints a table; --json writes
the same.

    bench/l3_sizes.py --bin build/release/basalt --rows 2000000
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FORCED = [("packed", "packed", "balanced"), ("delta", "delta(packed)", "balanced"), ("rle", "rle(packed, packed)", "balanced"),
          ("fast", "l3", "fast"), ("balanced", "l3", "balanced"), ("best", "l3", "best")]


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)[:200]}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def column_of(program, path):
    return json.loads(run(program, "info", "--json", path))["columns"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/basalt")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--sets", help="comma-separated (default: all)")
    parser.add_argument("--json")
    options = parser.parse_args()
    program = os.path.abspath(options.bin)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = ["--sets", options.sets] if options.sets else []
        run(program, "gen", "l3", "--quiet", "--rows", str(options.rows), "--out", folder, *chosen)
        heads = [name for name, _, _ in FORCED]
        print(f"{'set':<10} {'rows':>9}" + "".join(f"{head:>10}" for head in heads) + f"{'chosen':>10}  tree")
        for file in sorted(os.listdir(folder)):
            path = os.path.join(folder, file)
            about = json.loads(run(program, "info", "--json", path))
            count, column = about["rows"], about["columns"][0]
            row = {"set": file.removesuffix(".basalt"), "rows": count}
            for name, tree, effort in FORCED:
                out = os.path.join(folder, "forced.out")
                run(program, "convert", "--quiet", path, out, "--encoding", f"value={tree}", "--effort", effort)
                row[name] = round(column_of(program, out)["encoded_bytes"] * 8 / count, 3)
                os.unlink(out)
            row["chosen"] = round(column["encoded_bytes"] * 8 / count, 3)
            row["tree"] = column["encodings"][0]
            rows.append(row)
            print(f"{row['set']:<10} {count:>9}" + "".join(f"{row[head]:>10.3f}" for head in heads) +
                  f"{row['chosen']:>10.3f}  {row['tree']}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"benchmark": "l3_sizes", "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
