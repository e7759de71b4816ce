"""The SQL behaviour tests of tests/sql/*.test through Python: the same blocks, the same rows (see text_tests.cpp)."""

import pathlib

import pyarrow as pa
import pytest

import pybasalt

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "sql"


def blocks(path, folder):
    """(line, head, SQL, expected rows) of each block."""
    lines = path.read_text().replace("${DIR}", str(folder)).split("\n")
    at = 0
    while at < len(lines):
        if not lines[at] or lines[at].startswith("#"):
            at += 1
            continue
        end = lines.index("", at) if "" in lines[at:] else len(lines)
        body = lines[at + 1 : end]
        cut = body.index("----") if "----" in body else len(body)
        yield at + 1, lines[at], "\n".join(body[:cut]), body[cut + 1 :]
        at = end


def quoted(cell):
    """A cell of CSV with | between columns: NULL is nothing, an empty string "". """
    if cell is None:
        return ""
    special = cell == "" or any(sign in cell for sign in '|"\n\r')
    return '"' + cell.replace('"', '""') + '"' if special else cell


def texts(printer, table):
    """The rows of a result as lines: its Arrow columns, printed by SQL."""
    named = pa.table(table.columns, [f"c{i}" for i in range(table.num_columns)])  # noqa: F841: SQL finds it
    printed = printer.sql("select " + ", ".join(f"c{i}::varchar" for i in range(table.num_columns)) + " from named")
    lines = ["|".join(map(quoted, row)) for row in printed.fetchall()]
    return "\n".join(lines).split("\n") if lines else []


def check_query(con, printer, head, sql, expected):
    words = head.split()
    relation = con.execute(sql)
    rows = texts(printer, relation.arrow())
    if "sorted" in words:
        rows, expected = sorted(rows), sorted(expected)
    assert rows == expected
    report = relation.report
    if "lowered" in words:
        assert report["in_basalt"] and report["ran_on"] == "cpu", str(report)
    if "in_place" in words:
        assert report["texts_in_place"] > 0 and report["texts_decoded"] == 0, str(report)
    if " duckdb " in head:
        assert not report["in_basalt"] and head.split(" duckdb ")[1] in str(report), str(report)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the sources are not here")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.test")), ids=lambda path: path.stem)
def test_files_give_the_expected_rows(path, here):
    con, printer = (pybasalt.connect(device="cpu", threads=2) for _ in range(2))
    for line, head, sql, expected in blocks(path, here):
        try:
            if head == "statement":
                con.execute(sql)
            elif head.startswith("error "):
                with pytest.raises(pybasalt.Error) as caught:
                    con.execute(sql)
                assert head.removeprefix("error ") in str(caught.value)
            else:
                check_query(con, printer, head, sql, expected)
        except (AssertionError, pybasalt.Error) as failure:
            failure.add_note(f"{path.name}:{line}: {head}\n{sql}")
            raise
