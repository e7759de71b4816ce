"""Columns and results that stay on the GPU. Also a program, for machines without pytest: python python/tests/test_gpu.py

Skips, and says so, where there is no GPU."""

import os
import sys
import tempfile

if "PYBASALT_FOLDER" in os.environ:
    sys.path.insert(0, os.environ["PYBASALT_FOLDER"])

import numpy as np
import pyarrow as pa

import pybasalt

try:
    import pytest

    pytestmark = pytest.mark.skipif(bool(pybasalt.why_no_gpu()), reason="no GPU: " + pybasalt.why_no_gpu())
except ImportError:
    pytest = None

COUNT = 3_000_000


def make_file(folder):
    path = os.path.join(folder, "t.basalt")
    random = np.random.default_rng(7)
    pybasalt.write(pa.table({
        "i": np.arange(COUNT, dtype=np.int64) * 3,
        "n": random.integers(-1000, 1000, COUNT, dtype=np.int32),
        "f": random.integers(0, 10_000, COUNT) / 100,
        "t": pa.array([f"text {i % 13}" for i in range(COUNT)]),
    }), path)
    return path


def check_dlpack(path):
    import torch

    file = pybasalt.open(path)
    host = file.read(["i", "n", "f"]).numpy()
    for name in ("i", "n", "f"):
        column = file.column(name, device="cuda")
        tensor = torch.from_dlpack(column)
        assert column.device == "cuda" and tensor.is_cuda, f"{name} is on {tensor.device}"
        assert tensor.shape == (COUNT,), tensor.shape
        difference = np.flatnonzero(tensor.cpu().numpy() != host[name])
        assert difference.size == 0, f"{name} differs first at row {difference[0]}, in {difference.size} rows"
        assert column.numpy().dtype == host[name].dtype
    tensor = torch.from_dlpack(file.column("i", device="cuda"))
    del file, column
    assert tensor.sum().item() == 3 * (COUNT - 1) * COUNT // 2, "rows changed after their file was let go"


def check_cupy(path):
    try:
        import cupy
    except ImportError:
        print("skipped: no cupy")
        return
    column = pybasalt.open(path).column("n", device="cuda")
    expected = int(pybasalt.read(path, ["n"]).numpy()["n"].sum())
    assert int(cupy.asarray(column).astype(cupy.int64).sum()) == expected


def check_queries(path):
    con = pybasalt.connect(device="cuda")
    query = f"select i, f * 2 as g from '{path}' where n < -500"
    rows = con.sql(query).on_device()
    assert rows.device == "cuda", f"the rows are on {rows.device}: {rows.why_cpu}"
    expected = pybasalt.connect(device="cpu").sql(query).numpy()
    found = {name: tensor.cpu().numpy() for name, tensor in rows.torch().items()}
    assert list(found) == ["i", "g"] and len(found["i"]) == len(expected["i"]), (len(found["i"]), len(expected["i"]))
    for name in found:
        assert np.array_equal(found[name], expected[name]), name
    schema, array = rows.__arrow_c_device_array__()
    assert "arrow_device_array" in repr(array) and "arrow_schema" in repr(schema)


def check_statements(path):
    con = pybasalt.connect(device="cuda", strict=True)
    query = f"select t, sum(n), count(*) from '{path}' group by t order by t"
    relation = con.sql(query)
    assert relation.fetchall() == pybasalt.connect(device="cpu").sql(query).fetchall()
    assert relation.report["ran_on"] == "cuda", str(relation.report)


def check_writing(path):
    other = path + ".cuda.basalt"
    rows = pybasalt.read(path, ["i", "n", "f"])
    pybasalt.write(rows, path + ".cpu.basalt")
    pybasalt.write(rows, other, device="cuda")
    with open(path + ".cpu.basalt", "rb") as a, open(other, "rb") as b:
        assert a.read() == b.read(), "the GPU wrote other bytes"


def check_torch_dataset(path):
    import torch

    from pybasalt.torch import Batches

    seen = 0
    for batch in Batches(path, ["i", "n"], batch_size=65_536, shuffle=True, device="cuda"):
        assert batch["i"].is_cuda and batch["i"].dtype == torch.int64
        seen += len(batch["i"])
    assert seen == COUNT, seen
    # Chunk after chunk, in the order of the file; of some only few rows pass, or none; the last one is DuckDB's.
    for filter in ("i < 3000 or n = 7", "i < 3000", "reverse(n::varchar) = '7'"):
        few = Batches(path, ["i", "n"], filter=filter, device="cuda")
        expected = pybasalt.read(path, ["i", "n"], filter=filter).numpy()
        for name in ("i", "n"):
            parts = [batch[name] for batch in few]
            assert all(part.is_cuda for part in parts)
            assert np.array_equal(torch.cat(parts).cpu().numpy(), expected[name]), (filter, name)


CHECKS = [check_dlpack, check_cupy, check_queries, check_statements, check_writing, check_torch_dataset]

if pytest is not None:

    @pytest.fixture(scope="module")
    def path(tmp_path_factory):
        return make_file(tmp_path_factory.mktemp("gpu"))

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_on_the_gpu(check, path):
        check(path)


if __name__ == "__main__":
    if pybasalt.why_no_gpu():
        sys.exit("skipped, no GPU: " + pybasalt.why_no_gpu())
    with tempfile.TemporaryDirectory() as folder:
        made = make_file(folder)
        failed = 0
        for one in CHECKS:
            try:
                one(made)
                print("passed:", one.__name__)
            except Exception as error:  # noqa: BLE001: the next check says more
                failed += 1
                print("FAILED:", one.__name__, type(error).__name__, error)
    sys.exit(f"{failed} failed" if failed else 0)
