"""Opening, reading and writing files and datasets."""

import os
import pickle
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pybasalt
from pybasalt import col


@pytest.fixture
def file(here, trips):
    pybasalt.write(trips, "trips.basalt", chunk_rows=16384)
    return "trips.basalt"


def test_open_tells_what_is_in_a_file(file, trips):
    opened = pybasalt.open(file)
    assert opened.num_rows == len(opened) == 100_000
    assert opened.schema.names == trips.column_names
    assert opened.schema.types == ["bigint", "integer", "double", "varchar"]
    assert pa.schema(opened.schema) == trips.schema
    assert sum(opened.chunk_rows) == 100_000 and len(opened.chunk_rows) == 7
    assert opened.num_bytes == os.path.getsize(file)
    statistics = opened.statistics("passengers")
    assert (statistics["min"], statistics["max"], statistics["null_count"]) == (0, 6, 9091)
    columns = {column["name"]: column for column in opened.columns}
    assert columns["id"]["encoded_bytes"] < columns["id"]["plain_bytes"] and columns["id"]["encodings"]
    assert opened.created_by.lower().startswith("basalt")


def test_read_some_columns_and_rows(file, trips):
    assert pybasalt.read(file).arrow().equals(trips)
    assert pybasalt.read(file, ["city", "id"]).arrow().equals(trips.select(["city", "id"]))
    assert pybasalt.read(file, rows=10).arrow().equals(trips.slice(0, 10))
    assert pybasalt.read(file, rows=slice(20_000, 40_000)).arrow().equals(trips.slice(20_000, 20_000))
    assert pybasalt.read(file, ["id"], rows=(99_990, 200_000)).num_rows == 10
    assert pybasalt.open(file).read(["id"], threads=1).arrow().equals(trips.select(["id"]))
    limited = pybasalt.read(file, ["id"], "id >= 5", rows=range(3, 8)).fetchall()
    assert limited == [(5,), (6,), (7,)]


def test_filters_by_text_and_by_expression(file, trips):
    expected = trips.filter((pc.field("fare") > 50) & (pc.field("city") == "city 5"))
    assert pybasalt.read(file, filter="fare > 50 and city = 'city 5'").arrow().equals(expected)
    assert pybasalt.read(file, filter=(col("fare") > 50) & (col("city") == "city 5")).arrow().equals(expected)
    assert pybasalt.read(file, filter=col("passengers").is_null()).num_rows == 9091
    assert pybasalt.read(file, ["id"], filter=col("id").isin([3, 5, -1])).fetchall() == [(3,), (5,)]
    assert pybasalt.read(file, filter=~col("id").between(10, 99_999)).num_rows == 10
    assert pybasalt.read(file, filter="city like '%7' -- a comment").num_rows > 0
    # Nothing is left, as statistics say; types stay.
    nothing = pybasalt.read(file, filter="id < 0").arrow()
    assert nothing.num_rows == 0 and nothing.schema.types == trips.schema.types
    # What Basalt's own filters do not have, DuckDB evaluates.
    assert pybasalt.read(file, ["id"], filter="list_contains([3, 4], id)").fetchall() == [(3,), (4,)]


def test_filters_are_one_condition(file):
    for text in ("id > 3) or (1=1", "1=1) union all (select 1", "true; drop table x", "true); select (1", "id > 3 /*",
                 "-- nothing", "1, 2", "true limit 1", "true) to 'x'; copy (select 1", "id >", "a\0b"):
        for read in (pybasalt.read, pybasalt.scan):
            with pytest.raises(pybasalt.ArgumentError):
                read(file, filter=text)
    for text in ("", " \n"):
        with pytest.raises(ValueError, match="the filter is empty"):
            pybasalt.read(file, filter=text)
    for text in ("(id > 3 /* ) */) and ')' = ')'", "id > 3 --)"):
        assert pybasalt.read(file, ["id"], text, rows=6).fetchall() == [(4,), (5,)]


def test_scans_give_batches(file, trips):
    scan = pybasalt.scan(file, ["id"], filter="id % 2 = 0")
    batches = list(scan)
    assert len(batches) > 1 and sum(batch.num_rows for batch in batches) == 50_000
    reader = pa.RecordBatchReader.from_stream(pybasalt.scan(file))
    assert reader.read_all().equals(trips)
    abandoned = iter(pybasalt.scan(file))
    next(abandoned)
    del abandoned
    with pytest.raises(ValueError, match="handed over"):
        scan = pybasalt.scan(file)
        pa.RecordBatchReader.from_stream(scan)
        next(iter(scan))


