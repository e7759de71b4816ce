"""The independent reader against the golden files: every value equals the JSON that lies beside each file."""
import json
import os
import struct
import sys
import unittest

try:
    import numpy  # noqa: F401
except ImportError:
    print("SKIPPED: python3 has no numpy (Debian and Ubuntu: python3-numpy); the independent reader was NOT tested")
    sys.exit(0)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import basalt_reader  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "v1")


def plain(field, value):
    """A value as the JSON writes it: floats by their bits, binary in hexadecimal digits."""
    if value is None:
        return None
    if field.kind == basalt_reader.FLOAT32:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if field.kind == basalt_reader.FLOAT64:
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if field.kind == basalt_reader.BINARY:
        return value.hex()
    if field.kind == basalt_reader.LIST:
        return [plain(field.children[0], element) for element in value]
    if field.kind == basalt_reader.STRUCT:
        return {child.name: plain(child, value[child.name]) for child in field.children}
    return value


class GoldenFiles(unittest.TestCase):
    def test_every_value(self):
        names = sorted(name for name in os.listdir(GOLDEN) if name.endswith(".basalt"))
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            with self.subTest(file=name):
                file = basalt_reader.File(os.path.join(GOLDEN, name))
                with open(os.path.join(GOLDEN, name[:-len(".basalt")] + ".json"), encoding="utf-8") as handle:
                    expected = json.load(handle)
                self.assertEqual(file.rows, expected["rows"])
                self.assertEqual([field.name for field in file.schema], list(expected["columns"]))
                for field in file.schema:
                    actual = [plain(field, value) for value in file.column(field)]
                    self.assertEqual(actual, expected["columns"][field.name], "column " + field.name)

    def test_damage_is_found(self):
        path = os.path.join(GOLDEN, "one_row.basalt")
        with open(path, "rb") as handle:
            data = bytearray(handle.read())
        file = basalt_reader.File(path)
        offset = file.columns[0].struct(1, "QQQ")[0]
        data[offset] ^= 1
        file.data = bytes(data)
        with self.assertRaises(basalt_reader.FormatError):
            file.column(file.schema[0])


if __name__ == "__main__":
    unittest.main()
