"""`basalt convert` and `basalt info`: every kind of input, every option, and files that are whole or not there."""
import gzip
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, SANITIZED, CliTest


class Convert(CliTest):
    def info(self, name, *options):
        return json.loads(self.basalt("info", "--json", self.path(name), *options))

    def check_numbers(self, name, rows):
        self.assertEqual(self.query(f"select count(*), sum(id), count(distinct name), sum(price) from '{self.path(name)}'"),
                         [[str(rows), str(rows * (rows - 1) // 2), "7", str(rows * (rows - 1) / 8)]])

    def test_csv_and_the_summary_names_every_column(self):
        text = self.basalt("convert", self.numbers_csv(5000), self.path("x.basalt"))
        for word in ("id", "name", "price", "varchar", "5,000 rows", "×"):
            self.assertIn(word, text)
        self.check_numbers("x.basalt", 5000)

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.basalt("convert", "--quiet", self.numbers_csv(100), self.path("x.basalt")), "")
        self.assertEqual(self.stderr, "")

    def test_every_input_kind(self):
        csv = self.numbers_csv(3000)
        self.basalt("convert", "-q", csv, self.path("first.basalt"))
        for extension in ("parquet", "csv", "tsv", "json", "ndjson", "arrow", "arrows"):
            out = self.path("copy." + extension)
            self.basalt("export", "-q", self.path("first.basalt"), out)
            self.basalt("convert", "-q", out, self.path(extension + ".basalt"))
            self.check_numbers(extension + ".basalt", 3000)
        self.basalt("convert", "-q", self.path("first.basalt"), self.path("second.basalt"))
        self.check_numbers("second.basalt", 3000)

    def test_csv_options(self):
        csv = self.write("c.csv", "id;zip;x\n1;01234;5\n2;00001;abc\n3;NA;7\n4;1;2;3\n")
        self.basalt("convert", csv, self.path("c.basalt"), "--delimiter", ";", "--null", "NA", "--types", "zip=VARCHAR",
                    "--types", "x=INTEGER", "--ignore-errors")
        self.assertEqual(self.query(f"select id, zip, x from '{self.path('c.basalt')}'"), [["1", "01234", "5"], ["3", "", "7"]])
        self.assertIn("line 3 is left out: column x", self.stderr + self.basalt_notices(csv))
        self.basalt("convert", "-q", csv, self.path("c.basalt"), "--delimiter", ";", "--types", "x=INTEGER", code=1)
        plain = self.write("plain.csv", "1,2\n3,4\n")
        self.basalt("convert", "-q", plain, self.path("p.basalt"), "--header", "true")
        self.assertEqual(self.info("p.basalt")["rows"], 1)
        self.basalt("convert", "-q", plain, self.path("p.basalt"), "--header", "false")
        self.assertEqual(self.info("p.basalt")["rows"], 2)
        self.basalt("convert", "-q", plain, self.path("p.basalt"), "--types", "x", code=2)
        self.assertIn("COLUMN=TYPE", self.stderr)
        self.basalt("convert", "-q", self.path("p.basalt"), self.path("q.basalt"), "--null", "x", code=2)
        self.assertIn("for CSV and TSV files", self.stderr)
        self.basalt("convert", "-q", "--query", "select 1", self.path("q.basalt"), "--null", "x", code=2)

    def basalt_notices(self, csv):
        self.basalt("convert", csv, self.path("again.basalt"), "--delimiter", ";", "--types", "x=INTEGER", "--ignore-errors")
        self.assertIn("2 rows were left out", self.stderr)
        return self.stderr

    def test_compressed_standard_input(self):
        for text in ("a,b\n1,x\n3,y\n", '{"a":1,"b":"x"}\n{"a":3,"b":"y"}\n'):
            self.basalt("convert", "-q", "-", self.path("z.basalt"), stdin=gzip.compress(text.encode()))
            self.assertEqual(self.query(f"select a, b from '{self.path('z.basalt')}'"), [["1", "x"], ["3", "y"]])

    def test_standard_input_is_recognised(self):
        csv = self.numbers_csv(2000)
        self.basalt("convert", "-q", csv, self.path("first.basalt"))
        for extension in ("parquet", "csv", "tsv", "json", "ndjson", "arrows"):
            data = self.basalt("export", self.path("first.basalt"), "-", "--format", extension, text=False)
            self.basalt("convert", "-q", "-", self.path(extension + ".basalt"), stdin=data)
            self.check_numbers(extension + ".basalt", 2000)
        self.basalt("convert", "-", self.path("none.basalt"), stdin="", code=1)
        self.assertIn("empty", self.stderr)

    def test_input_format_overrides_the_name(self):
        path = self.write("data.txt", "a;b\n1;2\n")
        self.basalt("convert", "-q", path, self.path("x.basalt"), "--input-format", "csv")
        self.assertEqual(self.query(f"select a, b from '{self.path('x.basalt')}'"), [["1", "2"]])

    def test_several_inputs_and_globs_follow_each_other(self):
        for part in range(3):
            self.write(f"part{part}.csv", "id,v\n" + "".join(f"{part * 10 + i},{part}\n" for i in range(10)))
        self.basalt("convert", "-q", self.path("part0.csv"), self.path("part1.csv"), self.path("two.basalt"))
        self.assertEqual(self.query(f"select count(*), sum(id) from '{self.path('two.basalt')}'"), [["20", "190"]])
        self.basalt("convert", "-q", self.path("part*.csv"), self.path("all.basalt"))
        self.assertEqual(self.query(f"select count(*), sum(id) from '{self.path('all.basalt')}'"), [["30", "435"]])

    def test_columns_of_the_path(self):
        folder = self.path("year=2024/m=02")
        os.makedirs(folder)
        part = os.path.join(folder, "a.basalt")
        self.basalt("convert", "-q", self.write("a.csv", "a\n1\n"), part)
        # A file's own columns, in every format.
        for ending in ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "arrows", "basalt"):
            out = self.path("out." + ending)
            self.basalt("convert" if ending == "basalt" else "export", "-q", part, out)
            self.assertEqual(self.query(f"select column_name from (describe from '{out}')"), [["a"]], ending)
        self.assertEqual(self.basalt("export", part, "-"), "a\n1\n")
        # Patterns, and files of other formats, have those of their paths.
        self.basalt("export", "-q", part, os.path.join(folder, "a.parquet"))
        for path in (self.path("year=*/*/*.basalt"), os.path.join(folder, "a.parquet")):
            self.basalt("convert", "-q", path, self.path("out.basalt"))
            self.assertEqual(self.query(f"select a, m, year from '{self.path('out.basalt')}'"), [["1", "02", "2024"]])

    def test_csv_keeps_empty_texts_apart_from_null(self):
        out = self.path("out.basalt")
        self.basalt("convert", "-q", out, "--query", "select 1 i, '' t union all select 2, null union all select null, 'x'")
        self.basalt("export", "-q", out, self.path("t.csv"))
        self.basalt("convert", "-q", self.path("t.csv"), self.path("again.basalt"))
        rows = "select i is null, t is null, t from '{}'"
        self.assertEqual(self.query(rows.format(self.path("again.basalt"))), self.query(rows.format(out)))
        # Numbers stay numbers where all is quoted: among the rows that decide on types, and behind them.
        for rows in (10, 30000):
            lines = "".join(f'"{i}","x"\n' for i in range(rows))
            quoted = self.write("quoted.csv", '"i","t"\n' + lines + '"",""\n')
            for inputs in ([quoted], [self.path("quo*.csv")]):
                self.basalt("convert", "-q", *inputs, out)
                self.assertEqual(self.query(f"select count(*), count(i), typeof(any_value(i)) from '{out}'"),
                                 [[str(rows + 1), str(rows), "BIGINT"]])
        # A text for NULL is one in quotes, too.
        self.basalt("convert", "-q", self.write("na.csv", 't\n"NA"\nx\n'), out, "--null", "NA")
        self.assertEqual(self.query(f"select count(t) from '{out}'"), [["1"]])

    def test_query_instead_of_files(self):
        csv = self.numbers_csv(1000)
        self.basalt("convert", "-q", "--query", f"select id * 2 as twice from '{csv}' where id < 10", self.path("x.basalt"))
        self.assertEqual(self.query(f"select count(*), sum(twice) from '{self.path('x.basalt')}'"), [["10", "90"]])

    def test_options_with_values_may_come_first(self):
        source, target = self.numbers_csv(20), self.path("out.basalt")
        for options in (["--sort-by", "price"], ["--sort-by", "price,id"], ["--encoding", "id=delta(packed)"],
                        ["--null", "NA"], ["--types", "id=BIGINT"], ["--sort-by", "id", "--sort-by", "price"]):
            self.basalt("convert", "-q", *options, source, target)
            self.assertEqual(self.query(f"select count(*) from '{target}'"), [["20"]])
        self.basalt("convert", "-q", source, "--sort-by", "price", target)

    def test_sort_by_sorts_and_is_recorded(self):
        csv = self.write("x.csv", "k,v\n" + "".join(f"{i * 7919 % 1000},{i}\n" for i in range(1000)))
        self.basalt("convert", "-q", csv, self.path("x.basalt"), "--sort-by", "k,v")
        about = self.info("x.basalt")
        self.assertEqual(about["sort_columns"], ["k", "v"])
        self.assertTrue(about["columns"][0]["ascending"])

    def test_sorted_as_stored(self):
        values = {"enum": "(['x', 'm', 'a'])[i % 3 + 1]::enum('x', 'm', 'a')", "uuid": "uuid()",
                  "decimal": "((hash(i) % 1000)::int - 500)::decimal(9, 2)", "blob": "hash(i)::varchar::blob",
                  "hugeint": "hash(i)::hugeint * 1000000007 * (i % 3 - 1)",
                  "double": "case i % 5 when 0 then null when 1 then 'nan' when 2 then -1 * 0.0::double when 3 then 0.0"
                            " else hash(i)::double - 9e18 end"}
        for name, value in values.items():
            with self.subTest(name):
                query = f"select {value} as c, hash(i) as d from range(20000) r(i)"
                self.basalt("convert", "-q", "--query", query, self.path("x.basalt"), "--sort-by", "c,d",
                            "--chunk-rows", "8192")
                self.basalt("verify", "-q", self.path("x.basalt"))

    def test_sorted_arrow(self):
        csv = self.write("x.csv", "k\n3\n1\n2\n")
        self.basalt("convert", "-q", csv, self.path("x.basalt"))
        self.basalt("export", "-q", self.path("x.basalt"), self.path("x.arrow"))
        self.basalt("convert", "-q", self.path("x.arrow"), self.path("y.basalt"), "--sort-by", "k")
        self.assertEqual(self.query(f"select k from '{self.path('y.basalt')}'"), [["1"], ["2"], ["3"]])

    def test_effort_trades_time_for_bytes(self):
        # A rate that changes every few hundred rows: there is something to cut.
        sql = "select sum(hash(range // 700) % 900 + hash(range) % 9) over (order by range) as t from range(200000)"
        sizes, sums = [], set()
        for effort in ("fast", "balanced", "best"):
            out = self.path(f"{effort}.basalt")
            self.basalt("convert", "-q", "--query", f"select t::bigint as t from ({sql})", out, "--effort", effort,
                        "--encoding", "t=l3")
            sizes.append(self.info(f"{effort}.basalt")["columns"][0]["encoded_bytes"])
            sums.add(self.basalt("sql", "-q", "--format", "csv", f"select sum(t), count(*) from '{out}'"))
            self.assertIn("sound", self.basalt("verify", out))
        self.assertEqual(len(sums), 1)
        self.assertGreater(sizes[0], sizes[1])
        self.assertGreaterEqual(sizes[1], sizes[2])
        self.basalt("convert", "-q", "--query", sql, self.path("x.basalt"), "--effort", "more", code=2)

    def test_files_for_disk_are_smaller(self):
        # Nine rows in ten have the last of three flags.
        sql = ("select ['A', 'N', 'R'][1 + least(2, hash(range) % 30)::int] as flag, "
               "case when hash(range + 7) % 40 = 0 then null else least(7, hash(range + 9) % 64) end::int as n from range(300000)")
        for purpose in ("balanced", "disk"):
            self.basalt("convert", "-q", "--query", sql, self.path(f"{purpose}.basalt"), "--for", purpose)
            self.assertIn("sound", self.basalt("verify", self.path(f"{purpose}.basalt")))
        self.basalt("convert", "-q", "--query", sql, self.path("plain.basalt"))
        with open(self.path("plain.basalt"), "rb") as plain, open(self.path("balanced.basalt"), "rb") as balanced:
            self.assertEqual(plain.read(), balanced.read())
        self.assertLess(os.path.getsize(self.path("disk.basalt")), 0.7 * os.path.getsize(self.path("balanced.basalt")))
        trees = [column["encodings"][0] for column in self.info("disk.basalt")["columns"]]
        self.assertTrue(trees[0].startswith("dict(ans, "), trees)
        self.assertIn("ans", trees[1])
        question = "select flag, count(*), count(n), sum(n), max(n) from '{}' where n <> 3 or n is null group by flag order by flag"
        self.assertEqual(self.query(question.format(self.path("disk.basalt"))),
                         self.query(question.format(self.path("balanced.basalt"))))
        self.basalt("convert", "-q", "--query", sql, self.path("x.basalt"), "--for", "tape", code=2)

    def test_files_for_a_gpu_read_fast_or_travel_fast(self):
        sql = ("select (hash(range) % 4 * 100)::bigint as few, case when hash(range + 9) % 4 = 0 then hash(range + 11) % 4096 "
               "else hash(range + 13) % 2 * 4000 end::int as n from range(300000)")
        trees = {}
        for purpose in ("resident", "transfer"):
            self.basalt("convert", "-q", "--query", sql, self.path(f"{purpose}.basalt"), "--for", purpose)
            self.assertIn("sound", self.basalt("verify", self.path(f"{purpose}.basalt")))
            trees[purpose] = [column["encodings"][0] for column in self.info(f"{purpose}.basalt")["columns"]]
        self.assertEqual(trees["resident"], ["packed", "packed"])
        self.assertTrue(trees["transfer"][0].startswith("dict(packed, "), trees)
        self.assertEqual(trees["transfer"][1], "ans")
        question = "select few, count(*), sum(n) from '{}' group by few order by few"
        self.assertEqual(self.query(question.format(self.path("resident.basalt"))),
                         self.query(question.format(self.path("transfer.basalt"))))
        # Over a faster link, decoding takes longer than the copy of what it saves.
        self.basalt("convert", "-q", "--query", sql, self.path("fast.basalt"), "--for", "transfer", "--link", "450")
        self.assertEqual(self.info("fast.basalt")["columns"][1]["encodings"], ["packed"])
        for arguments in (("--link", "12"), ("--for", "transfer", "--link", "0"), ("--for", "transfer", "--link", "PCIe")):
            self.basalt("convert", "-q", "--query", sql, self.path("x.basalt"), *arguments, code=2)

    def test_encoding_is_forced(self):
        csv = self.numbers_csv(5000)
        self.basalt("convert", "-q", csv, self.path("x.basalt"), "--encoding", "id=plain", "--encoding", "name=strings(packed, plain)")
        encodings = {column["name"]: column["encodings"] for column in self.info("x.basalt")["columns"]}
        self.assertIn("plain", encodings["id"][0])
        self.assertIn("strings(packed, plain)", encodings["name"][0])
        self.basalt("convert", csv, self.path("y.basalt"), "--encoding", "nobody=plain", code=1)
        self.assertIn("nobody", self.stderr)
        self.assertFalse(os.path.exists(self.path("y.basalt")))

    def test_chunk_rows(self):
        self.basalt("convert", "-q", self.numbers_csv(20000), self.path("x.basalt"), "--chunk-rows", "8192")
        self.assertEqual([chunk["rows"] for chunk in self.info("x.basalt")["chunks"]], [8192, 8192, 20000 - 2 * 8192])

    def test_same_bytes_whatever_the_threads(self):
        csv = self.numbers_csv(50000)
        for threads in ("1", "3"):
            self.basalt("convert", "-q", csv, self.path(threads + ".basalt"), "--threads", threads, "--chunk-rows", "8192")
        with open(self.path("1.basalt"), "rb") as one, open(self.path("3.basalt"), "rb") as three:
            self.assertTrue(one.read() == three.read())

    def test_a_memory_limit_holds(self):
        source = self.path("x.parquet")
        self.basalt("sql", "-q", "--device", "cpu",
                    "copy (select range i, hash(range) h, 'https://example.org/' || hash(range % 100000) || '/page' u, "
                    f"range % 17 k, hash(range) / 3e19 d from range(3000000)) to '{source}' (row_group_size 200000)")
        for limit in (256, 512):
            process = subprocess.Popen([BASALT, "convert", "-q", "--threads", "2", "--memory-limit", f"{limit}MiB", source,
                                        self.path("x.basalt")])
            _, status, usage = os.wait4(process.pid, 0)
            self.assertEqual(status, 0)
            # Below it on the machines it was measured on; allocators differ, and sanitizers take memory of their own.
            if not SANITIZED:
                self.assertLess(usage.ru_maxrss / 1024, 1.15 * limit)

    def test_unsupported_types_are_all_named_before_anything_is_written(self):
        self.basalt("convert", "--query", "select 1 as fine, '101'::bit as wait, union_value(n := 1) as longer",
                    self.path("x.basalt"), code=1)
        self.assertIn("wait", self.stderr)
        self.assertIn("longer", self.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_failed_conversion_leaves_nothing(self):
        self.basalt("convert", "--query", "select case when i = 900000 then error('no') else i end from range(1000000) t(i)",
                    self.path("x.basalt"), code=1)
        self.assertEqual(os.listdir(self.folder), [])

    def test_empty_and_nested_and_null(self):
        self.basalt("convert", "-q", "--query", "select 1 as a where false", self.path("empty.basalt"))
        self.assertEqual(self.info("empty.basalt")["rows"], 0)
        path = self.write("x.ndjson", '{"a": [1, 2], "b": {"c": "x"}}\n{"a": null, "b": {"c": null}}\n{"a": [], "b": null}\n')
        self.basalt("convert", "-q", path, self.path("x.basalt"))
        self.assertEqual(self.basalt("sql", "-q", "--format", "ndjson", f"select * from '{self.path('x.basalt')}'").splitlines(),
                         ['{"a":[1,2],"b":{"c":"x"}}', '{"a":null,"b":{"c":null}}', '{"a":[],"b":null}'])


class Info(CliTest):
    def setUp(self):
        super().setUp()
        self.basalt("convert", "-q", self.numbers_csv(20000), self.path("x.basalt"), "--chunk-rows", "8192")

    def test_table_shows_columns_and_statistics(self):
        text = self.basalt("info", self.path("x.basalt"))
        for word in ("20,000 rows", "3 chunks", "id", "bigint", "19999", "name0", "ratio"):
            self.assertIn(word, text)

    def test_json_is_complete(self):
        about = json.loads(self.basalt("info", "--json", "--chunks", self.path("x.basalt")))
        self.assertEqual(about["rows"], 20000)
        self.assertEqual([column["name"] for column in about["columns"]], ["id", "name", "price"])
        first = about["columns"][0]
        self.assertEqual((first["min"], first["max"], first["nulls"]), ("0", "19999", 0))
        self.assertEqual(len(first["chunks"]), 3)
        self.assertEqual(sum(chunk["encoded_bytes"] for chunk in first["chunks"]), first["encoded_bytes"])

    def test_one_column(self):
        text = self.basalt("info", self.path("x.basalt"), "--column", "id", "--chunks")
        self.assertIn("ascending", text)
        self.assertNotIn("price", text)
        self.basalt("info", self.path("x.basalt"), "--column", "idd", code=1)
        self.assertIn("idd", self.stderr)


if __name__ == "__main__":
    unittest.main()
