"""`basalt gen l3` and `basalt gen hits`: files, types, row counts, formats, and refusals."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import CliTest


class GenL3(CliTest):
    def test_writes_every_set_with_its_type_and_at_most_the_rows_asked_for(self):
        self.basalt("gen", "l3", "--out", self.path("l3"), "--rows", "28000", "--quiet")
        files = os.listdir(self.path("l3"))
        self.assertEqual(len(files), 20)
        for name, rows, kind in [("linear", "28000", "UINTEGER"), ("osm", "28000", "UBIGINT"),
                                 ("cosmos", "28000", "INTEGER"), ("weight", "25000", "UINTEGER"),
                                 ("adult", "28000", "UINTEGER")]:
            path = self.path(f"l3/{name}.basalt")
            self.assertEqual(self.query(f"select count(value), any_value(typeof(value)) from '{path}'"), [[rows, kind]])
        linear = self.path("l3/linear.basalt")
        self.assertEqual(self.query(f"select min(value), max(value) from '{linear}'"), [["0", "4294967295"]])

    def test_chosen_sets_in_both_formats_hold_the_same_rows(self):
        self.basalt("gen", "l3", "--out", self.folder, "--rows", "70000", "--sets", "osm,movieid", "--format",
                    "basalt,parquet")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["movieid.basalt", "movieid.parquet", "osm.basalt", "osm.parquet"])
        for name in ("osm", "movieid"):
            sums = [self.query(f"select count(*), sum(value), sum(hash(value)) from '{self.path(name)}.{format}'")
                    for format in ("basalt", "parquet")]
            self.assertEqual(sums[0], sums[1])

    def test_unknown_sets_and_absurd_counts_are_usage_errors(self):
        for arguments in (["--sets", "books2"], ["--rows", "0"], ["--rows", "many"], ["--format", "csv"]):
            self.basalt("gen", "l3", "--out", self.path("x"), *arguments, code=2)
            self.assertIn("--help", self.stderr)
        self.assertFalse(os.path.exists(self.path("x")))


PAGE_VIEWS = """-- page views
create table views (
    EventID bigint not null,
    EventTime timestamp not null,
    EventDate date,
    CounterID integer not null,
    user_id ubigint not null,
    page_url text,
    Referer varchar(255) not null,
    SearchPhrase text,
    IsRefresh smallint,
    price decimal(12, 2),
    Comment text
);
"""


class GenHits(CliTest):
    def hits(self, name, *arguments, definition=PAGE_VIEWS, **options):
        schema = self.write("create.sql", definition)
        self.basalt("gen", "hits", "--schema", schema, "-o", self.path(name), *arguments, **options)
        return self.path(name)

    def test_the_table_has_the_columns_of_its_definition(self):
        path = self.hits("hits.basalt", "--rows", "5000", "--quiet")
        columns = self.query(f"""select "column", type, nullable from basalt_schema('{path}')""")
        self.assertEqual(len(columns), 11)
        self.assertEqual(columns[0], ["EventID", "BIGINT", "false"])
        self.assertEqual(columns[4], ["user_id", "UBIGINT", "false"])
        self.assertEqual(columns[5], ["page_url", "VARCHAR", "true"])
        self.assertEqual(self.query(f"""
            select count(*), count(distinct EventID), min(EventDate), max(EventDate), count(*) filter (where
            EventTime::date <> EventDate), count(*) filter (where SearchPhrase = '') between 4100 and 4500
            from '{path}'"""), [["5000", "5000", "2013-07-01", "2013-07-31", "0", "true"]])

    def test_threads_and_format_do_not_change_the_rows(self):
        sums = []
        for name, arguments in [("one.basalt", ["--threads", "1"]), ("four.basalt", ["--threads", "4"]),
                                ("x.parquet", []), ("other.basalt", ["--seed", "2"])]:
            path = self.hits(name, "--rows", "200000", "--quiet", *arguments)
            sums.append(self.query(f"select count(*), sum(hash(v)) from '{path}' v"))
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(sums[0], sums[2])
        self.assertNotEqual(sums[0], sums[3])
        with open(self.path("one.basalt"), "rb") as one, open(self.path("four.basalt"), "rb") as four:
            self.assertEqual(one.read(), four.read())

    def test_the_site_that_queries_ask_for_is_there(self):
        path = self.hits("hits.basalt", "--rows", "100000", "--quiet")
        self.assertEqual(self.query(f"""
            select count(*) filter (where CounterID = 62) between 5900 and 6100, count(*) filter (where page_url like
            '%google%') between 50 and 200, count(*) filter (where user_id = 435090932899640449) between 8 and 512
            from '{path}'"""), [["true", "true", "true"]])

    def test_the_summary_names_file_and_rows(self):
        schema = self.write("create.sql", PAGE_VIEWS)
        text = self.basalt("gen", "hits", "--schema", schema, "--rows", "1000", "-o", self.path("a.basalt"))
        self.assertIn("a.basalt", text)
        self.assertIn("1,000", text)

    def test_what_is_wrong_with_a_definition_is_said_with_its_file(self):
        for definition, words in [("create table t (a no_such_type)", "no_such_type"),
                                  ("create table t (a integer[], b blob)", "column a"),
                                  ("create table t (a integer); create table u (b integer)", "here are 2"),
                                  ("select 42", "here are 0"), ("", "here are 0"), ("create tabel t (a int)", "tabel"),
                                  ("create table t as from '/etc/passwd'", "/etc/passwd")]:
            self.hits("x.basalt", definition=definition, code=1)
            self.assertIn("create.sql", self.stderr)
            self.assertIn(words, self.stderr)
        self.assertFalse(os.path.exists(self.path("x.basalt")))

    def test_a_missing_definition_and_absurd_counts(self):
        self.basalt("gen", "hits", "--schema", self.path("none.sql"), "-o", self.path("x.basalt"), code=1)
        self.assertIn("none.sql", self.stderr)
        self.basalt("gen", "hits", code=2)
        self.assertIn("--schema", self.stderr)
        self.hits("x.csv", code=2)
        self.assertIn("does not tell the format", self.stderr)
        self.assertFalse(os.path.exists(self.path("x.csv")))
        for arguments in (["--rows", "0"], ["--rows", "many"], ["--format", "csv"]):
            self.hits("x.basalt", *arguments, code=2)
            self.assertIn("--help", self.stderr)
        self.assertFalse(os.path.exists(self.path("x.basalt")))


if __name__ == "__main__":
    unittest.main()
