"""Connections, relations, parameters and tables of Python's."""

import datetime
import decimal
import os
import threading

import pyarrow as pa
import pytest

import pybasalt


@pytest.fixture
def con(here, trips):
    pybasalt.write(trips, "trips.basalt")
    with pybasalt.connect(device="cpu", threads=2) as connection:
        yield connection


def test_relations_run_when_asked(con):
    relation = con.sql("select city, count(*) as n from 'trips.basalt' where city is not null group by city order by city")
    assert relation.columns == ["city", "n"]
    assert len(relation) == 97 and relation.fetchone() == ("city 0", 951)
    assert relation.arrow().num_rows == 97 and list(relation.df().columns) == ["city", "n"]
    assert relation.table().schema.types == ["VARCHAR", "BIGINT"]
    with pytest.raises(ValueError, match="no_such"):
        con.sql("select no_such from 'trips.basalt'").fetchall()


def test_statements_run_at_once(con):
    con.sql("create table t as select 1 as a")
    con.sql("insert into t values (2)")
    assert con.sql("select sum(a) from t").fetchone() == (decimal.Decimal(3),)
    assert con.tables() == [("t", "table")]


def test_statements_without_rows_are_tables_without_columns(con):
    for statement in ("create view v as select 1 as a", "set threads = 2", "create table u (a int)", "drop table u"):
        relation = con.sql(statement)
        assert relation.fetchall() == [] and relation.fetchone() is None and len(relation) == 0, statement
        assert relation.arrow().num_columns == 0 and relation.df().empty and relation.columns == []
        assert repr(relation).strip()
    con.sql("create view w as select 1 as a").show()


def test_plans_are_text(con):
    for word in ("explain", "explain analyze"):
        relation = con.sql(word + " select count(*) from 'trips.basalt' where fare > 50")
        assert relation.columns == ["explain_key", "explain_value"] and len(relation) == 1
        assert "BASALT" in repr(relation).upper() and repr(relation) in relation.fetchone()[1]
        assert relation.report["rows"] == 1


def test_parameters(con):
    count = con.sql("select count(*) from 'trips.basalt' where id < ? and city = ?", [1000, "city 1"]).fetchone()
    assert count == con.sql("select count(*) from 'trips.basalt' where id < 1000 and city = 'city 1'").fetchone()
    values = [None, True, 2**100, 1.1, "it's", decimal.Decimal("1.50"), b"\x00a", datetime.date(2024, 2, 29),
              datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.time(1, 2, 3)]
    assert con.sql("select " + ", ".join("?" * len(values)), values).fetchone()[:2] == (None, True)
    row = con.sql("select " + ", ".join("?" * len(values)), values).fetchone()
    assert row[3:6] == (1.1, "it's", decimal.Decimal("1.50")) and row[6:] == tuple(values[6:])
    assert con.sql("select $b - $a", {"a": 1, "b": 3}).fetchone() == (2,)
    with pytest.raises(TypeError):
        con.sql("select ?", [object()])
    with pytest.raises(pybasalt.Error):
        con.sql("select ?, ?", [1]).fetchall()


def test_tables_of_python(con):
    mine = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"], "c": [1.0, 2.0, 3.0]})
    assert con.sql("select b from mine where c > 1 order by a desc").fetchall() == [("z",), ("y",)]
    assert con.sql("select count(*) from mine m join 'trips.basalt' t on t.id = m.a").fetchone() == (3,)
    relation = con.sql("select sum(a) from mine")
    del mine
    assert relation.fetchone() == (6,)
    con.register("other", {"a": [5]})
    assert con.sql("select a from other").fetchall() == con.sql("select a from other").fetchall() == [(5,)]
    con.unregister("other")
    with pytest.raises(ValueError, match="other"):
        con.sql("select a from other").fetchall()
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"p": [1, 2]})  # noqa: F841: SQL finds it
    assert con.sql("select max(p) from frame").fetchone() == (2,)


