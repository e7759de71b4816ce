"""Ray's datasets of files, and statements over them, by two nodes whose workers die."""

import os
import threading

import pytest

import pybasalt

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of a core each: processes of this machine. One says that it has a GPU."""
    from ray.cluster_utils import Cluster

    folders = os.environ.get("PYBASALT_FOLDER")
    environment = {"env_vars": {"PYTHONPATH": folders}} if folders else None
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1, num_gpus=1)
    ray.init(address=nodes.address, runtime_env=environment, logging_level="error")
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def die_once():
    """Makes of some work one whose worker is lost the first time, when it is done."""

    def dies_once(marker, work):
        return lambda *arguments: do(marker, work, *arguments)

    def do(marker, work, *arguments):
        done = work(*arguments)
        done = list(done) if hasattr(done, "__next__") else done
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return done
        os._exit(1)

    return dies_once


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


def test_both_nodes_take_part(cluster, folder):
    from pybasalt.ray import read_dataset

    def with_node(batch):
        batch["node"] = [ray.get_runtime_context().get_node_id()] * len(batch["id"])
        return batch

    dataset = read_dataset(folder, ["id"], override_num_blocks=8).map_batches(with_node)
    assert len({row["node"] for row in dataset.take_all()}) == 2


def test_filters_hold_for_the_rows_of_each_part(cluster, here, trips):
    from pybasalt.ray import read_dataset

    pybasalt.write(trips, "one.basalt", chunk_rows=8192)
    parts = read_dataset("one.basalt", ["id"], filter="passengers = 3", override_num_blocks=8)
    expected = pybasalt.read("one.basalt", ["id"], filter="passengers = 3").numpy()["id"].tolist()
    assert sorted(row["id"] for row in parts.take_all()) == expected


def test_partitions_become_columns(cluster, here, trips):
    from pybasalt.ray import read_dataset, sql

    for number, day in enumerate(("1", "2", "x")):
        os.makedirs(f"lake/day={day}")
        pybasalt.write(trips.slice(number * 1000, 1000), f"lake/day={day}/t.basalt")
    whole = pybasalt.read("lake", ["id", "day"]).arrow()
    assert whole["day"].to_pylist() == ["1"] * 1000 + ["2"] * 1000 + ["x"] * 1000
    for path in ("lake", "lake/*/*.basalt"):
        for columns in (None, ["id", "day"]):
            rows = read_dataset(path, columns).take_all()
            assert sorted((row["id"], row["day"]) for row in rows) == list(zip(*whole.to_pydict().values()))
        some = read_dataset(path, ["id"], filter="day = '2' and id < 1010").take_all()
        assert sorted(row["id"] for row in some) == list(range(1000, 1010))
    found = sql("select day, count(*) as n, min(id) as first from t group by day order by day", {"t": "lake"})
    assert found.to_pylist() == [{"day": d, "n": 1000, "first": i * 1000} for i, d in enumerate(("1", "2", "x"))]


def test_urls(cluster, folder, here, trips):
    pytest.importorskip("aiohttp")
    import functools
    import http.server

    from pybasalt.ray import read_dataset, sql

    class Ranges(http.server.SimpleHTTPRequestHandler):
        """Files of a folder, by ranges."""

        def do_GET(self):
            path = self.translate_path(self.path)
            wanted = self.headers.get("Range")
            if wanted is None or os.path.isdir(path):
                return super().do_GET()
            begin, end = map(int, wanted.removeprefix("bytes=").split("-"))
            with open(path, "rb") as file:
                file.seek(begin)
                part = file.read(end - begin + 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{os.path.getsize(path)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=str(here)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        names = [f"http://127.0.0.1:{server.server_port}/data/{name}" for name in sorted(os.listdir(folder))
                 if name.endswith(".basalt")]
        rows = read_dataset(names, ["id"], filter="id >= 99990").take_all()
        assert sorted(row["id"] for row in rows) == list(range(99_990, 100_000))
        assert read_dataset(names).count() == 100_000
        assert sql("select count(*) as n, max(id) as most from t", {"t": names}).to_pylist() == [{"n": 100_000, "most": 99_999}]
    finally:
        server.shutdown()


def test_a_killed_worker_loses_nothing(cluster, folder, here, trips, monkeypatch, die_once):
    import pybasalt.ray as basalt_ray

    # As it reads,
    marker, die = str(here / "read"), die_once
    read_tasks, write = basalt_ray._Files.get_read_tasks, basalt_ray._Folder.write

    class DyingFiles(basalt_ray._Files):
        def get_read_tasks(self, *arguments, **named):
            made = read_tasks(self, *arguments, **named)
            for task in made:
                task._read_fn = die(marker, task._read_fn)
            return made

    DyingFiles.__module__ = "__main__"  # sent as it is: workers do not have this file
    ids = [row["id"] for row in ray.data.read_datasource(DyingFiles(folder, ["id"], None, basalt_ray._Limits())).take_all()]
    assert sorted(ids) == list(range(100_000)) and os.path.exists(marker)

    # as it writes: what the lost one wrote is not there twice,
    marker = str(here / "written")

    class DyingFolder(basalt_ray._Folder):
        def write(self, blocks, ctx):
            return die(marker, write)(self, blocks, ctx)

    DyingFolder.__module__ = "__main__"
    basalt_ray.read_dataset(folder).write_datasink(DyingFolder(str(here / "out"), {}))
    assert os.path.exists("written")
    assert sorted(pybasalt.read("out", ["id"]).numpy()["id"].tolist()) == list(range(100_000))
    assert all(name.endswith(".basalt") for name in os.listdir("out")), os.listdir("out")

    # and as it runs a part of a statement.
    partial = ray.remote(max_retries=3)(die(str(here / "ran"), basalt_ray._partial))
    monkeypatch.setattr(basalt_ray, "_remote_partial", partial)
    query = "select city, count(*) as n, min(id) as first from t group by city order by city nulls last"
    found = basalt_ray.sql(query, {"t": folder})
    expected = pybasalt.connect(device="cpu").register("t", trips).sql(query).arrow()
    assert os.path.exists("ran") and found.to_pylist() == expected.to_pylist()


def test_limits_are_kept(cluster, folder, trips):
    from pybasalt.ray import _Limits, read_dataset, sql

    assert read_dataset(folder, ["id"], memory_limit="100MB").count() == 100_000
    found = sql("select count(*) as n from t", {"t": folder}, tasks=3, threads=1, memory_limit="500MB")
    assert found.to_pylist() == [{"n": 100_000}]
    for wrong in ({"threads": -1}, {"memory_limit": "much"}, {"num_gpus": -1}):
        with pytest.raises(ValueError):
            read_dataset(folder, **wrong)
    with pytest.raises(ValueError, match="none"):
        sql("select count(*) from t", {"t": folder}, split="none")
    with pytest.raises(FileNotFoundError):
        read_dataset(folder + "/none*.basalt")
    assert _Limits.of(4, "1GB", 0.5).ray == {"num_cpus": 4, "num_gpus": 0.5}


def test_workers_with_a_gpu_read_whole_files(cluster, folder):
    """There is none: sessions that may take one run on the CPU."""
    from pybasalt.ray import read_dataset, sql

    rows = read_dataset(folder, ["id"], filter="id >= 99_995", num_gpus=0.5, threads=1).take_all()
    assert sorted(row["id"] for row in rows) == list(range(99_995, 100_000))
    assert sql("select count(*) as n from t", {"t": folder}, num_gpus=0.5).to_pylist() == [{"n": 100_000}]


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
