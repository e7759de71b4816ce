#!/usr/bin/env bash
# Everything that only a GPU can prove, on a machine that may have no network: build, tests, compute-sanitizer,
# benchmarks. Results as JSON and logs in $OUT (default build/gpu-results); one short table comes last.
#
#   scripts/gpu_check.sh [build] [test] [sanitize] [bench] [queries]        no stage named: all but queries
#
# TPC-H and SSB beside DuckDB take several calls, each below ten minutes: QUERY_PART=0/3 makes the data, 1/3 to 3/3 run
# every third query, compile starts without compiled kernels. The JSON in the build folder is put together from them.
#   QUERY_PART=1/3 scripts/gpu_check.sh queries
#
#   BASALT_BUNDLE      folder made by scripts/gpu_bundle.sh; default .deps/bundle if it is there
#   GPU_ARCH           architecture to build for (default 90)
#   TEST_SECONDS       time budget of each test program (default 240)
#   TEST_SHARDS        processes that share a program's tests (default 4)
#   SANITIZE_SECONDS   time budget of each sanitizer tool (default 120)
#   SANITIZE_FILTER    GoogleTest filter of the small run (default GpuSmall.*: every encoder and decoder, some statements, few tiles)
#   BENCH_SECONDS      time budget of each benchmark program (default 180)
#   BENCH_SCALE        TPC-H scale of the statements (default 10; 0 leaves them out)
#   BENCH_FILTER       Google Benchmark filter (default all)
#   QUERY_SET          tpch (default) or ssb
#   QUERY_SCALE        scale of its data (default 10)
#   QUERY_ORDER        natural (default) or clustered
#   QUERY_PART         part of the queries (default 0/3)
#   QUERY_ENGINES      some of gpu,cpu,auto,duckdb,parquet (default all)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C.UTF-8

stages=("$@")
if ((${#stages[@]} == 0)); then stages=(build test sanitize bench); fi
out=${OUT:-build/gpu-results}
build=build/gpu
mkdir -p "$out"
table=()
status=0

now() { date +%s; }
row() { table+=("$(printf '%-28s %-8s %6s s   %s' "$1" "$2" "$3" "${4:-}")"); }
# Runs a command under a time budget into a log; says how it went. Arguments: label, seconds, log, command.
timed() {
    local label=$1 budget=$2 log=$3 start code
    shift 3
    start=$(now)
    timeout --kill-after=10 "$budget" "$@" >"$log" 2>&1
    code=$?
    took=$(($(now) - start))
    if ((code == 0)) && grep -qaE '^\[==========\] 0 tests from' "$log"; then
        row "$label" EMPTY "$took" "the filter matches no test"
        status=1
        return 1
    fi
    case $code in
    0) row "$label" ok "$took" "$(summary "$log")" ;;
    124 | 137)
        row "$label" TIMEOUT "$took" "over $budget s; log: $log"
        status=1
        ;;
    *)
        row "$label" FAILED "$took" "exit $code; log: $log"
        tail -n 60 "$log"
        status=1
        ;;
    esac
    return $code
}
# The one line of a log that says most: GoogleTest's count, or the sanitizer's verdict.
summary() {
    local verdict passed
    verdict=$(grep -aE 'ERROR SUMMARY|RACECHECK SUMMARY' "$1" | tail -n 1 | sed 's/^=* *//')
    passed=$(awk '/^\[  PASSED  \]/ { sum += $4 } END { if (NR) print sum }' "$1")
    echo "${verdict:-${passed:+$passed tests passed}}"
}

find_nvrtc() {
    if [[ -n ${BASALT_NVRTC:-} ]]; then return; fi
    local nvcc folder
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    for folder in .deps/nvrtc/lib "$(dirname "$(dirname "$(readlink -f "$nvcc")")")/lib64" "${CUDA_HOME:-/usr/local/cuda}/lib64"; do
        if [[ -e $folder/libnvrtc.so.13 ]]; then
            BASALT_NVRTC=$(readlink -f "$folder/libnvrtc.so.13")
            export BASALT_NVRTC
            return
        fi
    done
}