def test_tables_of_python_come_before_folders(con):
    pybasalt.write({"a": [1]}, "mine", append=True)
    assert con.sql("select a from mine").fetchall() == [(1,)]
    mine = pa.table({"a": [2]})
    assert con.sql("select a from mine").fetchall() == [(2,)]
    del mine
    con.register("mine", {"a": [3]})
    assert con.sql("select a from mine").fetchall() == [(3,)]


def test_what_tables_of_python_raise_is_told(con):
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("out of order")

    broken = Broken()  # noqa: F841: SQL finds it
    with pytest.raises(pybasalt.Error, match="out of order"):
        con.sql("select * from broken").fetchall()


def test_explain_and_report(con):
    relation = con.sql("select sum(fare) from 'trips.basalt' where id < 1000")
    assert "BASALT_QUERY" in relation.explain() and "Step 1" in relation.explain(analyze=True)
    report = relation.report
    assert report["rows"] == 1 and report["ran_on"] == "cpu" and report["in_basalt"]
    assert report["tiles_skipped"] > 0 and "1 row" in str(report)


def test_statements_with_parameters_run_in_basalt(con):
    con.sql("set basalt_strict = true")
    query = "select count(*), min(id), max(city) from 'trips.basalt' where id >= ? and id < ? and city is distinct from ?"
    for first, end in [(10, 20), (100, 105), (0, 1)]:
        relation = con.sql(query, [first, end, "no such city"])
        assert relation.fetchall()[0][0] == end - first
        report = relation.report
        assert report["in_basalt"] and not report["in_duckdb"], str(report)
    con.sql("set basalt_strict = false")
    report = con.sql("select bit_count(id), count(*) from 'trips.basalt' where id > $low group by 1", {"low": 3}).report
    assert "GROUP BY (the function bit_count)" in str(report)


def test_show(con, capsys):
    con.sql("select 1 as a, NULL as b").show()
    assert capsys.readouterr().out == "a  b\n1  NULL\n1 row\n"
    assert "20 shown" in repr(con.sql("select * from range(30)"))


def test_results_of_no_rows_have_a_schema(con):
    table = con.sql("select id, city from 'trips.basalt' where id < 0").arrow()
    assert table.num_rows == 0 and table.schema.types == [pa.int64(), pa.string()]


def test_relations_are_written(con):
    assert con.sql("select id, fare from 'trips.basalt' where id < 100").write("u.basalt").rows == 100
    assert con.sql("select id from 'trips.basalt' where id < ?", [7]).write("v.basalt").rows == 7


@pytest.mark.parametrize("parameters", [None, [100]])
def test_relations_are_written_as_tables_are(con, parameters):
    relation = con.sql(f"select id, city from 'trips.basalt' where id < {'?' if parameters else 100}", parameters)
    options = {"sort_by": ["city", "id"], "encoding": {"id": "packed"}, "effort": "fast", "purpose": "disk",
               "metadata": {"who": "me"}, "chunk_rows": 8192, "threads": 1, "memory_limit": "64MiB"}
    for path, append in (("one.basalt", False), ("folder", True)):
        summary = relation.write(path, append=append, **options)
        assert summary.rows == 100 and [c["encodings"] for c in summary.columns if c["name"] == "id"] == [["packed"]]
    opened = pybasalt.open("one.basalt")
    assert opened.sort_columns == ["city", "id"] and opened.metadata["who"] == "me"
    assert pybasalt.read("folder").arrow().equals(opened.read().arrow())
    cities = opened.read().arrow()["city"].to_pylist()
    assert [city for city in cities if city] == sorted(city for city in cities if city)
    with pytest.raises(ValueError, match="purpose"):
        relation.write("t.basalt", purpose="archive")


def resident_bytes():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_sorted_files_are_in_the_order_of_the_format(here):
    connection = pybasalt.connect()
    connection.sql("set default_null_order = 'nulls_first'").fetchall()
    connection.sql("create type size as enum ('small', 'large')").fetchall()
    rows = connection.sql("select * from (values ('small'::size, 1), (null, 2), ('large', null), ('large', 4)) t(s, n)")
    rows.write("sorted.basalt", sort_by=["s", "n"])
    assert pybasalt.read("sorted.basalt").fetchall() == [("large", 4), ("large", None), ("small", 1), (None, 2)]



