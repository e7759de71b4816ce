#!/usr/bin/env bash
# Runs clang-tidy over our own sources, in parallel, with compile commands of single files.
#   scripts/tidy.sh [files]      default: every .cpp under src/ and cli/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

if ! command -v clang-tidy >/dev/null; then
    source scripts/apt_tool.sh
    apt_tool clang-tidy
fi
# A tree of its own, which is never built: elsewhere folders are compiled together and files have no command.
cmake --preset release -B build/tidy -DBASALT_UNITY=OFF -DBASALT_CUDA=OFF >/dev/null
cmake --build build/tidy --target basalt_schema_header >/dev/null
database=build/tidy/compile_commands.json

if (($# > 0)); then
    files=("$@")
else
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- 'src/*.cpp' 'cli/*.cpp')
fi
# Only what this build compiles: sources of a library that is switched off have no compile command.
chosen=()
for file in "${files[@]}"; do
    if grep -qF "\"$PWD/$file\"" "$database"; then chosen+=("$file"); fi
done
if ((${#chosen[@]} == 0)); then
    echo "tidy: none of these files is compiled" >&2
    exit 1
fi
# GCC-only flags in the commands are not clang's business.
printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" \
    clang-tidy -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
echo "tidy: ${#chosen[@]} files are clean"
