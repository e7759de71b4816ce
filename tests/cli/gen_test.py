"""`basalt gen l3`: files, types, row counts and formats."""
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


if __name__ == "__main__":
    unittest.main()
