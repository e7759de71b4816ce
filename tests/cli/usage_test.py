"""Help, version, exit codes and messages of the program."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest

COMMANDS = ["convert", "info", "export", "verify", "sql", "gen", "bench", "devices"]


class Usage(CliTest):
    def test_help_lists_every_command(self):
        text = self.basalt("--help")
        for command in COMMANDS:
            self.assertIn(command, text)

    def test_every_command_has_help_with_examples(self):
        for command in [[name] for name in COMMANDS] + [["gen", name] for name in
                                                             ("tpch", "tpcds", "ssb", "l3", "hits")]:
            text = self.basalt(*command, "--help")
            self.assertIn("Examples:", text)
            self.assertIn("basalt " + " ".join(command), text)

    def test_version(self):
        self.assertRegex(self.basalt("--version"), r"^basalt \d+\.\d+\.\d+\n$")

    def test_no_command_is_a_usage_error_that_shows_help(self):
        self.assertIn("convert", self.basalt(code=2))

    def test_usage_errors_exit_with_2_and_point_to_help(self):
        for arguments in (["nonsense"], ["info"], ["convert", "--no-such-option", "a", "b"], ["sql", "--format", "xml", "x"],
                          ["convert", "a.csv", "b.basalt", "--device", "abacus"], ["gen", "tpch", "--scale", "-1"],
                          ["convert", "a.csv", "b.basalt", "--memory-limit", "much"]):
            self.assertEqual(self.basalt(*arguments, code=2), "")
            self.assertIn("--help", self.stderr)

    def test_what_is_unknown_is_named(self):
        self.basalt("convrt", "a.csv", "b.basalt", code=2)
        self.assertIn("there is no command 'convrt'; there are convert, ", self.stderr)
        self.basalt("info", "--jsn", "a.basalt", code=2)
        self.assertIn("--jsn", self.stderr)

    def test_contradictions_are_usage_errors(self):
        csv = self.numbers_csv(10)
        out = self.path("x.basalt")
        self.basalt("convert", "--query", "select 1", csv, out, code=2)
        self.basalt("convert", out, code=2)
        self.basalt("convert", csv, "-", code=2)
        self.basalt("convert", csv, out, "--chunk-rows", "1000", code=2)
        self.basalt("convert", csv, out, "--encoding", "id", code=2)
        self.basalt("convert", csv, out, "--encoding", "id=packed(", code=2)
        self.basalt("sql", "select 1", "-f", csv, code=2)
        self.assertFalse(os.path.exists(out))

    def test_failures_exit_with_1_and_name_the_file(self):
        for arguments in (["info", "/no/such.basalt"], ["verify", "/no/such.basalt"], ["export", "/no/such.basalt", "-"],
                          ["convert", "/no/such.parquet", self.path("x.basalt")],
                          ["sql", "select * from '/no/such.basalt'"]):
            self.assertEqual(self.basalt(*arguments, code=1), "")
            self.assertIn("/no/such", self.stderr)

    def test_missing_inputs_are_named_without_sql(self):
        for name in ("nope.parquet", "nope.csv", "nope.json", "nope.basalt", "nope.arrow", "folder/nope.csv"):
            self.basalt("convert", name, self.path("x.basalt"), code=1)
            self.assertEqual(self.stderr, f"basalt: {name}: no such file\n")
        self.basalt("convert", self.path("no*.parquet"), self.path("x.basalt"), code=1)
        self.assertEqual(self.stderr, f"basalt: {self.path('no*.parquet')}: no file matches\n")

    def test_columns_to_sort_by_are_named_without_sql(self):
        csv = self.write("t.csv", "N_NAME,b\n2,x\n1,y\n")
        out = self.path("x.basalt")
        for inputs in ([csv], ["--query", f"from '{csv}'"]):
            self.basalt("convert", *inputs, out, "--sort-by", "nope", code=1)
            self.assertEqual(self.stderr, "basalt: --sort-by nope: there is no such column; the columns are N_NAME, b\n")
            self.basalt("convert", "-q", *inputs, out, "--sort-by", "n_name")
            self.assertEqual(self.query(f"from '{out}'"), [["1", "y"], ["2", "x"]])
            self.assertIn("sorted by N_NAME", self.basalt("info", out))
        self.basalt("convert", "-q", "--query", "from read_csv('/dev/stdin')", out, "--sort-by", "b", stdin="b\n2\n1\n")
        self.assertEqual(self.query(f"from '{out}'"), [["1"], ["2"]])
        wide = "select " + ", ".join(f"1 c{i}" for i in range(30)) + ", 2 l_shipdate"
        self.basalt("convert", "--query", wide, out, "--sort-by", "shipdate", code=1)
        self.assertIn("the columns are l_shipdate\n", self.stderr)
        self.basalt("convert", "--query", wide, out, "--sort-by", "x", code=1)
        self.assertIn("c11, …\n", self.stderr)

    def test_urls_are_for_python(self):
        url = "http://example.org/x.basalt"
        for arguments in (["info", url], ["verify", url], ["export", url, "-"], ["convert", url, "x.basalt"],
                          ["compact", "s3://bucket/x"], ["convert", self.numbers_csv(1), "s3://bucket/x.basalt"]):
            self.basalt(*arguments, code=2)
            self.assertIn("is a URL", self.stderr)
            self.assertIn("pybasalt.read", self.stderr)

    def test_help_that_cannot_be_written_is_a_failure(self):
        for arguments in (["--help"], ["--version"], ["info", "--help"], [], ["sql", "--functions"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BASALT, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("cannot write to standard output", done.stderr)

    def test_no_colours_in_pipes(self):
        self.basalt("convert", self.numbers_csv(100), self.path("x.basalt"))
        self.assertNotIn("\033", self.stderr)
        self.assertNotIn("\033", self.basalt("info", self.path("x.basalt")))

    def test_devices_names_cpu_and_says_why_there_is_no_gpu(self):
        text = self.basalt("devices", env={"BASALT_DISABLE_CUDA": "1"})
        self.assertRegex(text, r"CPU +\w+")
        self.assertRegex(text, r"copy, 1 thread +[\d.]+ GB/s")
        self.assertIn("CUDA not available: ", text)

    def test_cuda_on_demand_without_gpu_is_an_error(self):
        self.basalt("sql", "--device", "cuda", "select 42", code=1, env={"BASALT_DISABLE_CUDA": "1"})
        self.assertIn("CUDA", self.stderr)

    def test_bench_prints_a_table(self):
        text = self.basalt("bench", "decode", "--size", "8MiB", "--rounds", "1", "--device", "cpu")
        self.assertIn("packed decode", text)
        self.assertIn("memcpy", text)
        self.basalt("bench", "columns", code=2)


if __name__ == "__main__":
    unittest.main()
