"""Benchmarks and tuning from the command line: what they print and write, not how fast anything is."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import CliTest


class BenchZipflow(CliTest):
    def lines(self, *options):
        out = self.path("out.json")
        self.stdout = self.basalt("bench", "zipflow", "-q", "--rounds", "1", "--device", "cpu", "--json",
                                  out, *options)
        with open(out, encoding="utf-8") as file:
            return json.load(file)["lines"]

    def test_columns_under_plans_and_chosen_trees(self):
        lines = self.lines("--section", "columns", "--scale", "0.01")
        self.assertIn("o_comment", self.stdout)
        self.assertIn("of the plans'", self.stdout)
        ways = ("plan", "chosen", "for disk", "file for disk")
        self.assertEqual(len(lines), 24 * len(ways))
        self.assertEqual({line["trees_of"] for line in lines}, set(ways))
        bytes_of = {way: sum(line["encoded_bytes"] for line in lines if line["trees_of"] == way) for way in ways}
        # Small chunks: within a tenth of what was chosen by hand for large ones.
        self.assertLess(bytes_of["chosen"], 1.1 * bytes_of["plan"])
        self.assertLess(bytes_of["for disk"], 1.1 * bytes_of["plan"])
        # In a file columns are stored by others, dates by the date of shipping among them.
        self.assertLess(bytes_of["file for disk"], 0.95 * bytes_of["for disk"])
        stored = {line["column"]: line["trees"] for line in lines if line["trees_of"] == "file for disk"}
        self.assertIn("@l_shipdate", stored["l_receiptdate"])

    def test_files_give_the_figures_of_made_rows(self):
        made = self.lines("--section", "columns", "--scale", "0.01")
        self.basalt("gen", "tpch", "-q", "--scale", "0.01", "--out", self.path("tpch"))
        read = self.lines("--section", "columns", "--folder", self.path("tpch"))
        of = lambda lines: [(line["column"], line["trees"], line["encoded_bytes"]) for line in lines]
        self.assertEqual(of(read), of(made))

    def test_runs_and_entropies(self):
        lines = self.lines("--section", "runs", "--size", "1MiB")
        self.assertEqual(len(lines), 14)
        lines = self.lines("--section", "entropies", "--size", "1MiB")
        self.assertEqual(len(lines), 16)
        for line in lines:
            self.assertLess(line["over_entropy"], 0.1)

    def test_encoding_and_queries(self):
        lines = self.lines("--section", "encoding", "--scale", "0.01")
        self.assertEqual(len(lines), 24)
        self.assertTrue(all(line["cpu_encode_seconds"] > 0 and line["choosing_seconds"] > 0 for line in lines))
        lines = self.lines("--section", "queries", "--scale", "0.01")
        self.assertEqual([line["query"] for line in lines], list(range(1, 23)))
        self.assertTrue(all(line["cpu_seconds"] > 0 and line["duckdb_seconds"] > 0 for line in lines))
        # What takes a GPU says so.
        self.assertIn("queries: copies and kernels are not measured without a GPU", self.stdout)
        self.assertEqual(self.lines("--section", "tuning", "--scale", "0.01"), [])
        self.assertIn("tuning: not measured without a GPU", self.stdout)

    def test_wrong_options(self):
        self.basalt("bench", "zipflow", "--section", "x", code=2)
        self.basalt("bench", "zipflow", "--section", "queries", "--folder", self.folder, code=2)
        self.basalt("bench", "zipflow", "--scale", "1", "--folder", self.folder, code=2)
        self.basalt("bench", "zipflow", "-q", "--folder", self.folder, "--section", "columns", code=1)
        self.assertIn("lineitem.basalt", self.stderr)


class Tune(CliTest):
    def test_says_why_there_is_no_gpu(self):
        self.basalt("tune", code=1, env={"BASALT_DISABLE_CUDA": "1"})
        self.assertIn("CUDA is not available", self.stderr)


if __name__ == "__main__":
    unittest.main()
