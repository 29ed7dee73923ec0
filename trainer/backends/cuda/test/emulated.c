/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole CUDA backend, compiled for the CPU (emulate.h). */
#include "config.h"

#define GPU_EMULATE
#include "trainer/backends/cuda/avg_pool2d.cu"
#include "trainer/backends/cuda/batch_norm.cu"
#include "trainer/backends/cuda/conv2d.cu"
#include "trainer/backends/cuda/conv_transpose2d.cu"
#include "trainer/backends/cuda/cuda_backend.c"
#include "trainer/backends/cuda/cuda_device.c"
#include "trainer/backends/cuda/dropout.cu"
#include "trainer/backends/cuda/elementwise.cu"
#include "trainer/backends/cuda/loss.cu"
#include "trainer/backends/cuda/max_pool2d.cu"
#include "trainer/backends/cuda/narrow_back.cu"
#include "trainer/backends/cuda/narrow_conv.cu"
#include "trainer/backends/cuda/narrow_kernels.c"
#include "trainer/backends/cuda/narrow_up.cu"
#include "trainer/backends/cuda/pass_elementwise.cu"
#include "trainer/backends/cuda/pass_head.cu"
#include "trainer/backends/cuda/pass_norm.cu"
#include "trainer/backends/cuda/update.cu"
#include "trainer/comm/test/nccl_emulated.c"
