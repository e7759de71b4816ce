"""The encodings of format version 1: decodes one array from its streams and children. Part of basalt_reader.py."""
import struct

import numpy as np

TILE_ROWS = 1024

# Physical types by name: width in bytes and numpy type. 128-bit integers become Python integers.
PHYSICAL = {
    "u8": (1, "<u1"), "u16": (2, "<u2"), "u32": (4, "<u4"), "u64": (8, "<u8"),
    "i8": (1, "<i1"), "i16": (2, "<i2"), "i32": (4, "<i4"), "i64": (8, "<i8"),
    "i128": (16, None), "f32": (4, "<f4"), "f64": (8, "<f8"),
}


class FormatError(Exception):
    pass


def require(condition, message):
    if not condition:
        raise FormatError(message)


class Node:
    def __init__(self, codec, count, params, streams, children):
        self.codec, self.count, self.params, self.streams, self.children = codec, count, params, streams, children


def tiles_of(count):
    return (count + TILE_ROWS - 1) // TILE_ROWS


def rows_in_tile(count, tile):
    return min(TILE_ROWS, count - tile * TILE_ROWS)


def load_fixed(data, physical, count):
    width, dtype = PHYSICAL[physical]
    require(len(data) == count * width, "a stream has a wrong length")
    if dtype is not None:
        return np.frombuffer(data, dtype)
    out = np.empty(count, object)
    for i in range(count):
        out[i] = int.from_bytes(data[16 * i:16 * i + 16], "little", signed=True)
    return out


def unpack_tile(words, width):
    """1024 values of `width` bits as uint64; words: one row of 32 lanes per 32 bits of a lane."""
    lanes = words.reshape(width, 32).astype(np.uint64)
    out = np.zeros(TILE_ROWS, np.uint64)
    mask = np.uint64((1 << width) - 1)
    for k in range(32):
        bit = k * width
        word, shift = bit >> 5, bit & 31
        value = lanes[word] >> np.uint64(shift)
        have = 32 - shift
        while have < width:
            word += 1
            value = value | (lanes[word] << np.uint64(have))
            have += 32
        out[32 * k:32 * k + 32] = value & mask
    return out


def wrap(value, bits, signed):
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def decode_packed(node, physical):
    references = load_fixed(node.streams[0], physical, tiles_of(node.count))
    descriptors = np.frombuffer(node.streams[1], "<u4")
    words = np.frombuffer(node.streams[2], "<u4")
    require(len(descriptors) == tiles_of(node.count), "packed: a wrong number of descriptors")
    width, dtype = PHYSICAL[physical]
    out = np.empty(node.count, object if dtype is None else dtype)
    for tile, descriptor in enumerate(descriptors.tolist()):
        first, bits = (descriptor >> 8) * 32, descriptor & 255
        rows = rows_in_tile(node.count, tile)
        place = slice(tile * TILE_ROWS, tile * TILE_ROWS + rows)
        values = np.zeros(TILE_ROWS, np.uint64)
        if bits:
            values = unpack_tile(words[first:first + 32 * bits], bits)
        if dtype is None:
            reference = references[tile]
            out[place] = [wrap(reference + int(v), 128, True) for v in values[:rows]]
        else:
            reference = np.uint64(int(references[tile]) & (2**64 - 1))
            with np.errstate(over="ignore"):
                out[place] = (values[:rows] + reference).astype("<u%d" % width).view(dtype)
    return out


def decode_delta(node, physical):
    width, dtype = PHYSICAL[physical]
    checkpoints = load_fixed(node.streams[0], physical, tiles_of(node.count))
    deltas = decode(node.children[0], "i%d" % (8 * width))
    out = np.empty(node.count, object if dtype is None else dtype)
    for tile in range(tiles_of(node.count)):
        begin, rows = tile * TILE_ROWS, rows_in_tile(node.count, tile)
        value = int(checkpoints[tile])
        for i in range(rows):
            if i > 0:
                value = wrap(value + int(deltas[begin + i]), 8 * width, physical[0] == "i")
            out[begin + i] = value
    return out


