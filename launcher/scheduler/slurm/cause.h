/* SPDX-License-Identifier: BSD-3-Clause */
/* Why Slurm refuses a request or an action, as a number: also the member "code" of refusals
 * (PROTOCOL.md). */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_CAUSE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_CAUSE_H

#include <stdbool.h>

/* The numbers belong to the protocol. */
enum cause {
    CAUSE_OTHER = 0,
    CAUSE_LOST = 1,         /* it is unknown whether a job was submitted */
    CAUSE_INCOMPATIBLE = 2, /* the cluster's release does not understand this program */
    CAUSE_DENIED = 3,       /* Slurm hides this from the user (PrivateData) */
    CAUSE_NO_JOB = 4,       /* the job has ended or is unknown */
    CAUSE_LATER = 5,        /* a job that would have to wait for its turn */
    CAUSE_FULL = 6,         /* a limit of jobs; it may be submitted when others have ended */
    CAUSE_LIMIT = 7,        /* another limit of accounting */
    CAUSE_ACCOUNT = 8,      /* an account or QOS that the user may not use */
    CAUSE_NODES = 9,        /* no nodes have what is asked for */
    CAUSE_GRES = 10,
    CAUSE_FEATURE = 11,
    CAUSE_DOWN = 12, /* no controller could be reached, so nothing was executed */
    CAUSE_COUNT
};

/* Returns the cause in a text of Slurm's commands, or otherwise if it has none of the answers of
 * slurmctld that are known. They are those of slurm_strerror in Slurm 22.05 to 26.05. */
enum cause cause_find(const char *text, enum cause otherwise);

/* Returns why sbatch failed that wrote this on stderr and no job id: CAUSE_LOST unless it failed
 * before it submitted the job, or each of its attempts has a known answer. */
enum cause cause_of_sbatch(const char *said);

/* Returns what a user can do about it, or "". */
const char *cause_advice(enum cause cause);

/* Returns whether a job that is refused for this cause in a check would only wait if it were
 * submitted. away is the number of nodes of its partition that are down, drained or do not
 * respond. */
bool cause_passes(enum cause cause, int away);

#endif
