/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of all runs of a layout (slurm.same_nodes): those where Slurm expected the first of
 * them to run, as lines "GPUS NODES LIST" in .unetctl/same-nodes, of which the last counts. */
#ifndef UNETCTL_LAUNCHER_STUDY_SAME_NODES_H
#define UNETCTL_LAUNCHER_STUDY_SAME_NODES_H

#include "launcher/study/workspace.h"

#define SAME_NODES_SIZE 128 /* as scheduler_forecast.nodes; longer lists are not used */

/* Sets dst to the node list of the run. Returns false, and sets dst to "", if it has none: the
 * study does not ask for that, the user chooses nodes, or the list has a node that is excluded. */
bool same_nodes_find(const struct plan *p, const struct run *run, char dst[SAME_NODES_SIZE]);

/* Asks the scheduler where the job, which has no node list, would run, and keeps the answer. */
int same_nodes_choose(const struct plan *p, struct scheduler *s, const struct run *run,
                      const struct job *job, struct err *e);

#endif
