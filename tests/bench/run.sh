#!/usr/bin/env bash
# Builds gradhaul and its benchmarks, lays it beside ns-3, SMPI, memcpy, iperf3 and, in a guest,
# ib_write_bw, measures how the cost of a prediction grows, and prints one table of what came out
# (also in OUT/benchmarks.md, with OUT/growth.{png,svg,csv}). About ten minutes on a quiet machine;
# other load shows in the figures.
#   --quick       about a minute: smaller messages, fewer points; ns-3's 1 GiB is extrapolated
#   --out FOLDER  where table and picture go (default: build/release/bench)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scenarios/packages.sh
source "$root/scenarios/packages.sh"

quick=() out=$root/build/release/bench
while (($#)); do
  case $1 in
    --quick) quick=(--quick) ;;
    --out)
      (($# >= 2)) || { echo "run.sh: --out takes a folder" >&2; exit 2; }
      out=$(realpath -m "$2")
      shift
      ;;
    *)
      echo "usage: tests/bench/run.sh [--quick] [--out FOLDER]" >&2
      exit 2
      ;;
  esac
  shift
done

install_missing "${build_packages[@]}" "${test_packages[@]}"
# Peers and pictures are optional: what is missing is left out, and the table says so.
install_missing "${bench_packages[@]}" || say "going on without some of: ${bench_packages[*]}"
(
  cd "$root"
  configure release -DBUILD_TESTING=ON
  build release --target gradhaul benchmarks
)
# The distribution's packages belong to its own Python, which need not be the first in the path.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
exec "$python" -B "$root/tests/bench/run_benchmarks.py" --build "$root/build/release" --out "$out" \
  "${quick[@]}"
