#!/usr/bin/env python3
"""Runs the cells of docs/python-tour.ipynb and writes what they show into it.

    scripts/run_notebook.py [--check]

With --check the notebook stays as it is, and what differs from it is told, and is a failure. Numbers with a point may
differ in their last digits, as sums of several threads do. pybasalt must be importable, with numpy, pyarrow and pandas.
"""
import argparse
import ast
import contextlib
import io
import json
import math
import pathlib
import re
import sys
import tempfile

NOTEBOOK = pathlib.Path(__file__).resolve().parents[1] / "docs" / "python-tour.ipynb"
NUMBER = re.compile(r"(-?\d+\.\d+(?:e[+-]?\d+)?)")


def run(source, variables):
    """What a cell prints, and its last expression's value; None where it ends in a statement or in nothing."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), variables)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), variables)
    return printed.getvalue(), value


def outputs_of(printed, value, number):
    """The same as a notebook keeps it."""
    outputs = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def texts_of(outputs):
    """What is read in them, without the spaces that tables and long values are broken by."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return ["".join("".join(text).split()) for text in texts]


def alike(kept, found):
    kept, found = NUMBER.split(kept), NUMBER.split(found)
    return len(kept) == len(found) and all(
        math.isclose(float(a), float(b), rel_tol=1e-9) if NUMBER.fullmatch(a) and NUMBER.fullmatch(b) else a == b
        for a, b in zip(kept, found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    variables, differ = {"__name__": "__main__"}, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(cells, 1):
            outputs = outputs_of(*run("".join(cell["source"]), variables), number)
            kept, found = texts_of(cell["outputs"]), texts_of(outputs)
            if len(kept) != len(found) or not all(map(alike, kept, found)):
                differ += 1
                print(f"cell {number} has\n  {kept}\nand gives\n  {found}", file=sys.stderr)
            cell["outputs"], cell["execution_count"] = outputs, number
    if not check:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    elif differ:
        raise SystemExit(f"{differ} of {len(cells)} cells give something else: run scripts/run_notebook.py")


if __name__ == "__main__":
    main()
