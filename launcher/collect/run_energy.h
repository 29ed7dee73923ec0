/* SPDX-License-Identifier: BSD-3-Clause */
/* What samplers measured beside a run (energy_log.h) becomes its energy. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RUN_ENERGY_H
#define UNETCTL_LAUNCHER_COLLECT_RUN_ENERGY_H

#include "launcher/collect/results/results.h"

/* The share of a run's GPU-seconds that must be measured for its energy to be known. */
#define RUN_ENERGY_COVERED 0.95

/* Sets energy, use and memory of a run that is done, from the folder of its attempt and of those
 * whose checkpoints it continued, and the joules of its curve if the job started once. Where not
 * all of its GPUs were measured to the end, its energy remains unknown. r->note, if empty, becomes
 * the reason, or an XID. */
void run_energy_measure(const char *study_dir, struct result *r);

#endif
