/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML, the library of NVIDIA's driver that measures GPUs. It is loaded with dlopen, and declared
 * here as its ABI defines it, as neither its header nor a GPU need be there. */
#ifndef UNETCTL_LAUNCHER_ENERGY_NVML_H
#define UNETCTL_LAUNCHER_ENERGY_NVML_H

#include <stdbool.h>

#define NVML_ID_SIZE 96

/* What a GPU says at one moment; NaN where it does not support a value. */
struct nvml_sample {
    double energy_j;   /* since its driver was loaded */
    double watts;
    double busy;       /* share of the last second or less in which a kernel ran */
    double memory_mib; /* in use, by all processes */
    double mhz;        /* of its multiprocessors */
    bool throttled;    /* its clocks are reduced by a limit of power or by heat */
};

/* Loads the library. Returns false where it, its driver or a GPU is missing. */
bool nvml_open(void);

/* Returns the handle of a GPU that CUDA_VISIBLE_DEVICES names, by index or by UUID, and its UUID;
 * NULL if there is none. */
void *nvml_find(const char *name, char id[NVML_ID_SIZE]);

/* Reads a GPU. Returns NULL, or what failed: then the GPU is gone, or measures no energy. */
const char *nvml_read(void *gpu, struct nvml_sample *dst);

/* Returns the number of the next critical error (XID) of a GPU that nvml_find has returned, and the
 * handle of the GPU, or 0 if there was none. */
unsigned long long nvml_next_xid(void **gpu);

#endif
