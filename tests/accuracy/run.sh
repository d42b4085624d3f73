#!/usr/bin/env bash
# Builds gradhaul, predicts every published measurement whose facts suffice, and writes table.md and
# predicted.json beside this file; some minutes. Arguments are handed on:
#   --only RECORD  this one alone (as often as you like); others stay as they were
#   --keep         no prediction: only the table, from predicted.json
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scenarios/packages.sh
source "$root/scenarios/packages.sh"

install_missing "${build_packages[@]}" python3
(
  cd "$root"
  [[ -f build/release/CMakeCache.txt ]] || configure release -DBUILD_TESTING=OFF
  build release --target gradhaul
)
exec python3 -B "$root/tests/accuracy/run_accuracy.py" --program "$root/build/release/gradhaul" "$@"
