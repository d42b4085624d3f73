#!/usr/bin/env bash
# boot.sh [--ranks N] [--cpus N] [--memory MB] [--timeout SECONDS] [--quiet] -- COMMAND [ARG…]
# boot.sh --prepare
#
# Runs one command in a guest that lives only for it, and whose kernel has soft-RoCE. The guest's
# root is this host's, read only, under an overlay in memory: every program and library of the host
# runs there as it is, and nothing that is written stays. Standard output, error and exit status of
# the command come back as boot.sh's own.
#   --ranks N   runs fabric.sh N first: N RDMA devices on one switch
#   --prepare   only makes the kernel
# Exit status 124: out of time; 125: the guest could not be made or ended by itself, its console is
# then printed; 77: it can't be had here, with the reason.
#
# All is emulated. A /dev/kvm may open and yet never boot a stock kernel, where it is itself nested.
set -euo pipefail
soft_roce=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/soft_roce/kernel.sh
source "$soft_roce/kernel.sh"

# Emulated, PCLMULQDQ goes bit by bit (rxe's checksums are quicker by table), "rep movsb" byte by
# byte, which the kernel uses where ERMS or FSRM are offered; LA57 adds a level to each page walk.
cpu_model=max,pclmulqdq=off,la57=off,erms=off,fsrm=off
memory=2048 cpus=$(nproc) ranks=0 limit=600 prepare=0 quiet=0
((cpus <= 4)) || cpus=4

say() { echo "soft_roce: $*" >&2; }
unavailable() {
  say "not available: $*"
  exit 77
}

while (($#)); do
  case $1 in
    --ranks) ranks=$2; shift 2 ;;
    --cpus) cpus=$2; shift 2 ;;
    --memory) memory=$2; shift 2 ;;
    --timeout) limit=$2; shift 2 ;;
    --prepare) prepare=1; shift ;;
    --quiet) quiet=1; shift ;;
    --) shift; break ;;
    *) say "unknown option $1"; exit 2 ;;
  esac
done
((prepare || $#)) || { say "no command given (after --)"; exit 2; }

[[ $(uname -m) == x86_64 ]] || unavailable "the guest is of x86-64, this host is not"
for program in qemu-system-x86_64 busybox modprobe cpio xz zstd python3 apt-get dpkg-deb; do
  command -v "$program" >/dev/null || unavailable "$program is missing (packages: guest_packages \
in scenarios/packages.sh)"
done
[[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] ||
  unavailable "the guest's kernel is Debian's, and this host has no keys for it"
kernel=$(kernel_folder) || unavailable "the package of the kernel can't be downloaded"
((!prepare)) || { echo "$kernel"; exit 0; }

job=$(mktemp -d "$kernel_cache/job.XXXXXX")
trap 'rm -rf "$job"' EXIT
mkdir "$job/share"
echo "$(<"$kernel/version") $kernel" >"$job/share/kernel"
{
  echo '#!/bin/bash'
  printf 'cd %q || exit 125\nexec' "$PWD"
  printf ' %q' "$@"
  echo
} >"$job/share/command"
cat >"$job/share/run" <<RUN
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root TERM=dumb LANG=C.UTF-8
exec </dev/null >/dev/soft-roce-out 2>/dev/soft-roce-err
trap 'exec /bin/busybox reboot -f' EXIT
ulimit -l unlimited
if (($ranks > 0)); then
  bash $(printf %q "$soft_roce")/fabric.sh $ranks || { echo 125 >/run/job/status; exit; }
fi
echo >/run/job/ready
setsid -w bash /run/job/command
echo \$? >/run/job/status
RUN

kernel_options="console=ttyS0 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr audit=0"
kernel_options+=" selinux=0 apparmor=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
kernel_options+=" random.trust_cpu=on tsc=reliable no_timer_check cryptomgr.notests"
# How fast its clock goes is told, not left to be found out.
tsc_khz=$(python3 "$soft_roce/tsc_rate.py") || tsc_khz=
[[ -z $tsc_khz ]] || kernel_options+=" tsc_early_khz=$tsc_khz"
# shellcheck disable=SC2054  # QEMU's commas
devices=(-fsdev "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"
         -device virtio-9p-pci,fsdev=root,mount_tag=hostroot
         -fsdev "local,id=job,path=$job/share,security_model=none"
         -device virtio-9p-pci,fsdev=job,mount_tag=job -device virtio-serial-pci)
for port in out err; do
  devices+=(-chardev "file,id=$port,path=$job/$port,append=on"
            -device "virtserialport,chardev=$port,name=$port")
done

# The guest's two output ports are FIFOs, relayed to our own.
boot() {
  local relays=()
  mkfifo "$job/out" "$job/err"
  cat "$job/out" & relays+=($!)
  cat "$job/err" >&2 & relays+=($!)
  ended=0
  timeout -k 5 "$limit" qemu-system-x86_64 -no-user-config -nodefaults -no-reboot \
    -display none \
    -machine pc,usb=off -accel tcg,thread=single,tb-size=512 -cpu "$cpu_model" -smp "$cpus" \
    -m "$memory" -kernel "$kernel/vmlinux" -initrd "$kernel/initramfs.cpio" \
    -append "$kernel_options" -serial "file:$job/console" "${devices[@]}" \
    </dev/null >"$job/qemu" 2>&1 || ended=$?
  # Where it ended before it opened them, the relays would wait for ever.
  : <>"$job/out"
  : <>"$job/err"
  wait "${relays[@]}" || true
  rm -f "$job/out" "$job/err"
}

# The kernel patches its own code, when it starts and later. Emulated processors that run side by
# side (thread=multi) lose that race now and then; in turns, as here, they have not been seen to. A
# boot that panics before the command has started is tried again.
start=$(date +%s.%N)
for ((try = 1; try <= 3; ++try)); do
  boot
  [[ ! -e $job/share/ready && ! -s $job/share/status ]] || break
  grep -q 'Kernel panic' "$job/console" 2>/dev/null || break
  say "the guest panicked as it started (try $try of 3)"
done
if ((!quiet)) && [[ -e $job/share/ready ]]; then
  awk -v a="$start" -v b="$(stat -c %.Y "$job/share/ready")" -v c="$(date +%s.%N)" \
    'BEGIN {printf "soft_roce: %.1f s to the command, which took %.1f s\n", b - a, c - b}' >&2
fi
[[ ! -s $job/share/status ]] || exit "$(<"$job/share/status")"
if ((ended == 124 || ended == 137)); then
  say "out of time after $limit s"
  tail -n 20 "$job/console" >&2 || true
  exit 124
fi
say "the guest ended without a status (QEMU: $ended)"
cat "$job/qemu" >&2
tail -n 40 "$job/console" >&2 || true
exit 125