def test_results_larger_than_memory_are_streamed(con):
    """Of 400 MB never more than a part is there."""
    relation = con.sql("select range as a, range + 1 as b, range + 2 as c from range(17_000_000)")
    before, most, rows = resident_bytes(), 0, 0
    for batch in relation.batches():
        rows += batch.num_rows
        most = max(most, resident_bytes() - before)
    assert rows == 17_000_000 and most < 150e6
    reader = pa.RecordBatchReader.from_stream(relation)
    assert reader.read_next_batch()["c"][0].as_py() == 2
    reader.close()
    assert resident_bytes() - before < 150e6


def test_streams_are_what_the_rows_are(con):
    query = "select id, city, fare from 'trips.basalt' where fare > 20 order by fare, id"
    expected = con.sql(query).arrow()
    relation = con.sql(query)
    assert pa.table(relation).equals(expected) and relation._found is None
    assert relation.batches().read_all().arrow().equals(expected) and relation._found is None
    assert relation.arrow().equals(expected) and relation._found is not None
    assert pa.table(relation).equals(expected)  # those in memory
    bound = con.sql("select id from 'trips.basalt' where id < ?", [10])
    assert [row for batch in bound.batches() for row in batch.fetchall()] == [(i,) for i in range(10)]
    assert list(con.sql("select 1 as a where false").batches()) == []
    assert list(con.sql("create table t as select 1 as a").batches()) == []


def test_other_statements_run_between_batches(con):
    numbers = con.sql("select range as a from range(1_000_000)")
    total, between = 0, []
    for batch in numbers.batches():
        total += batch.num_rows
        between.append(con.sql("select ?", [len(between)]).fetchone()[0])
        assert con.sql("from numbers limit 1").columns == ["a"]
    assert total == 1_000_000 and between == list(range(len(between))) and len(between) > 1
    # Two at once, and one that another statement reads.
    with numbers.batches() as first, numbers.batches() as second:
        assert next(iter(first)).num_rows == next(iter(second)).num_rows
    reader = pa.RecordBatchReader.from_stream(numbers)
    reader.read_next_batch()
    assert con.sql("select count(*) < 1_000_000 from reader").fetchone() == (True,)


def test_streams_fail_as_statements_do(con):
    late = "select case when i = 900000 then error('at last') else i end as a from range(1000000) t(i)"
    with pytest.raises(pybasalt.ArgumentError, match="at last"):
        for _ in con.sql(late).batches():
            pass
    with pytest.raises(pa.ArrowInvalid, match="at last"):
        pa.table(con.sql(late))
    # Of what was fetched for another statement's sake, its own reader is told.
    batches = iter(con.sql(late).batches())
    next(batches)
    assert con.sql("select 1").fetchone() == (1,)
    with pytest.raises(pybasalt.ArgumentError, match="at last"):
        for _ in batches:
            pass


def test_streams_are_stopped(con):
    batches = iter(con.sql("select range as a from range(100_000_000_000)").batches())
    next(batches)
    con.interrupt()
    with pytest.raises(pybasalt.Error) as caught:
        for _ in batches:
            pass
    assert caught.value.code == "cancelled"
    endless = con.sql("select range as a from range(100_000_000_000)").batches()
    next(iter(endless))
    del endless  # let go of before its end
    assert con.sql("select 1").fetchone() == (1,)
    # A statement that waits for the rest of such a one is stopped, too.
    batches = iter(con.sql("select range as a from range(100_000_000_000)").batches())
    next(batches)
    threading.Timer(0.2, con.interrupt).start()
    with pytest.raises(pybasalt.Error) as caught:
        con.sql("select 1").fetchone()
    assert caught.value.code == "cancelled"


