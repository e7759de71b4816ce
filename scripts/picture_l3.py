#!/usr/bin/env python3
"""Draws a column of a .basalt file that is encoded with `l3`: its values, its partitions and their models, as SVG.

    scripts/picture_l3.py FILE OUT.svg [ROWS]

Reads the file with the independent reader of tests/python_reader, so the picture shows what is stored.
"""
import os
import sys

from first_array import first_array
import numpy as np

MODELS = ["constant", "reference", "line", "parabola", "cubic", "line", "parabola", "cubic", "runs"]
COLORS = {"constant": "#8c8c8c", "reference": "#d98e32", "line": "#3b7dd8", "parabola": "#38a169", "cubic": "#8e5cc0",
          "runs": "#c0504d"}
WIDTH, HEIGHT, LEFT, TOP, BITS = 960, 300, 20, 60, 70


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    (node, physical), values = first_array(sys.argv[1], "l3")
    records = np.frombuffer(node.streams[1], "<u8").tolist()
    rows = min(len(values), int(sys.argv[3]) if len(sys.argv) > 3 else 16384)
    values = values[:rows].astype(float)
    low, high = values.min(), values.max()
    x = lambda row: LEFT + (WIDTH - 2 * LEFT) * row / rows  # noqa: E731
    y = lambda value: TOP + HEIGHT - HEIGHT * (value - low) / max(high - low, 1)  # noqa: E731
    starts = [(record & 0xFFF) * 256 for record in records] + [len(values)]
    widest = max([record >> 16 & 127 for record in records] + [1])
    encoded = sum(len(stream) for stream in node.streams)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">'
           % (WIDTH, TOP + HEIGHT + BITS + 50),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="22" font-size="15">%s: %d rows, %.2f bits per value in the file (values have %d)</text>'
           % (LEFT, os.path.basename(sys.argv[1]), rows, 8 * encoded / node.count, int(physical[1:]))]
    used = {}
    for record, start, end in zip(records, starts, starts[1:]):
        if start >= rows:
            break
        name, end = MODELS[record >> 12 & 15], min(end, rows)
        used[name] = used.get(name, 0) + 1
        bar = BITS * (record >> 16 & 127) / widest
        out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" opacity="0.13"/>'
                   % (x(start), TOP, x(end) - x(start), HEIGHT, COLORS[name]))
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>rows %d to %d: %s, %d bits</title></rect>'
                   % (x(start) + 0.3, TOP + HEIGHT + 14 + BITS - bar, max(x(end) - x(start) - 0.6, 0.5), bar + 1,
                      COLORS[name], start, end - 1, name, record >> 16 & 127))
    step = max(1, rows // 2400)
    points = " ".join("%.1f,%.1f" % (x(i), y(values[i])) for i in range(0, rows, step))
    out.append('<polyline points="%s" fill="none" stroke="#222" stroke-width="1.1"/>' % points)
    at = LEFT
    for name, count in sorted(used.items()):
        out.append('<rect x="%d" y="34" width="12" height="12" fill="%s"/><text x="%d" y="45">%s × %d</text>'
                   % (at, COLORS[name], at + 17, name, count))
        at += 125
    out.append('<text x="%d" y="%d">below: bits per residual of each partition, at most %d; rows from left to right</text>'
               % (LEFT, TOP + HEIGHT + BITS + 36, widest))
    out.append("</svg>\n")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main()
