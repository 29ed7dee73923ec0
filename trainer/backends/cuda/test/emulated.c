/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA backend as one source, compiled for the CPU (runtime/test/emulate.h). */
#include "src/base.h"

#define GPU_EMULATE
#ifndef BUILT_ARCHS /* with kernels for GPUs without tf32 and without bf16 */
#define BUILT_ARCHS "70 75 80 90"
#endif
#include "trainer/backends/cuda/cuda_backend.c"
#include "trainer/backends/cuda/cudnn/cudnn_conv.c"
#include "trainer/backends/cuda/cudnn/cudnn_weights.cu"
#include "trainer/backends/cuda/kernels/elementwise.cu"
#include "trainer/backends/cuda/kernels/loss.cu"
#include "trainer/backends/cuda/kernels/norm.cu"
#include "trainer/backends/cuda/kernels/pool.cu"
#include "trainer/backends/cuda/kernels/update.cu"
#include "trainer/backends/cuda/runtime/cuda_info.c"
#include "trainer/backends/cuda/runtime/cuda_queue.c"
#include "trainer/backends/cuda/test/cudnn_emulated.c"
#include "trainer/comm/test/nccl_emulated.c"
