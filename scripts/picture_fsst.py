#!/usr/bin/env python3
"""Draws strings of a .basalt file that are encoded with `fsst`: their symbols, their codes and how a row is found, as SVG.

    scripts/picture_fsst.py FILE OUT.svg [FIRST_ROW]

Reads the file with the independent reader of tests/python_reader, so the picture shows what is stored.
"""
import os
import sys
from xml.sax.saxutils import escape

from first_array import basalt_codecs, first_array
import numpy as np

ROWS, WIDTH, LEFT, TOP, ROW, CHAR = 5, 960, 150, 84, 74, 9.6
COLORS = ["#8c8c8c", "#d98e32", "#c9b037", "#38a169", "#2c9c9c", "#3b7dd8", "#8e5cc0", "#c0504d"]


def steps(codes, symbols):
    """The row's codes with what each stands for."""
    at = 0
    while at < len(codes):
        if codes[at] == 255:
            yield "esc", bytes(codes[at + 1:at + 2])
            at += 2
        else:
            yield str(codes[at]), symbols[codes[at]]
            at += 1


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    (node, _), texts = first_array(sys.argv[1], "fsst")
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    tile, shift = first // 1024, node.params[1]
    places = np.frombuffer(node.streams[0][:4 * ((tile >> shift) + 2)], "<u4").tolist()
    symbols, _ = basalt_codecs.fsst_table(node.streams[0][places[-2]:places[-1]])
    start = int(np.frombuffer(node.streams[1], "<u8")[tile])
    lengths = basalt_codecs.decode(node.children[0], "u32").tolist()
    plain, coded = sum(map(len, texts)), len(node.streams[2])
    rows = range(first, min(first + ROWS, len(texts), (tile + 1) * 1024))

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">'
           % (WIDTH, TOP + ROW * len(rows) + 50),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="20" y="24" font-size="15">%s: %d strings of %d bytes in %d bytes of codes, %d symbols in the table</text>'
           % (escape(os.path.basename(sys.argv[1])), len(texts), plain, coded, len(symbols))]
    for length, color in enumerate(COLORS, 1):
        out.append('<rect x="%d" y="38" width="12" height="12" fill="%s" opacity="0.35"/><text x="%d" y="49">%d byte%s</text>'
                   % (20 + 90 * (length - 1), color, 37 + 90 * (length - 1), length, "" if length == 1 else "s"))
    place = start + sum(lengths[tile * 1024:first])
    for i, row in enumerate(rows):
        y = TOP + ROW * i
        out.append('<text x="20" y="%d">row %d</text><text x="20" y="%d" fill="#666">at %d, length %d</text>'
                   % (y + 17, row, y + 38, place, lengths[row]))
        x = LEFT
        for code, text in steps(node.streams[2][place:place + lengths[row]], symbols):
            shown = text.decode("utf-8", "replace")
            width = max(CHAR * len(shown) + 8, 30)
            if x + width > WIDTH - 10:
                out.append('<text x="%.1f" y="%d">…</text>' % (x + 4, y + 17))
                break
            out.append('<rect x="%.1f" y="%d" width="%.1f" height="24" rx="3" fill="%s" opacity="0.35"/>'
                       % (x, y, width, COLORS[len(text) - 1]))
            out.append('<text x="%.1f" y="%d" font-family="monospace" font-size="15" text-anchor="middle" xml:space="preserve">%s</text>'
                       % (x + width / 2, y + 17, escape(shown).replace(" ", "·")))
            out.append('<text x="%.1f" y="%d" text-anchor="middle" fill="#444">%s</text>' % (x + width / 2, y + 40, code))
            x += width + 3
        place += lengths[row]
    out.append('<text x="20" y="%d">above: the text, cut into symbols; below: their codes, a byte each. A row begins at its '
               'tile\'s start (%d) plus the code lengths before it.</text>' % (TOP + ROW * len(rows) + 24, start))
    out.append("</svg>")
    with open(sys.argv[2], "w", encoding="utf-8") as handle:
        handle.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
