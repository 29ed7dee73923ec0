/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/cause.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The first part that a text has decides. All are texts of slurm_strerror with which slurmctld
 * answers, but for the failure to connect to it. */
static const struct {
    const char *part;
    enum cause cause;
} texts[] = {
    {"Unable to contact slurm controller (connect failure)", CAUSE_DOWN},
    {"Communication connection failure", CAUSE_DOWN},
    {"Incompatible versions of client and server code", CAUSE_INCOMPATIBLE},
    {"Access/permission denied", CAUSE_DENIED},
    {"Invalid job id", CAUSE_NO_JOB},
    {"already complet", CAUSE_NO_JOB},
    {"Requested nodes are busy", CAUSE_LATER},
    {"Required node not available", CAUSE_LATER},
    {"Job is in held state", CAUSE_LATER},
    {"Job dependency problem", CAUSE_LATER},
    {"Partition in DOWN state", CAUSE_LATER},
    {"Requested reservation is in use", CAUSE_LATER},
    {"maintenance reservation", CAUSE_LATER},
    {"Requested reservation not usable now", CAUSE_LATER},
    {"QOS usage threshold", CAUSE_LATER},
    {"Waiting for burst buffer", CAUSE_LATER},
    {"Resource temporarily unavailable", CAUSE_FULL},
    {"MaxJobCount limit reached", CAUSE_FULL},
    {"Unable to create job record", CAUSE_FULL},
    {"Job violates accounting/QOS policy", CAUSE_LIMIT},
    {"Invalid account", CAUSE_ACCOUNT},
    {"Invalid qos", CAUSE_ACCOUNT},
    {"Requested node configuration is not available", CAUSE_NODES},
    {"Invalid generic resource (gres) specification", CAUSE_GRES},
    {"Invalid feature specification", CAUSE_FEATURE},
};

/* Its other answers to a submission. "Unspecified error" is that of plugins which refuse a job. */
static const char *const others[] = {
    "Unspecified error", "Invalid partition name", "No partition specified",
    "User's group not permit",
    "Requested nodes not in this partition", "More processors requested than permitted",
    "Node count specification invalid", "Job size specification", "Job script not specified",
    "Invalid user id", "Invalid user ID", "Duplicate job id", "Pathname of a file",
    "Immediate execution impossible", "Requested partition configuration", "Invalid node name",
    "Core count for", "I/O error writing script", "Task distribution specification invalid",
    "Task count specification invalid", "Active features not subset", "Requested operation ",
    "Only batch jobs", "not permit arbitrary task distribution", "Requested more tasks than",
    "Licenses currently unavailable", "Memory required by task", "Invalid wckey", "Invalid license",
    "Requested time limit is invalid", "Access denied to requested reservation",
    "Requested reservation is invalid", "Invalid time specified", "QOS Preemption loop",
    "CPU count specification invalid", "Required partition not available",
    "Circular job dependency",
    "Invalid job array", "Burst Buffer ", "Invalid mcs_label", "Duplicate generic resource",
    "System submissions disabled", "X11 forwarding not available", "Invalid group id",
    "Invalid group ID", "Job --batch option", "Invalid Trackable RESource", "Invalid JobDefaults",
    "Invalid GRES specification", "Multiple KNL", "Requested GRES option", "Invalid --nice value",
    "Invalid time-min", "Environment is missing in job", "Multiple partition job request",
    "Cannot request more threads", "Invalid preferred feature", "Insufficient GRES available",
    "Invalid container id", "Invalid or unknown association", "Invalid QOS specification",
    "Invalid extra constraints", "RestrictedCoresPerGPU", "Max powered up nodes reached",
    "Requested topology", "Preemption is required", "Required nodes ", "topology unit",
    "without the current working directory", "Time limit specification required",
    "Rate limit exceeded", "Invalid cluster name", "No eligible clusters",
};

enum cause cause_find(const char *text, enum cause otherwise)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strstr(text, texts[i].part))
            return texts[i].cause;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(text, others[i]))
            return CAUSE_OTHER;
    return otherwise;
}

enum cause cause_of_sbatch(const char *said)
{
    static const char failed[] = "Batch job submission failed: ";
    enum cause cause = CAUSE_OTHER;
    char line[256];

    while (cause != CAUSE_LOST && (said = strstr(said, failed))) {
        said += sizeof failed - 1;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
        cause = cause_find(line, CAUSE_LOST);
    }
    return cause;
}

const char *cause_advice(enum cause cause)
{
    switch (cause) {
    case CAUSE_GRES:
        return "no node has such a resource: compare gpu_type of the site, and --gres, with sinfo "
               "-o '%P %G'";
    case CAUSE_NODES:
        return "too few nodes have what it asks for: compare slurm.cpus_per_gpu, slurm.mem, "
               "slurm.constraint and gpu_type of the site with sinfo -o '%P %D %c %m %f %G'";
    case CAUSE_FEATURE:
        return "compare slurm.constraint with the features in sinfo -o '%P %f'";
    case CAUSE_DOWN:
        return "type the same command again when 'scontrol ping' shows it up";
    default:
        return "";
    }
}

bool cause_passes(enum cause cause, int away)
{
    return cause == CAUSE_LATER || cause == CAUSE_LIMIT || cause == CAUSE_FULL ||
           (cause == CAUSE_NODES && away > 0);
}
