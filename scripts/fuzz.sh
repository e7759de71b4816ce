#!/usr/bin/env bash
# Builds the libFuzzer targets with clang and runs each for FUZZ_SECONDS (default 60). New inputs are kept under
# build/fuzz/corpus; an input that crashes is left in build/fuzz/crashes and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

seconds=${FUZZ_SECONDS:-60}
if ! compgen -G 'tests/fuzz/*.cpp' >/dev/null; then
    echo "fuzz: no targets in tests/fuzz yet"
    exit 0
fi
# Having clang is not enough: its run-time libraries are a package of their own.
fuzzer_links() { echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; }
if ! fuzzer_links; then
    source scripts/apt_tool.sh
    apt_tool clang libclang-rt-dev
fi
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --parallel "${JOBS:-$(nproc)}" --target basalt_fuzz

mkdir -p build/fuzz/crashes
status=0
for program in build/fuzz/fuzz/fuzz_*; do
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
