#!/usr/bin/env bash
# Builds the tree of sanitizers and fuzzers, build/asan, with clang, which is installed first where it is missing.
#   scripts/build_sanitized.sh [target...]      default: everything
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

# Having clang is not enough: its run-time libraries are a package of their own.
fuzzer_links() { echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; }
if ! fuzzer_links; then
    source scripts/apt_tool.sh
    apt_tool clang libclang-rt-dev
fi
cmake --preset asan >/dev/null
cmake --build build/asan --parallel "${JOBS:-$(nproc)}" --target "${@:-all}"