def test_streams_outlive_their_connection(here):
    with pybasalt.connect(device="cpu") as con:
        batches = con.sql("select range as a from range(1_000_000)").batches()
    assert batches.read_all().num_rows == 1_000_000
    with pytest.raises(pybasalt.Error, match="closed"):
        con.sql("select 1").fetchall()


def test_threads_read_streams_while_others_run_statements(con):
    failed = []

    def work(number):
        try:
            for _ in range(10):
                relation = con.sql(f"select range + {number} as a from range(300_000)")
                assert sum(batch.num_rows for batch in relation.batches()) == 300_000
                assert con.sql("select ?", [number]).fetchone() == (number,)
        except BaseException as error:  # noqa: BLE001: told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_threads_share_a_connection(con):
    results = {}

    def work(number):
        mine = pa.table({"a": [number]})  # noqa: F841: SQL finds it
        results[number] = [con.sql("select a from mine").fetchone()[0] for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: [i] * 20 for i in range(8)}


def test_cursors_work_at_the_same_time(con):
    con.register("t", {"a": [1]})
    other = con.cursor()
    assert other.sql("select a from t").fetchone() == (1,)
    con.close()
    with pytest.raises(pybasalt.Error, match="closed"):
        con.sql("select 1").fetchall()
    assert other.sql("select a from t").fetchone() == (1,)


def test_interrupt(con):
    timer = threading.Timer(0.3, con.interrupt)
    timer.start()
    with pytest.raises(pybasalt.Error) as caught:
        con.sql("select count(*) from range(100000000000) t(i) where i % 7 = 3").fetchall()
    assert caught.value.code == "cancelled"


def test_progress(con):
    seen = []
    con.execute("select count(*) from range(50000000) t(i) where i % 7 = 3", progress=seen.append)
    assert seen and max(seen) <= 1


def test_strict(here, trips):
    pybasalt.write(trips, "trips.basalt")
    con = pybasalt.connect(device="cpu", strict=True)
    assert con.sql("select city, sum(id) from 'trips.basalt' group by city order by 2 limit 1").fetchone()
    with pytest.raises(pybasalt.UnsupportedError):
        con.sql("select ntile(2) over (order by id) from 'trips.basalt'").fetchall()


def test_relations_are_tables(con):
    numbers = con.sql("select range as x from range(5)")
    more = con.sql("select x + 1 as x from numbers")
    assert con.sql("select sum(x) from more").fetchone() == (decimal.Decimal(15),)
    assert con.sql("from numbers").column_names == ["x"]
    con.register("Kept", con.sql("select 7 as seven"))
    assert con.sql("from kept").fetchall() == [(7,)]
    with pybasalt.connect() as other:
        assert other.sql("select count(*) from more").fetchone() == (5,)
        unused = other.sql("select error('never asked for')")  # noqa: F841
        assert other.sql("select 1 as unused").fetchall() == [(1,)]
    # Found while a statement is bound: by a view, and never by itself.
    con.sql("create view over as select seven + 1 as eight from kept")
    con.register("Kept", con.sql("select 8 as seven"))
    assert con.sql("from over").fetchall() == [(9,)]
    con.register("seven", con.sql("select 7 as seven"))
    assert con.sql("from seven").fetchall() == [(7,)]
    con.register("round", con.sql("from round"))
    with pytest.raises(ValueError, match="names itself"):
        con.sql("from round").fetchall()
    assert con.sql("create table made as from more; select count(*) from made").fetchone() == (5,)


def test_names_differ_by_case_where_both_are_there(con):
    x, X = pa.table({"a": [1]}), pa.table({"a": [2]})  # noqa: F841
    assert con.sql("select a from x").fetchone() == (1,) and con.sql("select a from X").fetchone() == (2,)
    Other = pa.table({"a": [3]})  # noqa: F841
    assert con.sql("select a from other").fetchone() == (3,)


