#!/usr/bin/env python3
"""Turns the JSON of benchmark runs into what docs/results keeps: one small JSON and one table.

    scripts/results.py --title "H200, 2026-11-15, commit abc" --out docs/results/NAME RUN.json [RUN.json ...]

Decoding benchmarks have hundreds of lines (width × variant); the least and the mean share of the ceiling over a group
stay, and the registers of its kernel with the fewest warps that fit. Statement benchmarks keep every line.
"""
import argparse
import json
import os


def summarize_lines(run):
    groups = {}
    for line in run["lines"]:
        groups.setdefault((line["group"], line["variant"]), []).append(line)
    rows = []
    for (group, variant), lines in groups.items():
        ratios = [line["ratio"] for line in lines]
        least = min(lines, key=lambda line: line["ratio"])
        rows.append({"name": f"{group}, {variant}", "points": len(lines), "least": round(min(ratios), 4),
                     "least_at": least["point"], "mean": round(sum(ratios) / len(ratios), 4),
                     "least_values_per_second": min(line["values"] / line["seconds"] for line in lines)})
        if "registers" in least:
            rows[-1]["registers"] = max(line["registers"] for line in lines)
            rows[-1]["warps"] = min(line["warps"] for line in lines)
    return rows


def table_of(rows):
    """Markdown; registers and warps where some row has them."""
    with_registers = any("registers" in row for row in rows)
    more = [" registers |", " warps |"] if with_registers else []
    text = ["| what | points | least share of the ceiling | at | mean | least 10^12 values/s |" + "".join(more),
            "|---|---|---|---|---|---|" + "---|" * len(more)]
    for r in rows:
        text.append(f"| {r['name']} | {r['points']} | {100 * r['least']:.1f} % | {r['least_at']} | {100 * r['mean']:.1f} % "
                    f"| {r['least_values_per_second'] / 1e12:.2f} |")
        if with_registers:
            text[-1] += f" {r.get('registers', '')} | {r.get('warps', '')} |"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", required=True)
    parser.add_argument("--out", required=True, help="path without its ending")
    parser.add_argument("runs", nargs="+")
    options = parser.parse_args()
    kept = {"title": options.title}
    text = [f"# {options.title}", ""]
    for path in options.runs:
        with open(path, encoding="utf-8") as source:
            run = json.load(source)
        name = os.path.splitext(os.path.basename(path))[0]
        if "lines" in run:
            ceilings = {key: value for key, value in run.items() if key != "lines"}
            kept[name] = {"ceilings": ceilings, "rows": summarize_lines(run)}
            shown = ", ".join(f"{key.replace('_', ' ')} {value / 1e9:.0f} GB/s" for key, value in ceilings.items())
            text += [f"## {name}", "", f"Ceilings of the same run: {shown}.", ""] + table_of(kept[name]["rows"])
        else:
            kept[name] = {key: value for key, value in run.items() if key != "benchmark"}
            text += [f"## {name}", "", "| what | value | unit | bar |", "|---|---|---|---|"]
            text += [f"| {r['name']} | {r['value']:.4g} | {r['unit']} | {r['bar'] or ''} |" for r in run["rows"]]
        text.append("")
    with open(options.out + ".json", "w", encoding="utf-8") as out:
        json.dump(kept, out, indent=1)
        out.write("\n")
    with open(options.out + ".md", "w", encoding="utf-8") as out:
        out.write("\n".join(text))


if __name__ == "__main__":
    main()
