"""Files behind HTTP and S3: few range requests, tried again when they fail."""

import contextlib
import http.server
import importlib
import re
import threading

import pytest

import pybasalt
from test_processes import in_fork

fsspec = pytest.importorskip("fsspec")


class Counted:
    """What a file system is asked for ranges of files, and how many bytes these are."""

    def __init__(self, monkeypatch, files):
        self._answer = type(files).cat_file
        self.requests = []
        self.failures = []  # raised by the next requests
        monkeypatch.setattr(type(files), "cat_file", lambda *arguments, **named: self._count(*arguments, **named))

    def _count(self, files, path, start=None, end=None, **named):
        self.requests.append((path, start, end))
        if self.failures:
            raise self.failures.pop()
        return self._answer(files, path, start=start, end=end, **named)

    @property
    def bytes(self):
        return sum(end - start for _, start, end in self.requests)

    def during(self, action):
        self.requests.clear()
        return action()


@pytest.fixture
def memory(monkeypatch):
    """The file system in memory, empty, and counted."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    monkeypatch.setattr(pybasalt._remote, "_FIRST_PAUSE_S", 0.001)
    yield Counted(monkeypatch, files)
    files.store.clear()


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file whose columns take some megabytes: 16 chunks, ordered by `id`."""
    import numpy as np

    count = 1 << 20
    noise = np.random.default_rng(1)
    columns = {f"c{i}": noise.integers(0, 1 << 62, count) for i in range(4)}
    path = tmp_path_factory.mktemp("wide") / "wide.basalt"
    pybasalt.write({"id": np.arange(count), "day": np.arange(count) // 1000, **columns}, path, chunk_rows=1 << 16)
    return path


def test_filters_read_what_they_need(memory, wide):
    url = "memory://data/wide.basalt"
    fsspec.filesystem("memory").put_file(str(wide), "/data/wide.basalt")
    size = wide.stat().st_size
    assert size > 30e6
    whole = memory.during(lambda: pybasalt.read(url).arrow())
    assert whole.num_rows == 1 << 20 and whole.equals(pybasalt.read(wide).arrow())
    assert len(memory.requests) <= 8 and memory.bytes < 1.2 * size, memory.requests
    # One column of a sixth of the rows, and the one that decides which.
    some = memory.during(lambda: pybasalt.read(url, ["c1"], filter="id < 100000").arrow())
    assert some.equals(whole.slice(0, 100_000).select(["c1"]))
    assert len(memory.requests) <= 4 and memory.bytes < size / 10, memory.requests
    none = memory.during(lambda: pybasalt.read(url, filter="id < 0"))
    assert none.num_rows == 0 and memory.bytes <= 1 << 20
    file = pybasalt.open(url)
    part = memory.during(lambda: file.read(["c2"], filter="day % 2 = 0", rows=(500_000, 600_000)).arrow())
    assert part.num_rows == 50_000 and memory.bytes < size / 10, memory.requests
    total = memory.during(lambda: pybasalt.sql(f"select sum(c3::double), count(*) from '{url}' where id >= 1000000").fetchall())
    assert total[0][1] == (1 << 20) - 1_000_000 and memory.bytes < size / 10 + (1 << 20), memory.requests


def test_batches_come_before_the_whole_file(memory, wide):
    fsspec.filesystem("memory").put_file(str(wide), "/data/wide.basalt")
    with pybasalt.scan("memory://data/wide.basalt", ["c0"], threads=1) as rows:
        next(iter(rows))
        assert memory.bytes < wide.stat().st_size
    ids = [batch.arrow()["id"] for batch in pybasalt.scan("memory://data/wide.basalt", ["id"], filter="id % 2 = 0")]
    assert sum(len(part) for part in ids) == 1 << 19


def test_requests_are_tried_again(memory, here, trips):
    pybasalt.write(trips, "memory://data/t.basalt")

    class OfALibrary(Exception):
        status = 503

    for failure in (OSError("reset"), OfALibrary(), TimeoutError()):
        memory.failures = [failure] * 3
        assert pybasalt.read("memory://data/t.basalt", ["id"]).num_rows == 100_000
        pybasalt._remote._kept.clear()
    refused = OfALibrary()
    refused.status = 403
    for failure in (refused, PermissionError("no")):
        memory.failures = [failure] * 2
        with pytest.raises(pybasalt.Error):
            pybasalt.read("memory://data/t.basalt", ["id"])
        assert len(memory.failures) == 1
        memory.failures.clear()


def test_folders_of_urls(memory, here, trips):
    for day in range(3):
        for part in range(2):
            pybasalt.write(trips.slice(day * 1000 + part * 100, 100), f"memory://lake/day={day}/p{part}.basalt")
    pybasalt.write(trips, "memory://lake/.hidden/x.basalt")
    local = [f"lake/day={day}/p{part}.basalt" for day in range(3) for part in range(2)]
    for path in local:
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_bytes(fsspec.filesystem("memory").cat_file("/" + path))
    for options in ({}, {"columns": ["id", "day"]}, {"filter": "day = 1 and id > 1050"}, {"rows": (150, 350)},
                    {"hive_partitioning": False}, {"columns": ["day"], "filter": pybasalt.col("passengers").is_null()}):
        expected = pybasalt.read("lake", **options).arrow()
        assert expected.num_rows > 0
        for place in ("memory://lake", "memory://lake/", "memory://lake/*/*.basalt", "memory://lake/**/*.basalt"):
            assert pybasalt.read(place, **options).arrow().equals(expected), (place, options)
    one = memory.during(lambda: pybasalt.read("memory://lake", ["id"], filter="day = 2").arrow())
    assert one["id"].to_pylist() == [*range(2000, 2200)]
    assert pybasalt.sql("select day, count(*) from read_basalt('memory://lake/*/*.basalt') group by day order by day"
                        ).fetchall() == [(0, 200), (1, 200), (2, 200)]
    with pytest.raises(pybasalt.Error):
        pybasalt.read("memory://lake/*.none/*.basalt")
    with pytest.raises(pybasalt.InputOutputError, match=r"^memory://lake/none\.basalt: FileNotFoundError: "):
        pybasalt.sql("from 'memory://lake/none.basalt'").fetchall()


def test_ends_of_few_files_are_kept(memory, trips, monkeypatch):
    monkeypatch.setattr(pybasalt._remote, "_KEPT_TAILS", 3)
    pybasalt._remote._tails.clear()
    for part in range(8):
        pybasalt.write(trips.slice(part * 1000, 1000), f"memory://many/{part}.basalt")
    assert pybasalt.read("memory://many").num_rows == 8000
    assert len(pybasalt._remote._tails) <= 3


def test_files_are_put_as_a_whole(memory, here, trips, monkeypatch):
    files = fsspec.filesystem("memory")
    assert pybasalt.write(trips, "memory://out/a.basalt", sort_by="fare").rows == 100_000
    assert pybasalt.convert("select range as a from range(5)", "memory://out/b.basalt").rows == 5
    assert sorted(files.ls("/out", detail=False)) == ["/out/a.basalt", "/out/b.basalt"]
    assert pybasalt.read("memory://out/b.basalt").fetchall() == [(i,) for i in range(5)]
    pybasalt.write({"a": [7]}, "memory://out/b.basalt")  # opened anew
    assert pybasalt.read("memory://out/b.basalt").fetchall() == [(7,)]
    pybasalt.write({"a": [8]}, f"file://{here}/c.basalt")
    assert pybasalt.read(f"file://{here}/c.basalt").fetchall() == pybasalt.read("c.basalt").fetchall() == [(8,)]
    monkeypatch.setattr(type(files), "mv", lambda *_, **__: (_ for _ in ()).throw(PermissionError("no")))
    with pytest.raises(PermissionError):
        pybasalt.write(trips, "memory://out/d.basalt")
    assert sorted(files.ls("/out", detail=False)) == ["/out/a.basalt", "/out/b.basalt"]
    with pytest.raises(ValueError, match="append"):
        pybasalt.write(trips, "memory://out", append=True)


class _Ranges(http.server.BaseHTTPRequestHandler):
    """Serves one file by ranges; every fifth answer is an error."""

    content = b""
    requests: list = []

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        self.requests.append(asked and asked.groups())
        if len(self.requests) % 5 == 4:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin, end = (int(place) for place in asked.groups()) if asked else (0, len(self.content) - 1)
        part = self.content[begin : end + 1]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(self.content)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


@pytest.mark.large
def test_files_are_read_by_ranges(here, trips):
    pytest.importorskip("aiohttp")
    pybasalt.write(trips, "t.basalt", encoding={"fare": "plain"})
    with open("t.basalt", "rb") as file:
        _Ranges.content = file.read()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/t.basalt"
        assert pybasalt.read(url, ["fare"]).arrow().equals(trips.select(["fare"]))
        assert pybasalt.read(url, ["id"], filter="id >= 99998").fetchall() == [(99_998,), (99_999,)]
        assert None not in _Ranges.requests and len(_Ranges.requests) < 10, _Ranges.requests
        before = len(_Ranges.requests)
        for _ in range(8):  # every fifth answer is an error
            pybasalt._remote._kept.clear()
            assert pybasalt.read(url, ["fare"], rows=(70_000, 70_010)).num_rows == 10
        assert len(_Ranges.requests) - before >= 9
        opened = pybasalt.open(url)
        assert in_fork(lambda: opened.read(["fare"]).arrow().equals(trips.select(["fare"]))) == 0
    finally:
        server.shutdown()


@pytest.fixture
def bucket(monkeypatch):
    """A bucket of a server of our own, as s3fs finds it by itself: from the environment."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                        "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("trips")
    yield files
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.large
def test_files_of_a_bucket(here, trips, bucket, caplog):
    for part in range(2):
        pybasalt.write(trips.slice(part * 50_000), f"{part}.basalt", encoding={"fare": "plain", "id": "plain"})
        bucket.put(f"{part}.basalt", f"trips/day={part}/t.basalt")
    caplog.set_level("INFO")

    def requests(action):
        """What an action gives, and how often it made the server read a file."""
        caplog.clear()
        return action(), sum("GET /trips/day=" in record.getMessage() for record in caplog.records)

    found, count = requests(lambda: pybasalt.read("s3://trips/day=0/t.basalt").arrow())
    assert found.equals(trips) and 1 < count < 10, count
    opened, count = requests(lambda: pybasalt.open("s3://trips/day=1/t.basalt"))
    assert opened.num_rows == 50_000 and opened.statistics("id")["min"] == 50_000 and count == 1
    whole = pybasalt.read("s3://trips/*/t.basalt", ["id", "city", "day"]).arrow()
    assert whole.num_rows == 150_000 and whole.slice(0, 100_000).select(["id", "city"]).equals(trips.select(["id", "city"]))
    assert whole["day"].to_pylist() == [0] * 100_000 + [1] * 50_000
    # What others write is seen, though file systems remember their folders.
    import s3fs

    s3fs.S3FileSystem(skip_instance_cache=True).put("1.basalt", "trips/day=2/t.basalt")
    assert pybasalt.read("s3://trips/*/t.basalt", ["id"]).num_rows == 200_000
    assert pybasalt.open("s3://trips/day=2/t.basalt").num_rows == 50_000
    s3fs.S3FileSystem(skip_instance_cache=True).put("0.basalt", "trips/day=2/t.basalt")
    assert pybasalt.open("s3://trips/day=2/t.basalt").num_rows == 100_000
    pybasalt.write(trips, "s3://trips/written/a.basalt")
    assert bucket.ls("trips/written") == ["trips/written/a.basalt"]
    assert pybasalt.read("s3://trips/written", ["id"], filter="id < 5").num_rows == 5
    last = pybasalt.read("s3://trips/day=1/t.basalt", ["id"], filter=pybasalt.col("id") >= 99_998)
    assert last.fetchall() == [(99_998,), (99_999,)]
    with pytest.raises(OSError):
        pybasalt.open("s3://trips/day=9/t.basalt")


@contextlib.contextmanager
def served(handler):
    """The URL of this folder, as a server of our own has it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Folders(http.server.SimpleHTTPRequestHandler):
    """Lists folders, with = as %3D, and sends whole files whatever is asked for."""

    requests: list = []

    def do_GET(self):
        self.requests.append((self.path, self.headers.get("Range")))
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.mark.large
def test_folders_of_a_server_become_columns(here):
    pytest.importorskip("aiohttp")
    for city, number in (("New York", 1), ("100%25", 2), ("ü", 3)):
        here.joinpath(f"lake/city={city}").mkdir(parents=True)
        pybasalt.write({"n": [number]}, f"lake/city={city}/t.basalt")
    expected = sorted(pybasalt.read("lake").fetchall())
    assert ("New York" in {city for _, city in expected}) and len(expected) == 3
    with served(_Folders) as url:
        for place in (f"{url}/lake", f"{url}/lake/*/*.basalt"):
            assert sorted(pybasalt.read(place).fetchall()) == expected
            assert pybasalt.read(place, ["n"], filter="city = 'New York'").fetchall() == [(1,)]
            assert pybasalt.read(place, hive_partitioning=False).column_names == ["n"]
        named = f"{url}/lake/city%3DNew%20York/t.basalt"
        assert pybasalt.read(named).fetchall() == [(1,)]
        assert pybasalt.read(named, hive_partitioning=True).fetchall() == [(1, "New York")]
        assert any("%3D" in path or "=" in path for path, _ in _Folders.requests)


@pytest.mark.large
def test_servers_without_ranges_are_told_of(here):
    pytest.importorskip("aiohttp")
    import numpy as np

    pybasalt.write({"n": np.random.default_rng(1).integers(0, 1 << 62, 1 << 18)}, "wide.basalt")
    with served(_Folders) as url:
        _Folders.requests.clear()
        for fails in (lambda: pybasalt.read(f"{url}/wide.basalt"),
                      lambda: pybasalt.sql(f"from '{url}/wide.basalt'").fetchall()):
            with pytest.raises(OSError, match=r"^http\S+: the server does not answer range requests: ") as caught:
                fails()
            assert str(caught.value).count("http://") == 1 and caught.value.file == f"{url}/wide.basalt"
        assert len(_Folders.requests) == 2
        for fails in (lambda: pybasalt.open(f"{url}/none.basalt"),
                      lambda: pybasalt.sql(f"from '{url}/none.basalt'").fetchall()):
            with pytest.raises(FileNotFoundError) as caught:
                fails()
            assert isinstance(caught.value, pybasalt.NotFoundError) and str(caught.value).count("none.basalt: ") == 1
    with pytest.raises(pybasalt.InputOutputError, match="Cannot connect") as caught:  # the server has ended
        pybasalt.open(f"{url}/wide.basalt")
    assert not isinstance(caught.value, FileNotFoundError)


def test_errors_of_file_systems_are_ours(memory, monkeypatch):
    with pytest.raises(pybasalt.NotFoundError, match=r"^memory://none\.basalt: FileNotFoundError") as caught:
        pybasalt.open("memory://none.basalt")
    assert caught.value.file == "memory://none.basalt"
    with pytest.raises(pybasalt.ArgumentError, match="Protocol not known"):
        pybasalt.open("nothing://x.basalt")
    known = importlib.import_module("fsspec.registry").known_implementations
    monkeypatch.setitem(known, "gone", {"class": "gonefs.Gone", "err": "Install gonefs"})
    for fails in (lambda: pybasalt.open("gone://x.basalt"), lambda: pybasalt.read("gone://*.basalt"),
                  lambda: pybasalt.write({"a": [1]}, "gone://x.basalt")):
        with pytest.raises(pybasalt.Error, match="gone:.*: pip install gonefs$") as caught:
            fails()
        assert isinstance(caught.value, (ImportError, OSError))
    with pytest.raises(ImportError):
        pybasalt.open("gone://x.basalt")
    pybasalt.write({"a": [1]}, "memory://a.basalt")
    pybasalt._remote._tails.clear()
    memory.failures = [PermissionError("no")]
    with pytest.raises(pybasalt.Error, match=r"^memory://a\.basalt: PermissionError: no$"):
        pybasalt.read("memory://a.basalt")