def test_what_can_be_read_once_is_read_once(con):
    import pyarrow.dataset

    reader = pa.table({"a": [1, 2]}).to_reader()
    assert con.sql("select count(*) from reader x join reader y using (a)").fetchone() == (2,)
    twice = con.sql("from reader")
    assert twice.columns == ["a"] and twice.fetchall() == con.sql("from reader").fetchall() == [(1,), (2,)]
    scan = pybasalt.scan("trips.basalt", ["id"])
    assert con.sql("select count(*) from scan").fetchone() == con.sql("select count(*) from SCAN").fetchone() == (100_000,)
    r = pa.table({"a": [1]}).to_reader()
    assert con.sql("select 1 as r").fetchone() == (1,) and r.read_all().num_rows == 1  # named, and no table
    ds = pyarrow.dataset.dataset(pa.table({"z": [1, 2]}))  # noqa: F841
    assert con.sql("select sum(z) from ds").fetchone() == (3,)


def test_results_are_shown_in_part(con):
    relation = con.sql("select range as a, repeat('long text ', 100) as b from range(100000)")
    assert relation.fetchone()[0] == 0
    assert repr(relation).endswith("100000 rows, 20 shown") and max(map(len, repr(relation).splitlines())) < 100
    with pytest.raises(ValueError, match="-1"):
        relation.show(-1)
    assert con.sql("select ? as a, 1 as b", [1]).column_names == ["a", "b"]
    with pytest.raises(TypeError):
        con.sql(None)


def test_moments_and_durations_are_parameters(con):
    import uuid

    import numpy

    assert con.sql("select epoch_ns(?)", [numpy.datetime64("2020-01-01T00:00:00.123456789")]).fetchone()[0] % 1000 == 789
    assert con.sql("select timestamp '2020-01-01' + ? = timestamp '2020-01-02'", [datetime.timedelta(days=1)]).fetchone() == (True,)
    for text, day in (("2020", (2020, 1, 1)), ("2020-03", (2020, 3, 1)), ("2020-03-05", (2020, 3, 5))):
        assert con.sql("select ?::date", [numpy.datetime64(text)]).fetchone() == (datetime.date(*day),)
    assert con.sql("select ?", [numpy.datetime64("2020-01-01T05")]).fetchone()[0].hour == 5
    with pytest.raises(TypeError, match="nanoseconds"):
        con.sql("select ?", [numpy.timedelta64(-5, "ns")])
    assert con.sql("select ? is null", [numpy.datetime64("NaT")]).fetchone() == (True,)
    assert con.sql("select ?", [uuid.UUID(int=5)]).fetchone()[0] is not None
    assert con.sql("select ? + 1", [pa.scalar(41)]).fetchone() == (42,)


def test_moments_of_pandas_are_parameters(con):
    import pandas

    fine = pandas.Timestamp(1577836800_000001001)
    assert con.sql("select epoch_ns(?)", [fine]).fetchone() == (1577836800_000001001,)
    assert con.sql("select ? is null, ? is null", [pandas.NaT, pandas.NA]).fetchone() == (True, True)


def test_sums_are_written_as_they_are_read(con, here):
    sums = con.sql("select sum(range) as s, 'x' as t from range(10)")
    sums.write("a.basalt")
    pybasalt.write(sums, "b.basalt")
    pybasalt.convert("select sum(range) as s, 'x' as t from range(10); ", "c.basalt")
    for name in ("a.basalt", "b.basalt", "c.basalt"):
        assert pybasalt.read(name).fetchall() == sums.fetchall() == [(decimal.Decimal(45), "x")]


def test_rows_are_fetched_one_after_the_other(con, trips):
    for rows in (con.sql("from 'trips.basalt'"), pybasalt.read("trips.basalt"), pybasalt.open("trips.basalt")):
        expected = list(zip(*(column.to_pylist() for column in trips.columns)))
        assert rows.fetchall() == rows.fetchall() == expected
        assert [rows.fetchone(), rows.fetchone()] == expected[:2]
        assert rows.fetchmany(3000) == expected[2:3002] and rows.fetchmany() == expected[3002:3003]
        assert rows.fetchmany(0) == [] and rows.fetchall() == expected[3003:]
        assert rows.fetchone() is None and rows.fetchmany(3) == rows.fetchall() == []
        with pytest.raises(ValueError, match="size"):
            rows.fetchmany(-1)
    assert con.sql("create table t (a int)").fetchone() is None


