"""Folders of files as one table: `convert --append`, COPY with APPEND, `compact`, and readers at the same time."""
import os
import random
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest

BASALT_PATH = os.path.abspath(BASALT)  # for runs in other folders


class Dataset(CliTest):
    def setUp(self):
        super().setUp()
        self.data = self.path("events")

    def append(self, query, **options):
        return self.basalt("convert", "-q", "--append", "--query", query, self.data, **options)

    def count(self):
        return self.query(f"select count(*), sum(i) from '{self.data}'")[0]

    def parts(self):
        return sorted(name for name in os.listdir(self.data) if not name.startswith("."))

    def test_files_are_added_and_read_in_order(self):
        for i in range(5):
            self.append(f"select {i} * 10 + range as i, 'text' || range as t from range(10)")
        self.assertEqual(len(self.parts()), 5)
        self.assertEqual(self.query(f"select i from '{self.data}'"), [[str(i)] for i in range(50)])
        self.assertEqual(self.query(f"select max(i) from '{self.data}/'"), [["49"]])
        self.basalt("sql", "-q", f"copy (select 50::bigint i, 'x' t) to '{self.data}' (format basalt, append)")
        self.assertEqual(self.count(), ["51", str(sum(range(51)))])

    def test_input_files_are_added(self):
        self.basalt("convert", "-q", "--append", self.numbers_csv(100), self.data)
        self.basalt("convert", "-q", "--append", self.numbers_csv(50), self.data)
        self.assertEqual(self.query(f"select count(*) from '{self.data}'"), [["150"]])

    def test_folders_above_are_made(self):
        lake = self.path("lake")
        for day in (1, 2):
            self.basalt("convert", "-q", "--append", "--query", f"select {day} * 10 as i", f"{lake}/{day}.basalt/day={day}/")
        self.assertEqual(self.query(f"select day, i from '{lake}' order by day"), [["1", "10"], ["2", "20"]])
        # A folder may have the name of a file; what was replaced in it stays out of sight.
        folder = f"{lake}/1.basalt"
        self.basalt("convert", "-q", "--append", "--query", "select 11 as i", folder + "/day=1")
        self.basalt("compact", "-q", folder + "/day=1")
        self.assertEqual(self.query(f"select i from '{folder}' order by i"), [["10"], ["11"]])

    def test_other_columns_are_refused_and_leave_nothing(self):
        self.append("select 1::bigint i")
        self.append("select 'one' i", code=1)
        self.assertIn("other columns (i bigint)", self.stderr)
        self.append("select 1::bigint j", code=1)
        self.append("select 1::bigint i, 2 j", code=1)
        self.assertEqual(len(self.parts()), 1)
        self.basalt("convert", "-q", "--append", "--query", "select 1", self.write("file", "no folder"), code=1)
        self.assertIn("not", self.stderr)

    def test_compact_keeps_rows_and_their_order(self):
        for i in range(7):
            self.append(f"select {i} * 1000 + range as i from range(1000)")
        before = self.query(f"select i from '{self.data}'")
        text = self.basalt("compact", self.data)
        self.assertIn("7 file(s) before, 1 now", text)
        self.assertEqual(self.query(f"select i from '{self.data}'"), before)
        self.append("select 7000::bigint i")
        self.append("select 7001::bigint i")
        # Large files stay as they are.
        large = self.parts()[0]
        size = os.path.getsize(os.path.join(self.data, large))
        self.basalt("compact", "-q", self.data, "--target", str(2 * size))
        self.assertEqual(len(self.parts()), 2)
        self.assertEqual(self.parts()[0], large)
        self.assertEqual(self.query(f"select i from '{self.data}'"), before + [["7000"], ["7001"]])
        for part in self.parts():
            self.basalt("verify", "-q", os.path.join(self.data, part))
        self.basalt("compact", self.path("nothing"), code=1)
        self.assertIn("not a folder", self.stderr)

    def test_compact_changes_no_columns(self):
        for i in range(2):
            self.append(f"select {i}::bigint i")
        self.basalt("convert", "-q", "--query", "select 3 i, 4 j", os.path.join(self.data, "z.basalt"))
        before = self.parts()
        self.basalt("compact", self.data, code=1)
        self.assertIn("cannot be merged", self.stderr)
        self.assertEqual(self.parts(), before)

    def test_compact_refuses_the_folder_that_it_stands_in(self):
        for i in range(3):
            self.append(f"select {i}::bigint i")
        for name in (".", self.data, "../events"):
            done = subprocess.run([BASALT_PATH, "compact", name], cwd=self.data, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(name + ": leave the folder first", done.stderr)
        self.assertEqual(len(self.parts()), 3)

    def test_a_folder_that_was_replaced_takes_no_files(self):
        for i in range(3):
            self.append(f"select {i}::bigint i")
        # A shell whose working directory is exchanged under it.
        shell = subprocess.run(["bash", "-c", """
            (cd /; "$0" compact -q "$1") || exit 3
            "$0" convert -q --append --query 'select 3::bigint i' . && exit 4
            "$0" convert -q --append --query 'select 3::bigint i' new && exit 5
            cd "$PWD" && "$0" convert -q --append --query 'select 3::bigint i' ."""
            , BASALT_PATH, self.data], cwd=self.data, capture_output=True, text=True)
        self.assertEqual(shell.returncode, 0, shell.stderr)
        self.assertEqual(shell.stderr.count("was exchanged by a compact"), 2)
        self.assertEqual(self.count(), ["4", "6"])

    def test_compact_within_a_partition(self):
        part = self.path("lake/k=5")
        os.makedirs(part)
        for i in range(3):
            self.basalt("convert", "-q", "--append", "--query", f"select {i}::bigint i", part)
        self.assertIn("3 file(s) before, 1 now", self.basalt("compact", part))
        self.assertEqual(self.query(f"select sum(i), min(k) from '{self.path('lake')}/*/*.basalt'"), [["3", "5"]])

    def test_a_link_to_a_folder_is_the_folder(self):
        for i in range(3):
            self.append(f"select {i}::bigint i")
        os.symlink(self.data, self.path("link"))
        self.basalt("compact", "-q", self.path("link"))
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(len(self.parts()), 1)
        self.basalt("convert", "-q", "--append", "--query", "select 3::bigint i", self.path("link"))
        self.assertEqual(self.count(), ["4", "6"])

    def test_names_of_others_keep_their_order(self):
        os.mkdir(self.data)
        for name, i in (("part1", 1), ("part10", 2)):
            self.basalt("convert", "-q", "--query", f"select {i} i", os.path.join(self.data, name + ".basalt"))
        self.basalt("convert", "-q", "--query", "select (hash(range) % 1000000)::int i from range(100000)", os.path.join(self.data, "part11.basalt"))
        large = os.path.getsize(os.path.join(self.data, "part11.basalt"))
        before = self.query(f"select i from '{self.data}'")
        self.basalt("compact", "-q", self.data, "--target", str(2 * large))
        self.assertEqual(self.query(f"select i from '{self.data}'"), before)
        self.assertEqual(len(self.parts()), 2)
        # The same names again, while the old files are still kept.
        for name in ("part1", "part10"):
            self.basalt("convert", "-q", "--query", "select 0 i", os.path.join(self.data, name + ".basalt"))
        self.basalt("compact", "-q", self.data, "--target", str(2 * large))
        self.assertEqual(self.query(f"select count(*) from '{self.data}'"), [[str(len(before) + 2)]])

    def test_readers_see_the_old_files_or_the_new_ones(self):
        for i in range(6):
            self.append(f"select {i} * 100 + range as i from range(100)")
        stop = threading.Event()
        seen = []
        failures = []

        def read():
            while not stop.is_set():
                done = subprocess.run([BASALT, "sql", "-q", "--format", "csv", f"select count(*), sum(i) from '{self.data}'"],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    failures.append(done.stderr)
                else:
                    seen.append(done.stdout.splitlines()[1])

        reader = threading.Thread(target=read)
        reader.start()
        rows = 600
        allowed = {f"{rows},{sum(range(rows))}"}
        for _ in range(4):
            self.append(f"select {rows} + range as i from range(100)")
            rows += 100
            allowed.add(f"{rows},{sum(range(rows))}")
            self.basalt("compact", "-q", self.data)
        stop.set()
        reader.join()
        self.assertEqual(failures, [])
        self.assertTrue(seen)
        self.assertLessEqual(set(seen), allowed)

    def test_those_who_add_and_compact_at_once_lose_nothing(self):
        self.append("select 0::bigint i")
        adding = [subprocess.Popen([BASALT, "convert", "-q", "--append", "--query", f"select {i}::bigint i", self.data])
                  for i in range(1, 9)]
        for _ in range(3):
            self.basalt("compact", "-q", self.data)
        for process in adding:
            self.assertEqual(process.wait(), 0)
        self.assertEqual(self.count(), ["9", str(sum(range(9)))])

    def test_a_kill_leaves_the_old_files_or_the_new_ones(self):
        for i in range(4):
            self.append(f"select {i} * 200000 + range as i, hash(range) h from range(200000)")
        expected = self.count()
        moments = random.Random(7)
        for _ in range(25):
            process = subprocess.Popen([BASALT, "compact", "-q", self.data])
            time.sleep(moments.uniform(0.005, 0.25))
            process.kill()
            process.wait()
            self.assertEqual(self.count(), expected)
            if len(self.parts()) == 1:
                self.append("select -1::bigint i, 0::ubigint h")
                expected = [str(int(expected[0]) + 1), str(int(expected[1]) - 1)]
        for _ in range(50):
            process = subprocess.Popen([BASALT, "convert", "-q", "--append", "--query",
                                        "select range as i, hash(range) h from range(3000000)", self.data])
            time.sleep(moments.uniform(0.005, 0.2))
            process.kill()
            done = process.wait() == 0
            # One that was killed behind its last step has added its file.
            added = [str(int(expected[0]) + 3000000), str(int(expected[1]) + sum(range(3000000)))]
            self.assertIn(self.count(), [added] if done else [expected, added])
            expected = self.count()
        self.basalt("compact", "-q", self.data)
        self.assertEqual(self.count(), expected)
        beside = [name for name in os.listdir(self.folder) if name != "events"]
        self.assertEqual(beside, [], "what killed processes left beside the folder")


if __name__ == "__main__":
    unittest.main()
