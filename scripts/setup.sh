#!/usr/bin/env bash
# Installs what is missing to build Basalt, and nothing else.
#
#   1. distribution packages (apt), only those that are not there yet
#   2. the pinned archives of third_party/versions.txt, checked by sha256, unpacked under .deps/
#
# A second run finds everything in place and prints one line. With BASALT_BUNDLE=<folder> (made by
# scripts/gpu_bundle.sh) nothing is installed or fetched: everything comes from that folder.
#
#   scripts/setup.sh                           all of it
#   scripts/setup.sh --fetch-library x86_64    only DuckDB's library for that machine, into .deps/cache
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
versions="$root/third_party/versions.txt"
deps="$root/.deps"
cache="$deps/cache"
arch=$(uname -m)
did_something=no

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

if [[ $arch != x86_64 && $arch != aarch64 ]]; then
    fail "this machine is '$arch'; Basalt's pinned DuckDB library exists for x86_64 and aarch64 only"
fi

# --- what this machine has ---------------------------------------------------------------------------

has_gpu() { [[ -e /dev/nvidia0 ]] || { have nvidia-smi && nvidia-smi -L >/dev/null 2>&1; }; }

# Our own pip toolkit must not count, or a second run would think that the machine brought one.
has_toolkit() { have nvcc || [[ -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]; }

# --- 1. distribution packages ------------------------------------------------------------------------

# "package:command" is satisfied by the command from anywhere; a bare package by dpkg alone.
wanted_packages() {
    echo g++:g++ make:make cmake:cmake ninja-build:ninja ccache:ccache pkg-config:pkg-config
    echo python3:python3 python3-pip:pip3 python3-numpy python3-venv python3-dev
    echo libflatbuffers-dev flatbuffers-compiler:flatc libxxhash-dev libcli11-dev libfmt-dev
    echo libgtest-dev libgmock-dev libbenchmark-dev libedit-dev libzstd-dev liblz4-dev
    # npm only fetches the DuckDB library: no need for it once the archive is here.
    if ! [[ -e $deps/duckdb/.complete || -e $cache/$(duckdb_archive) ]]; then echo npm:npm; fi
}

duckdb_archive() { awk -v a="$arch" '$1 == "base" && $5 == "npm" && $4 == a { print $8 }' "$versions"; }
source_archive() { awk -v n="$1" '$2 == n && $5 == "pip-sdist" { print $8 }' "$versions"; }

missing_packages() {
    local entry package command bare=()
    for entry in $(wanted_packages); do
        package=${entry%%:*}
        command=${entry#"$package"}
        command=${command#:}
        if [[ -z $command ]]; then
            bare+=("$package")
        elif ! have "$command"; then
            echo "$package"
        fi
    done
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${bare[@]}" 2>/dev/null | awk '$1 == "installed" { print $2 }' || true)
    for package in "${bare[@]}"; do
        grep -qx -- "$package" <<<"$installed" || echo "$package"
    done
}

install_packages() {
    if ! have dpkg-query || ! have apt-get; then
        say "no apt here: assuming that compiler, CMake, Ninja and the libraries of CONTRIBUTING.md are installed"
        return
    fi
    local missing
    missing=$(missing_packages | sort -u | tr '\n' ' ')
    missing=${missing% }
    [[ -n $missing ]] || return 0
    did_something=yes

    local become=()
    if [[ $(id -u) != 0 ]]; then
        have sudo || fail "these packages are missing and there is no sudo; as root, run: apt-get install $missing"
        become=(sudo)
    fi
    say "installing distribution packages that the build needs: $missing"
    # Unquoted on purpose: one word per package.
    # shellcheck disable=SC2086
    if ! "${become[@]}" apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1; then
        say "refreshing the package lists first"
        "${become[@]}" apt-get update -qq || fail "apt-get update failed; check the network, then run: apt-get install $missing"
        # shellcheck disable=SC2086
        "${become[@]}" apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
            fail "apt-get could not install: $missing"
    fi
}

# --- 2. pinned archives ------------------------------------------------------------------------------

checksum_ok() { echo "$2  $1" | sha256sum --check --status 2>/dev/null; }

# A pip that can download: the one on PATH may belong to a Python without it.
pip() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            "$python" -m pip --disable-pip-version-check --no-input "$@"
            return
        fi
    done
    fail "no Python with pip found; install python3-pip"
}

# pip asks a source package's build tool for metadata even when it only downloads, which means installing Meson, Cython
# and CMake and configuring the package: three minutes for nothing. These stand-ins answer from the file PKG-INFO.
write_metadata_standins() { # folder
    mkdir -p "$1/scikit_build_core"
    touch "$1/scikit_build_core/__init__.py"
    tee "$1/mesonpy.py" >"$1/scikit_build_core/build.py" <<'PYTHON'
import os, shutil


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        fields = dict(line.rstrip().split(": ", 1) for line in file if line.startswith(("Name: ", "Version: ")))
    name = f"{fields['Name']}-{fields['Version']}.dist-info"
    os.makedirs(os.path.join(metadata_directory, name))
    shutil.copy("PKG-INFO", os.path.join(metadata_directory, name, "METADATA"))
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def unavailable(*arguments, **named):
    raise RuntimeError("this stand-in only gives metadata")


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel
build_wheel = build_sdist = build_editable = prepare_metadata_for_build_editable = unavailable
PYTHON
}

fetch() { # name version fetch sha256 archive
    local name=$1 version=$2 how=$3 sha=$4 archive=$5 work
    if [[ -f $cache/$archive ]] && checksum_ok "$cache/$archive" "$sha"; then return; fi
    did_something=yes
    say "fetching $name $version"
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/fetch.XXXXXX")
    # With the hash in a requirements file pip checks the archive before it looks inside.
    printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha" >"$work/requirements.txt"
    local ok=yes
    case $how in
    pip-sdist)
        write_metadata_standins "$work/standins"
        PYTHONPATH="$work/standins" pip download --quiet --no-deps --no-binary "$name" --no-build-isolation \
            --require-hashes -r "$work/requirements.txt" -d "$work" >"$work/log" 2>&1 ||
            pip download --quiet --no-deps --no-binary "$name" --require-hashes \
                -r "$work/requirements.txt" -d "$work" >"$work/log" 2>&1 || ok=no
        ;;
    pip-wheel)
        pip download --quiet --no-deps --only-binary :all: --require-hashes \
            -r "$work/requirements.txt" -d "$work" >"$work/log" 2>&1 || ok=no
        ;;
    npm) (cd "$work" && npm pack --silent "$name@$version") >"$work/log" 2>&1 || ok=no ;;
    *) fail "versions.txt: unknown way to fetch: $how" ;;
    esac
    if [[ $ok = no || ! -f $work/$archive ]]; then
        tail -n 5 "$work/log" >&2
        rm -rf "$work"
        fail "could not fetch $name $version"
    fi
    if ! checksum_ok "$work/$archive" "$sha"; then
        rm -rf "$work"
        fail "$archive does not have the pinned sha256 $sha: not used"
    fi
    mv "$work/$archive" "$cache/$archive"
    rm -rf "$work"
}