def test_scans_by_sql_give_batches_as_they_are_found(file):
    """Those whose filter is none of Basalt's own: of 300 MB never more than a part is there."""
    def resident_bytes():
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    opened, most, rows = pybasalt.open(file), 0, 0
    before = resident_bytes()
    for batch in pybasalt.scan([opened] * 100, filter="hash(city) != id"):
        most, rows = max(most, resident_bytes() - before), rows + batch.num_rows
    assert rows == 10_000_000 and most < 150e6


def test_datasets_of_many_files(here, trips):
    for part in range(4):
        pybasalt.write(trips.slice(part * 25_000, 25_000), "data", append=True)
    assert pybasalt.read("data").num_rows == 100_000
    assert pybasalt.read("data/*.basalt", ["id"], filter="id >= 99999").fetchall() == [(99_999,)]
    paths = sorted(os.path.join("data", name) for name in os.listdir("data") if name.endswith(".basalt"))
    assert pybasalt.read(paths[:2], ["id"]).num_rows == 50_000
    os.makedirs("hive/year=2024")
    os.makedirs("hive/year=2025")
    pybasalt.write({"v": [1, 2]}, "hive/year=2024/a.basalt")
    pybasalt.write({"v": [3]}, "hive/year=2025/a.basalt")
    assert sorted(pybasalt.read("hive").fetchall()) == [(1, 2024), (2, 2024), (3, 2025)]
    assert pybasalt.read("hive", ["v"], filter=col("year") == 2025).fetchall() == [(3,)]
    assert pybasalt.read("hive/*/*.basalt", hive_partitioning=False).arrow().column_names == ["v"]


def test_write_options(here, trips):
    summary = pybasalt.write(trips, "t.basalt", encoding={"id": "delta(packed)"}, effort="fast", threads=1,
                             metadata={"who": "me"}, chunk_rows=8192)
    assert summary.rows == 100_000 and summary.file_bytes == os.path.getsize("t.basalt")
    assert [c["encodings"] for c in summary.columns if c["name"] == "id"] == [["delta(packed)"]]
    opened = pybasalt.open("t.basalt")
    assert opened.metadata["who"] == "me" and opened.chunk_rows[0] == 8192
    pybasalt.write(trips, "sorted.basalt", sort_by=["city", "id"])
    assert pybasalt.open("sorted.basalt").sort_columns == ["city", "id"]
    expected = trips.sort_by([("city", "ascending"), ("id", "ascending")])
    assert pybasalt.read("sorted.basalt").arrow()["id"].to_pylist() == expected["id"].to_pylist()
    seen = []
    pybasalt.write(trips, "t.basalt", progress=lambda rows, plain, written: seen.append(rows))
    assert seen and seen[-1] == 100_000


def test_convert(here, trips):
    pq.write_table(trips, "t.parquet")
    assert pybasalt.convert("t.parquet", "t.basalt").rows == 100_000
    assert pybasalt.read("t.basalt").arrow().equals(trips)
    assert pybasalt.convert("select id from 't.parquet' where id < 10", "u.basalt", sort_by="id").rows == 10
    with open("t.csv", "w") as out:
        out.write("a,b\n1,x\n2,y\n")
    pybasalt.convert("t.csv", "v.basalt")
    assert pybasalt.read("v.basalt").fetchall() == [(1, "x"), (2, "y")]


def test_the_link_decides_what_travels(here):
    rows = ("select case when hash(range + 9) % 4 = 0 then hash(range + 11) % 4096 else hash(range + 13) % 2 * 4000 end::int "
            "as n from range(300000)")
    found = {link: pybasalt.convert(rows, f"link-{link}.basalt", purpose="transfer", link=link) for link in (None, 450)}
    # Over a faster link, decoding takes longer than the copy of what it saves.
    assert [found[link].columns[0]["encodings"] for link in found] == [["ans"], ["packed"]]
    assert found[None].file_bytes < found[450].file_bytes


