#!/usr/bin/env bash
# Runs clang-tidy over our own sources, in parallel, with the compile commands of build/release.
#   scripts/tidy.sh [files]      default: every .cpp under src/ and cli/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

if ! command -v clang-tidy >/dev/null; then
    source scripts/apt_tool.sh
    apt_tool clang-tidy
fi
database=build/release/compile_commands.json
[[ -f $database ]] || { echo "tidy: no $database; run make build first" >&2; exit 1; }

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
    echo "tidy: no sources yet"
    exit 0
fi
# GCC-only flags in the commands are not clang's business.
printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" \
    clang-tidy -p build/release --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
echo "tidy: ${#chosen[@]} files are clean"
