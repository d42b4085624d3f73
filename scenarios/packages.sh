# shellcheck shell=bash disable=SC2034
# What building, testing and comparing take, by the names that Debian 12 and Ubuntu 24.04 use.
# Sourced by run.sh of scenarios, tests, tests/bench, tests/gpu and tests/soft_roce.

build_packages=(build-essential cmake ninja-build libcli11-dev libfmt-dev libibverbs-dev
                libpugixml-dev libsimgrid-dev libyaml-cpp-dev nlohmann-json3-dev)
test_packages=(clang-format git libbenchmark-dev libgmock-dev libgtest-dev openmpi-bin python3
               python3-matplotlib tshark)
# To render pages; Ubuntu has no package of this name, and tests that take it are skipped without.
page_packages=(chromium)
bench_packages=(iperf3 libns3-dev python3-matplotlib)
# For the guest with soft-RoCE. Not rdma-core: it brings udev and its daemons.
guest_packages=(busybox-static cpio ibverbs-providers iproute2 kmod perftest procps qemu-system-x86
                xz-utils zstd)

say() { echo "== $*" >&2; }

# install_missing PACKAGE…: installs those that are not there, and asks for rights only then.
install_missing() {
  local package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no Debian or Ubuntu: taking for granted what these packages hold: $*"
    return 0
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      say "missing, and neither root nor sudo to install them: ${missing[*]}"
      return 1
    }
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >&2 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
      --no-install-recommends "${missing[@]}" >&2
}

# configure PRESET [CMAKE ARGUMENT…], from the root of the tree.
configure() {
  local preset=$1
  shift
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  say "configuring build/$preset"
  cmake --preset "$preset" "${launcher[@]}" "$@" >&2
}

# build PRESET [CMAKE ARGUMENT…]. Where there is a cache of compiled files, another clone of the
# tree finds what this one has put there.
build() {
  local preset=$1
  shift
  say "building build/$preset with $(nproc) jobs"
  CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 \
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@" >&2
}
