/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/cause.h"

#include <stddef.h>
#include <string.h>

/* The first part that a text has decides. An answer that was lost comes first, as sbatch may try
 * again and then fail for another reason. */
static const struct {
    const char *part;
    enum cause cause;
} texts[] = {
    {"timed out", CAUSE_LOST},
    {"Zero Bytes", CAUSE_LOST},
    {"send/recv", CAUSE_LOST},
    {"Connection reset", CAUSE_LOST},
    {"Unexpected message", CAUSE_LOST},
    {"missing socket", CAUSE_LOST},
    {"send failure", CAUSE_LOST},
    {"receive failure", CAUSE_LOST},
    {"shutdown failure", CAUSE_LOST},
    {"communication", CAUSE_LOST},
    {"in standby mode", CAUSE_LOST}, /* a backup controller that has not taken over yet */
    {"Unable to contact slurm controller", CAUSE_DOWN},
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
    {"Job violates accounting/QOS policy", CAUSE_LIMIT},
    {"Invalid account", CAUSE_ACCOUNT},
    {"Invalid qos", CAUSE_ACCOUNT},
    {"Requested node configuration is not available", CAUSE_NODES},
    {"Invalid generic resource (gres) specification", CAUSE_GRES},
    {"Invalid feature specification", CAUSE_FEATURE},
};

enum cause cause_find(const char *text)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strstr(text, texts[i].part))
            return texts[i].cause;
    return CAUSE_OTHER;
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
    default:
        return "";
    }
}

bool cause_passes(enum cause cause, int away)
{
    return cause == CAUSE_LATER || cause == CAUSE_LIMIT || cause == CAUSE_FULL ||
           (cause == CAUSE_NODES && away > 0);
}
