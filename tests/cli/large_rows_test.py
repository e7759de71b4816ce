"""Legal rows that are larger than what a reader takes without being told: refused with a sentence, read with a limit."""
import os
import unittest

from cli_support import CliTest

SENTENCE = "bytes when decoded, more than the limit of"


class LargeRowsTest(CliTest):
    def refused(self, *arguments):
        self.basalt(*arguments, code=1)
        self.assertIn(SENTENCE, self.stderr)
        self.assertIn("--memory-limit", self.stderr)

    def test_every_command_reads_them_with_a_limit(self):
        file, copy, arrow = self.path("list.basalt"), self.path("copy.basalt"), self.path("out.arrow")
        self.basalt("convert", "--quiet", "--query", "select range(20000000) as c", file)
        self.assertLess(os.path.getsize(file), 60 << 20)
        ask = ["sql", "--quiet", "--format", "csv", "--threads", "2", f"select len(c) from '{file}'"]
        self.refused(*ask)
        self.assertEqual(self.basalt(*ask, "--memory-limit", "1GiB").splitlines()[1:], ["20000000"])
        self.refused("verify", "--threads", "2", file)
        self.basalt("verify", file, "--memory-limit", "400MiB")
        self.refused("export", file, arrow)
        self.basalt("export", file, arrow, "--memory-limit", "400MiB")
        self.refused("convert", file, copy, "--memory-limit", "256MiB")
        self.basalt("convert", "--quiet", file, copy)


if __name__ == "__main__":
    unittest.main()
