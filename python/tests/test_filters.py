"""Random filters over columns of every type: read() against pyarrow.compute."""

import datetime
import decimal
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pybasalt
from pybasalt import col

ROWS = 3000
DAY = datetime.datetime(2024, 1, 1)
UTC = datetime.timezone.utc


def whole(low, high):
    """A column's values by row, and values to compare them with: some beyond both ends."""
    return (lambda i: (i * 37) % (high - low + 1) + low), st.integers(low, high)


def moments(unit, zone=None):
    """Moments of a unit, as Python has them."""
    step = datetime.timedelta(**{unit: 1})
    make = lambda n: (DAY + (n % 700) * step).replace(tzinfo=zone)  # noqa: E731: used twice
    return make, st.integers(0, 800).map(make)


def times(unit):
    """Times of the day, as Python has them."""
    make = lambda n: (DAY + (n % 700) * datetime.timedelta(**{unit: 7})).time()  # noqa: E731: used twice
    return make, st.integers(0, 699).map(make)


def decimals(digits, scale):
    """Decimals with so many digits, about zero."""
    with decimal.localcontext(prec=digits + 2):
        unit = decimal.Decimal(10) ** (digits - 3 - scale) + decimal.Decimal(1).scaleb(-scale)
        values = [(n - 350) * unit for n in range(801)]
    return (lambda i: values[i % 700]), st.sampled_from(values)


TEXTS = ["", "a", "a1", "b40", "c7", "zz", "ü", "x" * 40]
#: By the column's name: its type, its values by row, and a strategy of values to compare with.
KINDS = {
    "bool": (pa.bool_(), (lambda i: i % 3 == 0), st.booleans()),
    "i8": (pa.int8(), *whole(-128, 127)), "i16": (pa.int16(), *whole(-300, 300)),
    "i32": (pa.int32(), *whole(-250, 250)), "i64": (pa.int64(), *whole(2**40, 2**40 + 500)),
    "u8": (pa.uint8(), *whole(0, 255)), "u16": (pa.uint16(), *whole(60_000, 65_535)),
    "u32": (pa.uint32(), *whole(2**32 - 500, 2**32 - 1)), "u64": (pa.uint64(), *whole(2**63 - 250, 2**63 + 250)),
    "f32": (pa.float32(), (lambda i: ((i * 91) % 1000) / 8), st.integers(-10, 1010).map(lambda n: n / 8)),
    "f64": (pa.float64(), (lambda i: ((i * 91) % 1000) / 10), st.integers(-10, 1010).map(lambda n: n / 10)),
    "dec4": (pa.decimal128(4, 1), *decimals(4, 1)), "dec9": (pa.decimal128(9, 2), *decimals(9, 2)),
    "dec18": (pa.decimal128(18, 4), *decimals(18, 4)), "dec38": (pa.decimal128(38, 10), *decimals(38, 10)),
    "date": (pa.date32(), (lambda i: moments("days")[0](i).date()), moments("days")[1].map(lambda m: m.date())),
    "time_s": (pa.time32("s"), *times("seconds")), "time_ms": (pa.time32("ms"), *times("milliseconds")),
    "time_us": (pa.time64("us"), *times("microseconds")), "time_ns": (pa.time64("ns"), *times("microseconds")),
    "ts_s": (pa.timestamp("s"), *moments("seconds")), "ts_ms": (pa.timestamp("ms"), *moments("milliseconds")),
    "ts_us": (pa.timestamp("us"), *moments("microseconds")), "ts_ns": (pa.timestamp("ns"), *moments("microseconds")),
    "ts_utc": (pa.timestamp("us", "UTC"), *moments("hours", UTC)),
    "text": (pa.string(), (lambda i: f"{'abc'[i % 3]}{i % 41}"), st.sampled_from(TEXTS)),
    "bytes": (pa.binary(), (lambda i: bytes([i % 7, 0, i % 251])), st.binary(max_size=3)),
}
TABLE = pa.table({
    name: pa.array([None if (i + place) % 17 == 0 else value(i) for i in range(ROWS)], kind)
    for place, (name, (kind, value, _)) in enumerate(KINDS.items())
})
FOLDER = tempfile.TemporaryDirectory()
PATH = FOLDER.name + "/t.basalt"
pybasalt.write(TABLE, PATH, chunk_rows=8192)