class L3Model:
    """One predictor: base, coefficients of i, C(i, 2), C(i, 3), and how the value is finished."""

    def __init__(self, model, width, shift, phased, words, at, value_bytes):
        def take(two):
            nonlocal at
            value = words[at] | (words[at + 1] << 32 if two else 0)
            at += 2 if two else 1
            return value

        def signed(value, bits):
            return value - (1 << bits) if value >> (bits - 1) else value

        is_wide = 5 <= model <= 7
        degree = 0 if model < 2 else model - 1 if model < 5 else model - 4
        self.width, self.wide, self.fraction = width, is_wide or width > 31, shift if is_wide else 32
        self.base = take(value_bytes > 4)
        c = [take(is_wide) for _ in range(degree)]
        if not is_wide:
            c = [signed(v, 32) << shift if j == 0 else (signed(v, 32) >> 5) << (v & 31) for j, v in enumerate(c)]
        self.c = [take(is_wide) if phased else 0] + c + [0] * (3 - degree)
        self.end = at

    def values(self, i, residuals):
        """Values (64 bits, unsigned) of the local rows i."""
        i = i.astype(object)
        y = self.c[0] + self.c[1] * i + self.c[2] * (i * (i - 1) // 2) + self.c[3] * (i * (i - 1) * (i - 2) // 6)
        out = []
        for one, residual in zip(y.tolist(), residuals.tolist()):
            one = wrap(one, 64, True) >> self.fraction
            offset = one + residual if self.wide else wrap(one + residual, 32, True)
            out.append(wrap(self.base + offset, 64, False))
        return np.array(out, object)


def stream_bits(words, at, width, count):
    """`count` values of `width` bits from bit `at` on, least significant bit first."""
    if width == 0:
        return np.zeros(count, np.uint64)
    bits = int.from_bytes(words.tobytes(), "little") >> at
    mask = (1 << width) - 1
    return np.array([bits >> (width * j) & mask for j in range(count)], np.uint64)


def decode_l3(node, physical):
    width, dtype = PHYSICAL[physical]
    starts = np.frombuffer(node.streams[0], "<u4").tolist()
    records = np.frombuffer(node.streams[1], "<u8").tolist()
    params = np.frombuffer(node.streams[2], "<u4").tolist()
    words = np.frombuffer(node.streams[3], "<u4")
    firsts = [record & 0xFFF for record in records]
    units = (node.count + 255) // 256
    for j in range((units + 15) // 16):
        here = sum(1 << first % 16 for first in firsts if first // 16 == j)
        before = sum(first // 16 < j for first in firsts)
        require(starts[j] == here | before << 16, "l3: starts do not fit the partitions")
    out = np.empty(node.count, object)

    for part, record in enumerate(records):
        first_unit, end_unit = firsts[part], firsts[part + 1] if part + 1 < len(records) else units
        first, end = first_unit * 256, min(node.count, end_unit * 256)
        kind, residual_bits, shift, phased = record >> 12 & 15, record >> 16 & 127, record >> 23 & 63, record >> 29 & 1
        at, place = record >> 30 & 0xFFFF, record >> 46
        if kind == 8:
            out[first:end] = l3_runs(params, at, words[place * 8 + shift:], first, end, width)
            continue
        model = L3Model(kind, residual_bits, shift, phased, params, at, width)
        rows = np.arange(end - first)
        residuals = np.zeros(end - first, np.uint64)
        for unit in range(first_unit, end_unit) if model.width else []:
            tile = unit // 4 * 4
            if tile >= first_unit and tile + 4 <= end_unit:
                begin = (place + (tile - first_unit) * model.width) * 8
                values = unpack_tile(words[begin:begin + 32 * model.width], model.width)[unit % 4 * 256:][:256]
            else:
                begin = (place + (unit - first_unit) * model.width) * 8
                # Lane l's eight values follow each other.
                values = stream_bits(words[begin:begin + 8 * model.width], 0, model.width, 256).reshape(32, 8).T.ravel()
            row = unit * 256
            residuals[row - first:row - first + 256] = values[:end - row]
        out[first:end] = model.values(rows, residuals)
    bits = 8 * width
    return np.array([wrap(v, bits, physical[0] == "i") for v in out], dtype)


def l3_runs(params, at, data, first, end, width):
    """The rows first…end of a partition of runs."""
    runs, value_bits, end_bits = params[at] & 0x3FFFF, params[at] >> 18 & 127, params[at] >> 25
    inner, word = params[at + 1] & 0x7FF, params[at + 1] >> 11
    values_model = L3Model(inner & 15, value_bits, inner >> 4 & 63, inner >> 10, params, at + 2, width)
    index = np.arange(runs)
    values = values_model.values(index, stream_bits(data, 0, value_bits, runs))
    stored = stream_bits(data, runs * value_bits, end_bits, runs)
    tiles = range(first // 1024, (end - 1) // 1024 + 1)
    first_bits = (runs - 1).bit_length()
    first_runs = [0] + stream_bits(data, runs * (value_bits + end_bits), first_bits, len(tiles) - 1).tolist()
    if word & 15 == 15:
        ends = []
        for j, tile in enumerate(tiles):
            stop = first_runs[j + 1] if j + 1 < len(tiles) else runs
            ends += [tile * 1024 + int(stored[run]) + 1 - first for run in range(int(first_runs[j]), int(stop))]
        ends = np.array(ends, np.int64)
    else:
        ends_model = L3Model(word & 15, end_bits, word >> 4 & 63, word >> 10 & 1, params, values_model.end, 4)
        ends = np.array([e & 0xFFFFFFFF for e in ends_model.values(index, stored)], np.int64)
    require(len(ends) == runs and ends[-1] == end - first, "l3: runs do not fill their partition")
    require(bool(np.all(np.diff(ends, prepend=0) > 0)), "l3: run ends do not ascend")
    for run, tile in zip(first_runs, tiles):
        row = max(0, tile * 1024 - first)
        require((run == 0 or ends[int(run) - 1] <= row) and ends[int(run)] > row, "l3: a tile names a wrong run")
    return np.repeat(values, np.diff(ends, prepend=0))


def galp_exceptions(words, at, bits):
    """(row of the tile, value) of each exception of the block that begins at word `at`."""
    count, width = words[at] & 0x7FF, words[at] >> 11 & 127
    require(words[at] >> 18 == 0 and width <= bits, "galp: an impossible block")
    at += 1
    base = 0
    if width < bits:
        base = words[at] | (words[at + 1] << 32 if bits == 64 else 0)
        at += 2 if bits == 64 else 1
    rows = []
    if count <= 64:
        listed = np.array(words[at + 1:at + 1 + (count + 3) // 4], "<u4").tobytes()
        lanes = [lane for lane in range(32) if words[at] >> lane & 1]
        at += 1 + (count + 3) // 4
        for entry in listed[:count]:
            rows.append((entry & 31) * 32 + lanes[0])
            if entry & 128:
                lanes.pop(0)
        require(not lanes, "galp: lanes without exceptions")
    else:
        rows = [row * 32 + lane for lane in range(32) for row in range(32) if words[at + lane] >> row & 1]
        at += 32
    require(len(rows) == count, "galp: a wrong number of exceptions")
    stored = stream_bits(np.array(words[at:at + (count * width + 31) // 32], "<u4"), 0, width, count)
    return [(row, base + int(value)) for row, value in zip(rows, stored)]


def decode_galp(node, physical):
    width, dtype = PHYSICAL[physical]
    bits, unsigned, real = 8 * width, np.dtype("<u%d" % width), np.dtype(dtype).type
    integers = decode(node.children[0], "i%d" % bits)
    schemes = node.streams[0]
    tiles = tiles_of(node.count)
    require(len(schemes) == tiles, "galp: a wrong number of schemes")
    dictionaries = np.frombuffer(node.streams[1], "<u2").reshape(-1, 10).tolist()
    words = np.frombuffer(node.streams[3], "<u4").tolist()
    starts = [0] * (tiles + 1)
    if words:
        starts = np.frombuffer(node.streams[2], "<u2" if len(words) <= 65535 else "<u4").tolist()
    require(len(starts) == tiles + 1, "galp: a wrong number of starts")
    out = np.empty(node.count, dtype)
    for tile in range(tiles):
        begin, rows = tile * TILE_ROWS, rows_in_tile(node.count, tile)
        numbers = integers[begin:begin + rows].astype(unsigned)
        exceptions = []
        if starts[tile] < starts[tile + 1]:
            exceptions = galp_exceptions(words, starts[tile], 16 if schemes[tile] == 254 else bits)
        if schemes[tile] == 255:
            out[begin:begin + rows] = numbers.view(dtype)
        elif schemes[tile] == 254:
            left_bits, size, *entries = dictionaries[tile // 128]
            right_bits = bits - left_bits
            index = [int(n) >> right_bits for n in numbers]
            left = {row: value for row, value in exceptions}
            require(max(index) < size, "galp: an index beyond the dictionary")
            patterns = [left.get(i, entries[index[i]]) << right_bits | int(n) & ((1 << right_bits) - 1)
                        for i, n in enumerate(numbers)]
            out[begin:begin + rows] = np.array(patterns, unsigned).view(dtype)
        else:
            e = max(e for e in range(19) if e * (e + 1) // 2 <= schemes[tile])
            f = schemes[tile] - e * (e + 1) // 2
            products = (numbers * unsigned.type(10**f)).view("<i%d" % width)
            values = products.astype(dtype) * real("1e-%d" % e)
            patterns = values.view(unsigned).copy()
            for row, value in exceptions:
                patterns[row] = value
            out[begin:begin + rows] = patterns.view(dtype)
    return out


def decode_rle(node, physical):
    values = decode(node.children[0], physical)
    ends = decode(node.children[1], "u32").astype(np.int64)
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    entries = np.frombuffer(node.streams[0], "<u4").reshape(-1, 2)
    require(len(entries) == tiles_of(node.count), "rle: a wrong number of tile entries")
    for tile, (first_run, consumed) in enumerate(entries.tolist()):
        row = tile * TILE_ROWS
        require(starts[first_run] + consumed == row and ends[first_run] > row, "rle: a tile entry names a wrong run")
    return np.repeat(values, ends - starts)


def decode_plain_bytes(node, lengths):
    starts = np.frombuffer(node.streams[0], "<u8").tolist()
    data = node.streams[1]
    out, at = [], 0
    for row, length in enumerate(lengths.tolist()):
        if row % TILE_ROWS == 0:
            require(starts[row // TILE_ROWS] == at, "plain: a tile starts elsewhere")
        out.append(data[at:at + length])
        at += length
    require(starts[-1] == at == len(data), "plain: lengths and bytes differ")
    return out


def fsst_table(data):
    """Symbols by code, and whether there are escapes."""
    count, flags, histogram = data[0], data[1], data[2:10]
    require(sum(histogram) == count and flags <= 1, "fsst: a table that does not hold together")
    symbols, at = [], 10
    for length in range(8, 0, -1):
        for _ in range(histogram[length - 1]):
            symbols.append(bytes(data[at:at + length]))
            at += length
    require(at <= len(data) < at + 4 and not any(data[at:]), "fsst: a table of a wrong size")
    return symbols, flags == 0


def fsst_decode(codes, symbols, has_escapes):
    out, at = [], 0
    while at < len(codes):
        code = codes[at]
        if code == 255:
            require(has_escapes and at + 1 < len(codes), "fsst: an escape where there can be none")
            out.append(bytes(codes[at + 1:at + 2]))
            at += 2
        else:
            require(code < len(symbols), "fsst: a code beyond its table")
            out.append(symbols[code])
            at += 1
    return b"".join(out)


def decode_fsst(node, lengths):
    parse, shift, zeros = node.params[0], node.params[1], bytes(node.params[2:])
    require(parse <= 1 and zeros == b"\0\0", "fsst: unknown parameters")
    tiles = tiles_of(node.count)
    tables = ((tiles - 1) >> shift) + 1 if tiles else 0
    places = np.frombuffer(node.streams[0][:4 * (tables + 1)], "<u4").tolist()
    starts = np.frombuffer(node.streams[1], "<u8").tolist()
    code_lengths = decode(node.children[0], "u32").tolist()
    piece_starts = np.frombuffer(node.streams[3], "<u4").tolist() or [0] * (tiles + 1)
    pieces = np.frombuffer(node.streams[4], "<u2").tolist()
    require(places[-1] == len(node.streams[0]) and len(starts) == tiles + 1 and starts[-1] == len(node.streams[2]) and
            len(piece_starts) == tiles + 1 and piece_starts[-1] == len(pieces), "fsst: starts that do not fit")
    out, at, piece = [], 0, 0
    for row in range(node.count):
        tile = row // TILE_ROWS
        if row % TILE_ROWS == 0:
            require(starts[tile] == at and piece_starts[tile] == piece, "fsst: a tile starts at a wrong place")
            symbols, has_escapes = fsst_table(node.streams[0][places[tile >> shift]:places[(tile >> shift) + 1]])
        end = at + code_lengths[row]
        length = int(lengths[row])
        text = b""
        if length > 4096:
            # Each piece decodes by itself.
            for begin in range(0, length, 4096):
                part = fsst_decode(node.streams[2][at:at + pieces[piece]], symbols, has_escapes)
                require(len(part) == min(4096, length - begin), "fsst: a piece of a wrong length")
                text += part
                at += pieces[piece]
                piece += 1
            require(at == end, "fsst: pieces that do not add up to their row")
        else:
            text = fsst_decode(node.streams[2][at:end], symbols, has_escapes)
        require(len(text) == length, "fsst: a row of a wrong length")
        out.append(text)
        at = end
    return out


def decode_tokens(node, lengths):
    starts = np.frombuffer(node.streams[0], "<u8").tolist()
    ids = decode(node.children[0], "u32").tolist()
    counts = decode(node.children[1], "u32").tolist()
    entries = decode(node.children[2], "bytes")
    require(all(1 <= len(entry) <= 255 for entry in entries), "tokens: an entry of a wrong size")
    require(max(ids, default=-1) < len(entries), "tokens: an id beyond the entries")
    out, at = [], 0
    for row, (count, length) in enumerate(zip(counts, lengths.tolist())):
        if row % TILE_ROWS == 0:
            require(starts[row // TILE_ROWS] == at, "tokens: a tile starts elsewhere")
        out.append(b"".join(entries[token] for token in ids[at:at + count]))
        require(len(out[-1]) == length, "tokens: lengths and tokens differ")
        at += count
    require(starts[-1] == at == len(ids), "tokens: counts and ids differ")
    return out


def ans_shares(table, symbols, bits):
    """How many of the 2^bits slots each symbol has."""
    groups = (symbols + 31) // 32
    widths, at = table[:groups], (groups + 3) // 4 * 4
    shares = []
    for width in widths:
        require(width <= bits + 1, "ans: shares have too many bits")
        here = min(32, symbols - len(shares))
        size = (here * width + 31) // 32 * 4
        packed = int.from_bytes(table[at:at + size], "little")
        shares += [packed >> (width * i) & ((1 << width) - 1) for i in range(here)]
        at += size
    require(at == len(table) and sum(shares) == 1 << bits, "ans: shares do not fill the table")
    return shares


def decode_ans(node, physical):
    width, dtype = PHYSICAL[physical]
    reference, symbols, unit = struct.unpack("<QII", node.params)
    require(unit in (8, 64) and (symbols > 0) == (node.count > 0), "ans: impossible parameters")
    if node.count == 0:
        return np.empty(0, dtype)
    bits = 12 if symbols <= 256 else 14
    shares = ans_shares(node.streams[0], symbols, bits)
    first = np.cumsum([0] + shares).tolist()
    owner = np.repeat(np.arange(symbols), shares).tolist()
    starts = np.frombuffer(node.streams[1], "<u4").tolist()
    require(starts[0] == 0 and starts[-1] * 4 == len(node.streams[2]), "ans: units do not fill their stream")
    out = []
    for u in range(len(starts) - 1):
        block = node.streams[2][4 * starts[u]:4 * starts[u + 1]]
        states = np.frombuffer(block[:128], "<u4").tolist()
        words = np.frombuffer(block[128:], "<u2").tolist()
        rows = min(unit * TILE_ROWS, node.count - len(out))
        steps, tail, at = (rows + 31) // 32, words[0], 1
        for step in range(steps):
            if step == steps - tail:
                states = [state - 65536 for state in states]
            for lane in range(min(32, rows - 32 * step)):
                slot = states[lane] & ((1 << bits) - 1)
                symbol = owner[slot]
                states[lane] = shares[symbol] * (states[lane] >> bits) + slot - first[symbol]
                out.append(symbol)
                if step < steps - tail and states[lane] < 65536:
                    states[lane] = states[lane] << 16 | words[at]
                    at += 1
        if tail == 0:
            states = [state - 65536 for state in states]
        require(not any(states) and not any(words[at:]) and len(words) - at <= 1, "ans: a unit is not used up")
    return np.array([wrap(reference + symbol, 8 * width, physical[0] == "i") for symbol in out], dtype)


def decode_stride(node, physical):
    width, dtype = PHYSICAL[physical]
    step, = struct.unpack("<Q", node.params)
    require(step >> 8 * width == 0, "stride: the step is wider than the values")
    bases = decode(node.children[0], physical).tolist()
    return np.array([wrap(base + step * row, 8 * width, physical[0] == "i") for row, base in enumerate(bases)], dtype)


def decode_grouped(node, physical):
    width, dtype = PHYSICAL[physical]
    reference, values, bits = struct.unpack("<QII", node.params)
    require(reference >> 8 * width == 0, "grouped: the reference is wider than the values")
    require(values in (2, 4, 8, 16, 32) and 0 < bits <= min(8 * width, 64 // values), "grouped: impossible parameters")
    groups = decode(node.children[0], "u64").tolist()
    require(len(groups) == -(-node.count // values), "grouped: a wrong number of groups")
    codes = [groups[row // values] >> row % values * bits & ((1 << bits) - 1) for row in range(node.count)]
    return np.array([wrap(reference + code, 8 * width, physical[0] == "i") for code in codes], dtype)


def low_bits(numbers, physical):
    """64-bit numbers as integers of this type."""
    width, dtype = PHYSICAL[physical]
    return numbers.astype("<u8").astype("<u%d" % width).view(dtype)


def decode_sum(node, physical):
    residual = decode(node.children[0], "i%d" % (8 * PHYSICAL[physical][0])).astype("<u8")
    return low_bits(residual + decode(node.children[1], physical).astype("<u8"), physical)


def decode_map(node, physical):
    base, = struct.unpack("<q", node.params)
    place = decode(node.children[0], "i64").astype("<u8") - np.uint64(base & (2**64 - 1))
    entries = decode(node.children[1], physical)
    require(len(place) == 0 or int(place.max()) < len(entries), "map: a source beyond the entries")
    return entries[place.astype("<i8")]


def decode_product(node, physical):
    multiplier, shift, zero = struct.unpack("<QII", node.params)
    require(shift < 8 * PHYSICAL[physical][0] and zero == 0, "product: impossible parameters")
    factor = decode(node.children[0], physical).astype("<u8")
    source = decode(node.children[1], physical)
    scaled = (source >> source.dtype.type(shift)).astype("<u8") * np.uint64(multiplier)
    return low_bits(factor * scaled, physical)


def decode_place(node, physical):
    base, = struct.unpack("<Q", node.params)
    require(base < 2 ** (8 * PHYSICAL[physical][0]), "place: a base wider than its values")
    checkpoints = load_fixed(node.streams[0], "u32", tiles_of(node.count))
    source = decode(node.children[0], "i64")
    places = np.zeros(node.count, "<u8")
    for i in range(node.count):
        if i % TILE_ROWS == 0:
            places[i] = checkpoints[i // TILE_ROWS]
        elif source[i] == source[i - 1]:
            places[i] = (int(places[i - 1]) + 1) % 2 ** 32
    return low_bits(places + np.uint64(base), physical)


def decode_column(node, physical):
    require(len(node.params) == 4, "column: a wrong number of parameters")
    return low_bits(decode(node.children[0], node.codec.removeprefix("column_")), physical)


def decode_numbered(node):
    digits, text = node.params[0], bytes(node.params[1:])
    require(1 <= digits <= 19, "numbered: a wrong number of digits")
    numbers = decode(node.children[0], "u64").tolist()
    require(all(number < 10 ** digits for number in numbers), "numbered: a number of too many digits")
    return [text + str(number).zfill(digits).encode() for number in numbers]


def decode_strings(node):
    lengths = decode(node.children[0], "u32")
    child = node.children[1]
    if child.codec == "plain":
        return decode_plain_bytes(child, lengths)
    if child.codec == "constant":
        require(all(length == len(child.params) for length in lengths.tolist()), "constant: lengths and bytes differ")
        return [bytes(child.params)] * child.count
    if child.codec == "fsst":
        return decode_fsst(child, lengths)
    if child.codec == "tokens":
        return decode_tokens(child, lengths)
    raise FormatError("unknown bytes codec " + child.codec)


def decode(node, physical):
    """Values of an array without NULLs: a numpy array, or a list of bytes."""
    if node.codec == "constant":
        width = PHYSICAL[physical][0]
        require(len(node.params) == 16, "constant: a wrong number of parameters")
        value = load_fixed(node.params[:width], physical, 1)
        return np.repeat(value, node.count)
    if node.codec == "plain":
        return load_fixed(node.streams[0], physical, node.count)
    if node.codec == "packed":
        return decode_packed(node, physical)
    if node.codec == "delta":
        return decode_delta(node, physical)
    if node.codec == "l3":
        return decode_l3(node, physical)
    if node.codec == "galp":
        return decode_galp(node, physical)
    if node.codec == "rle":
        return decode_rle(node, physical)
    if node.codec == "strings":
        return decode_strings(node)
    if node.codec == "numbered":
        return decode_numbered(node)
    if node.codec == "ans":
        return decode_ans(node, physical)
    if node.codec == "stride":
        return decode_stride(node, physical)
    if node.codec == "grouped":
        return decode_grouped(node, physical)
    if node.codec == "sum":
        return decode_sum(node, physical)
    if node.codec == "map":
        return decode_map(node, physical)
    if node.codec == "product":
        return decode_product(node, physical)
    if node.codec == "place":
        return decode_place(node, physical)
    if node.codec.startswith("column_"):
        return decode_column(node, physical)
    if node.codec == "dict":
        codes = decode(node.children[0], "u32")
        entries = decode(node.children[1], physical)
        return [entries[code] for code in codes.tolist()] if physical == "bytes" else entries[codes]
    raise FormatError("unknown codec " + node.codec)


def child_count(codec, physical):
    if codec.startswith("column_"):
        return 1
    return {"constant": 0, "plain": 0, "packed": 0, "l3": 0, "delta": 1, "galp": 1, "fsst": 1, "rle": 2, "dict": 2,
            "strings": 2, "tokens": 3, "numbered": 1, "ans": 0, "stride": 1, "grouped": 1, "sum": 2, "map": 2, "product": 2,
            "place": 1, "validity": 1 if physical is None else 2}[codec]
