"""The benchmarks of TPC-H and SSB: literals by their rules, rows that must be equal, stages, and the chart."""
import json
import os
import random
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "bench")]
import cli_support
import query_report
import query_set
import ssb
import tpch

EMULATED_GPU = os.path.join(os.path.dirname(os.path.abspath(cli_support.BASALT)), "tests", "libbasalt_emulated_gpu.so")


class Literals(unittest.TestCase):
    def variants(self, benchmark, name, scale=1.0):
        """Texts of a query with other literals, many of them."""
        text = benchmark.texts(cli_support.BASALT, scale)[name]
        return [benchmark.vary(name, text, random.Random(seed)) for seed in range(100)]

    def found(self, benchmark, name, pattern):
        return {re.search(pattern, text).groups() for text in self.variants(benchmark, name)}

    def test_every_query_has_other_literals(self):
        for benchmark, count in ((tpch.TPCH, 22), (ssb.SSB, 13)):
            texts = benchmark.texts(cli_support.BASALT, 1.0)
            self.assertEqual(len(texts), count)
            for name, text in texts.items():
                others = {benchmark.vary(name, text, random.Random(seed)) for seed in range(100)}
                self.assertGreater(len(others), 3, name)

    def test_literals_stay_within_their_ranges(self):
        days = self.found(tpch.TPCH, "1", r"<= CAST\('(\S+)'")
        self.assertTrue(all("1998-08-03" <= day <= "1998-10-02" for day, in days), days)
        for first, last in self.found(tpch.TPCH, "4", r">= CAST\('(\S+)-01' AS [^']*'(\S+)-01'"):
            year, month = map(int, first.split("-"))
            self.assertEqual(last, f"{year + (month > 9)}-{(month + 2) % 12 + 1:02}")
            self.assertTrue("1993-01" <= first <= "1997-10", first)
        self.assertEqual(self.found(tpch.TPCH, "18", r"> (\d+)"), {(str(n),) for n in (312, 313, 314, 315)})
        for first, second in self.found(tpch.TPCH, "7", r"n1.n_name = '([^']*)'\s+AND n2.n_name = '([^']*)'"):
            self.assertNotEqual(first, second)
        for nation, region in self.found(tpch.TPCH, "8", r"nation = '([^']*)'[\s\S]*r_name = '([^']*)'"):
            self.assertEqual(tpch.NATIONS[nation], region)
        for one, two, three in self.found(tpch.TPCH, "19", r"<= (\d+) \+ 10[\s\S]*<= (\d+) \+ 10[\s\S]*<= (\d+) \+ 10"):
            self.assertTrue(1 <= int(one) <= 10 <= int(two) <= 20 <= int(three) <= 30)
        for text in self.variants(tpch.TPCH, "22"):
            lists = re.findall(r"IN \(([^()]*)\)", text)
            self.assertEqual(lists[0], lists[1])
            self.assertEqual(len(set(lists[0].split(", "))), 7)

    def test_share_of_query_11_follows_the_scale(self):
        self.assertIn("* 0.0000100000", self.variants(tpch.TPCH, "11", 10.0)[0])

    def test_a_literal_that_is_not_there_is_an_error(self):
        self.assertEqual(tpch.replaced("a 1, b 10", {"a 1": "a 2", "b 10": "b 1"}), "a 2, b 1")
        with self.assertRaises(ValueError):
            tpch.replaced("a", {"b": "c"})


class Rows(unittest.TestCase):
    QUERY = "select k, v from t order by k desc limit 4"

    def difference(self, ours, theirs, query=QUERY, types=("INTEGER", "DOUBLE")):
        lines = lambda rows: [f'{{"k":{k},"v":{v}}}' for k, v in rows]
        return query_set.difference(query, lines(ours), lines(theirs), types)

    def test_doubles_may_be_rounded_and_decimals_not(self):
        self.assertIsNone(self.difference([(1, "0.30000000000000004")], [(1, "0.3")]))
        self.assertIn("row 1", self.difference([(1, "0.3001")], [(1, "0.3")]))
        decimals = ("INTEGER", "DECIMAL(38,2)")
        self.assertIn("row 1", self.difference([(1, "100000000000.01")], [(1, "100000000000.02")], types=decimals))

    def test_only_rows_with_equal_sort_keys_may_change_places(self):
        rows = [(2, 1.5), (2, 2.5), (1, 1.5)]
        self.assertIsNone(self.difference([rows[1], rows[0], rows[2]], rows))
        self.assertIn("row 1", self.difference([rows[2], rows[0], rows[1]], rows))
        self.assertIsNone(self.difference([rows[2], rows[0], rows[1]], rows, query="select k, v from t"))
        self.assertIn("2 rows", self.difference(rows[:2], rows))
        self.assertIn("row 2", self.difference([rows[0], rows[0], rows[2]], rows))


