# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by tests of networks that give an image one class as a whole.

# make_cifar DIR TRAIN TEST makes images in CIFAR-10's binary format, of ten classes that differ in
# colour and in which half is bright, with noise.
make_cifar() {
    mkdir -p "$1"
    python3 - "$@" <<'EOP'
import random, sys
rng = random.Random(5)
def picture(kind):
    rows = bytearray()
    for c in range(3):
        for y in range(32):
            for x in range(32):
                bright = (x if kind % 2 else y) < 16
                level = 40 + 150 * bright * (1 + (kind // 2 + c) % 5) // 5
                rows.append(min(255, max(0, level + rng.randrange(-20, 20))))
    return bytes(rows)
for name, count in ("data_batch_1", int(sys.argv[2])), ("test_batch", int(sys.argv[3])):
    with open(f"{sys.argv[1]}/{name}.bin", "wb") as f:
        for i in range(count):
            f.write(bytes([i % 10]) + picture(i % 10))
EOP
}
