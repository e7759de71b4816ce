"""Examples in docstrings run."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["_dataset", "_errors", "_files", "_options", "_progress", "_remote", "_shown", "_split",
                                  "_sql", "_table", "_values", "device", "expressions"])
def test_examples(here, name):
    check(name)


@pytest.mark.large
@pytest.mark.parametrize("name", ["polars", "torch", "ray"])
def test_examples_with_large_packages(here, name):
    pytest.importorskip(name)
    check(name)


def check(name):
    results = doctest.testmod(importlib.import_module(f"pybasalt.{name}"))
    assert results.attempted > 0 and results.failed == 0