# Fetches the archives of one group for this machine, all at once.
fetch_group() {
    local group name version for_arch how sha archive fetches=() one failed=no
    while read -r group name version for_arch how _ sha archive; do
        [[ $group = "$1" && ($for_arch = any || $for_arch = "$arch") ]] || continue
        fetch "$name" "$version" "$how" "$sha" "$archive" &
        fetches+=($!)
    done < <(grep -v '^#' "$versions")
    for one in "${fetches[@]}"; do
        wait "$one" || failed=yes
    done
    [[ $failed = no ]] || exit 1
}

archives_of() {
    awk -v g="$1" -v a="$arch" '$1 == g && ($4 == "any" || $4 == a) { print $8 }' "$versions"
}

# One line that changes whenever a pin of the group, or the way it is unpacked, does.
stamp_of() {
    { awk -v g="$1" -v a="$arch" '$1 == g && ($4 == "any" || $4 == a) { print $7 }' "$versions"; echo layout-2; } | sha256sum | cut -c1-16
}

in_place() { [[ -f $deps/$2/.complete && $(<"$deps/$2/.complete") = "$(stamp_of "$1")" ]]; }

# Moves a finished folder to its place in one step, so that an interrupted run leaves nothing half done.
commit_folder() { # group built-folder name
    stamp_of "$1" >"$2/.complete"
    rm -rf "${deps:?}/$3"
    mv "$2" "$deps/$3"
}

