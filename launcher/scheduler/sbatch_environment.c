/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/sbatch_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "launcher/scheduler/sbatch_help.h"

#define GPUS "--gpus of unetctl decides"
#define OUTPUT "'unetctl logs' shows stdout and stderr of a job, from one file"

const struct sbatch_variable sbatch_environment_variables[] = {
    {"SBATCH_ACCOUNT", SBATCH_SETTING, "account"},
    {"SBATCH_ACCTG_FREQ", SBATCH_VALUE, "acctg-freq"},
    {"SBATCH_ARRAY_INX", SBATCH_DECIDED, "each run is a separate job; --seeds N repeats them"},
    {"SBATCH_BATCH", SBATCH_VALUE, "batch"},
    {"SLURM_CLUSTERS", SBATCH_VALUE, "clusters"},
    {"SBATCH_CLUSTERS", SBATCH_VALUE, "clusters"},
    {"SBATCH_CONSTRAINT", SBATCH_SETTING, "constraint"},
    {"SBATCH_CONTAINER", SBATCH_VALUE, "container"},
    {"SBATCH_CONTAINER_ID", SBATCH_LATER, "container-id"},
    {"SBATCH_CONTAINER_TYPE", SBATCH_LATER, "container-type"},
    {"SBATCH_CORE_SPEC", SBATCH_VALUE, "core-spec"},
    {"SBATCH_CPUS_PER_GPU", SBATCH_SETTING, "cpus_per_gpu"},
    {"SBATCH_DEBUG", SBATCH_IGNORED, "unetctl reads what sbatch prints"},
    {"SBATCH_DELAY_BOOT", SBATCH_VALUE, "delay-boot"},
    {"SBATCH_DISTRIBUTION", SBATCH_DECIDED, "ranks are numbered node by node"},
    {"SBATCH_ERROR", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_EXCLUSIVE", SBATCH_OPTIONAL, "exclusive"},
    {"SBATCH_EXPORT", SBATCH_VALUE, "export"},
    {"SBATCH_GET_USER_ENV", SBATCH_OPTIONAL, "get-user-env"},
    {"SBATCH_GPUS", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_NODE", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPU_BIND", SBATCH_VALUE, "gpu-bind"},
    {"SBATCH_GPU_FREQ", SBATCH_VALUE, "gpu-freq"},
    {"SBATCH_GRES", SBATCH_VALUE, "gres"},
    {"SBATCH_GRES_FLAGS", SBATCH_VALUE, "gres-flags"},
    {"SLURM_HINT", SBATCH_VALUE, "hint"},
    {"SBATCH_HINT", SBATCH_VALUE, "hint"},
    {"SBATCH_IGNORE_PBS", SBATCH_IGNORED, "scripts have no #PBS lines"},
    {"SBATCH_INPUT", SBATCH_VALUE, "input"},
    {"SBATCH_JOB_NAME", SBATCH_DECIDED, "the name is that of study and run"},
    {"SBATCH_MEM_BIND", SBATCH_VALUE, "mem-bind"},
    {"SBATCH_MEM_PER_CPU", SBATCH_VALUE, "mem-per-cpu"},
    {"SBATCH_MEM_PER_GPU", SBATCH_VALUE, "mem-per-gpu"},
    {"SBATCH_MEM_PER_NODE", SBATCH_SETTING, "mem"},
    {"SBATCH_NETWORK", SBATCH_VALUE, "network"},
    {"SBATCH_NO_KILL", SBATCH_OPTIONAL, "no-kill"},
    {"SBATCH_NO_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_OPEN_MODE", SBATCH_DECIDED, "a requeued job continues its output"},
    {"SBATCH_OUTPUT", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_OVERCOMMIT", SBATCH_FLAG, "overcommit"},
    {"SBATCH_PARTITION", SBATCH_SETTING, "partition"},
    {"SBATCH_POWER", SBATCH_DECIDED, "later releases of Slurm have no --power"},
    {"SBATCH_PROFILE", SBATCH_VALUE, "profile"},
    {"SBATCH_QOS", SBATCH_SETTING, "qos"},
    {"SBATCH_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_REQ_SWITCH", SBATCH_VALUE, "switches"},
    {"SBATCH_RESERVATION", SBATCH_VALUE, "reservation"},
    {"SBATCH_SEGMENT_SIZE", SBATCH_LATER, "segment"},
    {"SBATCH_SIGNAL", SBATCH_DECIDED, "slurm.signal_s decides"},
    {"SBATCH_SPREAD_JOB", SBATCH_DECIDED, "ranks fill node after node"},
    {"SBATCH_THREADS_PER_CORE", SBATCH_VALUE, "threads-per-core"},
    {"SBATCH_THREAD_SPEC", SBATCH_VALUE, "thread-spec"},
    {"SBATCH_TIMELIMIT", SBATCH_SETTING, "time"},
    {"SBATCH_TRES_BIND", SBATCH_LATER, "tres-bind"},
    {"SBATCH_TRES_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_USE_MIN_NODES", SBATCH_FLAG, "use-min-nodes"},
    {"SBATCH_WAIT", SBATCH_DECIDED, "--wait of unetctl submit waits"},
    {"SBATCH_WAIT4SWITCH", SBATCH_IGNORED, "SBATCH_REQ_SWITCH takes it along"},
    {"SBATCH_WAIT_ALL_NODES", SBATCH_VALUE, "wait-all-nodes"},
    {"SBATCH_WCKEY", SBATCH_VALUE, "wckey"},
    {0},
};

/* Returns whether Slurm itself sets this variable in a job. It is not the user's there. */
static bool is_of_job(const char *name)
{
    static const char *const names[] = {"SLURM_HINT", "SBATCH_MEM_BIND", "SBATCH_CPU_BIND", NULL};

    for (const char *const *n = names; getenv("SLURM_JOB_ID") && *n; n++)
        if (strncmp(name, *n, strlen(*n)) == 0)
            return true;
    return false;
}

const char *sbatch_environment_get(const struct sbatch_variable *v)
{
    return is_of_job(v->name) ? NULL : getenv(v->name);
}

static bool is_set(const char *value)
{
    return !*value || strcasecmp(value, "yes") == 0 || strtol(value, NULL, 10) != 0;
}

const char *sbatch_environment_add(const struct sbatch_variable *v, const char *value,
                                   struct sbatch_words *dst, struct err *e)
{
    const char *wait = strcmp(v->to, "switches") == 0 ? getenv("SBATCH_WAIT4SWITCH") : NULL;
    bool is_bare = (v->rule == SBATCH_FLAG || v->rule == SBATCH_OPTIONAL) && is_set(value);
    char *word;

    if (asprintf(&word, "--%s%s%s%s%s", v->to, is_bare ? "" : "=", is_bare ? "" : value,
                 wait ? "@" : "", wait ? wait : "") < 0) {
        err_errno(e, ERR_INTERNAL, ENOMEM, "$%s", v->name);
        return NULL;
    }
    dst->names[dst->count] = v->name;
    dst->words[dst->count++] = word;
    return word;
}

/* Returns whether the variable's option is one of a later release than that of this machine's
 * sbatch, which then refuses it. What --help lists does not decide: in Slurm 26.05 it lacks
 * --segment. */
static bool is_too_late(const struct sbatch_variable *v)
{
    char option[64], *const argv[] = {"sbatch", option, "--help", NULL};
    struct buf help = {0};

    if (v->rule != SBATCH_LATER)
        return false;
    snprintf(option, sizeof option, "--%s=1", v->to); /* a value that each of them takes */
    sbatch_help_ask(argv, false, &help);
    bool is_refused = help.length == 0;
    buf_destroy(&help);
    return is_refused;
}

/* Returns whether a variable that is an option is in force with this value. */
static bool is_option(const struct sbatch_variable *v, const char *value)
{
    switch (v->rule) {
    case SBATCH_VALUE: return *value != 0;
    case SBATCH_LATER: return *value != 0 && !is_too_late(v);
    case SBATCH_FLAG: return is_set(value);
    case SBATCH_OPTIONAL: return strcmp(value, "0") != 0 && strcasecmp(value, "no") != 0;
    default: return false;
    }
}

int sbatch_environment_decode(struct job_options *o, struct sbatch_words *dst, struct err *e)
{
    for (const struct sbatch_variable *v = sbatch_environment_variables; v->name; v++) {
        const char *value = sbatch_environment_get(v);
        if (!value || !is_option(v, value))
            continue;
        char *word = (char *)sbatch_environment_add(v, value, dst, e);
        if (!word || job_options_decode(o, 1, &word, e))
            return err_prefix(e, "$%s", v->name);
    }
    return 0;
}

static bool is_memory(const char *word)
{
    return strncmp(word, "--mem-per-", strlen("--mem-per-")) == 0;
}

static bool is_one_of(const char *word, const struct sbatch_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (words->words[i] == word)
            return true;
    return false;
}

void sbatch_environment_yield(struct job_options *o, const struct sbatch_words *words,
                              bool is_mem_option)
{
    bool chosen = o->mem && is_mem_option;
    int kept = 0;

    for (int i = 0; i < o->nextra; i++)
        chosen |= is_memory(o->extra[i]) && !is_one_of(o->extra[i], words);
    if (!chosen)
        return;
    if (!is_mem_option)
        o->mem = NULL;
    for (int i = 0; i < o->nextra; i++)
        if (!is_memory(o->extra[i]) || !is_one_of(o->extra[i], words))
            o->extra[kept++] = o->extra[i];
    o->nextra = kept;
}

static const struct sbatch_variable *find_variable(const char *entry, size_t length)
{
    const struct sbatch_variable *v = sbatch_environment_variables;

    while (v->name && (strlen(v->name) != length || strncmp(entry, v->name, length) != 0))
        v++;
    return v->name ? v : NULL;
}

void sbatch_environment_unused(struct buf *dst)
{
    for (char **entry = environ; *entry; entry++) {
        size_t n = strcspn(*entry, "=");
        const struct sbatch_variable *v = find_variable(*entry, n);
        const char *why = NULL;
        if (!v && strncmp(*entry, "SBATCH_", 7) == 0 && !is_of_job(*entry))
            why = "unknown to unetctl";
        else if (v && v->rule == SBATCH_DECIDED)
            why = v->to;
        else if (v && is_too_late(v))
            why = "this release of sbatch has no such option";
        if (why)
            buf_addf(dst, "%s$%.*s (%s)", dst->length ? ", " : "", (int)n, *entry, why);
    }
}

void sbatch_environment_destroy(struct sbatch_words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->words[i]);
    *w = (struct sbatch_words){0};
}
