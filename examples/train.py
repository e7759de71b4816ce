#!/usr/bin/env python3
"""Trains a small model from a .basalt file, and prints the share of the time that it waited for data.

    examples/train.py [--rows N] [--device cuda|cpu] [--epochs N]

The rows are made first: a target that is a sum of waves of 16 columns. With --device cuda the file crosses the link
compressed and is decoded on the GPU."""

import argparse
import os
import tempfile
import time

import numpy as np
import pyarrow
import torch

import pybasalt
from pybasalt.torch import Batches

FEATURES = 16


def make_file(path, rows, files):
    """Values of four digits behind the point, as measurements have them."""
    random = np.random.default_rng(1)
    weights = random.normal(size=FEATURES).astype(np.float32)
    for number in range(files):
        columns = {f"x{i}": np.round(random.normal(size=rows // files), 4).astype(np.float32) for i in range(FEATURES)}
        columns["y"] = sum(w * np.sin(columns[f"x{i}"]) for i, w in enumerate(weights)).astype(np.float32)
        pybasalt.write(pyarrow.table(columns), os.path.join(path, f"part{number}.basalt"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    names = [f"x{i}" for i in range(FEATURES)]
    with tempfile.TemporaryDirectory() as folder:
        make_file(folder, options.rows, options.files)
        paths = [os.path.join(folder, f"part{number}.basalt") for number in range(options.files)]
        batches = Batches(paths, [*names, "y"], batch_size=16_384, shuffle=True, device=options.device)
        model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
        model.to(options.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(options.epochs):
            batches.waited_s, begin, total, steps = 0.0, time.monotonic(), 0.0, 0
            for batch in batches:
                inputs = torch.stack([batch[name] for name in names], dim=1).to(options.device, non_blocking=True)
                target = batch["y"].to(options.device, non_blocking=True)
                loss = torch.nn.functional.mse_loss(model(inputs).squeeze(1), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total, steps = total + loss.item(), steps + 1
            took = time.monotonic() - begin
            print(f"epoch {epoch}: loss {total / steps:.4f}, {options.rows / took:,.0f} rows/s, "
                  f"waited for data {100 * batches.waited_s / took:.1f} % of {took:.2f} s")


if __name__ == "__main__":
    main()
