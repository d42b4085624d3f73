#!/usr/bin/env bash
# Builds gradhaul and predicts the all-reduce of a 7B model's gradients on 32 GPUs. Arguments are
# handed on to `gradhaul predict`:
#   scenarios/run.sh --set communication.channels=8 --json result.json
set -euo pipefail

# File names among the arguments are the caller's: the program runs where the caller stands.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scenarios/packages.sh
source "$root/scenarios/packages.sh"

install_missing "${build_packages[@]}"
(
  cd "$root"
  # Tests that a former run configured stay configured; building them is left out here.
  [[ -f build/release/CMakeCache.txt ]] || configure release -DBUILD_TESTING=OFF
  build release --target gradhaul
)
say "build/release/gradhaul predict 7b-32gpu $*"
exec "$root/build/release/gradhaul" predict 7b-32gpu "$@"
