#!/usr/bin/env bash
# Builds the Python package into build/python, over the libraries of build/release, where a wheel is not wanted or
# cannot be made: needs nanobind in the Python that is used (PYTHON=…), and nothing else from a package index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$(command -v "${PYTHON:-python3}")
cmake --install build/release --prefix build/install >/dev/null
cmake -G Ninja -S python -B build/python-module "-DCMAKE_PREFIX_PATH=$PWD/build/install" "-DPython_EXECUTABLE=$python" >/dev/null
cmake --build build/python-module --parallel "${JOBS:-2}"
cmake --install build/python-module --prefix build/python >/dev/null
echo "python: PYTHONPATH=$PWD/build/python"
