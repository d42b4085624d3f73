#!/usr/bin/env bash
# Builds the presets release (optimised) and dev (AddressSanitizer, UndefinedBehaviorSanitizer,
# warnings are errors) and runs all tests of both; then real ranks of both in a guest with soft-RoCE
# (tests/soft_roce), where one can be had. The last line is `N passed, N failed, N skipped`; the
# exit status is 0 only where nothing failed.
#   --quick   release alone, and no guest
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
# shellcheck source=scenarios/packages.sh
source scenarios/packages.sh

presets=(release dev) guest=1
for argument in "$@"; do
  case $argument in
    --quick) presets=(release) guest=0 ;;
    *)
      echo "usage: tests/run.sh [--quick]" >&2
      exit 2
      ;;
  esac
done

passed=0 failed=0 skipped=0
# What failed is told at the end, where it is looked for.
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

# A step that tests depend on counts as one failed test where it fails.
broken() {
  say "FAILED: $*"
  echo "FAILED: $*" >>"$failures"
  failed=$((failed + 1))
}

# count FILE: adds what ctest's JUnit report says.
count() {
  local counts
  counts=$(python3 tests/count_results.py "$1" 2>>"$failures") || {
    broken "no report of the tests in $1"
    return
  }
  read -r new_passed new_failed new_skipped <<<"$counts"
  passed=$((passed + new_passed))
  failed=$((failed + new_failed))
  skipped=$((skipped + new_skipped))
}

run_preset() {
  local preset=$1
  local report=$root/build/$preset/test_results.xml
  configure "$preset" -DBUILD_TESTING=ON || { broken "configuring $preset"; return; }
  # What builds is tested even where something else does not.
  build "$preset" -- -k 0 || broken "building $preset"
  say "testing build/$preset"
  rm -f "$report"
  # One more than there are cores: some tests wait, for a time or for other processes.
  ctest --preset "$preset" --parallel "$(($(nproc) + 1))" --output-junit "$report" >&2
  count "$report"
}

# What it prints last is counted like a report.
run_guest() {
  local counts log=$root/build/soft_roce.log
  say "testing in a guest with soft-RoCE"
  tests/soft_roce/run.sh --quick | tee "$log" >&2
  counts=$(tail -n 1 "$log")
  [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || {
    broken "tests/soft_roce/run.sh says no counts"
    return
  }
  passed=$((passed + BASH_REMATCH[1]))
  failed=$((failed + BASH_REMATCH[2]))
  grep '^FAILED ' "$log" >>"$failures"
  skipped=$((skipped + BASH_REMATCH[3]))
}

if install_missing "${build_packages[@]}" "${test_packages[@]}"; then
  install_missing "${page_packages[@]}" || say "going on without ${page_packages[*]}"
  for preset in "${presets[@]}"; do run_preset "$preset"; done
  ((!guest)) || run_guest
else
  broken "installing packages"
fi
cat "$failures"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
