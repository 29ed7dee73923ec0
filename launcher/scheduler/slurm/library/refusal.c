/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/refusal.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/library/version.h"
#include "launcher/scheduler/slurm/message.h"

#define RELEASE_MAJOR SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)
#define RELEASE_MINOR SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER)

/* Returns whether the release of Slurm's commands, which is the cluster's, differs from this
 * library's. */
static bool differs_from_commands(void)
{
    static const char *const argv[] = {"scontrol", "--version", NULL};
    struct command c;
    int major, minor;

    json_t *refusal = command_run(argv, &c);
    bool differs = !refusal && c.out.data &&
                   sscanf(c.out.data, "slurm%*[^0-9]%d.%d", &major, &minor) == 2 &&
                   (major != RELEASE_MAJOR || minor != RELEASE_MINOR);
    json_decref(refusal);
    command_destroy(&c);
    return differs;
}

/* A controller of 26.05 answers in HTTP what it cannot read (SLURM_UNEXPECTED_MSG_ERROR). If one of
 * 24.11 answers an older library, the code is SLURM_ERROR, which can mean any failure. */
enum cause refusal_cause(int code)
{
    switch (code) {
    case SLURM_PROTOCOL_VERSION_ERROR:
    case SLURM_PROTOCOL_INSANE_MSG_LENGTH:
        return CAUSE_INCOMPATIBLE;
    case SLURM_ERROR:
    case SLURM_UNEXPECTED_MSG_ERROR:
        return differs_from_commands() ? CAUSE_INCOMPATIBLE : CAUSE_OTHER;
    case SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR:
        return CAUSE_DOWN;
    case ESLURM_ACCESS_DENIED:
        return CAUSE_DENIED;
    case ESLURM_ALREADY_DONE:
    case ESLURM_INVALID_JOB_ID:
        return CAUSE_NO_JOB;
    case ESLURM_NODES_BUSY:
    case ESLURM_NODE_NOT_AVAIL:
    case ESLURM_JOB_HELD:
    case ESLURM_DEPENDENCY:
    case ESLURM_PARTITION_DOWN:
    case ESLURM_RESERVATION_BUSY:
    case ESLURM_RESERVATION_MAINT:
    case ESLURM_RESERVATION_NOT_USABLE:
    case ESLURM_QOS_THRES:
    case ESLURM_BURST_BUFFER_WAIT:
        return CAUSE_LATER;
    case VERSION_FULL:
        return CAUSE_FULL;
    case ESLURM_ACCOUNTING_POLICY:
        return CAUSE_LIMIT;
    case ESLURM_INVALID_ACCOUNT:
    case ESLURM_INVALID_QOS:
        return CAUSE_ACCOUNT;
    case ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE:
        return CAUSE_NODES;
    case ESLURM_INVALID_GRES:
        return CAUSE_GRES;
    case ESLURM_INVALID_FEATURE:
        return CAUSE_FEATURE;
    default:
        return CAUSE_OTHER;
    }
}

json_t *refusal_of_slurm(int code)
{
    enum cause cause = refusal_cause(code);

    if (cause == CAUSE_INCOMPATIBLE)
        return message_refuse_for(cause, "the cluster does not understand libslurm of release "
                                  "%d.%02d (%s)", RELEASE_MAJOR, RELEASE_MINOR,
                                  slurm_strerror(code));
    return message_refuse_for(cause, "%s", slurm_strerror(code));
}
