/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures what connects the ranks of a run (unet-train train --bandwidth): sums over all of them
 * and exchanges between two, of 1 KiB to 128 MiB, with training's communicator and memory. */
#ifndef UNETCTL_TRAINER_RUN_BANDWIDTH_H
#define UNETCTL_TRAINER_RUN_BANDWIDTH_H

#include "trainer/comm/comm.h"
#include "trainer/comm/comm_open.h"

/* Called by every rank; gpu is zeroed unless NCCL connects GPUs. Rank 0 writes the times to
 * dir/bandwidth.json (doc/SCHEMAS.md). Two ranks exchange while the others are idle: ranks r and
 * r + 1, then r and r + 2, and so on. For each size the sums and the exchanges may take 4 s each,
 * so the whole takes less than 50 s: what is expected to take longer is left out, which the file
 * says. ERR_USAGE for a single rank. */
int bandwidth_measure(struct comm *c, const struct device_comm *gpu, const char *dir,
                      struct err *e);

#endif
