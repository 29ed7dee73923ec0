#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Images of 10,000 x 10,000 pixels, in colour, are predicted and scored within 1 GiB, also beside
# small ones.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
unet-train data synth --out small --count 8 --size 256x256 2>/dev/null
ok "a network is trained" unet-train train --data small --size 256x256 --channels 3 --epochs 1 \
    --set model.base=4 --set model.depth=2 --out run
mkdir -p large/{images,masks}
python3 - <<'END'
import struct, zlib
side = 10000
def write(path, channels, row):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    head = struct.pack(">IIBBBBB", side, side, 8, 2 if channels == 3 else 0, 0, 0, 0)
    packed = zlib.compress(b"".join(b"\0" + row(y) for y in range(side)), 1)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
write("large/images/b.png", 3, lambda y: bytes([y % 251]) * (3 * side))
write("large/masks/b.png", 1, lambda y: (b"\xff" if y % 251 > 125 else b"\0") * side)
END
for name in a c; do
    cp small/images/0001.png large/images/$name.png
    cp small/masks/0001.png large/masks/$name.png
done
peak() { # COMMAND...: runs it, prints its output and its largest memory in MiB
    python3 -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
sys.exit(code)' "$@"
}
measured() { # WHAT COMMAND...
    exits 0 "$1 images, of which one has 10,000 x 10,000 pixels" peak "${@:2}"
    cp "$OUT" seen
    sed -n 's/^peak //p' seen >mib
    ok "... within 1 GiB" [ "$(cat mib)" -lt 1024 ] || diag <mib
}
measured predict unet-train predict -c run --native --overlap 16 --out masks large/images
is "$(cd masks && echo *)" "a.png b.png c.png" "... all of them"
measured eval unet-train eval -c run --native --overlap 16 --data large --all
like seen '^images +3$' "... all of them"
done_testing
