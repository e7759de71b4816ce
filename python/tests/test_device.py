"""Columns as arrays, decoded on the host."""

import numpy as np
import pyarrow as pa
import pytest

import pybasalt


@pytest.fixture
def file(here):
    count = 50_000
    pybasalt.write({
        "i": np.arange(count, dtype=np.int64), "f": np.linspace(0, 1, count), "s": np.arange(count, dtype=np.int16) % 99,
        "holes": pa.array([None if i % 3 else i for i in range(count)]), "text": ["x"] * count,
    }, "t.basalt")
    return pybasalt.open("t.basalt")


def test_columns_are_arrays(file):
    for name in ("i", "f", "s"):
        column = file.column(name, device="cpu")
        expected = file.read([name]).numpy()[name]
        assert column.device == "cpu" and len(column) == 50_000
        assert np.array_equal(np.from_dlpack(column), expected)
        assert np.array_equal(np.asarray(column), expected)
        assert np.array_equal(column.numpy(), expected) and column.numpy().dtype == expected.dtype
        assert not hasattr(column, "__cuda_array_interface__")
    assert np.asarray(file["i"])[-1] == 49_999
    with pytest.raises(KeyError):
        file["none"]


def test_what_is_no_array_is_refused(file):
    with pytest.raises(pybasalt.UnsupportedError, match="holes has NULLs"):
        np.from_dlpack(file.column("holes", device="cpu"))
    with pytest.raises(pybasalt.UnsupportedError, match="text"):
        np.from_dlpack(file.column("text", device="cpu"))


def test_arrays_outlive_what_they_came_from(file):
    array = np.from_dlpack(file.column("i", device="cpu"))
    del file
    assert array.sum() == 49_999 * 25_000


def test_queries_leave_rows_on_the_device(file):
    con = pybasalt.connect(device="cpu")
    table = con.sql("select i, f * 2 as g from 't.basalt' where s < 10").on_device()
    expected = con.sql("select i, f * 2 as g from 't.basalt' where s < 10").numpy()
    assert table.device == "cpu" and table.column_names == ["i", "g"] and len(table) == len(expected["i"])
    assert np.array_equal(np.asarray(table["i"]), expected["i"])
    assert np.array_equal(np.asarray(table["g"]), expected["g"])
    with pytest.raises(pybasalt.UnsupportedError):
        con.sql("select row_number() over () from 't.basalt'").on_device()


def test_arrow_device_arrays(file):
    con = pybasalt.connect(device="cpu")
    table = con.sql("select i from 't.basalt'").on_device()
    schema, array = table.__arrow_c_device_array__()
    batch = pa.RecordBatch._import_from_c_device_capsule(schema, array)
    assert batch.num_rows == 50_000 and batch["i"][7].as_py() == 7
    assert pa.record_batch(table).num_rows == 50_000