COMPARE = {
    "==": (lambda a, b: a == b), "!=": (lambda a, b: a != b), "<": (lambda a, b: a < b), "<=": (lambda a, b: a <= b),
    ">": (lambda a, b: a > b), ">=": (lambda a, b: a >= b),
}


@st.composite
def comparisons(draw, names):
    """The same condition for Basalt and for pyarrow."""
    name = draw(names)
    kind, _, values = KINDS[name]
    ours, theirs = col(name), pc.field(name)
    # pyarrow does not order booleans.
    words = [*COMPARE, "in", "between"] if name != "bool" else ["==", "!=", "in"]
    word = draw(st.sampled_from([*words, "null", "valid"]))
    if word == "null":
        return ours.is_null(), theirs.is_null()
    if word == "valid":
        return ours.is_not_null(), theirs.is_valid()
    if word == "in":
        chosen = draw(st.lists(values, min_size=1, max_size=4))
        found = theirs.isin(pa.array(chosen, kind))
        # NULL is in no list, and not in none either: SQL's three values.
        return ours.isin(chosen), pc.if_else(theirs.is_valid(), found, pa.scalar(None, pa.bool_()))
    if word == "between":
        low, high = draw(values), draw(values)
        return ours.between(low, high), (theirs >= pa.scalar(low, kind)) & (theirs <= pa.scalar(high, kind))
    value = draw(values)
    return COMPARE[word](ours, value), COMPARE[word](theirs, pa.scalar(value, kind))


def conditions(names):
    """Comparisons under AND, OR and NOT."""
    return st.recursive(
        comparisons(names),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: (pair[0][0] & pair[1][0], pair[0][1] & pair[1][1])),
            st.tuples(inner, inner).map(lambda pair: (pair[0][0] | pair[1][0], pair[0][1] | pair[1][1])),
            inner.map(lambda one: (~one[0], ~one[1])),
        ),
        max_leaves=4,
    )


def check(condition, columns):
    ours, theirs = condition
    found = pybasalt.read(PATH, columns, filter=ours).arrow()
    expected = TABLE.filter(theirs).select(columns)
    # Where DuckDB evaluates the filter, short times come as it has them.
    for place, name in enumerate(columns):
        if name in ("time_s", "time_ms") and found.schema.types[place] == pa.time64("us"):
            expected = expected.set_column(place, name, expected[name].cast(pa.time64("us")))
    assert found.equals(expected), ours.sql


@pytest.mark.parametrize("name", KINDS)
def test_every_type_agrees_with_pyarrow(name):
    @settings(max_examples=8, deadline=None)
    @given(conditions(st.just(name)))
    def agree(condition):
        check(condition, [name])

    agree()


@pytest.mark.parametrize("name", KINDS)
def test_statistics_are_values_of_the_type(name):
    opened = pybasalt.open(PATH)
    found = opened.statistics(name)
    values = [value for value in TABLE[name].to_pylist() if value is not None]
    assert (found["min"], found["max"]) == (min(values), max(values))
    assert isinstance(min(values), type(found["min"]))  # nanoseconds that pandas knows are datetimes, too
    assert next(column["statistics"] for column in opened.columns if column["name"] == name) == found


@settings(max_examples=100, deadline=None)
@given(conditions(st.sampled_from(sorted(KINDS))),
       st.lists(st.sampled_from(TABLE.column_names), min_size=1, max_size=3, unique=True))
def test_filters_over_several_columns_agree_with_pyarrow(condition, columns):
    check(condition, columns)


@pytest.mark.large
@settings(max_examples=3000, deadline=None)
@given(conditions(st.sampled_from(sorted(KINDS))),
       st.lists(st.sampled_from(TABLE.column_names), min_size=1, max_size=3, unique=True))
def test_many_filters_agree_with_pyarrow(condition, columns):
    check(condition, columns)
