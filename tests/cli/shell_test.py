"""The shell of `basalt sql` on a terminal: its commands, and what Tab completes."""
import os
import pty
import re
import select
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_support import BASALT, CliTest


class Shell(CliTest):
    def shell(self, keys, terminal="dumb"):
        """What the terminal shows after these keys, without colours; the shell is left by Ctrl-D."""
        main, side = pty.openpty()
        environment = dict(os.environ, TERM=terminal, HOME=self.folder, XDG_STATE_HOME=self.folder)
        process = subprocess.Popen([BASALT, "sql"], stdin=side, stdout=side, stderr=side, cwd=self.folder, env=environment,
                                   start_new_session=True)
        os.close(side)
        shown = b""

        def read_until(mark, seconds):
            nonlocal shown
            end = time.monotonic() + seconds
            while time.monotonic() < end and (mark is None or mark not in shown):
                if select.select([main], [], [], 0.1)[0]:
                    try:
                        shown += os.read(main, 65536)
                    except OSError:
                        return
        read_until(b"basalt> ", 60)
        for key in keys:
            mark = len(shown)
            os.write(main, key.encode())
            read_until(None, 0.6)
            self.assertGreater(len(shown), mark, f"nothing came back for {key!r}")
        os.write(main, b"\x04")
        read_until(None, 0.5)
        self.assertEqual(process.wait(timeout=60), 0)
        os.close(main)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace")).replace("\r", "")

    def test_a_file_of_output_holds_the_last_rows_and_says_so(self):
        text = self.shell([".output rows.csv\n", "select 5 as z;\n", "select 6 as z;\n", ".output\n", "select 7;\n"])
        self.assertEqual(text.count("those of the statement before are gone"), 1, text)
        with open(self.path("rows.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "z\n6\n")

    def test_commands(self):
        text = self.shell([".mode line\n", ".nullvalue gone\n", "select 7 as seven, null as nothing;\n", ".mode table\n",
                           ".maxrows 2\n", "select * from range(10);\n", ".output rows.csv\n", "select 1 as a, 'x' as b;\n",
                           ".output\n", ".open work.db\n", "create table kept as select 5 as five;\n", ".tables\n",
                           ".maxrows many\n", ".mode verse\n", ".nonsense\n"])
        self.assertIn("  seven = 7\nnothing = gone\n", text)
        self.assertIn("(2 shown)", text)
        self.assertIn("kept (table, 1 columns)", text)
        self.assertIn("write .maxrows and a number", text)
        self.assertIn("modes are table, csv", text)
        self.assertIn(".nonsense is not a command", text)
        with open(self.path("rows.csv")) as file:
            self.assertEqual(file.read(), "a,b\n1,x\n")
        self.assertTrue(os.path.exists(self.path("work.db")))

    def test_databases_are_opened_again_and_tables_named_as_statements_need_them(self):
        text = self.shell(["create table here as select 1 as one;\n", ".open y.db\n", "create table kept as select 5 as five;\n",
                           ".tables\n", ".open z.db\n", ".open ./y.db\n", "select five + 37 from kept;\n",
                           "select one + 22 from memory.here;\n"])
        self.assertNotIn("conflict", text)
        self.assertIn("kept (table, 1 columns)\nmemory.here (table, 1 columns)\n", text)
        self.assertRegex(text, r"│\s+42 │")
        self.assertRegex(text, r"│\s+23 │")

    def test_commands_are_for_terminals(self):
        for arguments, text in (([], ".tables\n"), ([], "select 1;\n  .mode csv\n"), (["-f", self.write("s.sql", ".help")], "")):
            self.basalt("sql", *arguments, stdin=text, code=2)
            self.assertIn("commands with a dot are for the shell", self.stderr)

    def test_a_text_that_looks_like_a_file_does_not_end_a_transaction(self):
        text = self.shell(["create table t (s varchar);\n", "begin;\n", "insert into t values ('none.csv');\n", "commit;\n",
                           "select count(*) as rows_there from t;\n"])
        self.assertNotIn("aborted", text)
        self.assertRegex(text, r"│\s+1 │")

    def test_tab_completes(self):
        if b"libedit" not in subprocess.run(["ldd", BASALT], capture_output=True).stdout:
            return  # built without an editor of lines: there is no Tab
        self.basalt("convert", "-q", "--query", "select 1 as wonderful_column", self.path("shells.basalt"))
        text = self.shell(["sel\t", "count(*) from 'she\t", ";\n", "select wond\t", "from 'shells.basalt';\n", ".nul\t", "-\n"],
                          terminal="xterm")
        self.assertIn("from 'shells.basalt'", text)
        self.assertIn("count_star()", text)
        self.assertIn("select wonderful_column", text)
        self.assertIn(".nullvalue -", text)


if __name__ == "__main__":
    unittest.main()
