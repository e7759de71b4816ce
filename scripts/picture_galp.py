#!/usr/bin/env python3
"""Draws what benchmarks of `galp` on a GPU found, as SVG: shares of the memory rate over exceptions per tile, and values
per second over the number of columns in a filter, beside one column's.

    scripts/picture_galp.py RESULTS.json [RESULTS.json ...] OUT.svg

Reads what scripts/results.py keeps of galp_gpu_bench and galp_cursor_gpu_bench. Panels without figures are left out.
"""
import json
import re
import sys

OVER_EXCEPTIONS = re.compile(r"galp (f32|f64) x(\d+)(?: count)?, (.+)")
OVER_COLUMNS = re.compile(r"galp (f32|f64) c(\d+) x(\d+), (.+)")
CURSOR = re.compile(r"cursor (\d+) (\w+)")
PATCHERS = {"naive": "cursor, positions loaded per row", "position": "cursor, next position kept",
            "value": "cursor, next position and value kept", "mask": "cursor, row mask"}
INTEGERS = "filter on integers"
TYPES = {"f32": "float", "f64": "double"}
COLORS = ["#3b7dd8", "#d98e32", "#38a169", "#8e5cc0", "#c0504d", "#8c8c8c", "#222222", "#17a2a2"]
WIDTH, HEIGHT, LEFT, TOP, LEGEND = 420, 240, 50, 50, 250


def rows_of(paths):
    for path in paths:
        with open(path, encoding="utf-8") as source:
            sections = json.load(source)
        for section in sections.values():
            if isinstance(section, dict):
                yield from (row for row in section.get("rows", []) if "least_values_per_second" in row)


def line_over_exceptions(variant):
    cursor = CURSOR.fullmatch(variant)
    if cursor:
        return PATCHERS[cursor[2]]
    return {"decode": "decoded to memory", "filter": INTEGERS, "integers": INTEGERS}.get(variant, variant)


def line_over_columns(variant):
    cursor = CURSOR.fullmatch(variant)
    if cursor:
        return "cursors side by side, %s value%s per call" % (cursor[1], "" if cursor[1] == "1" else "s")
    return "column after column on integers" if variant == "integers" else variant


def collect(rows):
    """{title: {line: {x: y}}}: of cursors the best number of values per call; of columns those of most exceptions."""
    shares, rates = {}, {}
    for row in rows:
        if match := OVER_EXCEPTIONS.fullmatch(row["name"]):
            points = shares.setdefault(match[1], {}).setdefault(line_over_exceptions(match[3]), {})
            points[int(match[2])] = max(points.get(int(match[2]), 0), row["mean"])
        elif match := OVER_COLUMNS.fullmatch(row["name"]):
            lines = rates.setdefault((match[1], int(match[3])), {})
            lines.setdefault(line_over_columns(match[4]), {})[int(match[2])] = row["least_values_per_second"]
    panels = [("%s: share of the memory rate" % TYPES[kind], "exceptions per tile of 1024 rows", shares[kind])
              for kind in sorted(shares, reverse=True)]
    for kind in sorted({kind for kind, _ in rates}, reverse=True):
        exceptions = max(x for other, x in rates if other == kind)
        lines = {name: {x: y / points[1] for x, y in points.items()}
                 for name, points in rates[kind, exceptions].items() if points.get(1)}
        panels.append(("%s, %d exceptions per tile: values per second, of one column's" % (TYPES[kind], exceptions),
                       "columns in the filter", lines))
    return panels


def draw(title, below, lines, top):
    most_x = max(max(points) for points in lines.values())
    least_x = min(min(points) for points in lines.values())
    most_y = max([1.0] + [y for points in lines.values() for y in points.values()])
    x = lambda value: LEFT + WIDTH * (value - least_x) / max(most_x - least_x, 1)  # noqa: E731
    y = lambda value: top + TOP + HEIGHT - HEIGHT * value / most_y  # noqa: E731
    out = ['<text x="%d" y="%d" font-size="15">%s</text>' % (LEFT, top + 28, title)]
    for tenth in range(0, int(most_y * 10) + 1, 2):
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%d %%'
                   '</text>' % (LEFT, LEFT + WIDTH, y(tenth / 10), y(tenth / 10), LEFT - 6, y(tenth / 10) + 4, tenth * 10))
    last = -100
    for value in sorted({value for points in lines.values() for value in points}):
        if x(value) - last >= 24:
            last = x(value)
            out.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (last, top + TOP + HEIGHT + 17, value))
    out.append('<text x="%d" y="%d">%s</text>' % (LEFT, top + TOP + HEIGHT + 35, below))
    for i, (name, points) in enumerate(sorted(lines.items())):
        color = COLORS[i % len(COLORS)]
        path = " ".join("%.1f,%.1f" % (x(value), y(points[value])) for value in sorted(points))
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (path, color))
        out += ['<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"><title>%s, %d: %.1f %%</title></circle>'
                % (x(value), y(share), color, name, value, 100 * share) for value, share in points.items()]
        at = top + TOP + 10 + 20 * i
        out.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>'
                   % (LEFT + WIDTH + 20, at, color, LEFT + WIDTH + 38, at + 11, name))
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    panels = collect(rows_of(sys.argv[1:-1]))
    if not panels:
        sys.exit("no figures of galp in " + ", ".join(sys.argv[1:-1]))
    step = TOP + HEIGHT + 60
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">'
           % (LEFT + WIDTH + 60 + LEGEND, step * len(panels)), '<rect width="100%" height="100%" fill="white"/>']
    for i, (title, below, lines) in enumerate(panels):
        out += draw(title, below, lines, step * i)
    with open(sys.argv[-1], "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>\n"]))


if __name__ == "__main__":
    main()
