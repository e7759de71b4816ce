"""What commands may write, and what not: names, inputs, files of others, planted links, formats by name."""
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest, flip_byte


class OutputTest(CliTest):
    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def basalt_file(self, name, query="select range as id, 'n' || range as name from range(10)"):
        self.basalt("convert", "-q", "--any-name", "--query", query, self.path(name))
        return self.path(name)


class ConvertOutput(OutputTest):
    def parts(self):
        return [self.write(f"p{i}.csv", f"id\n{i}\n") for i in range(3)]

    def test_a_forgotten_output_overwrites_nothing(self):
        parts = self.parts()
        before = [self.read(f"p{i}.csv") for i in range(3)]
        self.basalt("convert", *parts, code=2)
        for word in ("p2.csv", "output", ".basalt", "--any-name"):
            self.assertIn(word, self.stderr)
        self.basalt("convert", parts[0], code=2)
        self.assertIn("p0.csv", self.stderr)
        self.assertEqual([self.read(f"p{i}.csv") for i in range(3)], before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p0.csv", "p1.csv", "p2.csv"])

    def test_other_names_only_when_asked_for(self):
        csv = self.parts()[0]
        self.basalt("convert", csv, self.path("out.parquet"), code=2)
        self.assertFalse(os.path.exists(self.path("out.parquet")))
        self.basalt("convert", "-q", "--any-name", csv, self.path("out.parquet"))
        self.assertEqual(self.query(f"select id from read_basalt('{self.path('out.parquet')}')"), [["0"]])
        self.basalt("convert", "-q", csv, self.path("UPPER.BASALT"))
        self.basalt("convert", "--query", "select 1 as a", self.path("x.csv"), code=2)

    def test_files_of_others_are_not_replaced(self):
        csv = self.parts()[0]
        self.write("x.basalt", "a letter to a friend")
        for options in ([csv], ["--query", "select 1 as a"]):
            self.basalt("convert", *options, self.path("x.basalt"), code=1)
            self.assertIn("not a Basalt file", self.stderr)
        self.basalt("sql", f"copy (select 1 as a) to '{self.path('x.basalt')}'", code=1)
        self.assertIn("not a Basalt file", self.stderr)
        self.basalt("convert", "--any-name", csv, self.path("p1.csv"), code=1)
        self.assertIn("not a Basalt file", self.stderr)
        self.assertEqual(self.read("x.basalt"), b"a letter to a friend")
        self.assertEqual(self.read("p1.csv"), b"id\n1\n")
        os.mkdir(self.path("tpch"))
        self.write("tpch/nation.basalt", "ours is another nation")
        self.basalt("gen", "tpch", "--scale", "0.0001", "--out", self.path("tpch"), code=1)
        self.assertEqual(self.read("tpch/nation.basalt"), b"ours is another nation")
        self.assertEqual(self.leftovers(), [])

    def test_they_are_spared_before_the_input_is_read(self):
        self.write("x.basalt", "a letter to a friend")
        process = subprocess.Popen([BASALT, "convert", "-", self.path("x.basalt")], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.wait(timeout=60), 1)  # nothing was ever written to its pipe
        self.assertIn(b"not a Basalt file", process.stderr.read())

    def test_what_came_meanwhile_is_spared_too(self):
        process = subprocess.Popen([BASALT, "convert", "-q", "-", self.path("x.basalt"), "--input-format", "csv"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        self.write("x.basalt", "a letter to a friend")
        _, errors = process.communicate(b"a\n1\n", timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"not a Basalt file", errors)
        self.assertEqual(self.read("x.basalt"), b"a letter to a friend")

    def test_own_and_empty_files_are_replaced(self):
        csv = self.parts()[1]
        self.write("x.basalt", "")
        for _ in range(2):
            self.basalt("convert", "-q", csv, self.path("x.basalt"))
            self.assertEqual(self.query(f"select id from '{self.path('x.basalt')}'"), [["1"]])

    def test_no_input_is_the_output(self):
        file = self.basalt_file("x.basalt")
        before = self.read("x.basalt")
        os.symlink(file, self.path("link.basalt"))
        os.link(file, self.path("hard.basalt"))
        os.mkdir(self.path("sub"))
        pattern = os.path.join(self.folder, "x*.basalt")
        for source, target in ((file, file), (file, self.path("link.basalt")), (self.path("link.basalt"), file),
                               (file, self.path("hard.basalt")), (pattern, file), (file, self.path("sub/../x.basalt"))):
            self.basalt("convert", source, target, code=2)
            self.assertIn("also an input", self.stderr)
        with open(file, "rb") as stdin:
            done = subprocess.run([BASALT, "convert", "-", file], stdin=stdin, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.basalt("convert", "--query", f"select id from '{file}'", file, code=1)
        self.assertIn("also an input", self.stderr)
        for name in ("x.basalt", "link.basalt", "hard.basalt"):
            self.basalt("sql", f"copy (select count(*) from '{file}') to '{self.path(name)}'", code=1)
            self.assertIn("also an input", self.stderr)
        self.assertEqual(self.read("x.basalt"), before)
        self.assertTrue(os.path.islink(self.path("link.basalt")))

    def test_export_spares_its_input_and_basalt_names(self):
        file = self.basalt_file("x.basalt")
        before = self.read("x.basalt")
        os.symlink(file, self.path("x.csv"))
        self.basalt("export", file, file, "--format", "csv", code=2)
        self.basalt("export", file, self.path("x.csv"), code=2)
        self.basalt("export", file, self.path("other.basalt"), "--format", "csv", code=2)
        self.assertIn("convert", self.stderr)
        self.assertEqual(self.read("x.basalt"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["x.basalt", "x.csv"])


class SqlOutput(OutputTest):
    def test_the_format_follows_the_name(self):
        query = "select range as i, 'ä' || range as s from range(3)"
        fronts = {"r.parquet": b"PAR1", "r.csv": b"i,s\n", "r.tsv": b"i\ts\n", "r.json": b"[", "r.ndjson": b"{",
                  "r.jsonl": b"{", "r.arrow": b"ARROW1", "r.feather": b"ARROW1", "r.arrows": b"\xff\xff\xff\xff",
                  "r.txt": "┌".encode(), "r.basalt": b"BASALT\r\n", "noextension": "┌".encode()}
        for name, front in fronts.items():
            self.assertEqual(self.basalt("sql", "-q", "-o", self.path(name), query), "")
            self.assertTrue(self.read(name).startswith(front), (name, self.read(name)[:20]))
        for name in ("r.parquet", "r.csv", "r.tsv", "r.json", "r.ndjson", "r.basalt"):
            self.assertEqual(self.query(f"select count(*), sum(i), min(s) from '{self.path(name)}'"), [["3", "3", "ä0"]])
        self.basalt("sql", "-q", "-o", self.path("as.parquet"), "--format", "csv", query)
        self.assertTrue(self.read("as.parquet").startswith(b"i,s\n"))

    def test_names_that_do_not_tell(self):
        for name in ("r.docx", "r.csv.gz"):
            self.basalt("sql", "-o", self.path(name), "select 1", code=2)
            self.assertFalse(os.path.exists(self.path(name)))
        self.basalt("sql", "--format", "basalt", "select 1", code=2)

    def test_of_several_results_it_says_which_is_kept(self):
        out = self.path("r.csv")
        self.basalt("sql", "-o", out, "select 1 as a; select 2 as a; create table t(x int); select 3 as a; set threads = 1")
        self.assertIn("holds the rows of statement 4 of 5", self.stderr)
        self.assertIn("statements 1 and 2 were not kept", self.stderr)
        self.assertEqual(self.read("r.csv"), b"a\n3\n")
        self.basalt("sql", "-q", "-o", out, "select 1 as a; select 2 as a")
        self.assertIn("not kept", self.stderr)
        self.basalt("sql", "-q", "-o", out, "create table t as select 7 as x; select * from t")
        self.assertEqual(self.stderr, "")
        self.basalt("sql", "-o", self.path("none.csv"), "create table t(x int); set threads = 1")
        self.assertIn("not written", self.stderr)
        self.basalt("sql", "-o", out, "select 5 as a; select nonsense", code=1)
        self.assertIn("statement 1 of 2", self.stderr)
        self.assertEqual(self.read("r.csv"), b"a\n5\n")

    def test_whole_formats_run_statements_without_rows(self):
        for name in ("r.parquet", "r.basalt"):
            self.basalt("sql", "-o", self.path(name), "create table t as select 7 as x; from t; drop table t")
            self.assertEqual(self.query(f"select x from '{self.path(name)}'"), [["7"]])
            self.basalt("sql", "-o", self.path(name), "select nonsense", code=1)
            self.assertIn("nonsense", self.stderr)

    def test_whole_formats_run_other_statements_with_rows_and_keep_none_of_them(self):
        for name in ("r.parquet", "r.basalt"):
            self.basalt("sql", "-q", "-o", self.path(name),
                        "create table t(x int); insert into t values (7) returning x; pragma table_info('t'); call "
                        "pragma_version(); from t; insert into t values (8) returning x")
            self.assertIn("holds the rows of statement 5 of 6", self.stderr)
            self.assertIn("2, ", self.stderr)
            self.assertIn("and 6 were not kept", self.stderr)
            self.assertEqual(self.query(f"select x from '{self.path(name)}'"), [["7"]])
            os.unlink(self.path(name))
            self.basalt("sql", "-o", self.path(name), "pragma database_list")
            self.assertIn("was not written: no query gave rows; those of statement 1 were not kept", self.stderr)
            self.assertFalse(os.path.exists(self.path(name)))

    def test_a_dash_is_standard_output(self):
        self.assertEqual(self.basalt("sql", "-q", "--format", "csv", "-o", "-", "select 1 as a; select 2 as b"), "a\n1\nb\n2\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_the_session_works_with_is_not_the_output(self):
        database = self.path("my.db")
        self.basalt("sql", "--database", database, "--format", "csv", "-o", os.path.join(self.folder, ".", "my.db"),
                    "select 1", code=2)
        self.assertFalse(os.path.exists(database))
        self.basalt("sql", "-q", "--database", database, "create table t as select 7 as x")
        before = self.read("my.db")
        self.basalt("sql", "--database", database, "--format", "csv", "-o", database, "select 1", code=2)
        self.assertEqual(self.read("my.db"), before)
        script = self.write("q.sql", "select 1")
        self.basalt("sql", "--format", "csv", "-f", script, "-o", script, code=2)
        self.assertEqual(self.read("q.sql"), b"select 1")

    def test_what_the_statement_reads_is_not_the_output(self):
        file = self.basalt_file("x.basalt")
        before = self.read("x.basalt")
        os.symlink(file, self.path("link.csv"))
        for format in ("csv", "parquet", "arrow", "table"):
            self.basalt("sql", "-o", file, "--format", format, "select 1 as a", code=2)
            self.assertIn("Basalt file", self.stderr)
        for name, format in (("x.basalt", "basalt"), ("link.csv", "csv"), ("link.csv", "parquet"), ("link.csv", "arrow"),
                             ("link.csv", "table")):
            self.basalt("sql", "-o", self.path(name), "--format", format, f"select count(*) from '{file}'", code=1)
            self.assertIn("also an input", self.stderr)
        csv = self.write("y.csv", "a\n1\n")
        self.basalt("sql", "-o", csv, f"with c as (from '{csv}') select * from c where a in (select a from c)", code=1)
        self.assertIn("also an input", self.stderr)
        self.assertEqual(self.read("x.basalt"), before)
        self.assertEqual(self.read("y.csv"), b"a\n1\n")

    def test_devices_are_written_and_not_replaced(self):
        for format in ("csv", "arrow", "parquet", "json"):
            self.basalt("sql", "-q", "--format", format, "-o", "/dev/null", "select 1 as a")
        with open(self.path("out"), "wb") as stdout:
            subprocess.run([BASALT, "sql", "-q", "--format", "csv", "-o", "/dev/stdout", "select 1 as a"], stdout=stdout,
                           check=True, timeout=60)
        self.assertEqual(self.read("out"), b"a\n1\n")
        self.assertTrue(os.path.islink("/dev/stdout"))

    def shell(self, script, file, code=0):
        """Runs a shell script, with $B the program, $F a Basalt file and $OUT a fresh path; gives what is in $OUT."""
        out = self.path("shell.out")
        if os.path.exists(out):
            os.unlink(out)
        done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60,
                              env=dict(os.environ, B=os.path.abspath(BASALT), F=file, OUT=out))
        self.assertEqual(done.returncode, code, done.stderr)
        self.stderr = done.stderr.decode()
        return self.read("shell.out") if os.path.exists(out) else None

    def test_descriptors_are_written_where_they_stand(self):
        file = self.basalt_file("x.basalt", "select 1 as a")
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            for command in (f"$B sql --format csv -o {name} \"from '$F'\"", f"$B export $F {name} --format csv"):
                self.assertEqual(self.shell(f"echo head > $OUT; {command} >> $OUT", file), b"head\na\n1\n")
                self.assertEqual(self.shell("{ echo head; " + command + "; echo tail; } > $OUT", file), b"head\na\n1\ntail\n")
                self.assertEqual(self.shell(command + " | cat > $OUT", file), b"a\n1\n")
        for command in ("$B sql -q --format parquet -o /dev/stdout \"from '$F'\"", "$B export $F /dev/stdout --format parquet",
                        "$B export $F - --format parquet", "$B sql --format parquet \"from '$F'\""):
            written = self.shell("{ echo head; " + command + "; } > $OUT", file)
            self.assertTrue(written.startswith(b"head\nPAR1") and written.endswith(b"PAR1"), written)
        self.shell("$B sql -o /dev/stdout --format csv 'select 1' >&-", file, code=1)
        self.assertIn("/dev/stdout: cannot open", self.stderr)
        for number in range(3, 10):
            self.shell(f"$B export $F /dev/fd/{number} --format csv {number}>&-", file, code=1)
        self.shell("$B sql 'select 1' >&-", file, code=1)
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_an_export_into_a_pipe_says_nothing_amid_the_data(self):
        file = self.basalt_file("x.basalt", "select 1 as a")
        self.assertEqual(self.basalt("export", file, "/dev/stdout", "--format", "csv"), "a\n1\n")
        self.assertEqual(self.basalt("export", file, "/dev/null", "--format", "arrow"), "")
        os.mkfifo(self.path("pipe.csv"))
        self.assertEqual(self.shell('cat "${F%/*}/pipe.csv" > $OUT & $B export $F "${F%/*}/pipe.csv"; wait', file), b"a\n1\n")

    def test_exports_are_compressed_as_their_names_say(self):
        file = self.basalt_file("x.basalt")
        for name, front in (("x.csv.gz", b"\x1f\x8b"), ("x.ndjson.zst", b"\x28\xb5\x2f\xfd"), ("x.csv", b"id,name")):
            self.basalt("export", "-q", file, self.path(name))
            self.assertTrue(self.read(name).startswith(front), self.read(name)[:10])
            self.assertEqual(self.query(f"select count(*) from '{self.path(name)}'"), [["10"]])
        for name, options in (("x.parquet.gz", []), ("x.arrow.zst", []), ("y.csv.gz", ["--format", "arrows"])):
            self.basalt("export", file, self.path(name), *options, code=2)
            self.assertFalse(os.path.exists(self.path(name)))


class TemporaryFiles(OutputTest):
    """Names that used to be foreseeable are taken by links; wherever they lead, nothing may arrive."""

    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared)
        self.victim = self.write("victim", "precious")

    def plant(self, pid):
        for name in (f"basalt-{pid}", f"basalt-export-{pid}.parquet", f"basalt-sql-{pid}.parquet", f"out.csv.tmp.{pid}",
                     f"out.csv.tmp-{pid}", f"out.arrow.tmp.{pid}", f"out.parquet.tmp-{pid}", f".basalt-spill-{pid}"):
            os.symlink(self.victim, os.path.join(self.shared, name))

    def run_planted(self, *arguments):
        """Runs the program with links planted for the process number that it has."""
        script = 'import os, sys; os.kill(os.getpid(), 19); os.execv(sys.argv[1], sys.argv[1:])'
        process = subprocess.Popen([sys.executable, "-c", script, os.path.abspath(BASALT), *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=self.shared), cwd=self.shared)
        os.waitpid(process.pid, os.WUNTRACED)
        self.plant(process.pid)
        os.kill(process.pid, 18)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        for name in os.listdir(self.shared):
            if str(process.pid) in name:
                self.assertTrue(os.path.islink(os.path.join(self.shared, name)), name)
                os.unlink(os.path.join(self.shared, name))
        with open(self.victim) as file:
            self.assertEqual(file.read(), "precious")
        return out

    def test_json_is_json_whatever_the_values(self):
        file = self.path("n.basalt")
        self.basalt("convert", "-q", file, "--query", "select ['nan', 'inf', '-inf', '0.5'][1 + i % 4]::double d, "
                    "(i / 10000.0)::decimal(4,4) e, [-0.25::decimal(2,2)] l, {'f': 'nan'::float} s, "
                    "'\"' || chr(10) t, repeat('x', 1000) x from range(2000) t(i)")

        def no_word(word):
            raise ValueError(word + " is no JSON")

        names = [self.path("n." + ending) for ending in ("json", "ndjson", "json.gz", "ndjson.gz", "json.zst")]
        for name in names:
            self.basalt("export", "-q", file, name)
            if name.endswith(".zst"):  # which Python cannot read
                self.assertEqual(self.query(f"select count(*), max(e) from '{name}'"), [["2000", "0.1999"]])
                continue
            with (gzip.open if name.endswith(".gz") else open)(name, "rt") as text:
                self.check_rows(text.read(), "ndjson" in name, no_word)
        self.basalt("convert", "-q", "--query", "select 1 i limit 0", file)
        for name, rows in (("n.json.gz", "[]\n"), ("n.ndjson.gz", "")):
            self.basalt("export", "-q", file, self.path(name))
            with gzip.open(self.path(name), "rt") as text:
                self.assertEqual(text.read(), rows)

    def check_rows(self, text, lines, parse_constant):
        rows = ([json.loads(line, parse_constant=parse_constant) for line in text.splitlines()] if lines
                else json.loads(text, parse_constant=parse_constant))
        self.assertEqual(len(rows), 2000)
        self.assertEqual([row["d"] for row in rows[:4]], ["nan", "inf", "-inf", 0.5])
        self.assertEqual(rows[1999]["e"], 0.1999)
        self.assertEqual((rows[0]["l"], rows[0]["s"], rows[0]["t"]), ([-0.25], {"f": "nan"}, '"\n'))

    def test_json_that_fails_leaves_nothing(self):
        file = self.path("n.basalt")
        self.basalt("convert", "-q", "--query", "select range i from range(100000)", file)
        flip_byte(file, os.path.getsize(file) // 3)
        for ending in ("json", "json.gz"):
            self.basalt("export", file, self.path("n." + ending), code=1)
            self.assertFalse(os.path.exists(self.path("n." + ending)))
        self.assertEqual(self.leftovers(), [])

    def test_links_are_not_followed(self):
        file = self.basalt_file("x.basalt")
        self.assertTrue(self.run_planted("export", file, "-", "--format", "parquet").startswith(b"PAR1"))
        self.assertTrue(self.run_planted("sql", "-q", "--format", "parquet", f"from '{file}'").startswith(b"PAR1"))
        for name in ("out.csv", "out.arrow", "out.parquet"):
            self.run_planted("sql", "-q", "-o", name, f"from '{file}'")
            self.run_planted("export", "-q", file, name)
        self.run_planted("sql", "-q", "--memory-limit", "60MB", "--threads", "2", "-o", "out.csv",
                         "select max(s) from (select hash(range) h, repeat('x', 50) || range s from range(1000000) order by h limit 900000)")
        self.assertEqual(sorted(os.listdir(self.shared)), ["out.arrow", "out.csv", "out.parquet"])

    def test_spilled_rows_are_for_their_owner_and_gone_in_the_end(self):
        query = "select max(s) from (select hash(range) h, repeat('x', 50) || range s from range(2000000) order by h limit 1500000)"
        process = subprocess.Popen([BASALT, "sql", "--memory-limit", "100MB", "--threads", "2", query],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=dict(os.environ, TMPDIR=self.shared), umask=0)
        modes = set()
        while process.poll() is None:
            for name in os.listdir(self.shared):
                try:
                    modes.add((name.rsplit("-", 1)[0], os.stat(os.path.join(self.shared, name)).st_mode & 0o7777))
                except FileNotFoundError:
                    pass
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(modes, {(".basalt-spill", 0o700)})
        self.assertEqual(os.listdir(self.shared), [])


class Inputs(OutputTest):
    def test_what_is_no_regular_file_is_refused_at_once(self):
        os.mkfifo(self.path("pipe.basalt"))
        os.mkdir(self.path("folder.basalt"))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path("socket.basalt"))
            os.symlink("/dev/zero", self.path("device.basalt"))
            for kind in ("pipe", "folder", "socket", "device"):
                path = self.path(kind + ".basalt")
                for arguments in (["info", path], ["verify", path], ["export", path, self.path("out.csv")],
                                  ["convert", path, self.path("out.basalt")],
                                  ["sql", f"select * from read_basalt('{path}')"],
                                  ["sql", f"select count(*) from '{path}'"]):
                    self.basalt(*arguments, code=1)
                    self.assertIn(kind, self.stderr)
        self.assertFalse(os.path.exists(self.path("out.basalt")))
        self.assertFalse(os.path.exists(self.path("out.csv")))

    def test_inputs_of_other_kinds_likewise(self):
        for extension in ("csv", "parquet", "json", "arrow"):
            os.mkfifo(self.path("pipe." + extension))
            self.basalt("convert", self.path("pipe." + extension), self.path("out.basalt"), code=1)
            self.assertIn("not a regular file but a pipe", self.stderr)


class Names(OutputTest):
    HOSTILE = "a\x1b[31m\nb\x7f\u009b2Jc"

    def test_control_characters_reach_no_terminal(self):
        name = self.HOSTILE.replace('"', '""')
        file = self.path("x\x1b[5m.basalt")
        self.basalt("convert", "-q", "--query", f'select range as "{name}" from range(10)', file)
        texts = [self.basalt("info", file), self.basalt("info", file, "--chunks", "--column", self.HOSTILE),
                 self.basalt("info", file, "--json"), self.basalt("verify", file),
                 self.basalt("sql", f"from '{file}'"), self.stderr, self.basalt("sql", "--explain", f"from '{file}'"),
                 self.basalt("convert", file, self.path("y\x1b[5m.basalt")),
                 self.basalt("export", file, self.path("y\x1b[5m.csv"))]
        self.basalt("info", file, "--column", "no\x1b[31m", code=1)
        texts.append(self.stderr)
        self.basalt("sql", f"select nothing from '{file}'", code=1)
        texts.append(self.stderr)
        self.basalt("convert", "-", self.path("y\x1b[5m\u009b.txt"), code=2)
        texts.append(self.stderr)
        for text in texts:
            for character in ("\x1b", "\x7f", "\u009b"):
                self.assertNotIn(character, text)
        self.assertIn("\\x1b[31m\\x0ab\\x7f\\x9b2Jc", texts[0])
        self.assertEqual(json.loads(texts[2])["columns"][0]["name"], self.HOSTILE)

    def test_machines_get_the_data_as_it_is(self):
        file = self.basalt_file("x.basalt", "select 'x' || chr(27) || 'y' || chr(155) as s")
        self.assertEqual(self.basalt("sql", "-q", "--format", "csv", f"from '{file}'"), "s\nx\x1by\u009b\n")
        self.assertEqual(self.basalt("export", file, "-"), "s\nx\x1by\u009b\n")
        shown = self.basalt("sql", "-q", f"from '{file}'")
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\u009b", shown)

    def test_names_that_differ_in_case_only(self):
        for name, query in (("x.basalt", 'select 1 as a, 2 as "A", 3 as "A_1"'), ("y.basalt", 'select 1 as a, 2 as a')):
            self.basalt("convert", "-q", "--query", query, self.path(name))
            self.basalt("verify", "-q", self.path(name))
        self.assertEqual(self.query(f"select * from '{self.path('x.basalt')}'"), [["1", "2", "3"]])
        self.assertEqual(self.query(f"select a, a_1 from '{self.path('y.basalt')}'"), [["1", "2"]])
        csv = self.write("z.csv", "a,A,b\n1,2,3\n")
        self.basalt("convert", "-q", csv, self.path("z.basalt"))
        self.assertEqual(self.query(f"select a, \"A_1\", b from '{self.path('z.basalt')}'"), [["1", "2", "3"]])

    def test_fields_without_names(self):
        out = self.path("x.basalt")
        self.basalt("convert", "-q", "--query", "select row(1, 'x') as r, [row(2, row(3))] as l", out)
        self.basalt("verify", "-q", out)
        self.assertEqual(self.query(f"select r.f1, r.f2, l[1].f1, l[1].f2.f1 from '{out}'"), [["1", "x", "2", "3"]])
        self.basalt("sql", f"copy (select row(1, 2) as r) to '{self.path('y.basalt')}'")
        self.assertEqual(self.query(f"select sum(r.f1 + r.f2) from '{self.path('y.basalt')}'"), [["3"]])


if __name__ == "__main__":
    unittest.main()
