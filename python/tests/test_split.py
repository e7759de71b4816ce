"""Queries over parts of a table, merged, against the whole."""

import pyarrow as pa
import pytest

import pybasalt
from pybasalt._split import CannotSplit, split

QUERIES = [
    "select count(*), sum(fare), min(city), max(id), avg(passengers) from trips",
    "select city, count(*) as n, avg(fare) a from trips where id > 500 group by city order by n desc, city limit 7",
    "select passengers % 2, sum(id * 2) + 1 from trips group by passengers % 2 order by 1 nulls first",
    "select passengers as p, count(city) from trips group by 1 having count(*) > 14000 order by p",
    "select upper(city) as c, max(fare) - min(fare) from trips group by c order by c nulls last",
    "select d.name, sum(t.fare) from trips t join days d on t.passengers = d.day group by d.name order by d.name",
    "select sum(fare) from trips where id < 0",
]


@pytest.fixture
def con(trips):
    con = pybasalt.connect(device="cpu")
    con.register("days", {"day": [0, 1, 2], "name": ["a", "b", "b"]})
    return con


@pytest.mark.parametrize("query", QUERIES)
def test_parts_merge_to_the_whole(con, trips, query):
    con.register("trips", trips)
    expected = con.sql(query).arrow()
    partial, merge = split(query, "trips")
    parts = []
    for part in range(4):
        con.register("trips", trips.slice(part * 30_000, 30_000))
        parts.append(con.sql(partial).arrow())
    con.register("parts", pa.concat_tables(parts, promote_options="permissive"))
    merged = con.sql(merge).arrow()
    assert merged.column_names == expected.column_names
    for ours, theirs in zip(merged.to_pydict().values(), expected.to_pydict().values()):
        assert ours == pytest.approx(theirs) if theirs and isinstance(theirs[0], float) else ours == theirs


@pytest.mark.parametrize("query", [
    "select count(distinct city) from trips",
    "select id from trips",
    "select distinct city from trips",
    "select row_number() over () from trips",
    "select count(*) from trips a join trips b on a.id = b.id",
    "select count(*) from days d left join trips t on t.id = d.day",
    "select count(*) from (select * from trips limit 5)",
    "with x as (select 1) select count(*) from trips",
])
def test_what_does_not_merge_is_refused(query):
    with pytest.raises(CannotSplit):
        split(query, "trips")
