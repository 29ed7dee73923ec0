/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/description.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/jobenv.h"
#include "launcher/scheduler/slurm/library/version.h"
#include "launcher/scheduler/slurm/message.h"

static int add_variable(struct description *d, const char *name, const char *value)
{
    char *entry;

    if (asprintf(&entry, "%s=%s", name, value) < 0)
        return -1;
    d->environment[d->nenvironment++] = entry;
    return 0;
}

static int add_number_option(struct description *d, const char *name, long value)
{
    char text[24];

    snprintf(text, sizeof text, "%ld", value);
    return add_variable(d, name, text);
}

#define SBATCH_VARIABLES 20

/* Returns whether the cluster's configuration keeps Slurm from setting how MPICH and Intel MPI
 * start their daemons. */
static bool hydra_is_left_alone(void)
{
    static int answer = -1;
    slurm_conf_t *conf;

    if (answer < 0 && slurm_load_ctl_conf(0, &conf) == SLURM_SUCCESS) {
        answer = conf->mpi_params && strstr(conf->mpi_params, "disable_slurm_hydra_bootstrap");
        slurm_free_conf(conf);
    }
    return answer > 0;
}

static int add_default(struct description *d, const char *name, const char *value)
{
    return getenv(name) ? 0 : add_variable(d, name, value);
}

/* Sets variables so that an mpirun in the job starts its daemons with all of the job's GPUs and
 * CPUs. */
