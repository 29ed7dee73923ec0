/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables that sbatch reads as options (INPUT ENVIRONMENT VARIABLES of sbatch(1)) and that it
 * does not get as they are. doc/SLURM.md has the same table. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SBATCH_ENVIRONMENT_H
#define UNETCTL_LAUNCHER_SCHEDULER_SBATCH_ENVIRONMENT_H

#include "launcher/scheduler/job.h"

enum sbatch_rule {
    SBATCH_SETTING, /* is the setting slurm.TO unless another layer sets that */
    SBATCH_CLUSTER, /* is compared with the cluster that answers */
    SBATCH_DECIDED  /* is not used, and named: unetctl decides on this, for the reason TO */
};

struct sbatch_variable {
    const char *name; /* NULL ends the table */
    enum sbatch_rule rule;
    const char *to;
};

extern const struct sbatch_variable sbatch_environment_variables[];

/* Returns whether sbatch, and so the job, gets this entry ("NAME=VALUE") of the environment.
 * own_directives: the job's script decides on settings, so sbatch gets their variables. */
bool sbatch_environment_passes(const char *entry, bool own_directives);

/* Takes the name of the cluster from variables into o. Returns 0, or -1 with ERR_USAGE if variables
 * ask for GPUs in $SBATCH_GRES, which unetctl decides on. */
int sbatch_environment_take(struct job_options *o, struct err *e);

/* Adds the variables of sbatch that are set and not used, each with its reason. */
void sbatch_environment_unused(struct buf *dst);

#endif