def test_values_that_python_has_no_room_for(con):
    for value in ("date '99999-01-01'", "timestamp '99999-01-01'", "'infinity'::date", "[date '99999-01-01']"):
        rows = con.sql(f"select 1 as a, {value} as d")
        with pytest.raises(pybasalt.Error, match=r"column d: .*1 to 9999.*arrow\(\)") as caught:
            rows.fetchall()
        assert (caught.value.code, caught.value.column) == ("out of range", "d")
        assert rows.arrow().num_rows == 1
        assert "<value out of range" in repr(rows) and "&lt;value out of range" in rows._repr_html_()


def test_rows_without_names_are_tuples(con):
    rows = con.sql("select row(i, 'x') as r, [row(i, i)] as l, {'a': row(i, row(i, 2))} as s, map {i: row(1, i)} as m "
                   "from range(3) t(i) union all select null, null, null, null").fetchall()
    assert sorted(rows[:3]) == [((i, "x"), [(i, i)], {"a": (i, (i, 2))}, [(i, (1, i))]) for i in range(3)]
    assert rows[3] == (None, None, None, None)


def test_bits_are_texts(con):
    rows = con.sql("select b::bit as b from (values ('101'), ('00000000'), ('111111111'), (null)) t(b)")
    assert rows.fetchall() == [("101",), ("00000000",), ("111111111",), (None,)]
    assert "\n101\n" in repr(rows)


@pytest.mark.large
def test_polars_is_not_given_intervals(con):
    pytest.importorskip("polars")
    for value in ("interval 1 day", "[interval 1 day]", "{'a': interval 1 day}"):
        with pytest.raises(pybasalt.UnsupportedError, match="column d: .*INTERVAL"):
            con.sql(f"select {value} as d").pl()
    con.sql("select interval 1 day as d").write("i.basalt")
    with pytest.raises(pybasalt.UnsupportedError, match="column d"):
        pybasalt.read("i.basalt").pl()
    with pytest.raises(pybasalt.UnsupportedError, match="column d"):
        pybasalt.scan_polars("i.basalt")
    assert con.sql("select {'interval': 1} as d").pl().height == 1


def test_rows_are_shown_in_notebooks(con):
    rows = con.sql("select range as n, '<b>' || chr(9) || chr(0) || chr(27) as \"<i>\" from range(30)")
    for shown in (rows, rows.table()):
        text = shown._repr_html_()
        assert text.count("<tr>") == 21 and text.endswith("<p>30 rows, 20 shown</p>")
        assert "<th>&lt;i&gt;</th>" in text and r"<td>&lt;b&gt;\t\0\e</td>" in text
    assert r"<b>\t\0\e" in repr(rows)
    assert pybasalt.open("trips.basalt")._repr_html_().endswith("<p>100000 rows, 20 shown</p>")
    assert con.sql("create table t (a int)")._repr_html_().startswith("<pre>")
    assert con.sql("explain select 1 < 2")._repr_html_().startswith("<pre>")


def test_objects_say_what_they_are(con):
    assert repr(con) == "<pybasalt.Connection to memory, device='cpu'>"
    assert repr(pybasalt.scan("trips.basalt", ["id"])) == "<pybasalt.Scan: Schema(id bigint)>"
    column = pybasalt.open("trips.basalt").column("id", device="cpu")
    assert repr(column) == "<pybasalt.Column id: not decoded>"
    assert len(column) == 100_000 and repr(column) == "<pybasalt.Column id: 100000 values on cpu>"
    found = con.sql("select id from 'trips.basalt' where id < 3").on_device()
    assert repr(found) == "<pybasalt.DeviceTable: 3 rows on cpu, columns id>"
