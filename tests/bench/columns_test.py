"""The program bench/columns: figures of files that are given and of columns that it makes."""
import json
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
import cli_support

cli_support.BASALT = os.path.join(os.environ.get("BASALT_BUILD_DIR", os.path.join("build", "release")), "bench", "columns")


class Columns(cli_support.CliTest):
    def test_galp_measures_files(self):
        # Two tiles of decimals, each with three rows that are none.
        values = [round(i % 700 / 10, 1) + (1 / 3 if i % 1024 in (5, 99, 1000) else 0) for i in range(2048)]
        raw = self.write("prices.f64", struct.pack("<2048d", *values))
        text = self.write("prices_text.csv", "".join(f"{value!r}\n" for value in values))
        self.basalt("galp", "--files", f"{raw},{text}", "--rows", "5000", "--rounds", "1", "--size", "1MiB",
                    "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            files = json.load(file)["files"]
        self.assertEqual([one["file"] for one in files], ["prices", "prices_text"])
        for one in files:
            self.assertEqual((one["values"], one["exceptions_per_tile"]), (2048, 3))
            self.assertEqual(one["galp_bytes"], files[0]["galp_bytes"])
            for speed in ("encode_gbs", "decode_gbs", "filter_gbs", "gather_rows_per_second"):
                self.assertGreater(one[speed], 0, speed)
        self.basalt("galp", "--files", self.write("words.csv", "one\n"), "--size", "1MiB", code=1)
        self.assertIn('"one" is not a number', self.stderr)

    def strings(self, *arguments):
        self.basalt("strings", *arguments, "--rounds", "1", "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_strings_measures_files(self):
        # The program itself compares what it decodes, and how many rows it finds, with the text.
        lines = [f"order {i % 97} of {'a rare' if i % 40 == 0 else 'some'} kind" for i in range(3000)]
        path = self.write("orders.txt", "".join(line + "\n" for line in lines))
        one, = self.strings("--files", path, "--size", "1MiB", "--threads", "2")["files"]
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
        self.basalt("strings", "--files", self.write("empty.txt", "\n\n"), code=1)
        self.assertIn("holds no text", self.stderr)

    def test_strings_makes_columns(self):
        files = self.strings("--size", "256KiB")["files"]
        self.assertEqual([one["file"] for one in files], ["c_name", "l_comment", "locations"])
        for one in files:
            self.assertGreaterEqual(one["plain_bytes"], 256 << 10)
        self.assertTrue(files[0]["chosen"].startswith("numbered"))

    def test_strings_sweeps_over_tables(self):
        settings = self.strings("--sweep", "--size", "256KiB")["settings"]
        self.assertEqual(settings[0]["change"], "balanced")
        few_rounds = [one for one in settings if one["rounds"] < 5]
        self.assertGreater(len(few_rounds), 0)
        for one in few_rounds:
            self.assertLess(one["ratio"], settings[0]["ratio"])
        self.assertLess(min(one["ratio"] for one in settings if one["change"] == "long symbols"), settings[0]["ratio"])

    def test_l3_measures_sets(self):
        self.basalt("l3", "--sets", "linear,books", "--rows", "20000", "--rounds", "1", "--size", "1MiB",
                    "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            sets = json.load(file)["sets"]
        self.assertEqual([one["set"] for one in sets], ["linear", "books"])
        for one in sets:
            self.assertLess(one["l3_bytes"], one["plain_bytes"])
            self.assertGreater(one["look_ups"], 0)
        self.basalt("l3", "--sets", "no_such_set", code=1)


if __name__ == "__main__":
    unittest.main()
