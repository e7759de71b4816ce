"""The wheel that was built for this Python: its size, its tag, and where its libraries look for each other."""

import pathlib
import posixpath
import re
import subprocess
import sys
import zipfile

import pytest

DIST = pathlib.Path(__file__).parents[2] / "dist"
TAG = "cp%d%d" % sys.version_info[:2]
MOST_BYTES = 60_000_000
#: What every Linux of the wheel's tag has.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
                 "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.fixture(scope="module")
def wheel():
    wheels = list(DIST.glob(f"pybasalt-*-{TAG}-*.whl"))
    assert len(wheels) == 1, f"one wheel for {TAG} is needed in dist: run make wheel"
    return wheels[0]


@pytest.fixture(scope="module")
def libraries(wheel, tmp_path_factory):
    """For each library and program in the wheel: what it needs, and where it looks for that."""
    folder = tmp_path_factory.mktemp("wheel")
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        names = archive.namelist()
    for name in names:
        path = folder / name
        if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        text = subprocess.run(["readelf", "--dynamic", "--wide", path], check=True, capture_output=True, text=True,
                              env={"LC_ALL": "C"}).stdout
        found[name] = (re.findall(r"\(NEEDED\).*\[(.*)\]", text),
                       [place for run_path in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
                        for place in run_path.split(":")])
    return found


def test_its_size_and_tag(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    assert re.fullmatch(rf"pybasalt-[\w.]+-{TAG}-{TAG}-manylinux_2_\d+_(x86_64|aarch64)(\.manylinux\w+)*\.whl", wheel.name)


def test_it_holds_what_it_needs(libraries):
    names = {posixpath.basename(name) for name in libraries}
    assert any(re.fullmatch(r"_core\.cpython-\d+-.*\.so", name) for name in names)
    assert {"basalt", "libduckdb.so"} <= names
    modules = [name for name in names if ".cpython-" in name]
    assert all(f".cpython-{TAG[2:]}-" in name for name in modules)


def test_libraries_find_each_other_wherever_it_lies(libraries):
    assert all(needed for needed, _ in libraries.values()) and sum(bool(places) for _, places in libraries.values()) > 3
    for name, (needed, places) in libraries.items():
        assert all(place == "$ORIGIN" or place.startswith("$ORIGIN/") for place in places), f"{name} looks in {places}"
        folders = [posixpath.normpath(place.replace("$ORIGIN", posixpath.dirname(name))) for place in places]
        for library in set(needed) - OF_THE_SYSTEM:
            assert any(posixpath.join(folder, library) in libraries for folder in folders), f"{name} does not find {library}"
