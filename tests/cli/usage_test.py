"""Help, version, exit codes and messages of the program."""
import json
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import CliTest

COMMANDS = ["convert", "info", "export", "verify", "sql", "gen", "bench", "devices"]


class Usage(CliTest):
    def test_help_lists_every_command(self):
        text = self.basalt("--help")
        for command in COMMANDS:
            self.assertIn(command, text)

    def test_every_command_has_help_with_examples(self):
        for command in [[name] for name in COMMANDS] + [["gen", "tpch"], ["gen", "ssb"], ["gen", "l3"]]:
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

    def test_bench_galp_measures_files(self):
        # Two tiles of decimals, each with three rows that are none.
        values = [round(i % 700 / 10, 1) + (1 / 3 if i % 1024 in (5, 99, 1000) else 0) for i in range(2048)]
        raw = self.write("prices.f64", struct.pack("<2048d", *values))
        text = self.write("prices_text.csv", "".join(f"{value!r}\n" for value in values))
        self.basalt("bench", "galp", "--files", f"{raw},{text}", "--rows", "5000", "--rounds", "1", "--size", "1MiB",
                    "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            files = json.load(file)["files"]
        self.assertEqual([one["file"] for one in files], ["prices", "prices_text"])
        for one in files:
            self.assertEqual((one["values"], one["exceptions_per_tile"]), (2048, 3))
            self.assertEqual(one["galp_bytes"], files[0]["galp_bytes"])
            for speed in ("encode_gbs", "decode_gbs", "filter_gbs", "gather_rows_per_second"):
                self.assertGreater(one[speed], 0, speed)
        self.basalt("bench", "galp", "--files", self.write("words.csv", "one\n"), "--size", "1MiB", code=1)
        self.assertIn('"one" is not a number', self.stderr)

    def bench_strings(self, *arguments):
        self.basalt("bench", "strings", *arguments, "--rounds", "1", "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_bench_strings_measures_files(self):
        # The program itself compares what it decodes, and how many rows it finds, with the text.
        lines = [f"order {i % 97} of {'a rare' if i % 40 == 0 else 'some'} kind" for i in range(3000)]
        path = self.write("orders.txt", "".join(line + "\n" for line in lines))
        one, = self.bench_strings("--files", path, "--size", "1MiB", "--threads", "2")["files"]
        self.assertEqual((one["file"], one["rows"], one["plain_bytes"]),
                         ("orders.txt", len(lines), sum(len(line) for line in lines)))
        for size in ("reference_fsst_bytes", "fsst_bytes", "best_bytes", "lz4_bytes", "zstd1_bytes", "zstd3_bytes"):
            self.assertLess(one[size], one["plain_bytes"] / 2, size)
        codecs = ["fsst", "fsst, best", "chosen", "lz4", "zstd 1", "zstd 3"]
        self.assertEqual([(speed["as"], speed["threads"]) for speed in one["speeds"]],
                         [(codec, threads) for threads in (1, 2) for codec in codecs])
        for speed in one["speeds"]:
            figures = ["encode_gbs", "decode_gbs"]
            if speed["as"] in codecs[:3]:
                figures += ["equal_gbs", "like_gbs", "memory_bytes"]
            for figure in figures:
                self.assertGreater(speed[figure], 0, (speed["as"], figure))
        self.basalt("bench", "strings", "--files", self.write("empty.txt", "\n\n"), code=1)
        self.assertIn("holds no text", self.stderr)

    def test_bench_strings_makes_columns(self):
        files = self.bench_strings("--size", "256KiB")["files"]
        self.assertEqual([one["file"] for one in files], ["c_name", "l_comment", "locations"])
        for one in files:
            self.assertGreaterEqual(one["plain_bytes"], 256 << 10)
        self.assertTrue(files[0]["chosen"].startswith("numbered"))

    def test_bench_strings_sweeps_over_tables(self):
        settings = self.bench_strings("--sweep", "--size", "256KiB")["settings"]
        self.assertEqual(settings[0]["change"], "balanced")
        few_rounds = [one for one in settings if one["rounds"] < 5]
        self.assertGreater(len(few_rounds), 0)
        for one in few_rounds:
            self.assertLess(one["ratio"], settings[0]["ratio"])
        self.assertLess(min(one["ratio"] for one in settings if one["change"] == "long symbols"), settings[0]["ratio"])


if __name__ == "__main__":
    unittest.main()
