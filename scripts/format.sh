#!/usr/bin/env bash
# Formats our sources with clang-format; with --check only lists the files that differ, and fails if there are any.
# Different versions of clang-format disagree in details: version 14, that of Debian 12, decides.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

wanted=14
formatter=""
for candidate in clang-format-$wanted clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $wanted\."; then
        formatter=$candidate
        break
    fi
done
if [[ -z $formatter ]]; then
    source scripts/apt_tool.sh
    apt_tool clang-format-$wanted
    formatter=clang-format-$wanted
fi

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- \
    'include/*.h' 'src/*.h' 'src/*.cpp' 'src/*.cu' 'src/*.cuh' 'cli/*.h' 'cli/*.cpp' 'tests/*.h' 'tests/*.cpp' \
    'bench/*.h' 'bench/*.cpp' 'bench/*.cu' 'bench/*.cuh' 'examples/*.cpp' 'examples/*.cu' 'python/src/*.h' 'python/src/*.cpp' | while read -r file; do [[ -f $file ]] && echo "$file"; done)
if ((${#files[@]} == 0)); then
    echo "format: no sources yet"
    exit 0
fi
if [[ ${1:-} = --check ]]; then
    bad=()
    for file in "${files[@]}"; do
        "$formatter" --style=file "$file" | cmp -s - "$file" || bad+=("$file")
    done
    if ((${#bad[@]} > 0)); then
        printf 'format: these files are not formatted (run: make format)\n' >&2
        printf '  %s\n' "${bad[@]}" >&2
        exit 1
    fi
    echo "format: ${#files[@]} files are formatted"
else
    "$formatter" --style=file -i "${files[@]}"
    echo "format: ${#files[@]} files"
fi
