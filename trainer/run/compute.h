/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process computes with: the one place that decides between GPUs and the CPU.
 *
 *   auto   cuda where this process has a GPU that this build can use. A process that was given GPUs
 *          (CUDA_VISIBLE_DEVICES, Slurm's variables) and cannot use them is refused; one that was
 *          given none computes on the CPU, and so does one whose GPUs are fake (UNET_GPUS=fake, as
 *          jobs of `unetctl sandbox` have it).
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
    char why[1024];   /* why auto is not a GPU, or "" */
    bool fake;        /* since UNET_GPUS says so */
};

/* ERR_PEER: no GPU works, though one should. ERR_CONFIG: an unknown backend. */
int compute_choose(struct compute *c, const char *word, struct err *e);

/* For a verb of one process: makes *word the name of its backend, and logs what it is. */
int compute_take(const char **word, struct err *e);

/* One line without its end: device, backend, why. comm: what sums gradients, or NULL. */
#define COMPUTE_LINE 1600
void compute_describe(const struct compute *c, const char *comm, char dst[COMPUTE_LINE]);

/* That line as a log message. */
void compute_log(const struct compute *c, const char *comm);

#endif
