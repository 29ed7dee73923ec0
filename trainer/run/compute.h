/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice between GPUs and the CPU for this process.
 *
 *   auto   cuda where this process has a GPU that this build can use. A process that was given GPUs
 *          (CUDA_VISIBLE_DEVICES, Slurm's variables) but cannot use them is refused; one without
 *          GPUs, or with fake ones (UNET_GPUS=fake, as in jobs of `unetctl sandbox`), computes on
 *          the CPU.
 *   cpu    the best backend on the CPU.
 *   other  the backend of that name. */
#ifndef UNETCTL_TRAINER_RUN_COMPUTE_H
#define UNETCTL_TRAINER_RUN_COMPUTE_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/core/backend.h"

struct compute {
    const struct backend *backend;
    char device[256]; /* name of the GPU, or of the processor */
    char why[1024];   /* why auto chose no GPU, or "" */
    bool fake;        /* the GPUs are fake */
};

/* ERR_PEER: no GPU works, but one should. ERR_CONFIG: unknown backend. */
int compute_choose(struct compute *c, const char *word, struct err *e);

/* For a verb of one process: sets *word to the name of its backend, and logs the choice. */
int compute_take(const char **word, struct err *e);

/* Device, backend and reason in one line. comm: the name of the communicator, or NULL. */
#define COMPUTE_LINE 1600
void compute_describe(const struct compute *c, const char *comm, char dst[COMPUTE_LINE]);

/* That line as a log message. */
void compute_log(const struct compute *c, const char *comm);

#endif
