#!/usr/bin/env python3
"""Columns of integers from files in the page cache to tensors on the GPU: pybasalt beside pyarrow and a copy.

    bench/tensors.py --table L.parquet [--columns a,b] [--parts N] [--rows N] [--json OUT]

The table is cut into parts, each a file of both kinds (of --rows rows, from the table's beginning again where it ends,
for columns longer than the table has): the first one warms up (kernels, CUDA), and of the others each
column is read once, since what was read once stays on the device. The ceiling of a column is the slower of two: its
encoded bytes over the link, by a pinned copy in the same run, and all bytes through the device's memory, by a copy there.
pybasalt must be importable: installed, or by PYTHONPATH=build/python.
"""
import argparse
import json
import os
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq
import torch

import pybasalt


def seconds(action):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = action()
    torch.cuda.synchronize()
    taken = time.perf_counter() - begin
    return taken, result


def ceilings():
    """Bytes a second over the link from pinned memory, and through the device's memory, read and written."""
    count = 1 << 29
    host = torch.empty(count, dtype=torch.uint8, pin_memory=True)
    device = [torch.zeros(count, dtype=torch.uint8, device="cuda") for _ in range(2)]
    link = min(seconds(lambda: device[0].copy_(host, non_blocking=True))[0] for _ in range(5))
    memory = min(seconds(lambda: device[0].copy_(device[1]))[0] for _ in range(5))
    return count / link, 2 * count / memory


def rows_of(table, begin, count):
    """So many rows from one on, and from the table's first on where it ends."""
    pieces = []
    while count > 0:
        begin %= table.num_rows
        pieces.append(table.slice(begin, count))
        begin, count = begin + pieces[-1].num_rows, count - pieces[-1].num_rows
    return pa.concat_tables(pieces)


def by_pyarrow(path, name):
    return torch.from_numpy(pq.read_table(path, columns=[name])[name].combine_chunks().to_numpy()).cuda()


def by_pybasalt(path, name):
    return torch.from_dlpack(pybasalt.open(path).column(name, device="cuda"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True)
    parser.add_argument("--columns", help="default: all of integers")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--rows", type=int, help="of each part; default: all parts together are the table")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.parts < 2 or (options.rows is not None and options.rows < 1):
        parser.error("at least two parts are needed, and a row of each")
    if reason := pybasalt.why_no_gpu():
        raise SystemExit(f"no GPU: {reason}")
    schema = pq.read_schema(options.table)
    names = options.columns.split(",") if options.columns else [f.name for f in schema if pa.types.is_integer(f.type)]
    table = pq.read_table(options.table, columns=names)
    share = options.rows or -(-table.num_rows // options.parts)
    link, memory = ceilings()
    print(f"link {link / 1e9:.1f} GB/s, device memory {memory / 1e9:.0f} GB/s, {share:,} rows a part")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"part{i}") for i in range(options.parts)]
        for i, path in enumerate(paths):
            part = rows_of(table, i * share, share)
            pybasalt.write(part, path + ".basalt")
            pq.write_table(part, path + ".parquet", compression="zstd")
        for name in names:
            ours, theirs, shares = [], [], []
            for path in paths:
                encoded = next(c["encoded_bytes"] for c in pybasalt.open(path + ".basalt").columns if c["name"] == name)
                taken, tensor = seconds(lambda: by_pybasalt(path + ".basalt", name))
                parquet, other = seconds(lambda: by_pyarrow(path + ".parquet", name))
                if not torch.equal(tensor, other):
                    raise SystemExit(f"{name}: other values than pyarrow's")
                plain = tensor.numel() * tensor.element_size()
                ours.append(taken)
                theirs.append(parquet)
                shares.append(max(encoded / link, (encoded + plain) / memory) / taken)
            best = min(range(1, len(paths)), key=lambda i: ours[i])
            rows.append({"column": name, "plain_bytes": plain, "ms": ours[best] * 1e3, "pyarrow_ms": min(theirs[1:]) * 1e3,
                         "times_as_fast": min(theirs[1:]) / ours[best], "share_of_ceiling": shares[best],
                         "plain_gb_s": plain / ours[best] / 1e9})
            print("{column:18} {ms:8.2f} ms  {plain_gb_s:7.1f} GB/s  {share_of_ceiling:6.1%} of the ceiling  "
                  "{times_as_fast:6.1f} x pyarrow ({pyarrow_ms:.1f} ms)".format(**rows[-1]), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"date": time.strftime("%Y-%m-%d"), "rows": share, "link_gb_s": link / 1e9,
                       "memory_gb_s": memory / 1e9, "gpu": torch.cuda.get_device_name(), "columns": rows}, out, indent=1)


if __name__ == "__main__":
    main()
