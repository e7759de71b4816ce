#!/usr/bin/env bash
# Packs what a GPU machine without network lacks into one folder (default .deps/bundle, under 50 MiB): headers of small
# libraries, the footer's generated header, nanoarrow's sources, DuckDB's headers, TPC-H sources and x86_64 library.
# On that machine scripts/gpu_check.sh unpacks it. Such a machine brings nvcc, a C++ compiler, CMake, Ninja, GoogleTest,
# Google Benchmark, fmt, zstd and lz4 itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

bundle=${1:-.deps/bundle}
target_arch=${BUNDLE_ARCH:-x86_64}
fail() { echo "gpu-bundle: error: $*" >&2; exit 1; }

[[ -f .deps/duckdb/.complete && -f .deps/nanoarrow/.complete ]] || fail "run make setup first"
command -v flatc >/dev/null || fail "flatc is missing; run make setup first"

scripts/setup.sh --fetch-library "$target_arch"
library=$(awk -v a="$target_arch" '$1 == "base" && $5 == "npm" && $4 == a { print $8 }' third_party/versions.txt)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/headers" "$work/duckdb" "$work/nanoarrow"

find_header() { # header -> the folder it is included from
    local folder
    for folder in /usr/include /usr/local/include; do
        if [[ -e $folder/$1 ]]; then echo "$folder"; return; fi
    done
    fail "$1 not found; run make setup first"
}
cp -rL "$(find_header flatbuffers/flatbuffers.h)/flatbuffers" "$work/headers/"
cp -rL "$(find_header CLI/CLI.hpp)/CLI" "$work/headers/"
xxhash=$(find_header xxhash.h)
cp -L "$xxhash"/xxh*.h "$work/headers/"
cp -r .deps/nanoarrow/. "$work/nanoarrow/"
# Answers and query texts of all scales are compiled in; the CSV files are only good for DuckDB's own tests.
cp -r .deps/duckdb/{include,third_party,tpch,tpcds,LICENSE} "$work/duckdb/"
rm -rf "$work/duckdb/tpch/dbgen/answers"/sf{1,10,100}* "$work/nanoarrow/.complete"

rm -rf "$bundle"
mkdir -p "$bundle"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -cf - duckdb nanoarrow headers |
    xz -6 -T0 >"$bundle/sources.tar.xz"
cp ".deps/cache/$library" "$bundle/"
# What changes with our own sources, so not in the archive. The same options as in
# cmake/BasaltDependencies.cmake, and headers of the same version in the archive.
flatc --cpp --cpp-std c++17 --scoped-enums --gen-object-api -o "$bundle" src/file/*.fbs
(cd "$bundle" && sha256sum sources.tar.xz "$library" ./*_generated.h >manifest.txt)
size=$(du -sm "$bundle" | cut -f 1)
((size <= 50)) || fail "the bundle has $size MiB, more than 50"
echo "gpu-bundle: $bundle, $size MiB, for $target_arch"
