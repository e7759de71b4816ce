"""Reads .basalt files, format version 1, without any Basalt code: Python's standard library, numpy, and libzstd for small files.

Written from docs/format.md alone; it is the proof that the document suffices. It reads whole columns and is not meant to
be fast. Values come back as Python objects: integers (also decimals, dates, times and UUIDs as they are stored), bools,
floats, str, bytes, lists, dicts, and None for NULL.
"""
import ctypes
import ctypes.util
import struct

from basalt_codecs import FormatError, Node, child_count, decode, require
from xxh3 import xxh3_64

MAGIC = b"BASALT\r\n"
CHECKSUM_BLOCK = 1 << 20
WRAPPED = 1  # a required feature
MOST_WRAPPED_BYTES = 128 << 10

# Type kinds of the schema.
(BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, INT128, FLOAT32, FLOAT64, DECIMAL, DATE, TIME, TIMESTAMP,
 TIMESTAMP_TZ, UTF8, BINARY, UUID, LIST, STRUCT) = range(1, 23)


def physical_of(kind, precision):
    if kind == DECIMAL:
        return "i16" if precision <= 4 else "i32" if precision <= 9 else "i64" if precision <= 18 else "i128"
    return {BOOL: "u8", INT8: "i8", INT16: "i16", INT32: "i32", INT64: "i64", UINT8: "u8", UINT16: "u16", UINT32: "u32",
            UINT64: "u64", INT128: "i128", FLOAT32: "f32", FLOAT64: "f64", DATE: "i32", TIME: "i64", TIMESTAMP: "i64",
            TIMESTAMP_TZ: "i64", UTF8: "bytes", BINARY: "bytes", UUID: "i128", LIST: "u32", STRUCT: None}[kind]


# --- FlatBuffers: just enough to walk tables, vectors and structs -----------------------------------------------------

