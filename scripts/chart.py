#!/usr/bin/env python3
"""Draws the ratios of a front_door.py run as bars: scripts/chart.py RESULT.json OUT.svg

A bar of 1 is the time, or the bytes, of Parquet with zstd in the same run; shorter is better.
"""
import json
import sys
from xml.sax.saxutils import escape

rows = [row for row in json.load(open(sys.argv[1]))["rows"] if row.get("ratio") and row["unit"] in ("s", "ms") and "beside" not in row["what"]]
width, label, height, unit = 860, 300, 26, 170
longest = (width - label - 70) / unit
out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(rows) + 50}" font-family="sans-serif" font-size="13">',
       '<rect width="100%" height="100%" fill="white"/>']
for i, row in enumerate(rows):
    y = 12 + i * height
    ratio = row["ratio"]
    out.append(f'<text x="{label - 10}" y="{y + 14}" text-anchor="end">{escape(row["what"])}</text>')
    colour = "#2f6f4f" if ratio <= 1 else "#b5892f"
    out.append(f'<rect x="{label}" y="{y}" width="{min(ratio, longest) * unit:.1f}" height="{height - 8}" fill="{colour}"/>')
    out.append(f'<text x="{label + min(ratio, longest) * unit + 6:.1f}" y="{y + 14}">{ratio:.2f}</text>')
bottom = 12 + len(rows) * height
out.append(f'<line x1="{label + unit}" y1="6" x2="{label + unit}" y2="{bottom}" stroke="#444" stroke-dasharray="4 3"/>')
out.append(f'<text x="{label + unit}" y="{bottom + 18}" text-anchor="middle">1 = DuckDB with Parquet + zstd, same run</text>')
out.append("</svg>")
open(sys.argv[2], "w").write("\n".join(out) + "\n")
