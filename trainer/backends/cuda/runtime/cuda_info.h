/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA on this machine: its GPUs, driver and libraries, or the reason why no GPU can be used.
 * Reading them never fails; cuda_info.why is the reason. */
#pragma once

#include "src/base.h"

#define CUDA_INFO_GPUS 64

struct cuda_info_gpu {
    char name[256];
    char uuid[48]; /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, as nvidia-smi -L prints it */
    char pci[32];  /* domain:bus:device.0 */
    size_t memory; /* bytes */
    int major, minor, processors;
    double flop, bytes; /* per second at most, from its clocks: fp32 operations outside of tensor
                         * cores, and bytes of its memory; 0: unknown */
};

struct cuda_info {
    /* As the libraries number them (13010: 13.1; cuDNN 91900: 9.19.0; NCCL 22809: 2.28.9); 0: not
     * found. driver: the latest CUDA that the driver supports. */
    int driver, runtime, cudnn, nccl;
    int ngpus;
    struct cuda_info_gpu gpus[CUDA_INFO_GPUS]; /* the first of those in CUDA_VISIBLE_DEVICES */
    char why[768]; /* the reason why no GPU can be used, or "" */
};

/* cuda_info_read loads cuDNN and NCCL for their versions; cuda_info_read_gpus leaves them 0. */
void cuda_info_read(struct cuda_info *info);
void cuda_info_read_gpus(struct cuda_info *info);

/* Returns GPU i modulo their number. NULL, with the reason in info->why, if there is none, this
 * build has no kernels for it, or cuDNN is missing, without which it cannot convolve. */
const struct cuda_info_gpu *cuda_info_own(struct cuda_info *info, int i);
