"""Polars' lazy frames, pyarrow's datasets, PyTorch's batches."""

import pickle

import pytest

import pybasalt


@pytest.fixture
def file(here, trips):
    pybasalt.write(trips, "trips.basalt", chunk_rows=16384)
    return "trips.basalt"


@pytest.mark.large
def test_polars_scans(file, trips):
    polars = pytest.importorskip("polars")
    whole = polars.DataFrame(trips)
    lazy = pybasalt.scan_polars(file)
    assert lazy.collect_schema() == whole.schema
    assert lazy.collect().equals(whole)
    for predicate in (polars.col("fare") > 50, (polars.col("id") < 500) & polars.col("city").str.ends_with("7"),
                      (polars.col("city") == "city 5") | (3 >= polars.col("id")), polars.col("passengers").is_null(),
                      ~(polars.col("id") > 10)):
        expected = whole.filter(predicate).select("id", "city")
        assert lazy.filter(predicate).select("id", "city").collect().equals(expected), predicate
    assert lazy.head(7).collect().equals(whole.head(7))
    assert lazy.filter(polars.col("id") > 10).head(3).collect()["id"].to_list() == [11, 12, 13]
    assert lazy.group_by("city").len().collect().height == 98


@pytest.mark.large
def test_polars_filters_are_pushed():
    polars = pytest.importorskip("polars")
    from pybasalt.polars import pushed

    assert pushed((polars.col("a") > 3) & (polars.col("b") == "x")).sql == "((\"a\" > 3) AND (\"b\" = 'x'))"
    assert pushed((2.5 <= polars.col("a")) & polars.col("b").str.contains("x")).sql == "(\"a\" >= '2.5'::DOUBLE)"
    assert pushed(polars.col("b").str.contains("x")) is None


def test_pyarrow_datasets(file, trips):
    import pyarrow.compute as pc

    dataset = pybasalt.dataset(file)
    assert dataset.schema == trips.schema and dataset.count_rows() == 100_000
    condition = (pc.field("fare") > 50) & (pc.field("id") < 1000)
    assert dataset.to_table(columns=["city"], filter=condition).equals(trips.filter(condition).select(["city"]))
    assert dataset.head(5).equals(trips.slice(0, 5))
    assert pickle.loads(pickle.dumps(dataset)).count_rows() == 100_000


def test_duckdb_scans_datasets(file):
    duckdb = pytest.importorskip("duckdb")
    trips_ds = pybasalt.dataset(file)  # noqa: F841: DuckDB finds it
    found = duckdb.sql("select count(*), min(id), max(id) from trips_ds where id between 100 and 199").fetchall()
    assert found == [(100, 100, 199)]


@pytest.mark.large
def test_torch_batches(file):
    torch = pytest.importorskip("torch")
    from pybasalt.torch import Batches

    batches = list(Batches(file, ["id", "fare"], batch_size=5000))
    assert torch.equal(torch.cat([batch["id"] for batch in batches]), torch.arange(100_000))
    shuffled = Batches(file, ["id"], batch_size=5000, shuffle=True, seed=1)
    first, second = ([batch["id"] for batch in shuffled] for _ in range(2))
    assert not torch.equal(torch.cat(first), torch.cat(second))
    assert torch.equal(torch.cat(first).sort().values, torch.arange(100_000))
    loader = torch.utils.data.DataLoader(Batches(file, ["id"]), batch_size=None, num_workers=2)
    assert sum(len(batch["id"]) for batch in loader) == 100_000
    with pytest.raises(ValueError, match="none"):
        list(Batches(file, ["none"]))


def test_pyarrow_datasets_end_with_an_error_at_worst(file, trips):
    import pyarrow
    import pyarrow.compute as pc
    import pyarrow.dataset

    dataset = pybasalt.dataset(file)
    assert dataset.filter(pc.field("id") < 10).filter(pc.field("id") > 7).to_table(columns=["id"]).num_rows == 2
    assert dataset.sort_by([("id", "descending")]).head(1)["id"].to_pylist() == [99_999]
    few = pybasalt.dataset(file).filter(pc.field("id") < 3)
    assert few.join(few, "id", right_suffix="_right").to_table().num_rows == 3
    assert sum(fragment.count_rows() for fragment in few.get_fragments()) == 3
    for use in (lambda scanner: scanner.to_table(), lambda scanner: scanner.count_rows(), lambda scanner: scanner.head(1)):
        for columns in (None, ["id"]):
            with pytest.raises(OSError, match="its own scanner"):
                use(pyarrow.dataset.Scanner.from_dataset(dataset, columns=columns))
    for batch in dataset.to_batches():  # and no more of them
        assert batch.num_rows > 0
        break


@pytest.mark.parametrize("code", ["ds.head(3)", "next(iter(ds.to_batches()))", "ds.to_batches()", "kept = ds.scanner()",
                                  "next(iter(pybasalt.scan(path)))", "kept = pybasalt.sql('from range(1_000_000_000_000)').batches()",
                                  "next(iter(pybasalt.sql('from range(1_000_000_000_000)').batches()))"])
def test_processes_end_while_files_are_read(file, code):
    import os
    import subprocess
    import sys

    program = f"import pybasalt; path = {file!r}; ds = pybasalt.dataset(path); {code}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.large
def test_polars_compares_by_its_own_rules(here):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"f": polars.Series([0.1, 1.5], dtype=polars.Float32), "t": [True, False], "s": ["a\0b", "c"]})
    pybasalt.write(frame, "f.basalt")
    lazy = pybasalt.scan_polars("f.basalt")
    for predicate in (polars.col("f") == 0.1, polars.col("f") <= 0.1, polars.col("s") == "a\0b", polars.col("t") == True):  # noqa: E712
        assert lazy.filter(predicate).collect().equals(frame.filter(predicate)), predicate
    assert lazy.select(polars.len()).collect().item() == 2
    moments = polars.DataFrame({"t": [1, 2]}).select(polars.col("t").cast(polars.Datetime("ns", "UTC")))
    pybasalt.write(moments, "t.basalt")
    lazy = pybasalt.scan_polars("t.basalt")
    assert lazy.collect().equals(moments) and lazy.filter(polars.col("t").is_not_null()).collect().equals(moments)
