"""Polars' lazy frames, pyarrow's datasets, PyTorch's batches."""

import datetime
import decimal
import pickle

import pyarrow as pa
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

    schema = {"a": polars.Int64(), "b": polars.String(), "d": polars.Date(), "m": polars.Decimal(10, 2),
              "t": polars.Datetime("us"), "f": polars.Float32()}
    a, b, d, m = (polars.col(name) for name in "abdm")
    for predicate, sql in [
        ((a > 3) & (b == "x"), """(("a" > 3) AND ("b" = 'x'))"""),
        ((2.5 <= a) & b.str.contains("x"), """("a" >= '2.5'::DOUBLE)"""),
        (a.is_in([1, 2]), '("a" IN (1, 2))'),
        (b.is_in(["x", None]), """("b" IN ('x'))"""),
        (~a.is_in([1]) & b.is_not_null(), """((NOT ("a" IN (1))) AND ("b" IS NOT NULL))"""),
        (a.is_between(1, 3, closed="left"), '(("a" >= 1) AND ("a" < 3))'),
        (d >= datetime.date(2020, 1, 2), """("d" >= '2020-01-02'::DATE)"""),
        (d.is_in([datetime.date(2020, 1, 2)]), """("d" IN ('2020-01-02'::DATE))"""),
        (m == decimal.Decimal("3.10"), '("m" = 3.10)'),
        (polars.col("t") < datetime.datetime(2020, 1, 1, 3), """("t" < '2020-01-01 03:00:00'::TIMESTAMP)"""),
        (~((a > 3) | (b == "x")), """(NOT (("a" > 3) OR ("b" = 'x')))"""),
    ]:
        assert pushed(predicate, schema).sql == sql, predicate
    for predicate in (b.str.contains("x"), ~((a > 3) & b.str.contains("x")), polars.col("f") > 0.5,
                      (a > 3) | b.str.contains("x"), m == decimal.Decimal("3.101"), a == polars.col("f")):
        assert pushed(predicate, schema) is None, predicate


@pytest.fixture
def kinds():
    """Columns of many types, with NULLs and odd values."""
    day, moment = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)
    count = 20_000

    def holes(step, values):
        return [None if i % step == 0 else value for i, value in enumerate(values)]

    return pa.table({
        "i": pa.array(holes(7, range(count)), pa.int64()),
        "u": pa.array(holes(11, (i % 200 for i in range(count))), pa.uint8()),
        "f": pa.array(holes(13, (float("nan") if i % 5 == 0 else i / 8 for i in range(count))), pa.float64()),
        "s": pa.array(holes(3, (f"text {i % 50}" for i in range(count))), pa.string()),
        "b": pa.array(holes(17, (i % 2 == 0 for i in range(count))), pa.bool_()),
        "d": pa.array(holes(19, (day + datetime.timedelta(i % 400) for i in range(count))), pa.date32()),
        "t": pa.array(holes(23, (moment + datetime.timedelta(hours=i) for i in range(count))), pa.timestamp("us")),
        "z": pa.array(holes(29, (moment + datetime.timedelta(hours=i) for i in range(count))), pa.timestamp("us", "UTC")),
        "m": pa.array(holes(31, (decimal.Decimal(i) / 4 for i in range(count))), pa.decimal128(12, 2)),
    })


_DAY, _MOMENT = datetime.date(2020, 3, 1), datetime.datetime(2020, 3, 1, 12)
_ZONED = _MOMENT.replace(tzinfo=datetime.timezone.utc)


def test_pyarrow_filters_are_pushed(here, kinds):
    import pyarrow.compute as pc

    from pybasalt._arrow_filters import pushed

    pybasalt.write(kinds, "k.basalt", chunk_rows=8192)
    dataset = pybasalt.dataset("k.basalt", threads=2, memory_limit="1GB")
    f = pc.field
    known = [f("i") > 100, f("i") != 3, 7 >= f("u"), f("s") == "text 7", ~(f("i") <= 4000), f("s").is_null(), f("s").is_valid(),
             f("s").isin(["text 1", None]), ~f("s").isin(["text 1", None]), ~f("s").isin(["text 1"]), f("i").isin([]), f("b"),
             ~f("b"), f("d") >= _DAY, f("d").isin([_DAY]), f("t") < _MOMENT, f("z") > _ZONED, f("f") > 7.5, f("f") != 3,
             f("m") == decimal.Decimal("3.25"), f("m") <= decimal.Decimal(100), (f("i") < 10) | (f("f") >= 600), f("i") == 7.5,
             (f("i") < 100) & pc.match_substring(f("s"), "7"), ~((f("i") < 100) | (f("s") == "text 1"))]
    unknown = [~(f("f") > 7.5), pc.match_substring(f("s"), "7"), (f("i") < 10) | pc.match_substring(f("s"), "7"),
               ~((f("i") < 100) & pc.match_substring(f("s"), "7")), f("i") + 1 > 5, f("f") == float("nan"),
               f("m") == decimal.Decimal("3.251"), f("i") == f("u"), pc.is_nan(f("f")), f("i").cast(pa.int32()) > 5]
    for condition, is_known in [(one, True) for one in known] + [(one, False) for one in unknown]:
        expected = kinds.filter(condition)
        # Equal but for NaN, which is not equal to itself.
        assert dataset.to_table(filter=condition).drop_columns("f").equals(expected.drop_columns("f")), condition
        assert dataset.to_table(columns=["i", "s"], filter=condition).equals(expected.select(["i", "s"])), condition
        assert (pushed(condition, kinds.schema) is not None) == is_known, condition
        assert dataset.count_rows(filter=condition) == expected.num_rows


