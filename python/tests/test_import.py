"""Importing: without others, without CUDA, and beside others in any order. bench/python.py says how long it takes."""

import importlib.util
import os
import subprocess
import sys

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_loads_neither_others_nor_cuda():
    code = "import sys, pybasalt; print(*(m for m in ('pyarrow', 'pandas', 'numpy', 'polars', 'torch') if m in sys.modules))"
    assert run(code).split() == []
    code = "import pybasalt; print('libcuda.so' in open('/proc/self/maps').read())"
    assert run(code).strip() == "False"


def test_modules_are_there_when_asked_for():
    run("import pybasalt; assert pybasalt.polars.scan_polars is pybasalt.scan_polars; assert not hasattr(pybasalt, 'none')")
    for name in ("torch", "ray", "pyarrow"):
        asked = {"pyarrow": "dataset"}.get(name, name)
        code = (f"import sys, pybasalt; sys.modules[{name!r}] = None\ntry: pybasalt.{asked}\n"
                "except ImportError as error: assert isinstance(error, pybasalt.Error); print(error)")
        assert run(code).startswith(f"pybasalt.{asked} needs a package: pip install ") and name in run(code)


USES = {
    "pybasalt": "assert pybasalt.sql('select count(*) from range(1000) t(i) where i > 10').fetchone() == (989,)",
    "duckdb": "assert duckdb.sql('select count(*) from range(1000) t(i) where i > 10').fetchall() == [(989,)]",
    "pyarrow": "assert pyarrow.table({'a': ['x', 'y']}).num_rows == 2",
    "polars": "assert polars.DataFrame({'a': [1, 2]}).sum().item() == 3",
    "torch": "assert torch.arange(10).sum().item() == 45",
}


OTHERS = [name for name in USES if name != "pybasalt"]


def check_order(order):
    """Each is imported, used, and used once more when all are there."""
    if any(importlib.util.find_spec(name) is None for name in order):
        pytest.skip("not installed: " + ", ".join(order))
    imports = "\n".join(f"import {name}" for name in order)
    uses = "\n".join(USES[name] for name in [*order, *reversed(order)])
    run(f"{imports}\n{uses}\n")


@pytest.mark.parametrize("other", ["duckdb", "pyarrow"])
def test_either_order_of_imports_works(other):
    check_order(["pybasalt", other])
    check_order([other, "pybasalt"])


@pytest.mark.large
@pytest.mark.parametrize("place", range(len(USES)))
@pytest.mark.parametrize("others", [OTHERS, OTHERS[::-1], [*OTHERS[2:], *OTHERS[:2]]], ids="-".join)
def test_all_in_one_process(others, place):
    check_order([*others[:place], "pybasalt", *others[place:]])


def test_the_program_comes_with_it():
    result = subprocess.run([sys.executable, "-m", "pybasalt", "--version"], capture_output=True, text=True,
                            env=ENVIRONMENT)
    assert result.returncode == 0 and "0.1.0" in result.stdout
