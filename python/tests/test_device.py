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


def test_columns_are_arrow_arrays(file):
    for name in ("i", "text", "holes"):
        column = file.column(name, device="cpu")
        assert pa.array(column).equals(file.read([name]).arrow()[name].combine_chunks())
    with pytest.raises(NotImplementedError, match="stream"):
        column.__arrow_c_device_array__(stream=1)
    assert column.__arrow_c_device_array__(stream=None)


def test_dlpack_keeps_its_arguments(file):
    column = file.column("i", device="cpu")
    assert column.__dlpack_device__() == (1, 0)
    shared, copied = np.from_dlpack(column), np.from_dlpack(column, copy=True)
    assert not shared.flags.writeable and copied.flags.writeable
    copied[0] = 7
    assert shared[0] == 0 and np.array_equal(copied[1:], shared[1:])
    assert np.from_dlpack(column, device="cpu", copy=False).ctypes.data == shared.ctypes.data
    assert '"dltensor"' in repr(column.__dlpack__())
    assert '"dltensor"' in repr(column.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(column.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    with pytest.raises(BufferError, match="dl_device"):
        column.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream"):
        column.__dlpack__(stream=1)


def test_empty_columns_are_arrays(here):
    pybasalt.write(pa.table({"x": pa.array([], pa.float32())}), "empty.basalt")
    column = pybasalt.open("empty.basalt").column("x", device="cpu")
    for copy in (None, True):
        array = np.from_dlpack(column, copy=copy)
        assert array.shape == (0,) and array.dtype == np.float32


@pytest.mark.large
def test_columns_are_tensors(file):
    torch = pytest.importorskip("torch")
    column = file.column("f", device="cpu")
    tensor = torch.from_dlpack(column)
    assert tensor.dtype == torch.float64 and tensor.data_ptr() == column.torch().data_ptr()
    del column
    assert torch.equal(tensor, torch.from_numpy(file.read(["f"]).numpy()["f"].copy()))


def test_queries_on_the_device_take_parameters_and_report(file):
    con = pybasalt.connect(device="cpu")
    query = "select i from 't.basalt' where i >= ? and i < ?"
    table = con.sql(query, [10, 15]).on_device()
    assert np.asarray(table["i"]).tolist() == [10, 11, 12, 13, 14]
    report = table.report
    assert report["rows"] == 5 and report["ran_on"] == "cpu" and report["tiles_skipped"] > 0 and report["in_basalt"]
    assert str(report).startswith("5 rows in ") and report.keys() == con.sql("select 1").report.keys()
    named = con.sql("select count(*) as n from 't.basalt' where i < $low", {"low": 7}).on_device()
    assert np.asarray(named["n"]).tolist() == [7]
    with pytest.raises(pybasalt.Error):
        con.sql(query, [10]).on_device()
