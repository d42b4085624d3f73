"""Writes the ELF image that is packed inside a bzImage: unpack_kernel.py VMLINUZ VMLINUX."""

import subprocess
import sys

PACKERS = ((b"\xfd7zXZ\0", ["xz", "-dc"]), (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]))


def unpacked(image):
    for magic, command in PACKERS:
        at = image.find(magic)
        while at >= 0:
            # What follows the packed image makes the packer fail after it has written all of it.
            result = subprocess.run(command, input=image[at:], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, check=False)
            if result.stdout.startswith(b"\x7fELF"):
                return result.stdout
            at = image.find(magic, at + 1)
    return None


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as packed:
        elf = unpacked(packed.read())
    if elf is None:
        sys.exit(f"{sys.argv[1]}: no packed kernel in it")
    with open(sys.argv[2], "wb") as file:
        file.write(elf)