unpack_duckdb() {
    local work=$deps/unpack.duckdb source=$deps/unpack.duckdb/source/external/duckdb out=$deps/unpack.duckdb/out part
    rm -rf "$work"
    mkdir -p "$work/source" "$out/lib" "$out/third_party"
    tar -xzf "$cache/$(source_archive duckdb)" -C "$work/source" --strip-components=1 --wildcards \
        'duckdb-*/external/duckdb/src/include' 'duckdb-*/external/duckdb/LICENSE' 'duckdb-*/external/duckdb/extension/tpch' \
        'duckdb-*/external/duckdb/extension/tpcds' 'duckdb-*/external/duckdb/extension/core_functions/include' 'duckdb-*/external/duckdb/third_party'
    mv "$source/src/include" "$out/include"
    cp -r "$source/extension/core_functions/include/." "$out/include/"
    mv "$source/extension/tpch" "$source/extension/tpcds" "$out/"
    # Queries and answers are compiled in; the same as files are only good for DuckDB's own tests.
    rm -rf "$out/tpcds/dsdgen/"{answers,queries,schema,tpcds.idx}
    mv "$source/LICENSE" "$out/LICENSE"
    # Headers that DuckDB's own headers include. Its fmt is kept apart: it would hide the system's.
    for part in concurrentqueue fast_float fastpforlib fmt fsst libpg_query re2 utf8proc yyjson; do
        (cd "$source/third_party" && find "$part" \( -name '*.h' -o -name '*.hpp' \) -print0 | tar -cf - --null -T -) | tar -xf - -C "$out/third_party"
    done
    tar -xzf "$cache/$(duckdb_archive)" -C "$out/lib" --strip-components=1 package/libduckdb.so
    commit_folder base "$out" duckdb
    rm -rf "$work"
}

unpack_nanoarrow() {
    local work=$deps/unpack.nanoarrow out=$deps/unpack.nanoarrow/out part
    rm -rf "$work"
    mkdir -p "$work/source" "$out/src/nanoarrow"
    tar -xzf "$cache/$(source_archive nanoarrow)" -C "$work/source" --strip-components=2 --wildcards 'nanoarrow-*/subprojects/*'
    for part in common hpp ipc device; do
        mv "$work/source/arrow-nanoarrow/src/nanoarrow/$part" "$out/src/nanoarrow/"
    done
    find "$work/source/arrow-nanoarrow/src/nanoarrow" -maxdepth 1 -type f -exec mv -t "$out/src/nanoarrow/" {} +
    # Tests and the tables of other platforms are of no use here.
    find "$out" \( -name '*_test.*' -o -name 'metal*' -o -name meson.build \) -delete
    mkdir -p "$out/flatcc/src"
    mv "$work"/source/flatcc-*/include "$out/flatcc/include"
    mv "$work"/source/flatcc-*/src/runtime "$out/flatcc/src/runtime"
    mv "$work"/source/flatcc-*/LICENSE "$out/flatcc/LICENSE"
    commit_folder base "$out" nanoarrow
    rm -rf "$work"
}