@pytest.mark.large
def test_polars_filters_leave_the_same_rows(here, kinds):
    polars = pytest.importorskip("polars")
    pybasalt.write(kinds, "k.basalt", chunk_rows=8192)
    lazy, whole, c = pybasalt.scan_polars("k.basalt", threads=2, memory_limit="1GB"), polars.DataFrame(kinds), polars.col
    for predicate in (c("i").is_in([1, 2, None]), ~c("i").is_in([1, 2, None]), ~c("s").is_in(["text 1"]),
                      c("s").is_in(["text 1", None], nulls_equal=True), ~c("s").is_in(["text 1", None], nulls_equal=True),
                      c("i").is_null() | c("u").is_between(3, 9), c("f") > 7.5, ~(c("f") > 7.5), c("f").is_between(1, 2, closed="none"),
                      c("b"), ~c("b"), c("d") >= _DAY, ~(c("d") < _DAY), c("t") < _MOMENT, c("z") > _ZONED,
                      c("m") == decimal.Decimal("3.25"), c("m") > 100, c("d").is_in([_DAY]), c("i").is_in(polars.Series([3, 4]).implode()),
                      c("t").is_between(_MOMENT, _MOMENT + datetime.timedelta(days=2)), c("i").eq_missing(None)):
        assert lazy.filter(predicate).collect().equals(whole.filter(predicate)), predicate
        assert lazy.filter(predicate).select("s").collect().equals(whole.filter(predicate).select("s")), predicate


@pytest.mark.large
def test_polars_evaluates_what_is_not_pushed(here):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"f": [1.0, float("nan"), float("inf"), None], "i": [1, 2, 3, 4]})
    pybasalt.write(frame, "t.basalt")
    lazy, f, i = pybasalt.scan_polars("t.basalt"), polars.col("f"), polars.col("i")
    for test in (f.is_nan(), f.is_not_nan(), f.is_finite(), f.is_infinite(), f.is_close(1.0)):
        for predicate in (test, ~test, test & (i < 3), test | (i == 1), ~(test & (i < 3))):
            assert lazy.filter(predicate).collect().equals(frame.filter(predicate)), predicate


def test_filters_skip_chunks(file, trips, monkeypatch):
    import pyarrow.compute as pc

    import pybasalt._dataset

    seen = []
    monkeypatch.setattr(pybasalt._dataset, "scan", lambda *arguments, **named: seen.append(arguments) or pybasalt.scan(*arguments, **named))
    duckdb = pytest.importorskip("duckdb")
    trips_ds = pybasalt.dataset(file)  # noqa: F841: DuckDB finds it
    found = duckdb.sql("select count(*), min(id), max(id) from trips_ds where id between 100 and 199").fetchall()
    assert found == [(100, 100, 199)]
    assert seen[-1][2].sql == '(("id" >= 100) AND ("id" <= 199))'
    assert pybasalt.dataset(file).filter(pc.field("id") < 3).to_table(columns=["city"]).num_rows == 3


@pytest.mark.large
def test_folders_of_partitions_are_not_read_for_their_columns(here, trips, monkeypatch):
    polars = pytest.importorskip("polars")
    for day in range(2):
        (here / f"lake/day={day}").mkdir(parents=True)
        pybasalt.write(trips.slice(day * 100, 100), f"lake/day={day}/t.basalt")
    asked = []
    session = pybasalt._planner.session(1)

    class Watched:
        def scan(self, *arguments):
            return session.scan(*arguments)

        def stream(self, *arguments):
            return session.stream(*arguments)

        def execute(self, sql, *arguments):
            asked.append(sql)
            return session.execute(sql, *arguments)

    monkeypatch.setattr(pybasalt._planner, "session", lambda *_: Watched())
    lazy, dataset = pybasalt.scan_polars("lake", threads=1), pybasalt.dataset("lake", threads=1)
    assert len(asked) == 2 and all(sql.endswith("limit 0") for sql in asked)
    assert dataset.schema.names == lazy.collect_schema().names() == [*trips.column_names, "day"]
    assert lazy.filter((polars.col("day") == 1) & (polars.col("id") < 105)).collect()["id"].to_list() == list(range(100, 105))