def test_errors(here, file):
    with pytest.raises(pybasalt.InputOutputError) as caught:
        pybasalt.open("nowhere.basalt")
    assert caught.value.code == "input/output" and caught.value.file == "nowhere.basalt"
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, pybasalt.Error)
    with pytest.raises(FileNotFoundError):
        pybasalt.read("none.basalt", filter="true")
    with pytest.raises(ValueError, match="fares"):
        pybasalt.read(file, ["fares"])
    with pytest.raises(ValueError, match="fares"):
        pybasalt.read(file, filter="fares > 3")
    with pytest.raises(ValueError, match="syntax"):
        pybasalt.read(file, filter="fare >")
    with pytest.raises(TypeError):
        pybasalt.read(file, filter=3)
    with pytest.raises(ValueError):
        pybasalt.write({"a": [1]}, "t.basalt", effort="tiny")
    with pytest.raises(ValueError, match="purpose"):
        pybasalt.write({"a": [1]}, "t.basalt", purpose="archive")
    for link, error in ((0, ValueError), (-3, ValueError), ("PCIe", TypeError), (True, TypeError)):
        with pytest.raises(error, match="link"):
            pybasalt.write({"a": [1]}, "t.basalt", purpose="transfer", link=link)
    with pytest.raises(ValueError, match="purpose='transfer' only"):
        pybasalt.write({"a": [1]}, "t.basalt", link=12)
    with pytest.raises(ValueError):
        pybasalt.read(file, rows=slice(0, 10, 2))
    with open(file, "r+b") as damaged:
        damaged.seek(4096)
        damaged.write(b"\xff" * 512)
    with pytest.raises(pybasalt.Error) as caught:
        pybasalt.read(file)
    assert caught.value.code == "corrupt" and caught.value.file == file and caught.value.column is not None
    assert pickle.loads(pickle.dumps(caught.value)).code == "corrupt"


@pytest.mark.parametrize("fails, file, column", [
    (lambda opened: opened.read(["none such"]), "t.basalt", "none such"),
    (lambda opened: opened.statistics("none"), "t.basalt", "none"),
    (lambda opened: pybasalt.write({"b": ["x"]}, "u.basalt", encoding={"b": "delta(packed)"}), "u.basalt", "b"),
    (lambda opened: pybasalt.write({"b": [1]}, "u.basalt", encoding={"c": "packed"}), "u.basalt", "c"),
    (lambda opened: opened.column("a", device="cpu").numpy(), None, "a"),
    (lambda opened: opened.column("a text", device="cpu").numpy(), None, "a text"),
    (lambda opened: pybasalt.open("no:where/column x: y.basalt"), "no:where/column x: y.basalt", None),
    (lambda opened: pybasalt.write({"b": [1]}, "u.basalt", sort_by="c"), None, None),
    (lambda opened: opened.read(["A"]), "t.basalt", "A"),
    (lambda opened: pybasalt.open("nope"), "nope", None),
])
def test_errors_name_their_file_and_column(here, fails, file, column):
    pybasalt.write({"a": [1, None], "a text": ["x", "y"]}, "t.basalt")
    with pytest.raises(pybasalt.Error) as caught:
        fails(pybasalt.open("t.basalt"))
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.file, error.column) == (file, column), str(error)