static int add_launchers(struct description *d)
{
    static const char *const hydra[][2] = {
        {"HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS"},
        {"I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}};
    static const char external[] = "--external-launcher";

    if (add_default(d, "OMPI_MCA_plm_slurm_args", external) < 0 ||
        add_variable(d, "PRTE_MCA_plm_slurm_args", external) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        const char *chosen = getenv(hydra[i][0]);
        if (chosen ? strcmp(chosen, "slurm") != 0 : hydra_is_left_alone())
            continue;
        if (add_default(d, hydra[i][0], "slurm") < 0 || add_default(d, hydra[i][1], external) < 0)
            return -1;
    }
    return 0;
}

/* Sets the variables from which srun in the job takes what each task gets and, with
 * VERSION_TASK_LIST, those for mpirun (add_launchers). */
static int add_task(struct description *d, const json_t *job)
{
    const char *type = message_text(job, "gpu_type");
    char gpus[64];

    if (VERSION_TASK_LIST)
        return add_variable(d, "SLURM_TRES_PER_TASK", d->task_tres) < 0 ||
                       (*d->bind && add_variable(d, "SLURM_TRES_BIND", d->bind) < 0)
                   ? -1
                   : add_launchers(d);
    snprintf(gpus, sizeof gpus, "%s%s%ld", type ? type : "", type ? ":" : "",
             message_number(job, "gpus_per_task"));
    return *d->node_tres ? 0 : add_variable(d, "SLURM_GPUS_PER_TASK", gpus);
}

/* Fills the environment that sbatch would pass to a job: this process's own, without the
 * variables of another job, and sbatch's additions. */
static int fill_environment(struct description *d, const json_t *job)
{
    char host[256] = "", mask_text[8];
    size_t n = 0;
    mode_t mask = umask(0);

    umask(mask);
    snprintf(mask_text, sizeof mask_text, "%04o", (unsigned)mask);
    gethostname(host, sizeof host - 1);
    while (environ[n])
        n++;
    d->environment = calloc(n + SBATCH_VARIABLES, sizeof *d->environment);
    if (!d->environment)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (jobenv_is_foreign(environ[i]))
            continue;
        char *copy = strdup(environ[i]);
        if (!copy)
            return -1;
        d->environment[d->nenvironment++] = copy;
    }
    errno = 0;
    int niceness = getpriority(PRIO_PROCESS, 0);
    if (add_variable(d, "SLURM_SUBMIT_DIR", message_text(job, "work_dir")) < 0 ||
        add_variable(d, "SLURM_SUBMIT_HOST", host) < 0 ||
        add_variable(d, "SLURM_JOB_NAME", message_text(job, "name")) < 0 ||
        add_number_option(d, "SLURM_PRIO_PROCESS", niceness) < 0 ||
        add_variable(d, "SLURM_UMASK", mask_text) < 0 ||
        add_variable(d, "SLURM_OPEN_MODE", "a") < 0 ||
        add_number_option(d, "SLURM_NTASKS", message_number(job, "tasks")) < 0 ||
        add_number_option(d, "SLURM_NPROCS", message_number(job, "tasks")) < 0 ||
        add_number_option(d, "SLURM_CPUS_PER_TASK", message_number(job, "cpus_per_task")) < 0 ||
        (d->msg.ntasks_per_node != NO_VAL16 &&
         add_number_option(d, "SLURM_NTASKS_PER_NODE", d->msg.ntasks_per_node) < 0) ||
        add_task(d, job) < 0)
        return -1;
    d->msg.environment = d->environment;
    d->msg.env_size = (uint32_t)d->nenvironment;
    return 0;
}

/* Sets the options of the job. Absent ones keep Slurm's default, except that a job without
 * "requeue" is never requeued. */
static void fill_options(job_desc_msg_t *m, const json_t *job)
{
    m->partition = (char *)message_text(job, "partition");
    m->account = (char *)message_text(job, "account");
    m->qos = (char *)message_text(job, "qos");
    m->features = (char *)message_text(job, "constraint");
    m->reservation = (char *)message_text(job, "reservation");
    m->req_nodes = (char *)message_text(job, "nodelist");
    m->exc_nodes = (char *)message_text(job, "exclude");
    m->dependency = (char *)message_text(job, "dependency");
    m->licenses = (char *)message_text(job, "licenses");
    if (message_number(job, "mem_mib") > 0)
        m->pn_min_memory = (uint64_t)message_number(job, "mem_mib");
    if (message_number(job, "time_min") > 0)
        m->time_limit = (uint32_t)message_number(job, "time_min");
    if (message_number(job, "nice") != 0)
        m->nice = (uint32_t)(NICE_OFFSET + message_number(job, "nice"));
    if (message_number(job, "signal_s") > 0) {
        m->warn_signal = SIGUSR1;
        m->warn_time = (uint16_t)message_number(job, "signal_s");
        m->warn_flags = KILL_JOB_BATCH;
    }
    m->requeue = message_flag(job, "requeue");
    m->open_mode = OPEN_MODE_APPEND;
    if (message_flag(job, "exclusive"))
        m->shared = JOB_SHARED_NONE;
    if (message_flag(job, "hold"))
        m->priority = 0;
}

/* Requests GPUs per node if the job has "gres", otherwise per task: Slurm then fills one node
 * after the other, and 3 tasks on 2-GPU nodes become 2+1. */
static void describe_tres(struct description *d, const json_t *job)
{
    const char *type = message_text(job, "gpu_type"), *colon = type ? ":" : "";
    long gpus = message_number(job, "gpus_per_task"), cpus = message_number(job, "cpus_per_task");
    bool by_node = message_flag(job, "gres");
    job_desc_msg_t *m = &d->msg;
    int n = 0;

    if (VERSION_TASK_LIST)
        n = snprintf(d->task_tres, sizeof d->task_tres, "cpu" VERSION_EQUALS "%ld", cpus);
    if (by_node) {
        m->ntasks_per_node = (uint16_t)(m->num_tasks / m->min_nodes);
        snprintf(d->node_tres, sizeof d->node_tres, VERSION_GRES "gpu%s%s:%ld", colon,
                 type ? type : "", gpus * m->ntasks_per_node);
        m->tres_per_node = d->node_tres;
    } else {
        snprintf(d->task_tres + n, sizeof d->task_tres - (size_t)n,
                 "%s" VERSION_GRES "gpu%s%s" VERSION_EQUALS "%ld", n ? "," : "", colon,
                 type ? type : "", gpus);
        if (VERSION_TASK_LIST)
            snprintf(d->bind, sizeof d->bind, "gres/gpu:per_task:%ld", gpus);
    }
    if (*d->task_tres)
        m->tres_per_task = d->task_tres;
    if (*d->bind)
        m->tres_bind = d->bind;
}

static void describe_job(struct description *d, const json_t *job)
{
    job_desc_msg_t *m = &d->msg;
    uint32_t tasks = (uint32_t)message_number(job, "tasks");
    uint32_t cpus = (uint32_t)message_number(job, "cpus_per_task");

    slurm_init_job_desc_msg(m);
    m->name = (char *)message_text(job, "name");
    m->comment = (char *)message_text(job, "comment");
    m->script = d->script;
    m->work_dir = (char *)message_text(job, "work_dir");
    m->std_in = "/dev/null";
    m->std_out = (char *)message_text(job, "output");
    d->argv[0] = (char *)message_text(job, "script");
    m->argv = d->argv;
    m->argc = 1;
    m->user_id = getuid();
    m->group_id = getgid();
    m->min_nodes = m->max_nodes = (uint32_t)message_number(job, "nodes");
    m->num_tasks = tasks;
    m->cpus_per_task = (uint16_t)cpus;
    m->min_cpus = tasks * cpus;
    describe_tres(d, job);
    fill_options(m, job);
}

void description_free(struct description *d)
{
    for (size_t i = 0; i < d->nenvironment; i++)
        free(d->environment[i]);
    free(d->environment);
    free(d->script);
}

json_t *description_load(struct description *d, const json_t *job)
{
    *d = (struct description){0};
    json_t *refusal = message_text(job, "script") ? message_read_script(job, &d->script) : NULL;
    if (refusal)
        return refusal;
    if (!d->script)
        d->script = strdup("#!/bin/sh\n");
    describe_job(d, job);
    if (!d->script || fill_environment(d, job) < 0)
        return message_refuse("out of memory");
    return NULL;
}
