"""Hints and stubs agree with the code, strictly."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1]


@pytest.mark.large
def test_types_are_sound(here):
    pytest.importorskip("mypy")
    result = subprocess.run([sys.executable, "-m", "mypy", "--config-file", FOLDER / "pyproject.toml", "--cache-dir", here,
                             FOLDER / "pybasalt"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
