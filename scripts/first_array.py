"""For scripts that draw what a .basalt file stores: its first array of a codec, read by the independent reader of
tests/python_reader."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "python_reader"))
import basalt_codecs  # noqa: E402
import basalt_reader  # noqa: E402


def first_array(path, codec):
    """What the codec's decoder was given first, and what it made of it."""
    name = "decode_" + codec
    decode = getattr(basalt_codecs, name)
    found = []

    def spy(*given):
        made = decode(*given)
        found.append((given, made))
        return made

    setattr(basalt_codecs, name, spy)
    file = basalt_reader.File(path)
    for field in file.schema:
        file._decode_field(field)
        if found:
            return found[0]
    sys.exit(f"{path} has no column encoded with {codec}")
