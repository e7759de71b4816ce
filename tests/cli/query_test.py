"""`basalt sql`, `export`, `verify` and `gen`: formats, streams, faults and the shell."""
import filecmp
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest, flip_byte


class Sql(CliTest):
    def setUp(self):
        super().setUp()
        self.csv = self.numbers_csv(3000)
        self.file = self.path("x.basalt")
        self.basalt("convert", "-q", self.csv, self.file)

    def test_metadata_schema_and_encodings(self):
        file = self.path("m.basalt")
        self.basalt("convert", "-q", "--query", "select range i, {'a': range} s, 'x' t from range(100000)", file)
        self.assertEqual(self.query(f"select rows, columns, chunks, format_version from basalt_metadata('{file}')"),
                         [["100000", "3", "1", "1"]])
        self.assertEqual(self.query(f"select \"column\", nulls from basalt_schema('{file}')"),
                         [["i", "0"], ["s", "0"], ["s.a", "0"], ["t", "0"]])
        self.assertEqual(self.query(f"select \"column\", chunk, rows, min, max from basalt_encodings('{file}') where encoding is not null"),
                         [["i", "0", "100000", "0", "99999"], ["s.a", "0", "100000", "0", "99999"], ["t", "0", "100000", "x", "x"]])
        self.assertEqual(self.query(f"select count(*) from basalt_metadata('{self.path('m*.basalt')}')"), [["1"]])
        self.basalt("sql", f"from basalt_metadata('{self.path('none.basalt')}')", code=1)
        self.basalt("sql", f"set enable_external_access = false; from basalt_metadata('{file}')", code=1)

    def test_arrow_files_are_tables(self):
        file = self.path("a.basalt")
        self.basalt("convert", "-q", "--query", "select range i, case when range % 3 > 0 then 'n' || range end t, [range] l from range(5000)", file)
        for name in ("x.arrow", "y.arrows"):
            self.basalt("export", "-q", file, self.path(name))
            self.assertEqual(self.query(f"select count(*), count(t), sum(i), sum(l[1]) from '{self.path(name)}'"),
                             [["5000", "3333", "12497500", "12497500"]])
            self.assertEqual(self.query(f"select t from '{self.path(name)}' where i = 4000"), [["n4000"]])
        self.assertEqual(self.query(f"select count(*) from read_arrow('{self.path('*.arrow*')}')"), [["10000"]])
        self.basalt("sql", f"set enable_external_access = false; from '{self.path('x.arrow')}'", code=1)

    def test_markdown_and_lines(self):
        query = "select 1 as n, 'a|b' as text, null as gone"
        self.assertEqual(self.basalt("sql", "-q", "--format", "markdown", query),
                         "| n | text | gone |\n|---:|---|---:|\n| 1 | a\\|b |  |\n")
        self.assertEqual(self.basalt("sql", "-q", "--format", "line", query), "   n = 1\ntext = a|b\ngone = \n")

    def test_table_by_default_and_a_last_line_on_stderr(self):
        text = self.basalt("sql", f"select count(*) as n, sum(id) as s from '{self.file}' where id < 100")
        self.assertIn("100", text)
        self.assertIn("4950", text)
        self.assertIn("1 row", self.stderr)
        self.assertRegex(self.stderr, r"\d ?(ms|µs|s)")

    def test_quiet_has_no_last_line(self):
        self.basalt("sql", "-q", "select 1")
        self.assertEqual(self.stderr, "")

    def test_formats(self):
        sql = f"select id, name from '{self.file}' where id < 2 order by id"
        self.assertEqual(self.basalt("sql", "--format", "csv", sql), "id,name\n0,name0\n1,name1\n")
        self.assertEqual(json.loads(self.basalt("sql", "--format", "json", sql)),
                         [{"id": 0, "name": "name0"}, {"id": 1, "name": "name1"}])
        lines = self.basalt("sql", "--format", "ndjson", sql).splitlines()
        self.assertEqual([json.loads(line) for line in lines], [{"id": 0, "name": "name0"}, {"id": 1, "name": "name1"}])
        self.assertEqual(self.basalt("sql", "--format", "arrow", sql, text=False)[:4], b"\xff\xff\xff\xff")
        self.assertEqual(self.basalt("sql", "--format", "parquet", sql, text=False)[:4], b"PAR1")

    def test_output_file(self):
        self.basalt("sql", "-q", "--format", "csv", "-o", self.path("out.csv"), f"select sum(id) as s from '{self.file}'")
        with open(self.path("out.csv")) as file:
            self.assertEqual(file.read(), "s\n4498500\n")
        self.basalt("sql", "-q", "--format", "arrow", "-o", self.path("out.arrow"), f"select id from '{self.file}'")
        self.basalt("convert", "-q", self.path("out.arrow"), self.path("back.basalt"))
        self.assertEqual(self.query(f"select sum(id) from '{self.path('back.basalt')}'"), [["4498500"]])

    def test_statements_from_a_file_and_from_standard_input(self):
        script = self.write("x.sql", f"create table t as select * from '{self.file}';\nselect count(*) as n from t;\n")
        self.assertEqual(self.basalt("sql", "-q", "--format", "csv", "-f", script), "n\n3000\n")
        self.assertEqual(self.basalt("sql", "-q", "--format", "csv", stdin="select 1 as a; select 2 as b;"), "a\n1\nb\n2\n")

    def test_prepare_runs_the_queries_of_a_file_first(self):
        queries = self.write("queries.sql", f"create view v as from '{self.file}';\nselect count(*) from v;\n"
                                            "select nothing from v;\n")
        self.assertEqual(self.basalt("sql", "--prepare", queries), "")
        self.assertIn("prepared 1 of 2 queries", self.stderr)
        self.assertIn(f"query 2 of {queries}: ", self.stderr)
        self.assertEqual(self.basalt("sql", "--format", "csv", "--prepare", queries, "select count(*) as n from v"),
                         "n\n3000\n")
        self.basalt("sql", "--prepare", self.path("none.sql"), code=1)

    def test_files_side_by_side_and_globs(self):
        self.assertEqual(self.query(f"select count(*) from '{self.file}' b join '{self.csv}' c on b.id = c.id"), [["3000"]])
        self.basalt("convert", "-q", self.csv, self.path("y.basalt"))
        self.assertEqual(self.query(f"select count(*) from '{self.folder}/*.basalt'"), [["6000"]])
        self.assertEqual(self.query(f"select count(*) from read_basalt('{self.file}')"), [["3000"]])

    def test_copy_to_basalt(self):
        self.basalt("sql", "-q", f"copy (select id from '{self.file}' where id < 5) to '{self.path('c.basalt')}'")
        self.assertEqual(self.query(f"select sum(id) from '{self.path('c.basalt')}'"), [["10"]])

    def test_last_line_counts_the_rows_of_statements_without_a_result(self):
        copied = self.path("copied.basalt")
        statements = [(f"create table t as select id from '{self.file}'", "3000 rows created in "),
                      ("insert into t select range from range(7)", "7 rows inserted in "),
                      ("update t set id = 0 where id < 2", "4 rows updated in "),
                      ("delete from t where id = 5", "2 rows deleted in "),
                      (f"copy (select id from t where id = 0) to '{copied}'", "4 rows copied in "),
                      (f"copy t from '{copied}'", "4 rows copied in ")]
        self.basalt("sql", "; ".join(sql for sql, _ in statements))
        for line, (sql, start) in zip(self.stderr.splitlines(), statements, strict=True):
            self.assertEqual(line[:len(start)], start, sql)
            self.assertLessEqual(line.count("in DuckDB on the CPU"), 1, line)

    def test_errors_are_sentences_with_exit_code_1(self):
        self.basalt("sql", "selec 1", code=1)
        self.assertIn("selec", self.stderr)
        self.basalt("sql", f"select nothing from '{self.file}'", code=1)
        self.assertIn("nothing", self.stderr)

    def test_explain_shows_the_plan(self):
        self.assertIn("x.basalt", self.basalt("sql", "--explain", f"select sum(id) from '{self.file}' where id < 10"))

    def test_explain_kernel_without_gpu_says_why(self):
        self.basalt("sql", "--explain-kernel", f"select sum(id) from '{self.file}'", code=1, env={"BASALT_DISABLE_CUDA": "1"})
        self.assertIn("no kernel", self.stderr)

    def test_timing(self):
        self.basalt("sql", "--timing", f"select sum(id) from '{self.file}'")
        self.assertRegex(self.stderr, r"time: [\d.]+ ms total")

    def test_reader_that_goes_away_is_no_error(self):
        for arguments in (["sql", "--format", "csv", "select * from range(5000000)"], ["export", self.file, "-"],
                          ["sql", "--format", "arrow", "select * from range(5000000)"]):
            process = subprocess.Popen([BASALT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.read(10)
            process.stdout.close()
            errors = process.stderr.read().decode()
            process.stderr.close()
            self.assertEqual(process.wait(timeout=60), 0, errors)
            self.assertNotIn("basalt:", errors)


class Shell(CliTest):
    """The shell on a pseudo-terminal, as a person uses it."""

    def start(self):
        controller, terminal = pty.openpty()
        environment = dict(os.environ, XDG_STATE_HOME=self.folder, TERM="dumb")
        process = subprocess.Popen([BASALT, "sql"], stdin=terminal, stdout=terminal, stderr=terminal, env=environment,
                                   start_new_session=True, preexec_fn=self.own_terminal)
        os.close(terminal)
        self.addCleanup(os.close, controller)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.controller, self.process, self.seen = controller, process, ""
        self.wait_for("basalt> ")

    @staticmethod
    def own_terminal():
        import fcntl
        import termios
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def wait_for(self, text, seconds=60):
        end = time.time() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.controller], [], [], max(0, end - time.time()))
            self.assertTrue(ready, f"waited for {text!r}, saw {self.seen[-500:]!r}")
            self.seen += os.read(self.controller, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def send(self, text):
        os.write(self.controller, text.encode())

    def leave(self):
        # A terminal that is just being switched to single keys swallows Ctrl-D: a person would press it again.
        for _ in range(60):
            self.send("\x04")
            try:
                self.assertEqual(self.process.wait(timeout=1), 0)
                return
            except subprocess.TimeoutExpired:
                pass
        self.fail("Ctrl-D does not leave the shell")

    def test_statements_commands_and_history(self):
        self.start()
        self.send("select 6 *\n")
        self.wait_for("...> ")
        self.send("7 as answer;\n")
        self.wait_for("42")
        self.wait_for("basalt> ")
        self.send("create table hills(height integer);\n.tables\n")
        self.wait_for("hills (")
        self.send(".device\n")
        self.wait_for("auto")
        self.send(".nonsense\n")
        self.wait_for("not a command")
        self.send("select broken from nowhere;\n")
        self.wait_for("nowhere")
        self.send(".help\n")
        self.wait_for(".schema")
        self.send(".quit\n")
        self.assertEqual(self.process.wait(timeout=30), 0)
        history = os.path.join(self.folder, "basalt", "history")
        if os.path.exists(history):  # built with libedit
            with open(history) as file:
                self.assertIn("hills", file.read())

    def test_lines_hold_any_text(self):
        self.start()
        self.send("select 'Zürich 山' || length('Zürich 山') as place;\n")
        self.wait_for("Zürich 山8")
        self.wait_for("basalt> ")

    def test_interrupt_is_never_lost(self):
        self.start()
        for keys in range(20):  # Ctrl-C right behind a key, while the line editor is at work
            self.send("x" * (keys % 3) + "\x03")
            self.wait_for("basalt> ")
        self.send(".quit\n")
        self.assertEqual(self.process.wait(timeout=30), 0)

    def test_interrupt_stops_the_query_and_not_the_shell(self):
        self.start()
        self.send("select sum(a.range * b.range) from range(10000000) a, range(100000) b;\n")
        time.sleep(1.5)
        self.send("\x03")
        self.wait_for("cancelled")
        self.wait_for("basalt> ")
        self.send("select 40 + 2 as answer;\n")
        self.wait_for("42")
        self.wait_for("basalt> ")
        self.send("half a line")
        self.wait_for("line")
        self.send("\x03")
        self.wait_for("basalt> ")
        self.leave()


class Export(CliTest):
    def setUp(self):
        super().setUp()
        self.file = self.path("x.basalt")
        self.basalt("convert", "-q", self.numbers_csv(1000), self.file)

    def test_streams_to_standard_output(self):
        lines = self.basalt("export", self.file, "-").splitlines()
        self.assertEqual(lines[:2], ["id,name,price", "0,name0,0.0"])
        self.assertEqual(len(lines), 1001)
        self.assertEqual(self.stderr, "")
        self.assertEqual(len(json.loads(self.basalt("export", self.file, "-", "--format", "json"))), 1000)

    def test_columns(self):
        self.assertEqual(self.basalt("export", self.file, "-", "--columns", "name,id").splitlines()[1], "name0,0")

    def test_unknown_extension_is_a_usage_error(self):
        self.basalt("export", self.file, self.path("x.docx"), code=2)
        self.assertIn("--format", self.stderr)
        self.assertFalse(os.path.exists(self.path("x.docx")))


class Verify(CliTest):
    def setUp(self):
        super().setUp()
        self.file = self.path("x.basalt")
        self.basalt("convert", "-q", self.numbers_csv(20000), self.file, "--chunk-rows", "8192")

    def test_sound_file(self):
        self.assertRegex(self.basalt("verify", self.file), r"x\.basalt: sound\. 60,000 values")
        self.assertEqual(self.basalt("verify", "--quiet", self.file, self.file), "")

    def test_damaged_stream_names_column_chunk_and_byte(self):
        # Too large to be wrapped: the bytes lie where the footer says.
        self.basalt("convert", "-q", "--chunk-rows", "8192", self.file, "--query",
                    "select range as id, 'name' || range as name, hash(range) / 3e19 as price from range(20000)")
        about = json.loads(self.basalt("info", "--json", "--chunks", self.file))
        chunk = about["columns"][2]["chunks"][1]
        flip_byte(self.file, chunk["offset"] + chunk["encoded_bytes"] // 2)
        self.basalt("verify", self.file, code=1)
        for word in ("x.basalt", "price", "chunk 1", "byte"):
            self.assertIn(word, self.stderr)

    def test_truncated_and_foreign_files(self):
        os.truncate(self.file, os.path.getsize(self.file) - 1)
        self.basalt("verify", self.file, code=1)
        self.basalt("verify", self.write("y.basalt", "this is no basalt"), code=1)
        self.assertIn("y.basalt", self.stderr)
        self.basalt("verify", self.write("z.basalt", ""), code=1)


class Gen(CliTest):
    TPCH_ROWS = {"lineitem": 60175, "orders": 15000, "partsupp": 8000, "part": 2000, "customer": 1500, "supplier": 100,
                 "nation": 25, "region": 5}

    def sizes(self, folder):
        return {name: int(rows) for name, rows in
                ((name, self.query(f"select count(*) from '{folder}/{name}.basalt'")[0][0]) for name in self.TPCH_ROWS)}

    def assert_equal_files(self, one, two):
        names = sorted(os.listdir(self.path(one)))
        self.assertEqual(names, sorted(os.listdir(self.path(two))))
        self.assertEqual(filecmp.cmpfiles(self.path(one), self.path(two), names, shallow=False), (names, [], []))

    def test_tpch_is_complete_and_deterministic(self):
        for folder, threads in (("a", "1"), ("b", "2")):
            self.basalt("gen", "tpch", "-q", "--scale", "0.01", "--out", self.path(folder), "--threads", threads)
        self.assertEqual(self.sizes(self.path("a")), self.TPCH_ROWS)
        self.assert_equal_files("a", "b")

    def test_tpch_made_in_parts_is_that_of_duckdbs_tables(self):
        keys = {"lineitem": "l_orderkey, l_linenumber", "orders": "o_orderkey", "partsupp": "ps_partkey, ps_suppkey",
                "part": "p_partkey", "customer": "c_custkey", "supplier": "s_suppkey", "nation": "n_nationkey",
                "region": "r_regionkey"}
        os.mkdir(self.path("tables"))
        copies = (f"copy (from {name} order by {columns}) to '{self.path('tables')}/{name}.basalt' (sort_columns ({columns}))"
                  for name, columns in keys.items())
        self.basalt("sql", "-q", ";".join(["call dbgen(sf = 0.05)", *copies]))
        self.basalt("gen", "tpch", "-q", "--scale", "0.05", "--out", self.path("parts"))
        self.assert_equal_files("tables", "parts")

    def test_tpch_clustered_by_order_date(self):
        self.basalt("gen", "tpch", "-q", "--scale", "0.01", "--out", self.folder, "--order", "clustered")
        dates = self.query(f"select o_orderdate from '{self.path('orders.basalt')}'")
        self.assertEqual(dates, sorted(dates))
        unsorted = self.query(
            f"select count(*) from (select o_orderdate, lag(o_orderdate) over (order by file_row_number) as before from "
            f"(select l.file_row_number, o.o_orderdate from read_basalt('{self.path('lineitem.basalt')}', file_row_number=true) l "
            f"join '{self.path('orders.basalt')}' o on l_orderkey = o_orderkey)) where before > o_orderdate")
        self.assertEqual(unsorted, [["0"]])

    def test_tpcds_is_complete_and_deterministic(self):
        for folder, threads in (("a", "1"), ("b", "2")):
            self.basalt("gen", "tpcds", "-q", "--scale", "0.01", "--out", self.path(folder), "--threads", threads)
        self.assert_equal_files("a", "b")
        names = os.listdir(self.path("a"))
        self.assertEqual(len(names), 24)
        for name in names:
            self.basalt("verify", "-q", self.path(f"a/{name}"))
        self.assertEqual(self.query(f"select count(*) from '{self.path('a/store_sales.basalt')}'"), [["28810"]])
        self.basalt("gen", "tpcds", "--scale", "0.001", "--out", self.path("c"), code=2)

    def test_tpcds_clustered_by_date(self):
        self.basalt("gen", "tpcds", "-q", "--scale", "0.01", "--out", self.folder, "--order", "clustered")
        for name in os.listdir(self.folder):
            self.basalt("verify", "-q", self.path(name))
        dates = self.query(f"select ss_sold_date_sk from '{self.path('store_sales.basalt')}' where ss_sold_date_sk is not null")
        self.assertEqual(dates, sorted(dates))

    def test_ssb_joins_and_orders(self):
        self.basalt("gen", "ssb", "-q", "--scale", "0.01", "--out", self.path("natural"))
        self.basalt("gen", "ssb", "-q", "--scale", "0.01", "--out", self.path("clustered"), "--order", "clustered")
        self.basalt("gen", "ssb", "-q", "--scale", "0.01", "--out", self.path("parquet"), "--format", "parquet")
        counts = []
        for folder, extension in (("natural", "basalt"), ("clustered", "basalt"), ("parquet", "parquet")):
            table = {name: f"'{self.path(folder)}/{name}.{extension}'" for name in
                     ("lineorder", "customer", "supplier", "part", "date")}
            counts.append(self.query(
                f"select count(*), sum(lo_revenue - lo_supplycost) from {table['lineorder']}, {table['customer']}, "
                f"{table['supplier']}, {table['part']}, {table['date']} where lo_custkey = c_custkey and "
                f"lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey"))
            self.assertEqual(self.query(f"select count(*) from {table['lineorder']}"), [[counts[-1][0][0]]])
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(counts[0], counts[2])
        keys = self.query(f"select lo_orderdate, lo_discount, lo_quantity from '{self.path('clustered/lineorder.basalt')}'")
        keys = [tuple(map(int, row)) for row in keys]
        self.assertEqual(keys, sorted(keys))


if __name__ == "__main__":
    unittest.main()