unpack_wheels() { # group target-folder
    local work=$deps/unpack.$2 archive
    rm -rf "$work"
    mkdir -p "$work/wheels"
    for archive in $(archives_of "$1"); do
        python3 -m zipfile -e "$cache/$archive" "$work/wheels"
    done
    # All NVIDIA wheels of CUDA 13 share one tree that looks like an installed toolkit.
    local out=$work/wheels/nvidia/cu13
    if [[ $1 = toolkit ]]; then
        # Zip files carry neither permissions nor links; nvcc looks for lib64, CMake for libcudart.so.
        find "$out/bin" "$out/nvvm/bin" -type f -exec chmod +x {} +
        ln -sfn lib "$out/lib64"
        ln -sfn libcudart.so.13 "$out/lib/libcudart.so"
    fi
    commit_folder "$1" "$out" "$2"
    rm -rf "$work"
}

fetch_everything() {
    mkdir -p "$deps"
    if ! in_place base duckdb || ! in_place base nanoarrow; then
        did_something=yes
        fetch_group base
        say "unpacking DuckDB (library, headers, generators of TPC-H and TPC-DS) and nanoarrow into .deps/"
        unpack_nanoarrow &
        unpack_duckdb
        wait $! || exit 1
    fi
    if has_toolkit || has_gpu; then
        if ! in_place nvrtc nvrtc; then
            did_something=yes
            fetch_group nvrtc
            say "unpacking NVRTC (compiles query kernels at run time) into .deps/nvrtc"
            unpack_wheels nvrtc nvrtc
        fi
    fi
    if has_gpu && ! has_toolkit && ! in_place toolkit cuda; then
        did_something=yes
        say "a GPU but no CUDA toolkit: taking the compiler from the Python package index"
        fetch_group toolkit
        unpack_wheels toolkit cuda
    fi
}

# --- offline bundle ----------------------------------------------------------------------------------

unpack_bundle() {
    local bundle=$1
    [[ -f $bundle/manifest.txt ]] || fail "BASALT_BUNDLE=$bundle is not a bundle (no manifest.txt)"
    (cd "$bundle" && sha256sum --check --quiet manifest.txt) || fail "the bundle is damaged"
    # Copied only when it differs: a new time stamp would compile everything again.
    mkdir -p "$deps/generated"
    local header stamp
    for header in "$bundle"/*_generated.h; do
        cmp -s "$header" "$deps/generated/${header##*/}" || cp "$header" "$deps/generated/"
    done
    stamp=$(grep -v _generated "$bundle/manifest.txt" | sha256sum | cut -c1-16)
    if [[ -f $deps/.bundle && $(<"$deps/.bundle") = "$stamp" ]]; then return; fi
    did_something=yes
    say "unpacking the offline bundle"
    rm -rf "$deps/duckdb" "$deps/nanoarrow" "$deps/headers"
    tar -xJf "$bundle/sources.tar.xz" -C "$deps"
    mkdir -p "$deps/duckdb/lib"
    tar -xzf "$bundle/$(duckdb_archive)" -C "$deps/duckdb/lib" --strip-components=1 package/libduckdb.so
    echo "$stamp" >"$deps/.bundle"
}

if [[ ${1:-} = --fetch-library ]]; then
    while read -r group name version for_arch how _ sha archive; do
        if [[ $group = base && $how = npm && $for_arch = "${2:?machine}" ]]; then fetch "$name" "$version" "$how" "$sha" "$archive"; fi
    done < <(grep -v '^#' "$versions")
    exit 0
elif [[ $# != 0 ]]; then
    fail "unknown argument '$1'"
fi

if [[ -n ${BASALT_BUNDLE:-} ]]; then
    unpack_bundle "$BASALT_BUNDLE"
else
    install_packages
    fetch_everything
fi
if [[ $did_something = no ]]; then say "everything is in place"; else say "done"; fi