class FlatTable:
    """A table: fields are numbered in the order of the schema."""

    def __init__(self, data, position):
        self.data = data
        self.position = position
        self.vtable = position - struct.unpack_from("<i", data, position)[0]
        self.vtable_bytes = struct.unpack_from("<H", data, self.vtable)[0]

    @classmethod
    def root(cls, data):
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def place(self, field):
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, self.vtable + slot)[0] if slot < self.vtable_bytes else 0
        return self.position + offset if offset else None

    def scalar(self, field, code, default=0):
        at = self.place(field)
        return default if at is None else struct.unpack_from("<" + code, self.data, at)[0]

    def struct(self, field, code):
        at = self.place(field)
        return None if at is None else struct.unpack_from("<" + code, self.data, at)

    def _follow(self, field):
        at = self.place(field)
        return None if at is None else at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, field):
        at = self._follow(field)
        return None if at is None else FlatTable(self.data, at)

    def _vector(self, field):
        at = self._follow(field)
        return (0, 0) if at is None else (at + 4, struct.unpack_from("<I", self.data, at)[0])

    def bytes(self, field):
        at, count = self._vector(field)
        return self.data[at:at + count]

    def string(self, field):
        return self.bytes(field).decode("utf-8")

    def structs(self, field, code):
        at, count = self._vector(field)
        size = struct.calcsize("<" + code)
        return [struct.unpack_from("<" + code, self.data, at + i * size) for i in range(count)]

    def scalars(self, field, code):
        return [value for (value,) in self.structs(field, code)]

    def tables(self, field):
        at, count = self._vector(field)
        places = [at + 4 * i for i in range(count)]
        return [FlatTable(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in places]

    def has(self, field):
        return self.place(field) is not None


# --- Files -------------------------------------------------------------------------------------------------------------

class Field:
    def __init__(self, table):
        self.name = table.string(0)
        self.kind = table.scalar(1, "B")
        self.precision = table.scalar(2, "B")
        self.scale = table.scalar(3, "B")
        self.unit = table.scalar(4, "B")
        self.nullable = bool(table.scalar(5, "B"))
        self.id = table.scalar(6, "I")
        self.child_count = table.scalar(7, "I")
        self.children = []
        self.physical = physical_of(self.kind, self.precision)


class ArrayCursor:
    """Arrays lie one after the other; their nodes, parameters, streams and checksums are taken from the front."""

    def __init__(self, file, arrays):
        self.file = file
        self.nodes = iter(arrays.structs(0, "QII"))
        self.params = arrays.bytes(1)
        self.streams = iter(arrays.structs(2, "QQ"))
        self.checksums = iter(arrays.scalars(3, "Q"))
        self.param = 0

    def next(self, shape):
        """One array with the given encoding tree, or None for the empty tree."""
        shape = iter(shape)
        return self._node(next(shape, None), shape)

    def _node(self, entry, shape):
        if entry is None:
            return None
        codec, children = entry
        count, param_bytes, stream_count = next(self.nodes)
        params = self.params[self.param:self.param + param_bytes]
        self.param += param_bytes
        streams = []
        for _ in range(stream_count):
            offset, length = next(self.streams)
            data = self.file.data[offset:offset + length]
            require(len(data) == length and offset % 128 == 0, "a stream lies outside of the file or is not aligned")
            for begin in range(0, length, CHECKSUM_BLOCK):
                require(xxh3_64(data[begin:begin + CHECKSUM_BLOCK]) == next(self.checksums), "a stream's checksum is wrong")
            streams.append(data)
        return Node(self.file.codecs[codec], count, params, streams,
                    [self._node(next(shape), shape) for _ in range(children)])


def unwrap(data):
    """The file inside a wrapped one."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    middle = ctypes.create_string_buffer(MOST_WRAPPED_BYTES)
    length = zstd.ZSTD_decompress(middle, MOST_WRAPPED_BYTES, data[16:-64], len(data) - 80)
    require(length <= MOST_WRAPPED_BYTES, "the frame around the file is damaged")
    return data[:16] + middle.raw[:length] + data[-64:]


class File:
    def __init__(self, path):
        with open(path, "rb") as handle:
            self.data = handle.read()
        data = self.data
        require(data[:8] == MAGIC and data[-8:] == MAGIC, "not a Basalt file")
        require(struct.unpack_from("<II", data, 8) == (1, 0), "the header is damaged")
        (offset, length, footer_checksum, required, _, version, size, checksum) = struct.unpack_from("<QQQQQIIQ", data,
                                                                                                     len(data) - 64)
        require(checksum == xxh3_64(data[-64:-16]), "the postscript's checksum is wrong")
        require(version == 1 and size == 64 and required in (0, WRAPPED), "another version of the format")
        if required == WRAPPED:
            data = self.data = unwrap(data)
        require(offset + length == len(data) - 64, "the footer is elsewhere")
        footer_bytes = data[offset:offset + length]
        require(footer_checksum == xxh3_64(footer_bytes), "the footer's checksum is wrong")
        footer = FlatTable.root(footer_bytes)

        self.rows = footer.scalar(0, "Q")
        fields = [Field(table) for table in footer.tables(1)]
        self.fields = fields
        self.codecs = [table.string(0) for table in footer.tables(2)]
        self.shapes = [table.structs(0, "HH") for table in footer.tables(3)]
        self.chunks = footer.structs(4, "QQ")
        self.columns = footer.tables(5)
        self.sort_columns = footer.scalars(6, "I")
        self.created_by = footer.string(7)
        require(len(self.columns) == len(fields), "columns and fields differ in number")
        require(sum(rows for _, rows in self.chunks) == self.rows, "the chunks' rows do not add up")
        rest = iter(fields)
        self.schema = []
        for field in rest:
            self.schema.append(self._with_children(field, rest))

    def _with_children(self, field, rest):
        field.children = [self._with_children(next(rest), rest) for _ in range(field.child_count)]
        return field

    def _block(self, place):
        offset, length, checksum = place
        data = self.data[offset:offset + length]
        require(len(data) == length and xxh3_64(data) == checksum, "a metadata block's checksum is wrong")
        return FlatTable.root(data)

    def _decode_field(self, field):
        """Per chunk: (rows, valid flags or None, values or None)."""
        column = self.columns[field.id]
        metadata = self._block(column.struct(1, "QQQ"))
        require(metadata.scalar(0, "I") == field.id, "the metadata belongs to another column")
        shapes = column.scalars(0, "H")
        cursor = ArrayCursor(self, metadata.table(2))
        out = []
        for chunk in metadata.structs(1, "QQQQQHHI"):
            rows, shape = chunk[0], chunk[5]
            node = cursor.next(self.shapes[shapes[shape]])
            valid, values = None, None
            if node is not None and node.codec == "validity":
                require(node.count == rows, "values and rows differ in number")
                valid = decode(node.children[0], "u8").astype(bool)
                node = node.children[1] if len(node.children) == child_count("validity", "any") else None
            if node is not None:
                values = decode(node, field.physical)
                require(len(values) == rows, "values and rows differ in number")
            out.append((rows, valid, values))
        self._check_dictionary(field, column)
        return out

    def _check_dictionary(self, field, column):
        """The file-wide dictionary, where there is one: sorted, and every chunk's map ascends."""
        if not column.has(2):
            return
        metadata = self._block(column.struct(2, "QQQ"))
        entries, entries_shape, map_shape = metadata.scalar(1, "Q"), metadata.scalar(2, "H"), metadata.scalar(3, "H")
        cursor = ArrayCursor(self, metadata.table(5))
        dictionary = decode(cursor.next(self.shapes[entries_shape]), field.physical)
        require(len(dictionary) == entries, "the dictionary has another length")
        for has_map in metadata.scalars(4, "B"):
            if has_map:
                codes = decode(cursor.next(self.shapes[map_shape]), "u32").tolist()
                require(all(a < b for a, b in zip(codes, codes[1:])) and codes[-1] < entries, "a code map does not ascend")

    def column(self, field):
        """All rows of a field as Python objects."""
        chunks = self._decode_field(field)
        children = [iter(self.column(child)) for child in field.children]
        out = []
        for rows, valid, values in chunks:
            for row in range(rows):
                is_valid = valid is None or valid[row]
                if field.kind == STRUCT:
                    value = {child.name: next(rest) for child, rest in zip(field.children, children)}
                elif field.kind == LIST:
                    value = [next(children[0]) for _ in range(int(values[row]))]
                elif field.kind == UTF8:
                    value = values[row].decode("utf-8") if is_valid else None
                elif field.kind == BINARY:
                    value = values[row]
                elif field.kind == BOOL:
                    value = bool(values[row])
                elif field.kind in (FLOAT32, FLOAT64):
                    value = values[row]
                else:
                    value = int(values[row])
                out.append(value if is_valid else None)
        return out

    def read(self):
        return {field.name: self.column(field) for field in self.schema}