class Steps(unittest.TestCase):
    def test_steps_of_a_plan(self):
        gpu = ["filter, groups", "on NVIDIA", "rows 100 -> 3", "decoded from 1.50 KiB", "2.000 ms",
               "kernel 0.250 ms, waited 0.500 ms", "device memory 2.00 MiB"]
        cpu = ["2 columns of rows, in order", "on CPU", "rows 3 -> 3", "0.025 ms"]
        plan = {"children": [{"extra_info": {"Step 2": cpu, "Step 1": gpu}, "children": []}]}
        found = query_report.steps_of(json.dumps(plan))
        self.assertEqual([step["what"] for step in found["steps"]], [gpu[0], cpu[0]])
        self.assertEqual((found["bytes"], found["wait_ms"], found["device_bytes"]), (1536, 0.5, 2 << 20))
        self.assertEqual((found["gpu_steps"], found["cpu_steps"]), (1, 1))


class Stages(cli_support.CliTest):
    def measure(self, script, *arguments, code=0, env=None):
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "bench", script), "--bin", cli_support.BASALT,
                               "--folder", self.path("data"), "--json", self.path("out.json"), *arguments],
                              capture_output=True, text=True, timeout=600, env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.output = done.stdout + done.stderr
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_measured(self, entry, engines, cold):
        self.assertEqual(set(entry["engines"]), set(engines))
        for name, engine in entry["engines"].items():
            self.assertNotIn("error", engine)
            self.assertEqual(len(engine["hot_runs_ms"]), 2)
            self.assertEqual({"cold_ms", "fresh_ms"} <= set(engine), cold)
            if name != "duckdb":
                self.assertIsNone(engine["differs"])

    def test_stages_of_tpch_are_put_together(self):
        common = ["--scale", "0.01", "--runs", "2", "--engines", "cpu,auto,duckdb,parquet"]
        whole = self.measure("tpch.py", *common, "--stage", "0/8")
        self.assertEqual(whole["queries"], [])
        self.assertEqual(set(whole["made_s"]), {"basalt", "parquet", "duckdb"})
        self.measure("tpch.py", *common, "--stage", "6/8", "--no-cold")
        whole = self.measure("tpch.py", *common, "--only", "3")
        self.assertEqual([entry["query"] for entry in whole["queries"]], ["3", "6", "14", "22"])
        self.assertEqual(set(whole["made_s"]), {"basalt", "parquet", "duckdb"})
        for entry in whole["queries"]:
            self.assert_measured(entry, ["cpu", "auto", "duckdb", "parquet"], cold=entry["query"] == "3")
            self.assertGreater(entry["engines"]["cpu"]["bytes"], 0)
            self.assertGreater(entry["engines"]["cpu"]["times_as_fast"], 0)
            self.assertGreater(entry["engines"]["cpu"]["cpu_steps"], 0)
        self.assertIn("sum of 4 queries", self.output)
        self.assertIn("over Parquet (geometric mean of 4 queries)", self.output)
        self.measure("tpch.py", "--scale", "0.02", code=1)
        self.assertIn("another measurement", self.output)

        self.measure("tpch.py", "--chart", self.path("chart.svg"))
        drawn = xml.etree.ElementTree.parse(self.path("chart.svg")).getroot()
        bars = [rect for rect in drawn.iter("{http://www.w3.org/2000/svg}rect") if len(rect)]
        self.assertEqual(len(bars), 4 * 4)
        self.assertTrue(all(float(bar.get("height")) > 0 for bar in bars))

    def test_ssb_fills_the_columns_of_the_gpu(self):
        env = {"BASALT_CUDA_LIBRARY": EMULATED_GPU}
        common = ["--scale", "0.01", "--runs", "2", "--only", "1.1,2.1"]
        whole = self.measure("ssb.py", *common, env=env)
        for entry in whole["queries"]:
            self.assert_measured(entry, ["gpu", "cpu", "auto", "duckdb", "parquet"], cold=True)
            gpu = entry["engines"]["gpu"]
            self.assertTrue({"kernel_ms", "wait_ms", "device_bytes", "new_text_ms"} <= set(gpu))
            self.assertGreater(gpu["gpu_steps"], 0)
        whole = self.measure("ssb.py", *common, "--stage", "compile", env=env)
        self.assertEqual(set(whole["compilation"]["second"]["compile_ms"]), {"1.1", "2.1"})
        self.assertEqual(len(whole["queries"]), 2)

    def test_what_basalt_refuses_is_named(self):
        refused = "select list(n_name) as names from nation"
        whole = query_set.QuerySet("tpch", "TPC-H", tpch.TABLES, tpch.TPCH.warm_up,
                                   lambda program, scale: {"1": refused, "2": "select count(*) as n from nation"},
                                   lambda name, text, random: text)
        sys.argv = ["tpch.py", "--bin", cli_support.BASALT, "--folder", self.path("data"), "--scale", "0.01",
                    "--engines", "cpu,duckdb", "--no-cold"]
        entries = query_set.run_stage(whole, query_set.read_arguments(whole, ""))["queries"]
        self.assertIn("the aggregate list", entries[0]["engines"]["cpu"]["error"])
        self.assertIn("hot_ms", entries[0]["engines"]["duckdb"])
        self.assertIsNone(entries[1]["engines"]["cpu"]["differs"])
        self.assertEqual(query_report.failing({"queries": entries})[0][:17], "1 (Basalt, CPU): ")


if __name__ == "__main__":
    unittest.main()
