/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of this process between GPUs and the CPU, by the setting train.backend:
 *
 *   auto   cuda if this process has a GPU that this build can use. It is an error if the process
 *          was given GPUs (CUDA_VISIBLE_DEVICES, Slurm's variables) that it cannot use. Without
 *          GPUs, or with fake ones (UNET_GPUS=fake, as in jobs of `unetctl sandbox`), the best
 *          backend on the CPU.
 *   cpu    the best backend on the CPU.
 *   other  the backend of that name. */
#ifndef UNETCTL_TRAINER_RUN_COMPUTE_H
#define UNETCTL_TRAINER_RUN_COMPUTE_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/core/kernel.h"

struct compute {
    const struct backend *backend;
    char device[256]; /* name of the GPU, or of the processor */
    char why[1024];   /* why auto chose no GPU, or "" */
    bool tf32;        /* the GPU's tensor cores multiply in TF32 */
    bool fake;        /* auto chose the CPU because UNET_GPUS=fake is set */
};

/* Sets *c by the value of train.backend. -1 with ERR_PEER if a GPU is required and none works, or
 * with ERR_CONFIG for an unknown backend. */
int compute_choose(struct compute *c, const char *word, struct err *e);

/* For verbs that run as one process: chooses by *word, sets *word to the name of the backend and
 * *dtype by compute_dtype (constant strings), and logs the choice, except in tasks of a launcher
 * other than task 0. */
int compute_take(const char **word, const char **dtype, struct err *e);

/* Writes the name of the processor in /proc/cpuinfo, or "CPU". */
void compute_cpu_name(char *dst, size_t size);

/* Writes device, backend and reason to dst, as one line. comm: the name of the communicator, or
 * NULL. */
#define COMPUTE_LINE 1600
void compute_describe(const struct compute *c, const char *comm, char dst[COMPUTE_LINE]);

/* Returns the value of train.dtype, or for "auto" "tf32" if *c has it, otherwise "f32". */
const char *compute_dtype(const struct compute *c, const char *dtype);

/* Logs that line and, for a GPU, dtype; with "bf16" on the CPU, that it is slower there. */
void compute_log(const struct compute *c, const char *comm, const char *dtype);

#endif
