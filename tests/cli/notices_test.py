"""What changes on the way in or out is said once per column, and inputs that do not belong together are refused."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_support import CliTest  # noqa: E402


class Notices(CliTest):
    def notices(self):
        return [line for line in self.stderr.splitlines() if line.startswith("notice: ")]

    def test_types_that_are_not_kept_are_named_once_per_column(self):
        query = ("select 'a'::enum('a', 'b') e, '{}'::json j, [1, 2]::int[2] f, {'m': 'b'::enum('b')} s, "
                 "timestamp_ns '2020-01-01 00:00:00.123456789' t, 1 i from range(3000)")
        self.basalt("convert", "--query", query, self.path("t.basalt"))
        self.assertEqual(self.notices(), [
            "notice: column e: an enum becomes varchar",
            "notice: column j: json becomes varchar",
            "notice: column s.m: an enum becomes varchar"])
        self.assertEqual(self.query(f"select distinct t from '{self.path('t.basalt')}'"),
                         [["2020-01-01 00:00:00.123456789"]])

    def test_copy_says_the_same_and_quiet_nothing(self):
        copy = f"copy (select 'a'::enum('a') e) to '{self.path('t.basalt')}'"
        self.basalt("sql", copy)
        self.assertEqual(self.notices(), ["notice: column e: an enum becomes varchar"])
        self.basalt("sql", "--quiet", copy)
        self.assertEqual(self.stderr, "")
        self.basalt("convert", "--quiet", "--query", "select 'a'::enum('a') e", self.path("u.basalt"))
        self.assertEqual(self.stderr, "")

    def test_integers_of_csv_that_become_double_are_named(self):
        csv = self.write("t.csv", "u,d,e,i\n18446744073709551615,1.5,1e30,1\n1,2,2.5,2\n")
        self.basalt("convert", csv, self.path("t.basalt"))
        self.assertEqual(self.stderr, "notice: column u: integers beyond bigint become double; --types u=HUGEINT keeps "
                                      "their digits\n")
        self.basalt("convert", csv, self.path("t.basalt"), "--types", "u=HUGEINT")
        self.assertEqual(self.stderr, "")
        self.assertEqual(self.query(f"select u from '{self.path('t.basalt')}'"), [["18446744073709551615"], ["1"]])

    def test_export_says_what_parquet_cannot_hold(self):
        self.basalt("convert", "--quiet", "--query", "select 170141183460469231731687303715884105727::hugeint h, 1 i",
                    self.path("t.basalt"))
        self.basalt("export", self.path("t.basalt"), self.path("t.parquet"))
        self.assertEqual(self.notices(), ["notice: column h: 128-bit integers become double in Parquet: digits behind "
                                          "the 15th are lost"])
        self.basalt("export", self.path("t.basalt"), self.path("t.csv"))
        self.assertEqual(self.notices(), [])

    def test_nothing_is_said_where_nothing_changes(self):
        self.basalt("convert", self.numbers_csv(10), self.path("t.basalt"))
        self.assertEqual(self.notices(), [])


class Unrelated(CliTest):
    def setUp(self):
        super().setUp()
        self.write("p1.csv", "a,b\n1,x\n")
        self.write("p2.csv", "a,c\n2,y\n")
        self.write("q1.csv", "b,A\nz,2.5\n")

    def test_other_columns_are_an_error_that_names_them(self):
        for inputs in ([self.path("p1.csv"), self.path("p2.csv")], [self.path("p?.csv")]):
            self.basalt("convert", *inputs, self.path("t.basalt"), code=1)
            self.assertIn("p2.csv has other columns than", self.stderr)
            self.assertIn("it lacks b and has c besides", self.stderr)
            self.assertIn("--union-by-name", self.stderr)
            self.assertFalse(os.path.exists(self.path("t.basalt")))

    def test_union_by_name_fills_with_null(self):
        for inputs in ([self.path("p1.csv"), self.path("p2.csv")], [self.path("p?.csv")]):
            self.basalt("convert", "--union-by-name", *inputs, self.path("t.basalt"))
            self.assertEqual(self.query(f"select a, b, c from '{self.path('t.basalt')}' order by a"),
                             [["1", "x", ""], ["2", "", "y"]])

    def test_columns_in_another_order_and_of_a_wider_type_are_matched(self):
        for inputs in ([self.path("p1.csv"), self.path("q1.csv")], [self.path("[pq]1.csv")]):
            self.basalt("convert", *inputs, self.path("t.basalt"))
            self.assertEqual(self.query(f"select a, b from '{self.path('t.basalt')}' order by b"),
                             [["1.0", "x"], ["2.5", "z"]])
            self.assertIn("notice: column a: BIGINT in ", self.stderr_of_convert(inputs))

    def stderr_of_convert(self, inputs):
        self.basalt("convert", *inputs, self.path("t.basalt"))
        return self.stderr

    def test_a_pattern_of_parquet_files_drops_no_column(self):
        for name, query in (("r1", "select 1 a"), ("r2", "select 2 a, 3 b")):
            self.basalt("sql", "--quiet", f"copy ({query}) to '{self.path(name + '.parquet')}'")
        self.basalt("convert", self.path("r*.parquet"), self.path("t.basalt"), code=1)
        self.assertIn("has b besides", self.stderr)
        self.basalt("convert", "--union-by-name", self.path("r*.parquet"), self.path("t.basalt"))
        self.assertEqual(self.query(f"select a, b from '{self.path('t.basalt')}' order by a"), [["1", ""], ["2", "3"]])


if __name__ == "__main__":
    unittest.main()
