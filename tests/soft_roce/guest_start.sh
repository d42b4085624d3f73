#!/bin/busybox sh
# shellcheck shell=dash
# The guest's first process: modules; the host's root, read only, under an overlay in memory; then
# bash on it. Static busybox starts much faster than dynamic programs where all is emulated.
b=/bin/busybox
nine_p="-t 9p -o trans=virtio,version=9p2000.L,msize=512000"
give_up() {
  echo "soft_roce: $*" >/dev/console
  $b reboot -f
}

$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
cd /modules || give_up "no modules"
while read -r module; do
  $b insmod "$module" || give_up "insmod $module"
done <order
cd /

# shellcheck disable=SC2086  # several words
$b mount $nine_p,ro,cache=loose hostroot /lower || give_up "the host's root"
$b mount -t tmpfs -o mode=755,size=75% tmpfs /upper
$b mkdir /upper/changes /upper/work
root=/newroot
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work overlay $root ||
  give_up "the overlay"
for folder in dev proc sys; do $b mount --move /$folder $root/$folder || give_up "$folder"; done
$b mount -t tmpfs -o mode=755 tmpfs $root/run
$b mkdir -p $root/run/job $root/run/netns $root/run/lock $root/dev/pts $root/dev/shm
$b mount -t devpts devpts $root/dev/pts
$b mount -t tmpfs -o mode=1777 tmpfs $root/dev/shm
# shellcheck disable=SC2086
$b mount $nine_p,cache=none job $root/run/job || give_up "the job"
for link in fd:/proc/self/fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
  $b ln -sfn "${link#*:}" "$root/dev/${link%%:*}"
done
read -r version folder <$root/run/job/kernel
$b mkdir -p "$root/usr/lib/modules/$version"
$b mount --bind "$root$folder/root/lib/modules/$version" "$root/usr/lib/modules/$version" ||
  give_up "the modules"
for port in "$root"/sys/class/virtio-ports/vport*; do
  read -r name <"$port/name"
  $b ln -sfn "${port##*/}" "$root/dev/soft-roce-$name"
done
$b ip link set lo up
$b hostname soft-roce
exec $b switch_root $root /bin/bash /run/job/run
