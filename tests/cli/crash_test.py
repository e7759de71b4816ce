"""What remains when a conversion is killed, interrupted, or runs out of disk: nothing."""
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest

# Hashes do not compress: the file is large, and writing it takes a while.
LONG_QUERY = "select hash(range) as h, range as i from range({rows})"


# Of columns that others encode: their entries, and what is shared, are written behind the chunks.
RELATED_QUERY = ("select hash(range) as h, range // 5 as bill, range % 5 as line, hash(range // 7) % 3000 as part, "
                 "hash(part) % 100000 as price, hash(range // 3) % 50 as quantity, quantity * price as amount from range({rows})")


class Crash(CliTest):
    def start(self, out, rows=2_000_000_000, query=LONG_QUERY, options=()):  # never done by the time it is stopped
        return subprocess.Popen([BASALT, "convert", "-q", *options, "--query", query.format(rows=rows), out],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def has_nameless_files(self):
        """Whether a file of this folder can be without a name until it is complete."""
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
            return True
        except OSError:
            return False

    def test_kill_at_fifty_random_moments_leaves_nothing(self):
        out = self.path("x.basalt")
        nameless = self.has_nameless_files()
        moments = random.Random(20)
        killed = 0
        for _ in range(50):
            process = self.start(out)
            time.sleep(moments.uniform(0.02, 0.5))
            process.kill()
            process.communicate()
            killed += process.returncode == -signal.SIGKILL
            left = os.listdir(self.folder)
            if process.returncode == -signal.SIGKILL:
                self.assertNotIn("x.basalt", left)
                # Elsewhere a temporary file remains, until the next conversion to the same name.
                self.assertLessEqual(len(left), 0 if nameless else 1, left)
            elif "x.basalt" in left:
                os.unlink(out)
        self.assertGreater(killed, 25, "the conversion was too quick to be killed")
        self.basalt("convert", "-q", "--query", "select 42 as answer", out)
        self.assertEqual(os.listdir(self.folder), ["x.basalt"])

    def test_kill_at_random_moments_of_a_conversion_for_disk_leaves_nothing(self):
        out = self.path("x.basalt")
        nameless = self.has_nameless_files()
        moments = random.Random(22)
        self.basalt("convert", "-q", "--query", "select 42 as answer", out)
        killed = 0
        for i in range(20):
            # Some are done before they are killed: then the file is whole.
            process = self.start(out, 300_000 if i % 2 else 2_000_000_000, RELATED_QUERY, ("--for", "disk"))
            time.sleep(moments.uniform(0.02, 2.5))
            process.kill()
            process.communicate()
            killed += process.returncode == -signal.SIGKILL
            self.assertIn("sound", self.basalt("verify", out))
            if process.returncode == 0:
                self.assertEqual(self.query(f"select count(*), sum((amount <> quantity * price)::int) from '{out}'"), [["300000", "0"]])
            self.assertLessEqual(len(os.listdir(self.folder)), 1 if nameless else 2)
        self.assertGreater(killed, 8, "the conversion was too quick to be killed")

    def test_kill_at_fifty_random_moments_of_an_export_leaves_nothing(self):
        source, out = self.path("x.basalt"), self.path("x.parquet")
        self.basalt("convert", "-q", "--query", LONG_QUERY.format(rows=8_000_000), source)
        nameless = self.has_nameless_files()
        moments = random.Random(50)
        killed = 0
        for _ in range(50):
            process = subprocess.Popen([BASALT, "export", "-q", source, out])
            time.sleep(moments.uniform(0.01, 0.4))
            process.kill()
            process.wait()
            left = [name for name in os.listdir(self.folder) if name != "x.basalt"]
            if process.returncode == -signal.SIGKILL:
                killed += 1
                # One that was killed behind its last step is complete.
                if left == ["x.parquet"]:
                    self.assertEqual(self.query(f"select count(*) from '{out}'"), [["8000000"]])
                else:
                    self.assertLessEqual(len(left), 0 if nameless else 1, left)
            if os.path.exists(out):
                os.unlink(out)
        self.assertGreater(killed, 25, "the export was too quick to be killed")

    def test_a_kill_does_not_touch_an_older_file(self):
        out = self.path("x.basalt")
        self.basalt("convert", "-q", "--query", "select 42 as answer", out)
        process = self.start(out)
        time.sleep(0.7)
        process.kill()
        process.communicate()
        self.assertEqual(self.query(f"select answer from '{out}'"), [["42"]])
        self.basalt("convert", "-q", "--query", "select 43 as answer", out)
        self.assertEqual(self.query(f"select answer from '{out}'"), [["43"]])
        self.assertEqual(os.listdir(self.folder), ["x.basalt"])

    def test_interrupt_removes_the_temporary_file(self):
        process = self.start(self.path("x.basalt"))
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual(errors, b"basalt: interrupted\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted_rows_exit_with_130_and_say_why(self):
        for output in (["--format", "csv"], ["--format", "ndjson"], ["-o", self.path("rows.csv")]):
            process = subprocess.Popen([BASALT, "sql", "-q", *output, "select range as a, range % 7 as b from range(1000000000)"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if output[0] == "--format":
                process.stdout.readline()  # it runs
            else:
                time.sleep(2)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
            self.assertIn(b"interrupted", errors)

    def test_interrupted_query_exits_with_130(self):
        process = subprocess.Popen([BASALT, "sql", "select sum(hash(a.range + b.range)) from range(1000000) a, range(1000000) b"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, errors), (130, b"", b"basalt: interrupted\n"))

    def test_other_signals_that_ask_to_end_leave_no_spilled_rows(self):
        query = "select hash(range) as h, repeat('x', 50) || range as s from range(200000000)"
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([BASALT, "convert", "-q", "--memory-limit", "150MB", "--sort-by", "h", "--query", query,
                                        self.path("x.basalt")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            deadline = time.monotonic() + 30
            while not os.listdir(self.folder) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertNotEqual(os.listdir(self.folder), [], "nothing was put aside")
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertEqual(os.listdir(self.folder), [])

    def test_disk_full_is_an_error_and_leaves_no_file(self):
        folder = tempfile.mkdtemp(prefix="basalt_full_")
        self.addCleanup(os.rmdir, folder)
        mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder],
                                                       capture_output=True).returncode == 0
        if mounted:
            self.addCleanup(subprocess.run, ["umount", folder], check=True)
        else:
            # Without the right to mount, a limit on the size of files: the same write() fails, with another reason.
            self.addCleanup(lambda: [os.unlink(os.path.join(folder, name)) for name in os.listdir(folder)])
            self.limit_file_sizes(8 << 20)
        out = os.path.join(folder, "x.basalt")
        for query, options in ((LONG_QUERY, ()), (RELATED_QUERY, ("--for", "disk"))):
            self.basalt("convert", "-q", *options, "--query", query.format(rows=4_000_000), out, code=1)
            self.assertRegex(self.stderr, r"x\.basalt.*(space|full|too large)")
            self.assertEqual(os.listdir(folder), [])
        self.basalt("convert", "-q", "--query", "select * from range(100)", out)
        self.basalt("export", out, os.path.join(folder, "x.csv"), "-q")
        self.basalt("sql", "-q", "--format", "arrow", "-o", os.path.join(folder, "y.arrow"),
                    LONG_QUERY.format(rows=2_000_000), code=1)
        self.assertEqual(sorted(os.listdir(folder)), ["x.basalt", "x.csv"])

    def limit_file_sizes(self, most):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)

    def test_no_right_to_write(self):
        self.basalt("convert", "--query", "select 1 as a", "/no/such/folder/x.basalt", code=1)
        self.assertIn("/no/such/folder", self.stderr)


if __name__ == "__main__":
    unittest.main()
