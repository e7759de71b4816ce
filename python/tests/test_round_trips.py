"""Every type through pyarrow, pandas and Polars and back."""

import datetime
import decimal
import uuid

import pyarrow as pa
import pytest

import pybasalt

NOW = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012)

COLUMNS = {
    "bool": pa.array([True, None, False]),
    **{str(kind): pa.array([1, None, 100], kind) for kind in
       (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "float32": pa.array([1.5, None, float("inf")], pa.float32()),
    "float64": pa.array([1.1, None, -0.0], pa.float64()),
    "decimal": pa.array([decimal.Decimal("1.23"), None, decimal.Decimal("-9.99")], pa.decimal128(15, 2)),
    "decimal38": pa.array([decimal.Decimal(10) ** 37, None, decimal.Decimal(-1)], pa.decimal128(38, 0)),
    "date": pa.array([NOW.date(), None, datetime.date(1, 1, 1)]),
    **{f"time_{unit}": pa.array([1, None, 86_399], kind) for unit, kind in
       {"s": pa.time32("s"), "ms": pa.time32("ms"), "us": pa.time64("us"), "ns": pa.time64("ns")}.items()},
    **{f"timestamp_{unit}": pa.array([NOW, None, datetime.datetime(1969, 1, 1)], pa.timestamp(unit)) for unit in
       ("us", "ns")},
    "timestamp_s": pa.array([NOW.replace(microsecond=0), None, datetime.datetime(1969, 1, 1)], pa.timestamp("s")),
    "timestamp_utc": pa.array([NOW, None, NOW], pa.timestamp("us", "UTC")),
    "string": pa.array(["a", None, "ü" * 100]),
    "binary": pa.array([b"\x00\xff", None, b""]),
    "uuid": pa.array([uuid.UUID(int=7).bytes, None, uuid.UUID(int=2**127 + 1).bytes], pa.uuid()),
    "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
    "fixed_list": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_arrow_round_trip(here, name):
    table = pa.table({"x": COLUMNS[name]})
    pybasalt.write(table, "t.basalt")
    back = pybasalt.read("t.basalt").arrow()
    assert back.schema.types == table.schema.types
    assert back.equals(table)


@pytest.mark.parametrize("name", COLUMNS)
def test_pandas_round_trip(here, name):
    pandas = pytest.importorskip("pandas")
    table = pa.table({"x": COLUMNS[name]})
    pybasalt.write(table.to_pandas(types_mapper=pandas.ArrowDtype), "t.basalt")
    assert pybasalt.read("t.basalt").arrow().equals(table)
    if name in ("time_ns", "map"):  # pandas' own objects for them do not become Arrow again
        return
    frame = table.to_pandas()
    pybasalt.write(frame, "t.basalt")
    pandas.testing.assert_frame_equal(pybasalt.read("t.basalt").df(), frame)


@pytest.mark.large
@pytest.mark.parametrize("name", COLUMNS)
def test_polars_round_trip(here, name):
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(pa.table({"x": COLUMNS[name]}))
    pybasalt.write(frame, "t.basalt")
    back = pybasalt.read("t.basalt").pl()
    assert back.schema == frame.schema and back.equals(frame)


def test_all_types_at_once_by_pandas(here):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "a": [1, 2, 3], "b": [1.5, float("nan"), 2.0], "c": ["x", None, "z"],
        "d": pandas.to_datetime(["2024-01-01", "2024-01-02", None]), "e": pandas.Categorical(["u", "v", "u"]),
        "f": [True, False, True],
    })
    pybasalt.write(frame, "t.basalt")
    back = pybasalt.read("t.basalt").df()
    assert list(back.columns)[:6] == list(frame.columns)
    assert back["a"].tolist() == [1, 2, 3]
    assert back["e"].tolist() == ["u", "v", "u"]
    assert back["c"].isna().tolist() == [False, True, False]
    assert back["d"].isna().tolist() == [False, False, True]


def test_frames_of_polars_go_in(here):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({
        "a": [1, None, 3], "b": ["x", "y", None], "c": [[1], [], None], "d": [{"p": 1}, {"p": 2}, {"p": None}],
        "e": [datetime.date(2024, 1, 1)] * 3, "f": [decimal.Decimal("1.50")] * 3,
    })
    pybasalt.write(frame, "t.basalt")
    assert pybasalt.read("t.basalt").pl().equals(frame)
    pybasalt.write(frame.lazy(), "u.basalt")
    assert pybasalt.read("u.basalt").num_rows == 3


def test_record_batches_readers_and_dictionaries_go_in(here):
    batch = pa.record_batch({"x": [1, 2]})
    assert pybasalt.write(batch, "t.basalt").rows == 2
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    assert pybasalt.write(reader, "t.basalt").rows == 4
    coded = pa.table({"x": pa.array(["a", "b", "a"]).dictionary_encode()})
    pybasalt.write(coded, "t.basalt")
    assert pybasalt.read("t.basalt").fetchall() == [("a",), ("b",), ("a",)]
    assert pybasalt.write([{"x": 1}, {"x": 2}], "t.basalt").rows == 2


def test_duckdb_relations_go_in(here):
    duckdb = pytest.importorskip("duckdb")
    pybasalt.write(duckdb.sql("select range as a, 'x' || range as b from range(5000)"), "t.basalt")
    assert pybasalt.sql("select count(*), max(a) from 't.basalt'").fetchall() == [(5000, 4999)]
    table = pybasalt.read("t.basalt")
    assert duckdb.from_arrow(table.arrow()).count("a").fetchall() == [(5000,)]


def test_nanoarrow_goes_in_and_comes_out(here):
    nanoarrow = pytest.importorskip("nanoarrow")
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": None}]
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    for given in (nanoarrow.Array(table), nanoarrow.c_array(table.to_batches()[0]), nanoarrow.ArrayStream(table)):
        pybasalt.write(given, "t.basalt")
        assert nanoarrow.Array(pybasalt.read("t.basalt")).to_pylist() == rows, type(given)
    assert nanoarrow.ArrayStream(pybasalt.scan("t.basalt")).read_all().to_pylist() == rows
    assert nanoarrow.ArrayStream(pybasalt.sql("from 't.basalt'")).read_all().to_pylist() == rows
    assert nanoarrow.c_schema(pybasalt.open("t.basalt")).child(0).format == "l"


def test_a_table_can_be_exported_many_times_without_a_copy(here, trips):
    pybasalt.write(trips, "t.basalt")
    table = pybasalt.read("t.basalt", ["id"])
    first, second = table.arrow(), table.arrow()
    assert first.equals(second) and first.equals(trips.select(["id"]))
    assert [a.buffers()[1].address for a in first["id"].chunks] == [a.buffers()[1].address for a in second["id"].chunks]
    del table, first
    assert second["id"][99_999].as_py() == 99_999


def test_what_cannot_be_held_is_refused_by_name(here):
    with pytest.raises(pybasalt.UnsupportedError, match="x"):
        pybasalt.write(pa.table({"x": pa.array([1], pa.duration("s"))}), "t.basalt")
    with pytest.raises(TypeError):
        pybasalt.write(42, "t.basalt")
