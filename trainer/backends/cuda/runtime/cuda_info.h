/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is of CUDA on this machine: GPUs, driver, libraries; or why there is none. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_CUDA_INFO_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_CUDA_INFO_H

#include <stddef.h>

#define CUDA_INFO_GPUS 64

struct cuda_info_gpu {
    char name[256];
    char uuid[48]; /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, as nvidia-smi -L prints it */
    char pci[32];  /* domain:bus:device.0 */
    size_t memory; /* bytes */
    int major, minor, processors;
    double flop, bytes; /* at most in a second: fp32 multiplications and additions outside of tensor
                         * cores, bytes of its memory; from its clocks, 0: they are not told */
};

struct cuda_info {
    /* As the libraries number them (13010: 13.1; cuDNN 91900: 9.19.0; NCCL 22809: 2.28.9); 0: not
     * found. */
    int driver, runtime, cudnn, nccl;
    int ngpus;
    struct cuda_info_gpu gpus[CUDA_INFO_GPUS]; /* those that CUDA_VISIBLE_DEVICES leaves */
    char why[768]; /* why there is no GPU that works, or "" */
};

/* The second leaves out the versions of cuDNN and NCCL, which it takes their libraries to know. */
void cuda_info_read(struct cuda_info *info);
void cuda_info_read_gpus(struct cuda_info *info);

/* GPU i modulo their number, if this build has kernels for it; else NULL, and info->why. */
const struct cuda_info_gpu *cuda_info_own(struct cuda_info *info, int i);

#endif
