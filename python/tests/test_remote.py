"""Files behind HTTP and S3: few range requests, tried again when they fail."""

import http.server
import re
import threading

import pytest

import pybasalt

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
pytestmark = pytest.mark.large


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


def test_files_are_read_by_ranges(here, trips):
    pybasalt.write(trips, "t.basalt", encoding={"fare": "plain"})
    with open("t.basalt", "rb") as file:
        _Ranges.content = file.read()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/t.basalt"
        assert pybasalt.read(url, ["fare"]).arrow().equals(trips.select(["fare"]))
        assert pybasalt.read(url, ["id"], filter="id >= 99998").fetchall() == [(99_998,), (99_999,)]
        assert None not in _Ranges.requests and len(_Ranges.requests) < 40, _Ranges.requests
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
    whole = pybasalt.read("s3://trips/*/t.basalt", ["id", "city"]).arrow()
    assert whole.num_rows == 150_000 and whole.slice(0, 100_000).equals(trips.select(["id", "city"]))
    last = pybasalt.read("s3://trips/day=1/t.basalt", ["id"], filter=pybasalt.col("id") >= 99_998)
    assert last.fetchall() == [(99_998,), (99_999,)]
    with pytest.raises(OSError):
        pybasalt.open("s3://trips/day=9/t.basalt")
