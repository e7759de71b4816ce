"""The chart of a benchmark of queries: hot times of each engine, a group of bars per query, on a logarithmic scale.

An SVG of its own colours in light and in dark; nothing else is needed to draw or to show it.
"""
import math
from xml.sax.saxutils import escape

from query_report import TITLES

WIDTH, PLOT_HEIGHT, LEFT, TOP, BOTTOM = 960, 280, 52, 62, 46
# Fills in light and in dark.
COLOURS = {"gpu": ("#1a7f37", "#3fb950"), "cpu": ("#0969da", "#58a6ff"), "auto": ("#8250df", "#a371f7"),
           "duckdb": ("#bc6c00", "#e3a13c"),
           "parquet": ("#8c959f", "#8b949e")}


def style():
    light = "".join(f".{name} {{ fill: {pair[0]} }} " for name, pair in COLOURS.items())
    dark = "".join(f".{name} {{ fill: {pair[1]} }} " for name, pair in COLOURS.items())
    return (f"<style>text {{ fill: #1f2328 }} .grid {{ stroke: #d1d9e0 }} {light}@media (prefers-color-scheme: dark) "
            f"{{ text {{ fill: #e6edf3 }} .grid {{ stroke: #3d444d }} {dark}}}</style>")


def draw(whole, path):
    times = [(entry["query"], {name: one["hot_ms"] for name, one in entry["engines"].items() if "hot_ms" in one})
             for entry in whole.get("queries", [])]
    values = [ms for _, engines in times for ms in engines.values()]
    if not values:
        raise SystemExit("there is nothing to draw: no query was measured")
    names = [name for name in TITLES if any(name in engines for _, engines in times)]
    least = math.floor(math.log10(max(min(values), 1e-3)))
    most = max(math.ceil(math.log10(max(values))), least + 1)
    height = lambda ms: PLOT_HEIGHT * (math.log10(max(ms, 10 ** least)) - least) / (most - least)
    bottom, group = TOP + PLOT_HEIGHT, (WIDTH - LEFT - 8) / len(times)
    title = f"{whole['title']}, scale {whole['scale']}: milliseconds per query, hot, other literals each run"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" width="{WIDTH}" '
           f'height="{bottom + BOTTOM}" font-family="sans-serif" font-size="12">', style(),
           f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>']
    for place, name in enumerate(names):
        x = LEFT + place * 190
        out.append(f'<rect class="{name}" x="{x}" y="34" width="12" height="12"/>')
        out.append(f'<text x="{x + 18}" y="44">{escape(TITLES[name])}</text>')
    for power in range(least, most + 1):
        y = bottom - height(10 ** power)
        out.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 8}" y2="{y:.1f}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10 ** power:g}</text>')
    bar = group * 0.8 / len(names)
    for place, (query, engines) in enumerate(times):
        left = LEFT + place * group + group * 0.1
        out.append(f'<text x="{left + group * 0.4:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(query)}</text>')
        for slot, name in enumerate(names):
            if name in engines:
                # A bar of the least power of ten would have no height.
                tall = max(height(engines[name]), 1)
                said = f"{query}, {TITLES[name]}: {engines[name]:.3g} ms"
                out.append(f'<rect class="{name}" x="{left + slot * bar:.1f}" y="{bottom - tall:.1f}" '
                           f'width="{bar:.1f}" height="{tall:.1f}"><title>{escape(said)}</title></rect>')
    where = ", ".join([*whole["devices"], f"{whole['threads']} threads", whole["date"]])
    out += [f'<text x="{LEFT}" y="{bottom + 38}">{escape(where)}</text>', "</svg>"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
