#!/usr/bin/env bash
# Runs the tests of a build tree, says which cases were skipped and why, and ends with one line: "N passed, N failed".
#   scripts/run_tests.sh build/release [ctest arguments]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

build=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

ctest --test-dir "$build" --output-on-failure --parallel "${JOBS:-$(nproc)}" "$@" | tee "$log"
status=${PIPESTATUS[0]}

# One test of ctest is a whole program of many cases; both counts are useful, the last line counts programs.
total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p; s/.* tests passed, .* out of \([0-9]*\)$/\1/p' "$log" | tail -n 1)
failed=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$log" | tail -n 1)
skipped=$(grep -c '\*\*\*Skipped' "$log")
if [[ -z $total ]]; then
    echo "no tests ran" >&2
    exit 1
fi
# Cases that a program skips do not show in its own line.
grep -ah "skipped: " "$build/Testing/Temporary/LastTest.log" | sort | uniq -c | while read -r cases why; do
    printf '!!! %s times: %s\n' "$cases" "$why"
done
if ((skipped > 0)); then note=", $skipped skipped"; else note=""; fi
echo "$((total - failed - skipped)) passed, $failed failed$note"
exit "$status"
