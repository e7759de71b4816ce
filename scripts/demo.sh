#!/usr/bin/env bash
# A tour in a few minutes: TPC-H at scale 0.1 as Parquet, converted to Basalt, inspected, checked and queried, on the CPU
# and, where there is one, on the GPU. Ends with a table of sizes and times. Called by `make demo`, which builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

basalt=${BASALT_BIN:-build/release/basalt}
data=${DEMO_DATA:-demo-data}
scale=${DEMO_SCALE:-0.1}
tables=(lineitem orders partsupp part customer supplier nation region)

if [[ ! -x $basalt ]]; then
    echo "demo: $basalt is not there; run make build first" >&2
    exit 1
fi
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() { printf '$ basalt %s\n' "$*"; "$basalt" "$@"; }

# Seconds of one run, to the millisecond. The best of three: the first one warms the page cache and the kernel cache.
best_seconds() {
    local best="" run start end took
    for run in 1 2 3; do
        start=$(date +%s%N)
        "$@" >/dev/null 2>&1 || { echo failed; return; }
        end=$(date +%s%N)
        took=$((end - start))
        if [[ -z $best ]] || ((took < best)); then best=$took; fi
    done
    printf '%d.%03d' $((best / 1000000000)) $((best / 1000000 % 1000))
}

# A terse query where the file type is left open, to run once over Parquet and once over Basalt.
query_6="select sum(l_extendedprice * l_discount) as revenue from '%' where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24"
query_1="select l_returnflag, l_linestatus, sum(l_quantity) as quantity, sum(l_extendedprice * (1 - l_discount)) as revenue, avg(l_discount) as discount, count(*) as orders from '%' where l_shipdate <= date '1998-09-02' group by all order by all"
query_max="select min(l_shipdate), max(l_shipdate), count(*) from '%' where l_quantity > 25"

step "TPC-H at scale $scale, as Parquet"
rm -rf "$data"
mkdir -p "$data"
show gen tpch --scale "$scale" --out "$data" --format parquet

step "Convert to Basalt"
show convert "$data/lineitem.parquet" "$data/lineitem.basalt"
for table in "${tables[@]:1}"; do
    "$basalt" convert --quiet "$data/$table.parquet" "$data/$table.basalt"
done

step "Look at it"
show info "$data/lineitem.basalt"

step "Check every checksum and every value"
show verify "$data/lineitem.basalt"

step "Ask it something (TPC-H Q6, then Q1)"
show sql --timing "${query_6//%/$data/lineitem.basalt}"
show sql --timing "${query_1//%/$data/lineitem.basalt}"

devices=(cpu)
step "Where it can run"
show devices
if "$basalt" sql --device cuda 'select 42' >/dev/null 2>&1; then
    devices+=(cuda)
    step "The same on the GPU"
    show sql --timing --device cuda "${query_6//%/$data/lineitem.basalt}"
else
    echo "No usable GPU here: everything above ran on the CPU, and the same files and queries run on a GPU unchanged."
fi

# Free text is still stored plainly, and weighs more than everything else together: show the tables without it too.
for table in lineitem orders partsupp; do
    column=$(head -c 1 <<<"$table")_comment
    if [[ $table = partsupp ]]; then column=ps_comment; fi
    "$basalt" sql "copy (select * exclude ($column) from '$data/$table.parquet') to '$data/${table}_terse.parquet' (format parquet, compression zstd)" >/dev/null 2>&1
    "$basalt" convert --quiet "$data/${table}_terse.parquet" "$data/${table}_terse.basalt"
done

step "Sizes (Parquet with zstd)"
printf '%-22s %12s %12s %8s\n' table 'Parquet' 'Basalt' 'ratio'
total_parquet=0
total_basalt=0
size_row() { awk -v n="$1" -v p="$2" -v b="$3" 'BEGIN { printf "%-22s %9.2f MB %9.2f MB %7.2fx\n", n, p / 1e6, b / 1e6, p / b }'; }
for table in "${tables[@]}"; do
    parquet=$(stat -c %s "$data/$table.parquet")
    ours=$(stat -c %s "$data/$table.basalt")
    total_parquet=$((total_parquet + parquet))
    total_basalt=$((total_basalt + ours))
    size_row "$table" "$parquet" "$ours"
done
size_row total "$total_parquet" "$total_basalt"
for table in lineitem orders partsupp; do
    size_row "$table, no comment" "$(stat -c %s "$data/${table}_terse.parquet")" "$(stat -c %s "$data/${table}_terse.basalt")"
done

step "Times in seconds, whole process, best of three"
printf '%-22s %12s' query 'Parquet cpu'
for device in "${devices[@]}"; do printf ' %12s' "Basalt $device"; done
printf '\n'
for name in query_6 query_1 query_max; do
    text=${!name}
    case $name in
    query_6) label='Q6 (filter, sum)' ;;
    query_1) label='Q1 (group by)' ;;
    *) label='min, max, count' ;;
    esac
    printf '%-22s %12s' "$label" "$(best_seconds "$basalt" sql --device cpu "${text//%/$data/lineitem.parquet}")"
    for device in "${devices[@]}"; do
        printf ' %12s' "$(best_seconds "$basalt" sql --device "$device" "${text//%/$data/lineitem.basalt}")"
    done
    printf '\n'
done
printf '\nThe files are in %s/. Try:  %s sql\n' "$data" "$basalt"
