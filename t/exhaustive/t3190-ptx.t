#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sample of make check-ptx: nvcc's PTX of a few kernels, run on the CPU against the reference. The
# interpreter itself is tested without nvcc (t/ptx/test/ptx.c).
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

nvcc=$(sed -n 's/^NVCC = //p' "$builddir/Makefile")
command -v "${nvcc:-nvcc}" >/dev/null || skip_all "there is no nvcc"
for program in opcheck mma; do
    [ -x "$builddir/t/ptx/$program" ] ||
        skip_all "t/ptx/$program is not built: make check-ptx builds it"
done

# A build folder of its own, so that this does not meet a check-ptx at the same time.
mkdir -p build/t
ln -s "$builddir/t/ptx" build/t/ptx
exits 0 "max pooling, losses and the tensor-core convolutions on sm_90" env srcdir="$srcdir" \
    builddir="$PWD/build" NVCC="$nvcc" python3 "$srcdir/t/ptx/check.py" --archs 90 --mutations 0 \
    --only "mma,$(printf 'opcheck --check cuda %s,' max_pool2d bce softmax_ce dice)" \
    --sources max_pool2d,max_pool2d_bf16,loss,mma_conv,mma_grad,mma_reduce,mma_transpose,pack
for test in mma "opcheck --check cuda max_pool2d" "opcheck --check cuda bce" \
    "opcheck --check cuda softmax_ce" "opcheck --check cuda dice"; do
    like "$OUT" "^sm_90 $test: [1-9][0-9]* checks, 0 failed" "$test as the reference"
done

done_testing
