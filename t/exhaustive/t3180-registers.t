#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The code that nvcc makes of convolutions with few channels: it has no spills and, for GPUs with
# bfloat16, uses tensor cores. The script that says so is also shown to fail.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

export FILES=mma NVCC
NVCC=$(sed -n 's|^NVCC = \(.*/nvcc\)$|\1|p' "$builddir/Makefile")
[ -n "$NVCC" ] || skip_all "configured without CUDA: there is no nvcc"
exits 0 "sm_80, sm_90 and sm_100" "$srcdir/bench/gpu/registers" 80 90 100
for kernel in mma_conv_8_8 mma_conv_64_32 mma_grad_8_8 mma_grad_32_64 mma_grad_64_32; do
    is "$(awk -v k="$kernel" '$3 == k && $5 == 0 && $7 > 0 && $9 > 0' "$OUT" | wc -l)" 3 \
        "$kernel keeps its registers, multiplies by tensor cores and copies 16 bytes at a time"
done

mkdir -p tree/bench/gpu tree/trainer/backends/cuda/conv
cp "$srcdir/bench/gpu/registers" tree/bench/gpu
cat >tree/trainer/backends/cuda/conv/mma_bad.cu <<'EOF'
static __global__ void mma_bad_8(float *p) { p[threadIdx.x] *= 2; }
extern "C" void f(float *p) { mma_bad_8<<<1, 1>>>(p); }
EOF
exits 1 "one that multiplies without them" tree/bench/gpu/registers 90
like "$OUT" 'mma_bad_8 .* no-tensor-cores' "is told"
cat >tree/trainer/backends/cuda/conv/mma_bad.cu <<'EOF'
static __global__ void __launch_bounds__(1024, 2) spilling(float *p)
{
    float v[64];
    for (int i = 0; i < 64; i++) v[i] = p[i * 1024 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; i++) p[i * 1024 + threadIdx.x] = v[63 - i] * v[i / 2];
}
extern "C" void f(float *p) { spilling<<<1, 1024>>>(p); }
EOF
exits 1 "one that spills" tree/bench/gpu/registers 90
like "$OUT" 'spilling .* spills' "is told"
exits 77 "without nvcc it is left out" env NVCC=/nonexistent tree/bench/gpu/registers
done_testing
