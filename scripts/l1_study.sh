#!/usr/bin/env bash
# How often the L1 cache serves the residuals of learned integers: the published layout of L3, its model
# (1 − ⌈W/8⌉/W of the loads of lanes with W words), and our own layout, W = 2, 4, … 24. Needs a GPU, Nsight Compute and the
# right to read its counters; no network.
#
#   scripts/l1_study.sh [PROGRAM]      PROGRAM: l3_gpu_bench (default: that of build/gpu or build/release)
#
#   OUT      folder for l1_study.json and the profiler's log (default build/gpu-results)
#   L1_LOG   a log of an earlier run: only the table is made of it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

out=${OUT:-build/gpu-results}
mkdir -p "$out"
log=${L1_LOG:-$out/l1_study.csv}
fail() { echo "l1-study: error: $*" >&2; exit 1; }

if [[ -z ${L1_LOG:-} ]]; then
    program=${1:-}
    for candidate in build/gpu/bench/l3_gpu_bench build/release/bench/l3_gpu_bench; do
        if [[ -z $program && -x $candidate ]]; then program=$candidate; fi
    done
    [[ -x $program ]] || fail "no l3_gpu_bench; build with -DBASALT_CUDA=ON -DBASALT_BENCH=ON"
    profiler=$(command -v ncu || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/ncu /usr/local/cuda*/bin/ncu \
        /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -n 1) || true
    [[ -n $profiler ]] || fail "no ncu (Nsight Compute) on this machine"
    loads=l1tex__t_sectors_pipe_lsu_mem_global_op_ld
    rm -f "$log"
    "$profiler" --csv --print-units base --kernel-name 'regex:decode_(published|learned)' \
        --metrics "$loads.sum,${loads}_lookup_hit.sum,l1tex__t_sector_hit_rate.pct,gpu__time_duration.sum" \
        --log-file "$log" "$program" --l1 ||
        fail "the profiler failed; its log: $log (ERR_NVGPUCTRPERM: counters are reserved for root on this machine)"
fi

python3 - "$log" "$out/l1_study.json" <<'PYTHON'
import csv
import json
import sys

LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
ROWS = 64 << 20  # that every launch decodes

with open(sys.argv[1], encoding="utf-8") as source:
    lines = [line for line in source if line.startswith('"')]
launches = {}
for line in csv.DictReader(lines):
    launch = launches.setdefault(int(line["ID"]), {"kernel": line["Kernel Name"]})
    launch[line["Metric Name"]] = float(line["Metric Value"].replace(",", ""))
launches = [launches[number] for number in sorted(launches)]
published = [launch for launch in launches if "decode_published" in launch["kernel"]]
ours = [launch for launch in launches if "decode_learned" in launch["kernel"]]
if len(published) != 12 or len(ours) != 12:
    sys.exit(f"l1-study: error: {len(published)} and {len(ours)} launches in {sys.argv[1]}, 12 and 12 were expected")


def measured(launch):
    sectors = launch[LOADS + ".sum"]
    return {"loads_hit": round(launch[LOADS + "_lookup_hit.sum"] / sectors, 4),
            "all_hit": round(launch["l1tex__t_sector_hit_rate.pct"] / 100, 4),
            "sectors_per_row": round(sectors / ROWS, 4), "nanoseconds": launch["gpu__time_duration.sum"]}


table = []
for i in range(12):
    words = 2 * (i + 1)
    table.append({"words": words, "width": i + 1, "model": round(1 - -(-words // 8) / words, 4),
                  "published": measured(published[i]), "ours": measured(ours[i])})
print("Share of the sectors asked for by loads that the L1 cache has (and how many sectors are asked for per row)\n")
print("|  W | width | model | published | ours | published, sectors per row | ours | published, us | ours |")
print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
for row in table:
    a, b = row["published"], row["ours"]
    print(f"| {row['words']:2} | {row['width']} | {100 * row['model']:.0f} % | {100 * a['loads_hit']:.1f} % "
          f"| {100 * b['loads_hit']:.1f} % | {a['sectors_per_row']:.3f} | {b['sectors_per_row']:.3f} "
          f"| {a['nanoseconds'] / 1000:.0f} | {b['nanoseconds'] / 1000:.0f} |")
with open(sys.argv[2], "w", encoding="utf-8") as target:
    json.dump({"benchmark": "l1_study", "rows": table}, target, indent=1)
    target.write("\n")
print(f"\nl1-study: JSON is in {sys.argv[2]}")
PYTHON
