/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/sbatch_environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/jobenv.h"

#define GPUS "--gpus of unetctl decides"
#define OUTPUT "'unetctl logs' shows stdout and stderr of a job, from one file"

const struct sbatch_variable sbatch_environment_variables[] = {
    {"SBATCH_ACCOUNT", SBATCH_SETTING, "account"},
    {"SBATCH_ARRAY_INX", SBATCH_DECIDED, "each run is a separate job; --seeds N repeats them"},
    {"SLURM_CLUSTERS", SBATCH_CLUSTER, ""},
    {"SBATCH_CLUSTERS", SBATCH_CLUSTER, ""},
    {"SBATCH_CONSTRAINT", SBATCH_SETTING, "constraint"},
    {"SBATCH_CPUS_PER_GPU", SBATCH_SETTING, "cpus_per_gpu"},
    {"SBATCH_DISTRIBUTION", SBATCH_DECIDED, "ranks are numbered node by node"},
    {"SBATCH_ERROR", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_GPUS", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_NODE", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_JOB_NAME", SBATCH_DECIDED, "the name is that of study and run"},
    {"SBATCH_MEM_PER_NODE", SBATCH_SETTING, "mem"},
    {"SBATCH_NO_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_OPEN_MODE", SBATCH_DECIDED, "a requeued job continues its output"},
    {"SBATCH_OUTPUT", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_PARTITION", SBATCH_SETTING, "partition"},
    {"SBATCH_QOS", SBATCH_SETTING, "qos"},
    {"SBATCH_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_SIGNAL", SBATCH_DECIDED, "slurm.signal_s decides"},
    {"SBATCH_SPREAD_JOB", SBATCH_DECIDED, "ranks fill node after node"},
    {"SBATCH_TIMELIMIT", SBATCH_SETTING, "time"},
    {"SBATCH_TRES_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_WAIT", SBATCH_DECIDED, "--wait of unetctl submit waits"},
    {0},
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const struct sbatch_variable *find_variable(const char *entry)
{
    const struct sbatch_variable *v = sbatch_environment_variables;
    size_t n = strcspn(entry, "=");

    while (v->name && (strlen(v->name) != n || strncmp(entry, v->name, n) != 0))
        v++;
    return v->name ? v : NULL;
}

bool sbatch_environment_passes(const char *entry, bool own_directives)
{
    const struct sbatch_variable *v = find_variable(entry);
    /* Slurm itself sets these in a job. They are not the user's there. */
    bool is_of_job = getenv("SLURM_JOB_ID") &&
                     (begins_with(entry, "SLURM_HINT=") || begins_with(entry, "SBATCH_MEM_BIND") ||
                      begins_with(entry, "SBATCH_CPU_BIND"));

    if (v) /* {{cpus}} of the script has the CPUs */
        return v->rule == SBATCH_SETTING && own_directives && strcmp(v->to, "cpus_per_gpu") != 0;
    return !is_of_job && (begins_with(entry, "SBATCH_") || begins_with(entry, "SLURM_HINT=") ||
                          !jobenv_is_foreign(entry));
}

int sbatch_environment_take(struct job_options *o, struct err *e)
{
    const char *gres = getenv("SBATCH_GRES");

    for (const struct sbatch_variable *v = sbatch_environment_variables; v->name; v++)
        if (v->rule == SBATCH_CLUSTER && getenv(v->name) && *getenv(v->name))
            o->clusters = getenv(v->name);
    if (!gres || !strstr(gres, "gpu"))
        return 0;
    return err_set(e, ERR_USAGE, "$SBATCH_GRES is '%s': --gpus sets the GPUs of a job, gpu_type "
                   "of the site file their type, and gpu_request whether --gres asks for them", gres);
}

void sbatch_environment_unused(struct buf *dst)
{
    for (const struct sbatch_variable *v = sbatch_environment_variables; v->name; v++)
        if (v->rule == SBATCH_DECIDED && getenv(v->name))
            buf_addf(dst, "%s$%s (%s)", dst->length ? ", " : "", v->name, v->to);
}
