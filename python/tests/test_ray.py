"""Ray's datasets of files."""

import os

import pytest

import pybasalt

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def cluster():
    folders = os.environ.get("PYBASALT_FOLDER")
    environment = {"env_vars": {"PYTHONPATH": folders}} if folders else None
    ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment, logging_level="error")
    yield
    ray.shutdown()


@pytest.fixture
def folder(here, trips):
    for part in range(4):
        pybasalt.write(trips.slice(part * 25_000, 25_000), "data", append=True, chunk_rows=8192)
    return str(here / "data")


def test_files_are_read(cluster, folder, trips):
    from pybasalt.ray import read_dataset

    dataset = read_dataset(folder, ["id", "fare"])
    assert dataset.count() == 100_000
    assert sorted(row["id"] for row in dataset.select_columns(["id"]).take_all()) == list(range(100_000))
    filtered = read_dataset(folder, ["id"], filter=pybasalt.col("id") >= 99_990)
    assert sorted(row["id"] for row in filtered.take_all()) == list(range(99_990, 100_000))
    many = read_dataset(folder, ["id"], filter="id % 10000 = 0", override_num_blocks=16)
    assert sorted(row["id"] for row in many.take_all()) == list(range(0, 100_000, 10_000))


def test_files_are_written(cluster, folder, here):
    from pybasalt.ray import read_dataset, write_basalt

    out = str(here / "out")
    write_basalt(read_dataset(folder), out)
    assert pybasalt.read(out, ["id"]).num_rows == 100_000
    assert all(name.endswith(".basalt") for name in os.listdir(out)), os.listdir(out)

    def fail(batch):
        raise RuntimeError("no")

    with pytest.raises(Exception):
        write_basalt(read_dataset(folder).map_batches(fail), str(here / "none"))
    assert not any(name.endswith(".basalt") for name in os.listdir(here / "none")) if (here / "none").exists() else True


def test_a_killed_worker_loses_nothing(cluster, folder, here):
    from pybasalt.ray import read_dataset

    marker = str(here / "killed")

    def die_once(batch):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return batch
        os._exit(1)

    assert read_dataset(folder, ["id"]).map_batches(die_once).count() == 100_000
    assert os.path.exists(marker)


def test_sql_by_many_workers(cluster, folder, trips, here):
    from pybasalt._split import CannotSplit
    from pybasalt.ray import sql

    pybasalt.write({"day": [0, 1, 2], "name": ["a", "b", "b"]}, "days.basalt")
    tables = {"trips": folder, "days": str(here / "days.basalt")}
    query = ("select d.name, count(*) as n, avg(t.fare) as fare from trips t join days d on t.passengers = d.day "
             "group by d.name order by d.name")
    con = pybasalt.connect(device="cpu").register("trips", trips).register("days", pybasalt.read("days.basalt"))
    expected, found = con.sql(query).fetchall(), sql(query, tables).to_pylist()
    assert [(row["name"], row["n"]) for row in found] == [row[:2] for row in expected]
    assert [row["fare"] for row in found] == pytest.approx([row[2] for row in expected])
    with pytest.raises(CannotSplit, match="DISTINCT"):
        sql("select count(distinct city) from trips", tables)
