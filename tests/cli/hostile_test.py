"""Small files that ask for much: every command ends soon, in little memory, with a sentence or with right rows."""
import os
import subprocess
import unittest

from cli_support import BASALT, SANITIZED, CliTest

MAKER = os.path.join(os.path.dirname(BASALT), "tests", "basalt_file_tests")
MOST_SECONDS = 30 if SANITIZED else 2  # of all threads together: other processes do not count
MOST_BYTES = 256 << 20  # above the file and what the program takes for an empty one

COMMANDS = [
    ["info"],
    ["info", "--json"],
    ["verify", "--threads", "2"],
    ["verify", "--memory-limit", "1MiB"],
]
# What a query asks of the first column.
QUERIES = [
    "select count(*) from '{file}'",
    "select count(c) from '{file}' t(c)",
    "select c from '{file}' t(c) limit 1",
    "select count(*) from '{file}' t(c) where c::varchar like '%q%'",
]
# Sums over all rows where these are right: strings are read as lengths.
RIGHT = {
    "tokens_of_a_tile": ("select count(*), sum(strlen(s)) from '{file}'", "1024,4278190080"),
    "constant_strings": ("select count(*), sum(strlen(s)) from '{file}'", f"{1 << 20},{1700 << 20}"),
    "deepest_runs": ("select count(*), sum(a) from '{file}'", f"300000,{sum(i // 3 for i in range(300000))}"),
}


class HostileTest(CliTest):
    def measured(self, *arguments):
        """Exit code, output, errors, seconds and peak bytes of one run."""
        out, err = self.path("out"), self.path("err")
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen([BASALT, *arguments], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with open(out, "rb") as stdout, open(err, "rb") as stderr:
            return (process.returncode, stdout.read(1 << 20).decode(errors="replace"),
                    stderr.read(1 << 20).decode(errors="replace"), usage.ru_utime + usage.ru_stime,
                    usage.ru_maxrss * 1024)

    def check(self, path, *arguments):
        code, out, err, seconds, peak = self.measured(*arguments)
        what = f"basalt {' '.join(arguments)}: {code}, {seconds:.2f} s, {peak >> 20} MiB\n{out[:500]}\n{err[:500]}"
        self.assertIn(code, (0, 1), what)
        self.assertTrue(code == 0 or len(err.strip()) > 20, what)
        self.assertLess(seconds, MOST_SECONDS, what)
        if not SANITIZED:
            self.assertLess(peak, MOST_BYTES + os.path.getsize(path) + self.baseline, what)
        return code, out, err

    def test_every_command_is_bounded(self):
        subprocess.run([MAKER, "--gtest_filter=HostileFiles.AreWrittenWhereAsked"], check=True, capture_output=True,
                       env=dict(os.environ, BASALT_HOSTILE_FOLDER=self.folder))
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".basalt"))
        self.assertGreater(len(names), 15)
        self.basalt("convert", self.numbers_csv(10), self.path("small.basalt"))
        self.baseline = max(self.measured(*command)[4] for command in (
            ["sql", "--quiet", f"select count(*) from '{self.path('small.basalt')}'"],
            ["verify", self.path("small.basalt")]))
        for name in names:
            path, kind = self.path(name), name.split(".")[0]
            with self.subTest(kind):
                for command in COMMANDS:
                    code, _, err = self.check(path, command[0], path, *command[1:])
                    if command == ["verify", "--threads", "2"]:
                        self.assertEqual(code, 0 if ".sound." in name else 1, err)
                for query in QUERIES:
                    self.check(path, "sql", "--quiet", "--threads", "2", "--format", "csv", query.format(file=path))
                self.check(path, "sql", "--quiet", "--threads", "2", "--memory-limit", "64MiB", f"select count(*) from '{path}'")
                self.check(path, "export", "--threads", "2", path, self.path("out.arrow"))
                if kind == "tokens_of_a_row":  # longer than any string may be
                    code, _, err = self.check(path, "sql", f"select sum(strlen(s)) from '{path}'")
                    self.assertEqual(code, 1, err)
                if kind in RIGHT:
                    query, expected = RIGHT[kind]
                    _, out, err = self.check(path, "sql", "--quiet", "--threads", "2", "--format", "csv", query.format(file=path))
                    self.assertEqual(out.splitlines()[1:], [expected], err)


if __name__ == "__main__":
    unittest.main()