stage_build() {
    if [[ -z ${BASALT_BUNDLE:-} && -f .deps/bundle/manifest.txt && ! -f .deps/duckdb/.complete ]]; then
        export BASALT_BUNDLE=$PWD/.deps/bundle
    fi
    scripts/setup.sh || exit 1
    local tools=()
    if ! command -v nvcc >/dev/null && [[ -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]; then
        tools+=("-DCUDAToolkit_ROOT=${CUDA_HOME:-/usr/local/cuda}")
    fi
    timed configure 120 "$out/configure.log" cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release \
        -DBASALT_CUDA=ON -DBASALT_SQL=ON -DBASALT_BENCH=ON -DBASALT_CUDA_ARCHITECTURES="${GPU_ARCH:-90}" "${tools[@]}" || return 1
    timed build "${BUILD_SECONDS:-560}" "$out/build.log" cmake --build "$build" --parallel "$(nproc)"
}

# One shard of a test program; GoogleTest deals the tests out.
run_shard() { # shard, log, program, arguments...
    local shard=$1 log=$2
    shift 2
    GTEST_TOTAL_SHARDS=${TEST_SHARDS:-4} GTEST_SHARD_INDEX=$shard "$@" >"$log" 2>&1
}
# All shards at once; the first bad exit code is theirs.
run_shards() { # name, program, arguments...
    local name=$1 shard code=0 pids=()
    shift
    for ((shard = 0; shard < ${TEST_SHARDS:-4}; ++shard)); do
        run_shard "$shard" "$out/test_$name.$shard.log" "$@" &
        pids+=($!)
    done
    for shard in "${!pids[@]}"; do
        wait "${pids[$shard]}" || code=$?
        grep -aE '^\[  (PASSED|FAILED)|Failure' "$out/test_$name.$shard.log"
    done
    return $code
}
export -f run_shard run_shards

stage_test() {
    local program name seen=" " found=no
    # What needs the GPU first, in case time runs out.
    for program in "$build"/tests/basalt_{cuda,sql}_tests "$build"/tests/basalt_*_tests; do
        name=${program##*/basalt_}
        name=${name%_tests}
        if [[ ! -x $program || $seen = *" $name "* ]]; then continue; fi
        seen+="$name "
        found=yes
        BASALT_BIN=$PWD/$build/basalt BASALT_BUILD_DIR=$PWD/$build BASALT_SOURCE_DIR=$PWD \
            out=$out timed "test $name" "${TEST_SECONDS:-240}" "$out/test_$name.log" bash -c 'run_shards "$@"' - \
            "$name" "$program" --gtest_brief=1 ${TEST_FILTER:+--gtest_filter="$TEST_FILTER"}
    done
    if [[ $found = no ]]; then row test SKIPPED 0 "no test programs in $build/tests"; fi
}

stage_sanitize() {
    local sanitizer tool program=$build/tests/basalt_cuda_tests
    sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer \
        "${CUDA_HOME:-/usr/local/cuda}"/compute-sanitizer/compute-sanitizer 2>/dev/null | head -n 1)
    if [[ -z $sanitizer || ! -x $program ]]; then
        row sanitize SKIPPED 0 "no compute-sanitizer or no $program"
        return
    fi
    for tool in memcheck racecheck; do
        timed "$tool" "${SANITIZE_SECONDS:-120}" "$out/$tool.log" "$sanitizer" --tool "$tool" --error-exitcode 9 \
            "$program" --gtest_brief=1 --gtest_filter="${SANITIZE_FILTER:-GpuSmall.*}"
    done
}

stage_bench() {
    local program name found=no
    # Statements are measured on TPC-H's lineitem, as the program itself makes it.
    if [[ -z ${BASALT_BENCH_FILE:-} && ${BENCH_SCALE:-10} != 0 ]]; then
        timed "TPC-H scale ${BENCH_SCALE:-10}" 300 "$out/gen.log" "$build/basalt" gen tpch --scale "${BENCH_SCALE:-10}" \
            --out "$build/tpch" --format basalt && export BASALT_BENCH_FILE=$PWD/$build/tpch/lineitem.basalt
    fi
    for program in "$build"/bench/*_bench; do
        [[ -x $program ]] || continue
        name=${program##*/}
        found=yes
        if [[ $name = *_gpu_bench ]]; then
            timed "$name" "${BENCH_SECONDS:-180}" "$out/$name.log" "$program" --json "$out/$name.json"
            tail -n 40 "$out/$name.log"
        else
            timed "$name" "${BENCH_SECONDS:-180}" "$out/$name.log" "$program" \
                ${BENCH_FILTER:+--benchmark_filter="$BENCH_FILTER"} \
                --benchmark_out="$out/$name.json" --benchmark_out_format=json
        fi
    done
    if [[ $found = no ]]; then row bench SKIPPED 0 "no benchmark programs in $build/bench"; fi
}

stage_queries() {
    local set=${QUERY_SET:-tpch} scale=${QUERY_SCALE:-10} order=${QUERY_ORDER:-natural} part=${QUERY_PART:-0/3} name
    name=$set-$scale-$order
    timed "$name $part" 580 "$out/$name.log" python3 "bench/$set.py" --bin "$build/basalt" --folder "$build/$set" \
        --scale "$scale" --order "$order" --stage "$part" ${QUERY_ENGINES:+--engines "$QUERY_ENGINES"} \
        --json "$build/$name.json"
    tail -n 40 "$out/$name.log"
    if [[ -f $build/$name.json ]]; then cp "$build/$name.json" "$out/"; fi
}

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "gpu-check: no GPU on this machine (nvidia-smi does not answer)" >&2
    exit 1
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
find_nvrtc
for stage in "${stages[@]}"; do
    case $stage in
    build) stage_build || break ;;
    test) stage_test ;;
    sanitize) stage_sanitize ;;
    bench) stage_bench ;;
    queries) stage_queries ;;
    *)
        echo "gpu-check: unknown stage '$stage' (build, test, sanitize, bench, queries)" >&2
        exit 2
        ;;
    esac
done
echo
printf '%s\n' "${table[@]}" | tee "$out/summary.txt"
exit $status