def test_errors_of_damaged_metadata_name_the_column(here):
    pybasalt.write({"first": list(range(1000)), "second": [x * 7 % 1001 for x in range(1000)]}, "t.basalt")
    with open("t.basalt", "rb") as whole:
        content = whole.read()
    found = set()
    for place in range(len(content)):
        with open("t.basalt", "wb") as damaged:
            damaged.write(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            pybasalt.read("t.basalt")
        except pybasalt.Error as error:
            assert error.file == "t.basalt", error
            found.add(error.column)
    assert found == {None, "first", "second"}


INTERRUPTED = """
import os, signal, threading, time
import pybasalt

file = pybasalt.open("trips.basalt")
pybasalt.read(file, filter="id < 3")  # which makes the session

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

# Planning cannot be stopped, and takes up to half a second for so many files: rows are being read by then.
threading.Timer(1, interrupt).start()
try:
    {statement}
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""

ENDLESS = "select i, hash(i) h from range(100000000000) t(i)"


@pytest.mark.parametrize("statement", [
    "pybasalt.read([file] * 20_000)",
    "pybasalt.read([file] * 20_000, filter=\"city like '%no%such%'\")",
    "pybasalt.read([file] * 20_000, filter=\"md5(city) = 'none'\")",
    "list(pybasalt.scan([file] * 20_000))",
    "pybasalt.write(pybasalt.scan([file] * 20_000), 't.basalt')",
    "pybasalt.write(pybasalt.scan([file] * 20_000), 't.basalt', sort_by='fare')",
    "pybasalt.sql('select count(*) from range(100000000000) t(i) where i % 7 = 3').fetchall()",
    f"for _ in pybasalt.sql('{ENDLESS}').batches(): pass",
    f"pybasalt.sql('{ENDLESS}').write('t.basalt')",
    f"pybasalt.convert('{ENDLESS}', 't.basalt')",
])
def test_control_c_stops_work(file, statement):
    """Within half a second, if not on a busy machine, and leaves no part of a file behind."""
    before = sorted(os.listdir())
    took = []
    while not took or (min(took) > 0.5 and len(took) < 3):
        result = subprocess.run([sys.executable, "-c", INTERRUPTED.format(statement=statement)], capture_output=True,
                                text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert result.stdout, result.stderr
        took.append(float(result.stdout))
        assert sorted(os.listdir()) == before
    assert min(took) < 0.5, took


def test_remote_files_by_fsspec(here, file, trips):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    with open(file, "rb") as local:
        memory.pipe("/bucket/a.basalt", local.read())
        local.seek(0)
        memory.pipe("/bucket/b.basalt", local.read())
    opened = pybasalt.open("memory://bucket/a.basalt")
    assert opened.num_rows == 100_000 and opened.read().arrow().equals(trips)
    assert pybasalt.read("memory://bucket/*.basalt", ["id"]).num_rows == 200_000
    filtered = pybasalt.read("memory://bucket/a.basalt", ["id"], filter=col("id") < 3)
    assert filtered.fetchall() == [(0,), (1,), (2,)]
    with pytest.raises(OSError):
        pybasalt.open("memory://bucket/none.basalt")


def test_ctrl_c_is_only_asked_for_in_the_main_thread(file):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_scan_in_several_threads(here, trips):
    import threading

    pybasalt.write(trips, "t.basalt", chunk_rows=8192)
    scan, rows = pybasalt.scan("t.basalt", ["id"]), []
    threads = [threading.Thread(target=lambda: rows.extend(batch.num_rows for batch in scan)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(rows) == 100_000
    with pybasalt.scan("t.basalt") as scan:
        next(iter(scan))
    with pytest.raises(ValueError, match="closed"):
        next(iter(scan))
    for _ in range(5):
        scan, ended = pybasalt.scan("t.basalt", ["id"]), []

        def read():
            try:
                for _batch in scan:
                    pass
            except ValueError as error:
                ended.append(str(error))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            scan.__arrow_c_stream__()
        except ValueError:
            pass
        for thread in threads:
            thread.join()
        assert all("handed over" in one for one in ended)


def test_wrong_options_are_refused_by_name(here):
    table = {"a": [1]}
    for options, kind in (({"threads": -1}, ValueError), ({"threads": 1.5}, TypeError), ({"effort": 3}, TypeError),
                          ({"effort": "most"}, ValueError), ({"encoding": {"a": 3}}, TypeError), ({"device": "tpu"}, ValueError),
                          ({"metadata": {"k": 3}}, TypeError), ({"chunk_rows": -1}, ValueError)):
        with pytest.raises(kind, match=next(iter(options))):
            pybasalt.write(table, "t.basalt", **options)
    pybasalt.write(table, "t.basalt", memory_limit="64MiB")
    assert pybasalt.read("t.basalt", memory_limit="64MiB").fetchall() == [(1,)]
    for wrong in ({"columns": []}, {"threads": -1}, {"rows": -1}):
        with pytest.raises(ValueError):
            pybasalt.read("t.basalt", **wrong)
    with pytest.raises(ValueError, match="empty"):
        pybasalt.read("")


def test_filters_change_rows_and_nothing_else(here):
    pybasalt.write({"a": [1]}, "whole.basalt")
    pybasalt.write({"a": [1.5]}, "real.basalt")
    for options in ({}, {"filter": "a > 0"}):
        with pytest.raises(pybasalt.Error, match="columns differ"):
            pybasalt.read(["whole.basalt", "real.basalt"], **options)
    here.joinpath("y=1").mkdir()
    pybasalt.write({"v": [1]}, "y=1/p.basalt")
    for options in ({}, {"filter": "v = 1"}, {"rows": 1}):
        assert pybasalt.read("y=1/p.basalt", **options).fetchall() == [(1,)]
        assert pybasalt.open("y=1/p.basalt").read(**options).fetchall() == [(1,)]
        assert pybasalt.read("*/p.basalt", **options).fetchall() == [(1, 1)]
    assert pybasalt.read("whole.basalt", columns=(name for name in ["a"])).column_names == ["a"]
    assert pybasalt.read([pybasalt.open("whole.basalt")], filter="a = 1").fetchall() == [(1,)]
    assert [batch.num_rows for batch in pybasalt.open("whole.basalt")] == [1]


def test_names_of_files_end_in_basalt(here):
    relation = pybasalt.sql("select 1 as a")
    relation.write("X.BASALT")
    for name in ("x.parquet", "x.csv", "x", "x.basalt.gz", "memory://x.parquet", b"x.basalt"):
        for write in (lambda: pybasalt.write({"a": [1]}, name), lambda: pybasalt.convert("select 1 as a", name),
                      lambda: relation.write(name)):
            with pytest.raises(TypeError if isinstance(name, bytes) else ValueError, match=r"not bytes|end in \.basalt"):
                write()
    assert os.listdir() == ["X.BASALT"]


def test_folders_of_folders_are_made(here):
    relation = pybasalt.sql("select 1 as a")
    relation.write("lake/day=1", append=True)
    pybasalt.write({"a": [2]}, here / "lake" / "day=2" / "hour=3", append=True)
    pybasalt.convert("select 3 as a", f"file://{here}/other/lake/", append=True)
    assert pybasalt.read("lake/day=1", ["a"]).fetchall() == [(1,)]
    assert pybasalt.read("lake/day=2/hour=3", ["a"]).fetchall() == [(2,)]
    assert pybasalt.read("other/lake").fetchall() == [(3,)]


def test_columns_that_differ_by_case(here):
    for write in (lambda: pybasalt.write({"A": [1], "a": [2]}, "t.basalt"),
                  lambda: pybasalt.write({"A": [1], "a": [2]}, "t.basalt", sort_by="A"),
                  lambda: pybasalt.sql("select 1 as A, 2 as a").write("t.basalt"),
                  lambda: pybasalt.sql("select 1 as A, ? as a", [2]).write("t.basalt"),
                  lambda: pybasalt.convert("select 1 as A, 2 as a", "t.basalt")):
        with pytest.warns(UserWarning, match="its name was a, which differs") as caught:
            summary = write()
        assert caught[0].filename == __file__ and len(caught) == 1 and summary.notices == [str(caught[0].message)]
        assert pybasalt.open("t.basalt").column_names == ["A", "a_1"]
    pybasalt.write({"city_name": [1]}, "t.basalt")
    for fails in (lambda: pybasalt.read("t.basalt", ["CITY_NAME"]), lambda: pybasalt.read("t.basalt", ["CITY_NAME"], rows=1),
                  lambda: pybasalt.open("t.basalt").statistics("CITY_NAME")):
        with pytest.raises(pybasalt.ArgumentError, match="did you mean city_name") as caught:
            fails()
        assert (caught.value.file, caught.value.column) == ("t.basalt", "CITY_NAME")


def test_wrong_types_are_refused_by_name(here):
    pybasalt.write({"a": [1]}, "t.basalt")
    def write(**options):
        pybasalt.write({"a": [1]}, "u.basalt", **options)

    for fails, named in ((lambda: pybasalt.read("t.basalt", [0]), "columns"), (lambda: col("s").like(3), "like"),
                         (lambda: col(3), "col"), (lambda: write(encoding="packed"), "encoding"),
                         (lambda: write(metadata="m"), "metadata"), (lambda: write(sort_by=3), "sort_by"),
                         (lambda: pybasalt.write([1, 2, 3], "u.basalt"), "dicts"),
                         (lambda: pybasalt.read(b"t.basalt"), "path"),
                         (lambda: pybasalt.read(3), "path"), (lambda: pybasalt.open(3), "path"),
                         (lambda: pybasalt.convert(3, "u.basalt"), "source"),
                         (lambda: pybasalt.open("t.basalt").statistics(3), "column"),
                         (lambda: pybasalt.sql("select ?", 1), "parameters"), (lambda: pybasalt.connect(3), "database"),
                         (lambda: pybasalt.connect(temp_dir=3), "temp_dir")):
        with pytest.raises(TypeError, match=named) as caught:
            fails()
        assert "\n" not in str(caught.value)


def test_limits_are_named_as_the_argument(file):
    with pytest.raises(MemoryError) as caught:
        pybasalt.read(file, rows=99_999, memory_limit="1")
    assert "memory_limit" in str(caught.value) and "--memory-limit" not in str(caught.value)
