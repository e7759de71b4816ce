#!/usr/bin/env python3
"""The 22 queries of TPC-H by several sessions of one process at once, which share the GPU.

    bench/many_sessions.py --folder build/tpch/scale-10/basalt --scale 10 [--sessions 8] [--seconds 30] [--json OUT]

One session runs all texts first, and its rows are what everybody else must get. Then one session, and after it all of
them, run texts in orders of their own until the time is over; printed are statements a second of both, how they are
spread over the sessions, the longest statement and how much memory the process has gained. With --device cpu the same
on the CPU: a soak test of any length. pybasalt must be importable: installed, or by PYTHONPATH=build/python.
"""
import argparse
import json
import random
import sys
import threading
import time

import pybasalt

import tpch


def resident_mib():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def open_session(options):
    session = pybasalt.connect(device=options.device, threads=options.threads, strict=True, gpu_memory=options.gpu_memory)
    for table in tpch.TABLES:
        session.sql(f"create view {table} as from '{options.folder}/{table}.basalt'")
    return session


def rows_of(session, text):
    """Sorted where the order does not say all: sums of doubles do not depend on who runs them."""
    return sorted(map(repr, session.sql(text).fetchall()))


class Load:
    """Statements of several sessions until a moment."""

    def __init__(self, sessions, expected, until):
        self.expected, self.until = expected, until
        self.counts, self.longest, self.errors = [0] * len(sessions), 0.0, []
        threads = [threading.Thread(target=self.run, args=place) for place in enumerate(sessions)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.perf_counter() - start

    def run(self, place, session):
        order = random.Random(place)
        while True:
            for text in order.sample(list(self.expected), len(self.expected)):
                begin = time.perf_counter()
                if begin > self.until or self.errors:
                    return
                try:
                    if rows_of(session, text) != self.expected[text]:
                        self.errors.append(f"session {place}: other rows: {text[:200]}")
                except pybasalt.Error as error:
                    self.errors.append(f"session {place}: {error}")
                self.longest = max(self.longest, time.perf_counter() - begin)
                self.counts[place] += 1

    def rate(self):
        return sum(self.counts) / self.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="with TABLE.basalt")
    parser.add_argument("--scale", type=float, required=True, help="of the tables, which one query names")
    parser.add_argument("--bin", default="build/release/basalt", help="prints the texts")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--gpu-memory", default=0)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--variants", type=int, default=3, help="texts of each query, with other literals")
    parser.add_argument("--seconds", type=float, default=30, help="of each of the two measurements")
    parser.add_argument("--json")
    options = parser.parse_args()
    standard = tpch.read_texts(options.bin, options.scale)
    texts = [tpch.vary(name, text, random.Random(f"{name} {variant}")) if variant > 0 else text
             for name, text in standard.items() for variant in range(options.variants)]
    sessions = [open_session(options) for _ in range(options.sessions)]
    expected = {text: rows_of(sessions[0], text) for text in texts}
    results = {"sessions": options.sessions, "device": options.device, "texts": len(texts)}
    for name, some in (("one", sessions[:1]), ("all", sessions)):
        before = resident_mib()
        load = Load(some, expected, time.perf_counter() + options.seconds)
        if load.errors:
            sys.exit("\n".join(load.errors[:5]))
        results[name] = {"statements": sum(load.counts), "per_second": round(load.rate(), 1), "counts": load.counts,
                         "longest_ms": round(1000 * load.longest, 1), "gained_mib": round(resident_mib() - before, 1)}
        print(f"{len(some)} sessions: {sum(load.counts)} statements, {load.rate():.1f} a second, the longest "
              f"{1000 * load.longest:.0f} ms, each session {min(load.counts)} to {max(load.counts)}; memory of the "
              f"process +{results[name]['gained_mib']:.0f} MiB")
    results["ratio"] = round(results["all"]["per_second"] / results["one"]["per_second"], 2)
    print(f"together {results['ratio']:.2f} x the statements of one; all rows equal")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
