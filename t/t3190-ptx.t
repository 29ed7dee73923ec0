#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sample of make check-ptx: nvcc's PTX of a few kernels, run on the CPU against the reference. The
# interpreter itself is tested without nvcc (t/ptx/test/ptx.c).
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

nvcc=$(sed -n 's/^NVCC = //p' "$builddir/Makefile")
command -v "${nvcc:-nvcc}" >/dev/null || skip_all "there is no nvcc"
[ -x "$builddir/t/ptx/opcheck" ] || skip_all "t/ptx/opcheck is not built: make check-ptx builds it"

# A build folder of its own, so that this does not meet a check-ptx at the same time.
mkdir -p build/t
ln -s "$builddir/t/ptx" build/t/ptx
exits 0 "max pooling on sm_90" env srcdir="$srcdir" builddir="$PWD/build" \
    NVCC="$nvcc" python3 "$srcdir/t/ptx/check.py" --archs 90 --mutations 0 \
    --only "opcheck --check cuda max_pool2d" --sources max_pool2d,max_pool2d_bf16
like "$OUT" '^sm_90 opcheck --check cuda max_pool2d: [1-9][0-9]* checks, 0 failed' \
    "as the reference"

done_testing
