"""Files behind HTTP: few range requests, tried again when they fail."""

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
