"""What docs/python.md and the notebook show, runs; in an environment that holds the wheel and nothing else, too."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the sources are not here")


def tour():
    """The code of the page's tour."""
    return re.search(r"## A tour.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]


def run(python, code, folder):
    result = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_tour(here):
    pytest.importorskip("polars")
    assert run(sys.executable, tour(), here).count("\n") == 9  # names, seven days, how many rows


@pytest.mark.large
def test_the_tour_from_the_wheel_alone(here):
    wheels = list((ROOT / "dist").glob("pybasalt-*-cp%d%d-*.whl" % sys.version_info[:2]))
    assert wheels, "no wheel in dist: run make wheel"
    subprocess.run([sys.executable, "-m", "venv", "clean"], check=True)
    python = str(here / "clean" / "bin" / "python")
    install = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*install, str(wheels[0])], check=True, timeout=600)
    alone = "import pybasalt; pybasalt.write(pybasalt.sql('select 42 as a'), 't.basalt'); print(pybasalt.open('t.basalt'))"
    assert "1 rows" in run(python, alone, here)
    assert subprocess.run([here / "clean" / "bin" / "basalt", "sql", "select a from 't.basalt'", "--format", "csv"],
                          check=True, capture_output=True, text=True).stdout == "a\n42\n"
    subprocess.run([*install, f"{wheels[0]}[pandas,polars]"], check=True, timeout=600)
    assert "6" in run(python, tour(), here)


def test_the_notebook():
    """Its cells give what they show."""
    result = subprocess.run([sys.executable, ROOT / "scripts" / "run_notebook.py", "--check"], capture_output=True,
                            text=True, timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.returncode == 0, result.stderr
