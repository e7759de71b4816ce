"""Legal rows that are larger than what a reader takes without being told: refused with a sentence, read with a limit."""
import os
import unittest

from cli_support import BASALT, CliTest

SANITIZED = any(word in os.path.realpath(BASALT) for word in ("asan", "tsan"))
SENTENCE = "bytes when decoded, more than the limit of"


@unittest.skipIf(SANITIZED, "needs much memory")
class LargeRowsTest(CliTest):
    # Query, what to ask of its file and the answer.
    ROWS = {
        "text": ("select repeat('x', 200000000) as c", "select strlen(c || '') from '{file}'", "200000000"),
        "list": ("select range(20000000) as c", "select len(c) from '{file}'", "20000000"),
    }

    def refused(self, *arguments):
        self.basalt(*arguments, code=1)
        self.assertIn(SENTENCE, self.stderr)
        self.assertIn("--memory-limit", self.stderr)

    def test_every_command_reads_them_with_a_limit(self):
        for name, (query, question, answer) in self.ROWS.items():
            with self.subTest(name):
                file, copy, arrow = self.path(name + ".basalt"), self.path("copy.basalt"), self.path("out.arrow")
                self.basalt("convert", "--quiet", "--query", query, file)
                self.assertLess(os.path.getsize(file), 60 << 20)
                ask = ["sql", "--quiet", "--format", "csv", "--threads", "2", question.format(file=file)]
                self.refused(*ask)
                self.assertEqual(self.basalt(*ask, "--memory-limit", "1GiB").splitlines()[1:], [answer])
                self.refused("verify", file)
                self.basalt("verify", file, "--memory-limit", "400MiB")
                self.refused("export", file, arrow)
                self.basalt("export", file, arrow, "--memory-limit", "400MiB")
                os.remove(arrow)
                self.refused("convert", file, copy, "--memory-limit", "256MiB")
                self.basalt("convert", "--quiet", file, copy)
                os.remove(copy)


if __name__ == "__main__":
    unittest.main()
