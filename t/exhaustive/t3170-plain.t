#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The plain build for a machine with a GPU and no packages: it is built from the sources and packed
# libraries, and bench/gpu/visit takes its programs.
# shellcheck disable=SC2016 # awk's dollars
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

"$srcdir/bench/gpu/plain/pack" tree/gpu-visit/plain
(cd "$srcdir" && find src trainer templates/models bench/gpu t/tap.h \( -name '*.[ch]' -o -name \
    '*.cu' -o -name '*.inc' \
    -o -name '*.def' -o -name '*.awk' -o -name '*.yaml' -o -path 'bench/gpu/*' \) ! -name \
    builtin.inc ! -name models.inc -type f -print0 |
    tar -cf - --null -T -) | tar -xf - -C tree
cuda=$(sed -n 's|^NVCC = \(.*\)/bin/nvcc$|\1|p' "$builddir/Makefile")
exits 0 "the plain build${cuda:+ with CUDA}" env -i PATH=/usr/bin:/bin make -s -j2 -C tree \
    -f bench/gpu/plain/Makefile CUDA="$cuda" \
    MORE='-O1 -Wall -Werror=implicit-function-declaration'
is "$(ldd tree/plain-build/unet-train | grep -E 'nettle|yaml|png|libz|cjson' | cut -d' ' -f1,3)" \
    "$(printf '\tlibcjson.so.1 %s' "$PWD/tree/gpu-visit/plain/lib/libcjson.so.1")" \
    "links the libraries that were packed"
made() { # FOLDER PROGRAM...
    local p
    for p in "${@:2}"; do [ -x "tree/$1/$p" ] || return 1; done
}
ok "makes every program" made plain-build unet-train opcheck comm_nccl ${cuda:+network cudnn_real}
cuda12=
for folder in "${CUDA12:-}" /usr/local/cuda-12*; do
    "$folder/bin/nvcc" --version 2>&1 | grep -q 'release 12\.' && cuda12=$folder
done
if [ -n "$cuda12" ]; then
    exits 0 "CUDA 12 builds it for sm_70, which CUDA 13 can't" env -i PATH=/usr/bin:/bin make \
        -s -j2 -C tree \
        -f bench/gpu/plain/Makefile B=cuda12-build CUDA="$cuda12" ARCH=70 \
        MORE='-O1 -Wall -Werror=implicit-function-declaration'
    ok "every program" made cuda12-build unet-train opcheck comm_nccl network cudnn_real
else
    skip "there is no CUDA 12 in /usr/local, and CUDA12=FOLDER names none" "the build with CUDA 12"
fi
exits 0 "which steps" tree/plain-build/unet-train bench --backend simd --base 8 --size 32x48 \
    --batch-size 2 --steps 3 --json
like "$OUT" '"mode":"train","dtype":"f32",' "and prints its times"

printf '%s\n' '#include "trainer/backends/cuda/runtime/cuda_info.h"' '#include <stdio.h>' \
    'int main(void) { struct cuda_info i; cuda_info_read(&i); puts(i.why); return !!cuda_info_own(&i, 0); }' >why.c
: >config.h
ok "what a build without CUDA says of GPUs" cc -I. -I"$srcdir" -o why why.c \
    "$srcdir/trainer/backends/cuda/runtime/cuda_info.c"
exits 0 "there is none" ./why
like "$OUT" 'built without CUDA; build it with ./configure --with-cuda=DIR' "and how to have some"

if command -v nvidia-smi >/dev/null; then
    skip "this machine may have a GPU" "without a GPU"
else
    exits 77 "a visit with these programs, without a GPU" env OUT="$TMP/out" \
        tree/bench/gpu/visit --programs tree/plain-build
    like "$ERR" 'there is no GPU on this machine: ' "says so"
fi
done_testing
