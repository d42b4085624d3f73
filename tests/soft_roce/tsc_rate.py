"""Prints how many thousand times a second this processor's time stamp counter ticks, which is what
an emulated guest's counter does. Left to find that out by itself while its host is busy, a guest
has been seen to be wrong by a factor of five, and its clock with it. Prints nothing where memory
can't be made executable.
"""

import ctypes
import mmap
import sys
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
CODE = bytes.fromhex("0f3148c1e2204809d0c3")
SECONDS = 0.1


def counter():
    page = mmap.mmap(-1, mmap.PAGESIZE,
                     prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    read.page = page  # stays as long as it is called
    return read


def both(read):
    """The counter and the nanoseconds of a clock, read as near to each other as of a hundred."""
    nearest = None
    for _ in range(100):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if nearest is None or after - before < nearest[0]:
            nearest = (after - before, ticks, (before + after) // 2)
    return nearest[1:]


def main():
    try:
        read = counter()
    except OSError:
        return 0
    ticks, then = both(read)
    time.sleep(SECONDS)
    more, now = both(read)
    print(round((more - ticks) * 1_000_000 / (now - then)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
