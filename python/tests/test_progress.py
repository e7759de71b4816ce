"""Bars on terminals and in notebooks, and calls of functions."""

import io
import sys
import types

import pytest

import pybasalt

#: Half a second on a fast machine.
LONG = "select count(*) as n from range(5_000_000) t(i) where md5(i::varchar) < '1'"


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        """What was shown, in turn."""
        return [line.replace("\x1b[K", "").strip() for line in self.getvalue().split("\r") if line]


def take_errors(monkeypatch, shown):
    """Not by sys.stderr itself, which pytest sets anew for each step of a test."""
    monkeypatch.setattr("pybasalt._progress.sys", types.SimpleNamespace(stderr=shown, modules=sys.modules))
    return shown


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return take_errors(monkeypatch, Terminal())


@pytest.fixture
def notebook(monkeypatch):
    """What a cell shows: a list for each text that is displayed, of its contents in turn."""
    cells = []

    class Handle:
        def update(self, data, raw):
            cells[-1].append(data["text/plain"])

    def display(data, raw, display_id):
        cells.append([data["text/plain"]])
        return Handle()

    inside, shows = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    inside.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    shows.display = display
    monkeypatch.setitem(sys.modules, "IPython", inside)
    monkeypatch.setitem(sys.modules, "IPython.display", shows)
    return cells


@pytest.fixture
def con(here):
    with pybasalt.connect(device="cpu", threads=2) as connection:
        yield connection


def test_statements_show_a_bar(con, terminal):
    assert con.execute(LONG, progress=True).fetchone()[0] > 300_000
    lines = terminal.lines()
    assert len(lines) > 1 and all(line.startswith("query:") for line in lines)
    assert lines[-1].startswith("query: 100%|████████████████████| [00:") and terminal.getvalue().endswith("\n")


def test_writers_show_rows_and_bytes(here, trips, terminal):
    pybasalt.write(trips, "t.basalt", progress=True)
    last = terminal.lines()[-1]
    assert last.startswith("t.basalt: 100%|") and "| 100,000 rows, " in last and last.endswith("MB/s [00:00<00:00]")
    for write in (lambda: pybasalt.write(trips, "t.basalt", sort_by="fare", progress=True),
                  lambda: pybasalt.convert("from 't.basalt'", "u.basalt", progress=True),
                  lambda: pybasalt.sql("from 't.basalt'").write("v.basalt", progress=True),
                  lambda: pybasalt.sql("from 't.basalt' where id >= ?", [0]).write("w.basalt", progress=True)):
        write()
        assert "100,000 rows" in terminal.lines()[-1]


def test_a_bar_of_what_fails_stays_where_it_was(con, terminal):
    with pytest.raises(pybasalt.Error):
        con.execute("select error('no')", progress=True)
    assert terminal.lines()[-1] == "query: [00:00]" and terminal.getvalue().endswith("\n")


def test_notebooks_show_one_bar_that_changes(con, notebook):
    con.execute(LONG, progress=True)
    assert len(notebook) == 1 and len(notebook[0]) > 1 and notebook[0][-1].startswith("query: 100%|")


def test_nothing_is_shown_where_nobody_looks(con, monkeypatch):
    shown = take_errors(monkeypatch, io.StringIO())
    con.execute(LONG, progress=True)
    pybasalt.write({"a": [1]}, "t.basalt", progress=True)
    assert shown.getvalue() == ""


def test_functions_are_called(con):
    seen = []
    con.execute(LONG, progress=seen.append)
    con.execute("create table t as " + LONG, progress=seen.append)  # what is no query, too
    assert len(seen) > 4 and max(seen) <= 1
    rows = []
    con.sql("select range as a from range(1000000)").write("t.basalt", progress=lambda *told: rows.append(told))
    assert rows[-1][0] == 1_000_000


def test_wrong_ones_are_refused_before_anything_runs(con):
    with pytest.raises(TypeError, match="progress is True, False or a function of the share"):
        con.execute("create table t (a int)", progress="yes")
    assert con.tables() == []
    with pytest.raises(TypeError, match="progress is True, False or a function of rows"):
        pybasalt.write({"a": [1]}, "t.basalt", progress=3)
