#!/usr/bin/env bash
# Boots a guest with soft-RoCE and runs real ranks of `measure --backend verbs` in it. The last line
# is `N passed, N failed, N skipped`; where the guest can't be had all is skipped, with the reason.
#   --quick   each rank count, queue pair count, datatype, fault and sanitizer once (the default)
#   --full    the product of ranks, queue pairs, sizes and datatypes; and a pair write beside
#             ib_write_bw
#   --bench   that pair write alone, and no checks
#   --build FOLDER, --sanitized FOLDER   what to run, else build/release and, if it is there,
#             build/dev of this tree
set -uo pipefail
soft_roce=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$soft_roce/../.." && pwd)
extent=quick build=$root/build/release sanitized=
[[ ! -x $root/build/dev/gradhaul ]] || sanitized=$root/build/dev
while (($#)); do
  case $1 in
    --quick) extent=quick; shift ;;
    --full) extent=full; shift ;;
    --bench) extent=bench; shift ;;
    --build) build=$(realpath "$2"); shift 2 ;;
    --sanitized) sanitized=$(realpath "$2"); shift 2 ;;
    *)
      echo "usage: run.sh [--quick|--full|--bench] [--build FOLDER] [--sanitized FOLDER]" >&2
      exit 2
      ;;
  esac
done

skip() {
  echo "soft_roce: skipped: $*" >&2
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}
for program in gradhaul broken_join pair_write stuck_pairs verbs_conformance; do
  [[ -x $build/$program ]] || skip "$build/$program is not built (it takes libibverbs-dev)"
done
# shellcheck source=scenarios/packages.sh
source "$root/scenarios/packages.sh"
install_missing "${guest_packages[@]}" || skip "the guest's packages can't be installed"
limit=900
[[ $extent == quick ]] || limit=5400
output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$soft_roce/boot.sh" --ranks 4 --timeout "$limit" -- \
  bash "$soft_roce/checks.sh" "$extent" "$build" ${sanitized:+"$sanitized"} | tee "$output"
status=${PIPESTATUS[0]}
((status != 77)) || skip "no guest can be had here; the reason stands above"
skipped=0
[[ -n $sanitized ]] || { skipped=1; echo "soft_roce: no sanitized build to run" >&2; }
counts=$(tail -n 1 "$output")
if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
  echo "$counts, $skipped skipped"
else
  # It ended on the way: what had passed had passed.
  echo "soft_roce: the guest ended before its checks did (status $status)" >&2
  passed=$(grep -c '^ok ' "$output")
  failed=$(grep -c '^FAILED ' "$output")
  echo "$passed passed, $((failed + 1)) failed, 0 skipped"
  status=1
fi
((status == 0))
