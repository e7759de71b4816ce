"""Random filters: read() against pyarrow.compute."""

import datetime
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

import pybasalt
from pybasalt import col

ROWS = 3000
DAY = datetime.date(2024, 1, 1)
TABLE = pa.table({
    "i": pa.array([(i * 37) % 501 - 250 if i % 17 else None for i in range(ROWS)], pa.int32()),
    "u": pa.array([i % 256 for i in range(ROWS)], pa.uint8()),
    "f": pa.array([((i * 91) % 1000) / 8 if i % 23 else None for i in range(ROWS)], pa.float64()),
    "s": pa.array([f"{'abc'[i % 3]}{i % 41}" if i % 19 else None for i in range(ROWS)]),
    "d": pa.array([DAY + datetime.timedelta(days=i % 365) for i in range(ROWS)]),
})
FOLDER = tempfile.TemporaryDirectory()
PATH = FOLDER.name + "/t.basalt"
pybasalt.write(TABLE, PATH, chunk_rows=8192)

VALUES = {
    "i": st.integers(-300, 300),
    "u": st.integers(0, 255),
    "f": st.integers(-10, 1010).map(lambda n: n / 8),
    "s": st.sampled_from(["a1", "b40", "c7", "", "zz", "b"]),
    "d": st.integers(-5, 400).map(lambda n: DAY + datetime.timedelta(days=n)),
}
COMPARE = {
    "==": (lambda a, b: a == b), "!=": (lambda a, b: a != b), "<": (lambda a, b: a < b), "<=": (lambda a, b: a <= b),
    ">": (lambda a, b: a > b), ">=": (lambda a, b: a >= b),
}


@st.composite
def comparisons(draw):
    """The same condition for Basalt and for pyarrow."""
    name = draw(st.sampled_from(sorted(VALUES)))
    ours, theirs = col(name), pc.field(name)
    kind = draw(st.sampled_from([*COMPARE, "in", "null", "valid"]))
    if kind == "null":
        return ours.is_null(), theirs.is_null()
    if kind == "valid":
        return ours.is_not_null(), theirs.is_valid()
    if kind == "in":
        values = draw(st.lists(VALUES[name], min_size=1, max_size=4))
        found = theirs.isin(pa.array(values, TABLE.schema.field(name).type))
        # NULL is in no list, and not in none either: SQL's three values.
        return ours.isin(values), pc.if_else(theirs.is_valid(), found, pa.scalar(None, pa.bool_()))
    value = draw(VALUES[name])
    return COMPARE[kind](ours, value), COMPARE[kind](theirs, pa.scalar(value, TABLE.schema.field(name).type))


conditions = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: (pair[0][0] & pair[1][0], pair[0][1] & pair[1][1])),
        st.tuples(inner, inner).map(lambda pair: (pair[0][0] | pair[1][0], pair[0][1] | pair[1][1])),
        inner.map(lambda one: (~one[0], ~one[1])),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(conditions, st.lists(st.sampled_from(TABLE.column_names), min_size=1, max_size=3, unique=True))
def test_filters_agree_with_pyarrow(condition, columns):
    ours, theirs = condition
    assert pybasalt.read(PATH, columns, filter=ours).arrow().equals(TABLE.filter(theirs).select(columns)), ours.sql
