#!/usr/bin/env bash
# Builds the libFuzzer targets in the sanitizers' tree and runs each for FUZZ_SECONDS (default 60). New inputs are kept
# under build/fuzz/corpus; an input that crashes is left in build/fuzz/crashes and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

# libduckdb is not instrumented, so containers that it filled look overflowed.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_container_overflow=0:detect_odr_violation=0}
seconds=${FUZZ_SECONDS:-60}
scripts/build_sanitized.sh basalt_fuzz

mkdir -p build/fuzz/crashes
status=0
for program in build/asan/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus"
    seeds=()
    if [[ -d tests/fuzz/corpus/$name ]]; then seeds+=("tests/fuzz/corpus/$name"); fi
    if "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=0 -verbosity=0 \
        -artifact_prefix=build/fuzz/crashes/"$name"- "$corpus" "${seeds[@]}" >build/fuzz/"$name".log 2>&1; then
        echo "fuzz: $name: clean after $seconds s"
    else
        tail -n 40 build/fuzz/"$name".log
        echo "fuzz: $name: FAILED (inputs in build/fuzz/crashes)" >&2
        status=1
    fi
done
exit $status