def test_filters_of_duckdb_keep_to_limits(here, trips, monkeypatch):
    from pybasalt import _planner

    made = []
    monkeypatch.setattr(_planner, "_made", lambda *limits, _made=_planner._made: made.append(limits) or _made(*limits))
    pybasalt.write(trips, "t.basalt")
    for limits in ({"threads": 1, "memory_limit": "64MB"}, {"threads": 2, "memory_limit": "1GB"}):
        assert pybasalt.read("t.basalt", ["id"], filter="reverse(city) = '7 ytic'", **limits).num_rows > 0
    assert made[-1] == (2, 1_000_000_000) and (1, 64_000_000) in made


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


@pytest.mark.large
def test_torch_shuffles_every_epoch_anew(file):
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    from pybasalt.torch import Batches

    def epochs(loader, count=3):
        return [torch.cat([batch["id"] for batch in loader]) for _ in range(count)]

    for options in ({"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}, {"num_workers": 0}):
        torch.manual_seed(5)
        loader = DataLoader(Batches(file, ["id"], shuffle=True, seed=1), batch_size=None, **options)
        first, second, third = epochs(loader)
        for ids in (first, second, third):
            assert torch.equal(ids.sort().values, torch.arange(100_000)), options
        assert not torch.equal(first, second) and not torch.equal(second, third) and not torch.equal(first, third), options
        torch.manual_seed(5)
        again = DataLoader(Batches(file, ["id"], shuffle=True, seed=1), batch_size=None, **options)
        assert torch.equal(epochs(again, 1)[0], first), options
    # An epoch that was left early does not make workers disagree about the next one.
    loader = DataLoader(Batches(file, ["id"], shuffle=True), batch_size=None, num_workers=2, persistent_workers=True)
    next(iter(loader))
    assert torch.equal(epochs(loader, 1)[0].sort().values, torch.arange(100_000))


@pytest.mark.large
def test_torch_reads_shares_of_folders(here, trips):
    torch = pytest.importorskip("torch")
    from pybasalt.torch import Batches

    for part in range(4):
        pybasalt.write(trips.slice(part * 25_000, 25_000), "data", append=True, chunk_rows=8192)
    for path in ("data", "data/*.basalt", [str(path) for path in sorted((here / "data").glob("*.basalt"))]):
        assert sum(len(batch["id"]) for batch in Batches(path, ["id"])) == 100_000
    few = Batches("data", ["id"], filter=pybasalt.col("city") == "city 5", batch_size=100)
    expected = pybasalt.read("data", ["id"], filter="city = 'city 5'").numpy()["id"].tolist()
    assert [int(i) for batch in few for i in batch["id"]] == expected and len(expected) > 100
    for shuffle in (False, True):
        for epoch in range(2):
            shares = [Batches("data", ["id"], shuffle=shuffle, rank=rank, world_size=3) for rank in range(3)]
            for share in shares:
                share.set_epoch(epoch)
            ids = [torch.cat([batch["id"] for batch in share]) for share in shares]
            assert torch.equal(torch.cat(ids).sort().values, torch.arange(100_000))
            assert max(map(len, ids)) < 1.3 * min(map(len, ids))
            if epoch and shuffle:
                assert set(ids[0].tolist()) != first_share
            first_share = set(ids[0].tolist())
    for wrong in ({"rank": 1}, {"rank": 2, "world_size": 2}, {"batch_size": 0}, {"device": "gpu"}):
        with pytest.raises(ValueError):
            Batches("data", ["id"], **wrong)
    with pytest.raises(FileNotFoundError):
        Batches("none/*.basalt", ["id"])


@pytest.mark.large
def test_torch_takes_its_rank_from_distributed(file, tmp_path):
    torch = pytest.importorskip("torch")
    from pybasalt.torch import Batches

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        batches = Batches(file, ["id"])
        assert (batches.rank, batches.world_size) == (0, 1)
        assert (Batches(file, ["id"], rank=1, world_size=2).rank) == 1
    finally:
        torch.distributed.destroy_process_group()


def test_chunks_on_a_device(file):
    from pybasalt import _core, _planner

    opened = pybasalt.open(file)
    place = 0
    for chunk, rows in enumerate(opened.chunk_rows):
        found = _core.rows_on_device([opened._core], ["id", "fare"], "cpu", 1, chunk)
        ids = pybasalt.device.Column(lambda: found, "id", 0).numpy()
        assert ids.tolist() == list(range(place, place + rows))
        some, _ = _planner.session(1).on_device(f"select id from '{file}' where id % 10 = 3", [], "cpu", chunk)
        ids = pybasalt.device.Column(lambda: some, "id", 0).numpy()
        assert ids.tolist() == [i for i in range(place, place + rows) if i % 10 == 3]
        place += rows
    with pytest.raises(pybasalt.UnsupportedError, match="reverse"):
        _planner.session(1).on_device(f"select id from '{file}' where reverse(city) = ''", [], "cpu", 0)
    with pytest.raises(pybasalt.UnsupportedError, match="one file"):
        _planner.session(1).on_device(f"select id from read_basalt(['{file}', '{file}'])", [], "cpu", 0)
    with pytest.raises(IndexError):
        _core.rows_on_device([opened._core], ["id"], "cpu", 1, len(opened.chunk_rows))


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
