"""Examples in docstrings run."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["_errors", "_files", "_progress", "_remote", "_split", "_sql", "_table", "device", "expressions"])
def test_examples(here, name):
    results = doctest.testmod(importlib.import_module(f"pybasalt.{name}"))
    assert results.failed == 0
