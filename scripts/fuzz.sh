#!/usr/bin/env bash
# Builds the libFuzzer targets with clang and runs each for FUZZ_SECONDS (default 60), or only those named
# as arguments. They start from the golden files. New inputs are kept under build/fuzz/corpus; an input that crashes,
# takes ten seconds or half a gigabyte at once is left in build/fuzz/crashes and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

# libduckdb is not instrumented, so containers that it filled look overflowed.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_container_overflow=0:detect_odr_violation=0:allocator_may_return_null=1}
seconds=${FUZZ_SECONDS:-60}
scripts/build_sanitized.sh basalt_fuzz basalt_cli

# What the targets begin with: files as they are, and the same rows as Arrow.
mkdir -p build/fuzz/seeds/file build/fuzz/seeds/ipc
cp tests/golden/v1/*.basalt build/fuzz/seeds/file/
for file in tests/golden/v1/*.basalt; do
    seed=build/fuzz/seeds/ipc/$(basename "$file" .basalt).arrow
    [[ -f $seed ]] || ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 build/asan/basalt export -q "$file" "$seed" || rm -f "$seed"
done

mkdir -p build/fuzz/crashes
status=0
names=("$@")
if ((${#names[@]} == 0)); then names=(build/asan/fuzz/fuzz_*); names=("${names[@]##*/fuzz_}"); fi
for name in "${names[@]}"; do
    folders=("build/fuzz/corpus/$name")
    mkdir -p "${folders[0]}"
    if [[ -d build/fuzz/seeds/$name ]]; then folders+=("build/fuzz/seeds/$name"); fi
    log=build/fuzz/$name.log
    # On x86_64 DuckDB keeps plans in memory of an allocator of its own, where a check after each input does not look: what
    # they point to seems lost. Tests of SQL look for leaks when their sessions are gone.
    leaks=1
    if [[ $name = sql* ]]; then leaks=0; fi
    if "build/asan/fuzz/fuzz_$name" -max_total_time="$seconds" -detect_leaks="$leaks" -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=10 \
        -max_len=131072 -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/crashes/"$name"- "${folders[@]}" >"$log" 2>&1; then
        echo "fuzz: $name: clean after $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
    else
        tail -n 40 "$log"
        echo "fuzz: $name: FAILED (inputs in build/fuzz/crashes)" >&2
        status=1
    fi
done
exit $status
