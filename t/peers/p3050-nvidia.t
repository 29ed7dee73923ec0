#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The oldest cuDNN and NCCL that are supported, from PyPI: their numbers are those in
# cudnn_library.h, they are found and have all functions, and cuDNN takes our descriptors.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/peers/peers.sh
. "$srcdir/t/peers/peers.sh"

need_python pip
cuda=$(sed -n 's|^NVCC = \(.*\)/bin/nvcc$|\1|p' "$builddir/Makefile")
[ -n "$cuda" ] || skip_all 'this build has no CUDA'
hide=$(ldconfig -p | awk '/libcudnn.so.9 /{ print $NF; exit }')
unshare -m true 2>/dev/null || skip_all 'mounts cannot be made here: only root may, outside containers'
exits 0 "cuDNN 9.0.0 and NCCL 2.18.3 from PyPI" python3 -m pip download -q --no-deps -d wheels \
    nvidia-cudnn-cu12==9.0.0.312 nvidia-nccl-cu12==2.18.3
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" . && rm "$wheel"; done
export LD_LIBRARY_PATH=$TMP/nvidia/cudnn/lib:$TMP/nvidia/nccl/lib
cp -r "$cuda/include" include
rm -f include/cudnn* && cp nvidia/cudnn/include/*.h include
printf '#include "config.h"\n#include "trainer/backends/cuda/runtime/cudnn_library.c"\n' >values.c
exits 0 "our numbers compared with its headers" cc -nostdinc \
    -isystem "$(cc -print-file-name=include)" -isystem "/usr/include/$(cc -print-multiarch)" \
    -isystem /usr/include -isystem include -I "$builddir" -I "$srcdir" -E values.c
is "$(grep -c 'Static_assert((int)DNN_' "$OUT")" "$(grep -c '^SAME(' \
    "$srcdir/trainer/backends/cuda/runtime/cudnn_library.c")" "each number is compared"
exits 0 "they are the same" cc -x cpp-output -fsyntax-only "$OUT"
hidden() { # COMMAND...: run where no cuDNN 9 is installed
    # shellcheck disable=SC2016 # the inner shell's
    unshare -m sh -c '[ -z "$0" ] || mount --bind /dev/null "$0"; exec "$@"' \
        "${hide:+$(readlink -f "$hide")}" "$@"
}
exits 0 "devices" unet-train devices
like "$OUT" '^CUDA .*cuDNN 9\.0\.0, NCCL 2\.18\.3$' "both are found"
exits 0 "descriptors for cuDNN 9.0.0" "$builddir/trainer/backends/cuda/test/cudnn_real.t"
is "$(grep -c '^ok .*cuDNN takes the graph' "$OUT")" 90 "it takes all graphs"
mkdir older && cc -shared -o older/libcudnn.so.8 -x c /dev/null
LD_LIBRARY_PATH=$TMP/older exits 0 "where there is only cuDNN 8" hidden \
    "$builddir/trainer/backends/cuda/test/cudnn_real.t"
like "$OUT" 'libcudnn.so.8 was found, but cuDNN 9 .libcudnn.so.9. is needed' "one line says so"
for name in $(grep -o '"nccl[A-Za-z]*"' "$srcdir/trainer/comm/nccl_library.c" | tr -d '"'); do
    ok "NCCL 2.18.3 has $name" grep -q " $name\$" <(nm -D --defined-only \
        nvidia/nccl/lib/libnccl.so.2)
done
done_testing
