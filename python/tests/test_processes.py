"""Threads, forked and spawned processes, pickling, and memory that does not grow."""

import gc
import multiprocessing
import os
import pickle
import signal
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pybasalt
from pybasalt import col


@pytest.fixture
def file(here, trips):
    pybasalt.write(trips, "trips.basalt", chunk_rows=16384)
    return str(here / "trips.basalt")


def in_threads(count, work):
    """Runs work(number) in so many threads at once, and raises what one of them raised."""
    raised = []
    begin = threading.Barrier(count)

    def run(number):
        try:
            begin.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001: raised below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def in_fork(work, seconds=60):
    """The exit code of a forked process that does some work: 0 where it holds."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_eight_threads_read_at_once(file, trips):
    def work(number):
        expected = trips.filter(pc.field("passengers") == number % 7)
        for _ in range(5):
            assert pybasalt.read(file, filter=f"passengers = {number % 7}", threads=2).arrow().equals(expected)
            assert sum(batch.num_rows for batch in pybasalt.scan(file, ["id"], threads=2)) == 100_000

    in_threads(8, work)


def test_eight_threads_share_a_file_and_write(file, trips, here):
    opened = pybasalt.open(file)

    def work(number):
        part = opened.read(["id", "city"], rows=(number * 10_000, (number + 1) * 10_000))
        pybasalt.write(part, here / f"{number}.basalt")
        assert pybasalt.read(here / f"{number}.basalt").arrow().equals(
            trips.select(["id", "city"]).slice(number * 10_000, 10_000))

    in_threads(8, work)


def test_eight_threads_run_statements(file):
    con = pybasalt.connect(device="cpu", threads=2)
    query = f"select count(*), sum(id) from '{file}' where passengers = ?"
    expected = [con.sql(query, [number]).fetchone() for number in range(7)]

    def work(number):
        own = con.cursor()
        for _ in range(5):
            for connection in (con, own, pybasalt):  # one for all, one for each thread, the module's
                assert connection.sql(query, [number % 7]).fetchone() == expected[number % 7]

    in_threads(8, work)


def test_forked_processes_work(file, here):
    assert pybasalt.read(file, filter="id = 1").num_rows == 1  # threads and a session, before the fork
    assert pybasalt.sql("select 1").fetchone() == (1,)
    opened = pybasalt.open(file)

    def work():
        assert opened.read(["id"]).num_rows == 100_000
        assert pybasalt.read(file, filter="id < 5").num_rows == 5
        assert pybasalt.sql(f"select count(*) from '{file}'").fetchone() == (100_000,)
        pybasalt.write({"a": [1, 2]}, here / "forked.basalt", sort_by="a")
        return pybasalt.connect(device="cpu").sql("select sum(a) from 'forked.basalt'").fetchone() == (3,)

    assert in_fork(work) == 0
    assert pybasalt.read(file, filter="id < 5").num_rows == 5  # the parent goes on


def test_forks_of_a_busy_process_work(file):
    """While other threads hold locks."""
    stopped = threading.Event()

    def busy():
        while not stopped.is_set():
            pybasalt.read(file, ["id"], filter="passengers = 3", threads=2)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        codes = [in_fork(lambda: pybasalt.read(file, ["id"]).num_rows == 100_000) for _ in range(5)]
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 5


def test_what_a_fork_cannot_use_is_refused_or_left_alone(file):
    con = pybasalt.connect(device="cpu")
    con.sql("create table t as select 1 as a")
    batches = iter(pybasalt.scan(file, threads=2))
    next(batches)
    found = iter(con.sql("select range as a from range(1_000_000)").batches())
    left = 1_000_000 - next(found).num_rows

    def work():
        nonlocal con, batches, found
        for action in (lambda: con.sql("select 1"), lambda: con.execute("select 1"), lambda: con.tables()):
            with pytest.raises(pybasalt.ArgumentError, match="forked"):
                action()
        con.close()
        con = batches = found = None
        gc.collect()
        return True

    assert in_fork(work) == 0
    assert con.sql("select a from t").fetchone() == (1,)
    assert sum(batch.num_rows for batch in batches) > 0
    assert sum(batch.num_rows for batch in found) == left


def count_rows(file):
    return file.read(["id"], filter=col("id") < 10).num_rows + pybasalt.sql("select 1").num_rows


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(file, method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(count_rows, [pybasalt.open(file)] * 4) == [11] * 4


def test_what_is_pickled(file):
    def again(value):
        return pickle.loads(pickle.dumps(value))

    assert again(pybasalt.open(file)).num_rows == 100_000
    assert again(pybasalt.dataset(file)).count_rows() == 100_000
    assert again(pybasalt.dataset([file, file], threads=1)).count_rows() == 200_000
    assert again(col("a") > 3).sql == (col("a") > 3).sql
    assert again(pybasalt.UnsupportedError("t.basalt: no", "unsupported")).file == "t.basalt"
    for value in (pybasalt.read(file), pybasalt.scan(file), pybasalt.connect(device="cpu")):
        with pytest.raises(TypeError):
            pickle.dumps(value)


def resident_bytes():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(action, warm, count):
    """Bytes that `count` actions leave behind, after some that fill caches."""
    for _ in range(warm):
        action()
    gc.collect()
    before = resident_bytes()
    for _ in range(count):
        action()
    gc.collect()
    return resident_bytes() - before


LEAKS = {
    "read": lambda con, table: pybasalt.read("s.basalt", ["passengers", "city"], threads=1).arrow(),
    "filter": lambda con, table: pybasalt.read("s.basalt", ["id"], filter="passengers = 3", threads=1).arrow(),
    "statement": lambda con, table: con.sql("select city, count(*) from 's.basalt' group by city").fetchall(),
    "stream": lambda con, table: list(con.sql("select id, city from 's.basalt'").batches()),
    "abandoned stream": lambda con, table: next(iter(con.sql("select range from range(1_000_000_000)").batches())),
    "python table": lambda con, table: con.sql("select sum(a) from t where a > ?", [1]).fetchall(),
    "column": lambda con, table: memoryview(pybasalt.open("s.basalt").column("id", device="cpu").numpy()),
    "write": lambda con, table: pybasalt.write(table, "w.basalt", threads=1),
    "error": lambda con, table: pytest.raises(pybasalt.Error, pybasalt.read, "s.basalt", ["none"]),
}


def check_leaks(name, trips, count):
    pybasalt.write(trips.slice(0, 5000), "s.basalt")
    with pybasalt.connect(device="cpu", threads=1) as con:
        con.register("t", pa.table({"a": list(range(1000))}))
        table = trips.slice(0, 1000)
        left = growth(lambda: LEAKS[name](con, table), count // 5, count)
    # A leak of one table, schema or statement for each would be more.
    assert left < (4 << 20) + count * 256, f"{left} bytes after {count}"


@pytest.mark.parametrize("name", [name for name in LEAKS if name != "write"])  # which waits for the disk
def test_memory_stays_flat(here, trips, name):
    check_leaks(name, trips, 300)


@pytest.mark.large
@pytest.mark.parametrize("name", LEAKS)
def test_memory_stays_flat_for_long(here, trips, name):
    check_leaks(name, trips, 10_000)
