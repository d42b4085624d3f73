#!/usr/bin/env bash
# What one GPU without an RDMA device can show: reduce kernels to the bit of an oracle in float64
# and at the bandwidth of copies, and measured runs of several ranks on it, over loopback (the GPU
# copies) and over tcp (staged through host memory). Builds what it takes; under four minutes. The
# last line is `N passed, N failed, N skipped`; without a GPU all is skipped, and it says so.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 1
# shellcheck source=scenarios/packages.sh
source scenarios/packages.sh

(($# == 0)) || { echo "usage: tests/gpu/run.sh" >&2; exit 2; }

datatypes=(fp32 fp16 bf16 int32 int8 uint8)
all=$((1 + 2 * ${#datatypes[@]} + 2)) passed=0 failed=0 skipped=0

skip_all() {
  say "$1"
  echo "0 passed, 0 failed, $all skipped"
  exit 0
}

nvidia-smi -L >&2 2>/dev/null || [[ -e /dev/nvidia0 ]] || skip_all "there is no NVIDIA GPU here"
install_missing "${build_packages[@]}" "${test_packages[@]}" || exit 1
configure release -DBUILD_TESTING=ON && build release --target gradhaul gpu_check || {
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

# passes NAME COMMAND…
passes() {
  local name=$1
  shift
  say "$name"
  if "$@" >&2; then
    passed=$((passed + 1))
  else
    say "FAILED: $name"
    failed=$((failed + 1))
  fi
}

say "kernels"
build/release/gpu_check >&2
case $? in
  0) passed=1 ;;
  77) skip_all "there is nothing to check: see above" ;;
  *) failed=1 ;;
esac

# measure BACKEND RANKS [--set=…]…: nothing of it may be wrong.
measure() {
  local backend=$1 ranks=$2
  shift 2
  build/release/gradhaul measure quick --backend "$backend" --ranks "$ranks" --memory gpu \
    --iterations 3 --warmup 1 --set=communication.channels=4 "$@"
}

for datatype in "${datatypes[@]}"; do
  settings=("--set=workload.datatype=$datatype" '--set=workload.size=[4B, 1000004B, 64MiB]')
  passes "loopback, 4 ranks, $datatype" measure loopback 4 "${settings[@]}"
  passes "tcp, 3 ranks, $datatype" measure tcp 3 "${settings[@]}"
done
# Slots whose size is no multiple of an element's: operands lie anywhere.
passes "loopback, odd slots" measure loopback 3 --set=communication.slot_size=65537B \
  --set=workload.size=4000004B
passes "tcp, all_to_all" measure tcp 4 --set=workload.collective=all_to_all \
  --set=workload.size=16MiB

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
