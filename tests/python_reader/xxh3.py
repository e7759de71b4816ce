"""XXH3 with 64 bits and seed 0, from the published specification of xxHash 0.8; slow and plain."""
import struct

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3, P64_4, P64_5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                                     0x27D4EB2F165667C5)
PMX_1, PMX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
M64 = (1 << 64) - 1
M32 = (1 << 32) - 1


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * PMX_1 & M64
    return h ^ h >> 32


def avalanche_xxh64(h):
    h ^= h >> 33
    h = h * P64_2 & M64
    h ^= h >> 29
    h = h * P64_3 & M64
    return h ^ h >> 32


def swap64(value):
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def rotl(value, bits):
    return (value << bits | value >> (64 - bits)) & M64


def short(data):
    n = len(data)
    if n > 8:
        low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32))
        high = u64(data, n - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48))
        return avalanche((n + swap64(low) + high + fold(low, high)) & M64)
    if n >= 4:
        value = (u32(data, n - 4) + (u32(data, 0) << 32)) ^ (u64(SECRET, 8) ^ u64(SECRET, 16))
        value ^= rotl(value, 49) ^ rotl(value, 24)
        value = value * PMX_2 & M64
        value ^= (value >> 35) + n
        value = value * PMX_2 & M64
        return value ^ value >> 28
    if n:
        value = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche_xxh64(value ^ (u32(SECRET, 0) ^ u32(SECRET, 4)))
    return avalanche_xxh64(u64(SECRET, 56) ^ u64(SECRET, 64))


def mix16(data, at, secret):
    return fold(u64(data, at) ^ u64(SECRET, secret), u64(data, at + 8) ^ u64(SECRET, secret + 8))


def middle(data):
    n = len(data)
    total = n * P64_1 & M64
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            total += mix16(data, 16 * i, 32 * i) + mix16(data, n - 16 * (i + 1), 32 * i + 16)
        return avalanche(total & M64)
    for i in range(8):
        total += mix16(data, 16 * i, 16 * i)
    total = avalanche(total & M64)
    for i in range(8, n // 16):
        total += mix16(data, 16 * i, 16 * (i - 8) + 3)
    total += mix16(data, n - 16, 136 - 17)
    return avalanche(total & M64)


def accumulate(lanes, data, at, secret):
    for i in range(8):
        value = u64(data, at + 8 * i)
        key = value ^ u64(SECRET, secret + 8 * i)
        lanes[i ^ 1] = (lanes[i ^ 1] + value) & M64
        lanes[i] = (lanes[i] + (key & M32) * (key >> 32)) & M64


def scramble(lanes):
    for i in range(8):
        value = lanes[i] ^ lanes[i] >> 47
        lanes[i] = (value ^ u64(SECRET, 128 + 8 * i)) * P32_1 & M64


def long(data):
    n = len(data)
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    blocks = (n - 1) // 1024
    for block in range(blocks):
        for stripe in range(16):
            accumulate(lanes, data, 1024 * block + 64 * stripe, 8 * stripe)
        scramble(lanes)
    for stripe in range((n - 1 - 1024 * blocks) // 64):
        accumulate(lanes, data, 1024 * blocks + 64 * stripe, 8 * stripe)
    accumulate(lanes, data, n - 64, 192 - 64 - 7)
    result = n * P64_1 & M64
    for i in range(4):
        result += fold(lanes[2 * i] ^ u64(SECRET, 11 + 16 * i), lanes[2 * i + 1] ^ u64(SECRET, 11 + 16 * i + 8))
    return avalanche(result & M64)


def xxh3_64(data):
    return short(data) if len(data) <= 16 else middle(data) if len(data) <= 240 else long(data)
