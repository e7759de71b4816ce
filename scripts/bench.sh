#!/usr/bin/env bash
# Builds and runs the benchmarks; JSON per program into build/bench-results (or $OUT), a table on the terminal.
#   scripts/bench.sh [Google Benchmark arguments, for example --benchmark_filter=packed]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

if ! compgen -G 'bench/*.cpp' >/dev/null && ! compgen -G 'bench/*.cu' >/dev/null; then
    echo "bench: no benchmarks in bench/ yet"
    exit 0
fi
results=${OUT:-build/bench-results}
mkdir -p "$results"
cmake --preset release -DBASALT_BENCH=ON >/dev/null
cmake --build build/release --parallel "${JOBS:-$(nproc)}"
gpu=no
if [[ -e /dev/nvidia0 ]]; then gpu=yes; fi
for program in build/release/bench/*_bench; do
    name=${program##*/}
    if [[ $gpu = no && -f bench/${name%_bench}.cu || $gpu = no && -f bench/$name.cu ]]; then
        echo "bench: $name: skipped, no GPU"
        continue
    fi
    "$program" --benchmark_out="$results/$name.json" --benchmark_out_format=json "$@"
done
echo "bench: JSON is in $results"
