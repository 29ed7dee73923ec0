/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy of a run's nodes by Slurm's accounting, where nothing beside the run has measured its
 * GPUs. The answer is kept in the attempt's folder, as accounting forgets jobs. */
#ifndef UNETCTL_LAUNCHER_COLLECT_NODE_ENERGY_H
#define UNETCTL_LAUNCHER_COLLECT_NODE_ENERGY_H

#include "launcher/collect/results/results.h"
#include "launcher/study/workspace.h"

/* Sets the energy of the nodes of runs that ended in the last 30 days, from the folders of their
 * attempts, or else from Slurm. Runs that shared nodes or a job, or whose job was not counted for
 * nearly the whole run, have none. Without an answer nothing changes. */
void node_energy_resolve(struct workspace *w, struct results *table);

#endif
