"""What the tests of the program share: running it, scratch folders, small inputs."""
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

BASALT = os.environ.get("BASALT_BIN", os.path.join("build", "release", "basalt"))
SANITIZED = any(word in os.path.realpath(BASALT) for word in ("asan", "tsan"))


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="basalt_cli_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(text)
        return self.path(name)

    def basalt(self, *arguments, stdin=None, code=0, env=None, text=True):
        """Runs the program and checks its exit code; gives standard output. stderr is kept in self.stderr."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        environment = dict(os.environ, **(env or {}))
        done = subprocess.run([BASALT, *arguments], input=stdin if stdin is not None else b"", capture_output=True,
                              env=environment, timeout=300)
        self.stderr = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code,
                         f"basalt {' '.join(arguments)}\n{done.stdout[-2000:]!r}\n{self.stderr[-2000:]}")
        return done.stdout.decode() if text else done.stdout

    def query(self, sql, **options):
        """The rows of a query as lists of strings, without a header."""
        lines = self.basalt("sql", "--quiet", "--format", "csv", sql, **options).splitlines()
        return [line.split(",") for line in lines[1:]]

    def numbers_csv(self, rows, name="numbers.csv"):
        return self.write(name, "id,name,price\n" + "".join(f"{i},name{i % 7},{i * 0.25}\n" for i in range(rows)))

    def leftovers(self):
        """Files in the scratch folder that only a broken run leaves behind."""
        return [name for name in os.listdir(self.folder) if "tmp" in name or "spill" in name]


def flip_byte(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(struct.pack("B", byte[0] ^ 0x55))
