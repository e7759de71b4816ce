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
