# shellcheck shell=bash
# A kernel with soft-RoCE (rdma_rxe), and an initramfs that reaches the host's root from it: made
# once, and kept in a cache. Sourced by boot.sh. Nothing is installed: the kernel's package is
# downloaded and taken apart. `soft_roce` is the folder of these scripts.
#
# Debian 12's own kernel, 6.1, is no use here: its cloud flavour has no rxe, and the other's rxe
# answers retransmissions after an ack timeout with "remote invalid request". So it is the one of
# bookworm-backports.

kernel_suite=bookworm-backports
: "${soft_roce:?}"
kernel_cache=${SOFT_ROCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gradhaul-soft-roce}

# The mirror that this host uses itself.
kernel_mirror() {
  # shellcheck disable=SC2016  # apt's own words
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1
}

# kernel_download FOLDER: the packages of the kernel, into FOLDER. A private apt state: the host's
# own sources are left alone.
kernel_download() {
  local folder=$1 mirror package
  local -a options packages
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/packages"
  mirror=$(kernel_mirror)
  [[ -n $mirror ]] || { echo "apt has no Debian source" >&2; return 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $kernel_suite main" \
    >"$folder/apt/sources.list"
  options=(-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3
           -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=-
           -o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache")
  apt-get "${options[@]}" update -q >&2 || return 1
  package=$(apt-cache "${options[@]}" depends linux-image-amd64 |
    awk '/Depends: linux-image-/ {print $2; exit}')
  [[ -n $package ]] || return 1
  # Newer images are split: linux-image-V depends on linux-{base,binary,modules}-V.
  mapfile -t packages < <(apt-cache "${options[@]}" depends "$package" |
    awk '/ Depends: linux-(base|binary|modules)-[0-9]/ {print $2}')
  ((${#packages[@]})) || packages=("$package")
  (cd "$folder/packages" && apt-get "${options[@]}" download -q "${packages[@]}" >&2)
}

# kernel_unpack FOLDER: of the packages, what an RDMA test needs: 60 MB instead of 400.
kernel_unpack() {
  local folder=$1 package part
  local -a patterns=()
  for part in net lib crypto arch/x86/crypto arch/x86/lib drivers/infiniband drivers/virtio \
              fs/9p fs/netfs fs/fscache fs/overlayfs fs/configfs; do
    patterns+=("*lib/modules/*/kernel/$part/*")
  done
  for part in char/virtio_console net/veth; do
    patterns+=("*lib/modules/*/kernel/drivers/$part.*")
  done
  mkdir -p "$folder/root"
  for package in "$folder"/packages/*.deb; do
    # A package need not hold all of it.
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder/root" --wildcards --exclude='*/build' \
      '*/vmlinuz*' '*lib/modules/*/modules.*' "${patterns[@]}" 2>/dev/null || true
  done
  if [[ -d $folder/root/usr/lib/modules ]]; then
    mkdir -p "$folder/root/lib"
    mv "$folder/root/usr/lib/modules" "$folder/root/lib/"
  fi
  local modules=("$folder/root/lib/modules"/*)
  basename "${modules[0]}" >"$folder/version"
  # Stripping drops the signatures, too: no arithmetic for them as each module is inserted.
  find "$folder/root/lib/modules" -name '*.ko.xz' -exec xz -d {} +
  if command -v strip >/dev/null; then
    find "$folder/root/lib/modules" -name '*.ko' -exec strip --strip-debug {} +
  fi
  depmod -b "$folder/root" "$(<"$folder/version")" 2>/dev/null
}

# kernel_image FOLDER: the ELF inside the bzImage. QEMU boots it by its PVH note, which spares the
# guest the decompression (4 s, emulated).
kernel_image() {
  local folder=$1 version image
  version=$(<"$folder/version")
  for image in "$folder/root/boot"/vmlinuz-* "$folder/root/lib/modules/$version/vmlinuz"; do
    [[ ! -e $image ]] || break
  done
  python3 "$soft_roce/unpack_kernel.py" "$image" "$folder/vmlinux"
}

# kernel_initramfs FOLDER: static busybox, and the modules without which the root is out of reach.
kernel_initramfs() {
  local folder=$1 module version
  version=$(<"$folder/version")
  local tree=$folder/initramfs
  mkdir -p "$tree"/{bin,dev,proc,sys,modules,lower,upper,newroot}
  cp /bin/busybox "$tree/bin/busybox"
  while read -r module; do
    cp "$module" "$tree/modules/"
    basename "$module" >>"$tree/modules/order"
  done < <(modprobe -d "$folder/root" -S "$version" --show-depends -a virtio_pci virtio_console \
             9pnet_virtio 9p overlay ib_uverbs rdma_ucm rdma_rxe veth bridge sch_netem |
             awk '$1 == "insmod" && !seen[$2]++ {print $2}')
  cp "$soft_roce/guest_start.sh" "$tree/init"
  chmod 755 "$tree/init"
  (cd "$tree" && find . | LC_ALL=C sort | cpio -o -H newc --quiet) >"$folder/initramfs.cpio"
}

# Prints the folder of a kernel that is ready; makes it where there is none. It is renamed into
# place when it is whole, so that an end in between leaves none that is half made.
kernel_folder() {
  local stamp folder new
  stamp=$(cat "$soft_roce"/{kernel.sh,guest_start.sh,unpack_kernel.py} | sha256sum | cut -c1-12)
  folder=$kernel_cache/$kernel_suite-$stamp
  mkdir -p "$kernel_cache" || return 1
  exec 8>"$kernel_cache/lock"
  flock 8
  if [[ ! -e $folder/initramfs.cpio ]]; then
    new=$folder.new
    rm -rf "$new"
    mkdir -p "$new"
    kernel_download "$new" && kernel_unpack "$new" && kernel_image "$new" &&
      kernel_initramfs "$new" || return 1
    rm -rf "$new"/{packages,apt,initramfs,root/boot} "$folder"
    mv "$new" "$folder"
  fi
  flock -u 8
  exec 8>&-
  echo "$folder"
}
