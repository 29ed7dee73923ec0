/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include <math.h>
#include <time.h>

#include "src/clock.h"

/* How long sbatch may take to submit a job. UNETCTL_SBATCH_S replaces it in tests. */
#define SBATCH_LIMIT_S 150

/* sbatch prints this when the queue is full, sleeps for at least a second and tries again, for two
 * minutes in all. */
#define RETRYING "sleeping and retrying"
#define SLEEP_S 1.0

#define STARTS " to start at " /* in the line of a forecast */
#define LONG_TEXT (ERR_TEXT_SIZE / 2) /* more may not fit into an error with its context */

/* Returns the job's id in the output, or NULL. sbatch --parsable prints ID or ID;CLUSTER. */
static const char *find_id(const char *text, size_t *length)
{
    for (; text; text = strchr(text, '\n'), text += text != NULL) {
        *length = strspn(text, "0123456789");
        if (*length > 0 && strchr("\n;", text[*length]))
            return text;
    }
    return NULL;
}

/* Logs the lines that sbatch printed, such as those of a site's plugins, each once, except the line
 * of a forecast. */
static void log_lines(const char *said, const char *but)
{
    static struct buf logged; /* between line breaks */
    struct buf one = {0};
    const char *line;
    size_t n;

    while ((line = command_line(&said, "sbatch", &n))) {
        one.length = 0;
        buf_addf(&one, "\n%.*s\n", (int)n, line);
        if (one.failed || (but && strstr(one.data, but)) ||
            (logged.length && strstr(logged.data, one.data)))
            continue;
        log_info("sbatch: %.*s", (int)n, line);
        buf_add(&logged, one.data);
    }
    buf_destroy(&one);
}

/* Returns this process's environment as far as sbatch and the job get it. The strings are not
 * copied. */
static char **make_environment(const struct job *job)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (sbatch_environment_passes(environ[i], job->own_directives))
            list[kept++] = environ[i];
    return list;
}

/* Runs sbatch MODE WORDS SCRIPT, with --wrap=true for a job without a script. */
static int run_sbatch(const struct sandbox *sandbox, const char *mode, const struct job *job,
                      struct child_end *dst, struct err *e)
{
    const char *limit = getenv("UNETCTL_SBATCH_S");
    char **environment = make_environment(job);
    struct job_words words;
    size_t n = 0;
    int rc = -1;

    job_words_fill(job, &words);
    const char **argv = mem_zero(words.list.count + 4, sizeof *argv, e);
    *dst = (struct child_end){0};
    if (argv && environment && !words.failed) {
        argv[n++] = "sbatch";
        argv[n++] = mode;
        for (size_t i = 0; i < words.list.count; i++)
            argv[n++] = words.list.lines[i];
        argv[n++] = job->script ? job->script : "--wrap=true";
        struct child c = {.argv = argv, .environment = environment, .group = true,
                          .until = RETRYING, .limit_s = limit ? atof(limit) : SBATCH_LIMIT_S};
        rc = command_run(sandbox, &c, dst, e);
    } else {
        mem_fail(e);
    }
    setting_clear_lines(&words.list);
    free(environment);
    free(argv);
    return rc;
}

/* Sets the refusal of a job from what sbatch printed, and returns its cause. */
static enum cause refuse(const struct sandbox *sandbox, const struct job *job,
                         const struct child_end *end, enum cause cause, struct err *e)
{
    command_explain("sbatch", end, e);
    if (strlen(e->text) > LONG_TEXT)
        log_lines(end->err.data, NULL);
    err_prefix(e, "Slurm");
    return limits_explain(sandbox, &job->options, cause, end->err.data, e);
}

/* Submits a job in the sandbox, or for NULL by this machine's Slurm, and logs what sbatch prints
 * beside the job's id. When it returns, sbatch and all that it started has ended, so no job is
 * submitted later. The result is SCHEDULER_SUBMITTED, SCHEDULER_REFUSED or SCHEDULER_LOST. It is
 * LOST with is_full if sbatch was ended because the queue is full: it had not tried again, so a
 * query that does not show the job is sure. */
static void sbatch_submit(const struct sandbox *sandbox, const struct job *job,
                          struct scheduler_result *dst)
{
    struct child_end end;
    size_t n;

    *dst = (struct scheduler_result){.outcome = SCHEDULER_REFUSED};
    if (run_sbatch(sandbox, "--parsable", job, &end, &dst->reason)) {
        if (end.pid > 0) /* memory ran out for what it printed */
            dst->outcome = SCHEDULER_LOST;
        child_destroy(&end);
        return;
    }
    const char *id = find_id(end.out.data, &n);
    double slept = clock_now() - end.absent;
    if (id) {
        dst->outcome = SCHEDULER_SUBMITTED;
        snprintf(dst->id, sizeof dst->id, "%.*s", (int)n, id);
        log_lines(end.err.data, NULL);
    } else if (end.is_killed && strstr(end.err.data, RETRYING)) {
        dst->outcome = SCHEDULER_LOST;
        dst->is_full = slept < SLEEP_S;
        refuse(sandbox, job, &end, CAUSE_FULL, &dst->reason);
    } else if (end.is_killed || end.code == 0 || end.code > 128) {
        dst->outcome = SCHEDULER_LOST;
        command_explain("sbatch", &end, &dst->reason);
        err_prefix(&dst->reason, end.is_killed   ? "sbatch was ended because it took too long"
                                 : end.code == 0 ? "sbatch printed no job id"
                                                 : "sbatch was ended by a signal");
    } else {
        enum cause cause = cause_of_sbatch(end.err.data);
        dst->outcome = cause == CAUSE_LOST ? SCHEDULER_LOST : SCHEDULER_REFUSED;
        cause = refuse(sandbox, job, &end, cause, &dst->reason);
        dst->is_full = cause == CAUSE_FULL;
    }
    child_destroy(&end);
}

/* Decodes "Job 7 to start at 2026-11-28T22:20:15 using 2 processors on nodes n[1-2] in partition
 * main". */
static void decode_forecast(const char *text, struct scheduler_forecast *dst)
{
    const char *start = strstr(text, STARTS), *nodes = strstr(text, " on nodes ");

    dst->start = start ? command_time(start + strlen(STARTS)) : 0;
    nodes = nodes ? nodes + strlen(" on nodes ") : "";
    snprintf(dst->nodes, sizeof dst->nodes, "%.*s", (int)strcspn(nodes, " \n"), nodes);
}

/* Finds whether and when Slurm would start the job. away is the number of nodes of its partition
 * that are down, drained or do not respond: if there are any, the job is not refused when Slurm
 * says that the requested node configuration is not available. Returns 0, or -1 with ERR_SCHED. */
static int sbatch_forecast(const struct sandbox *sandbox, const struct job *job, int away,
                           struct scheduler_forecast *dst, struct err *e)
{
    struct child_end end;
    int rc = run_sbatch(sandbox, "--test-only", job, &end, e);

    if (rc == 0 && end.code == 0) {
        decode_forecast(end.err.data, dst);
        log_lines(end.err.data, STARTS);
    } else if (rc == 0) {
        enum cause cause = cause_find(end.err.data, CAUSE_OTHER);
        if (!cause_passes(cause, away))
            rc = (refuse(sandbox, job, &end, cause, e), -1);
    }
    child_destroy(&end);
    return rc;
}

/* ---- the scheduler ---- */

#define IDS_MAX 2000 /* ids of one request: squeue and sacct take them as one word of 128 KiB */
#define CLUSTER_AGE_S 2

struct slurm {
    struct scheduler scheduler;
    struct sandbox sandbox;
    struct query_way way;
    const char *clusters; /* the cluster that jobs are for; NULL: the one that answers */
    bool has_warned;      /* of what Slurm does not show */
    /* At most CLUSTER_AGE_S old, since many jobs are checked in a row; loaded: by clock_now. */
    struct cluster cluster;
    double loaded;
};

static int load_cluster(struct slurm *s, struct err *e)
{
    if (s->loaded > 0 && clock_now() - s->loaded <= CLUSTER_AGE_S)
        return 0;
    free(s->cluster.partitions);
    s->cluster = (struct cluster){0};
    int rc = query_cluster(&s->way, &s->cluster, e);
    s->loaded = rc ? 0 : clock_now();
    return rc;
}

/* Checks that the cluster that answers is the one that jobs are for. Slurm's commands would submit
 * to another one, whose jobs unetctl would not find again. */
static int check_cluster(struct slurm *slurm, struct err *e)
{
    const char *wanted = slurm->clusters;
    struct slurm_config config;

    if (!wanted)
        return 0;
    if (query_config(&slurm->way, &config, e))
        return -1;
    slurm->clusters = strcmp(config.cluster, wanted) == 0 ? NULL : wanted;
    return !slurm->clusters
               ? 0
               : err_set(e, ERR_SCHED, "jobs are to go to the cluster '%s' (--clusters, "
                         "$SLURM_CLUSTERS or $SBATCH_CLUSTERS), but this is '%s': run unetctl on a "
                         "login node of '%s', or leave that out", wanted, config.cluster, wanted);
}

/* Returns the partition with the name `name`[0..n), or for NULL the default one. */
static const struct scheduler_partition *find_partition(const struct cluster *c, const char *name,
                                                        size_t n)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_partition *p = &c->partitions[i];
        if (name ? strlen(p->known.name) == n && strncmp(p->known.name, name, n) == 0
                 : p->is_default)
            return &p->known;
    }
    return NULL;
}

static int refuse_partition(const struct cluster *c, const char *name, size_t n, struct err *e)
{
    char names[512] = "";

    for (size_t i = 0; i < c->count; i++) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                 c->partitions[i].known.name);
    }
    if (name)
        return err_set(e, ERR_SCHED, "Slurm: unknown partition '%.*s' (known: %s)",
                       (int)n, name, names);
    return err_set(e, ERR_SCHED, "Slurm: this cluster has no default partition; choose one of %s",
                   names);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Of several partitions, Slurm uses any that can run the job, so each value of p becomes the
 * largest that one of them has. The sizes of nodes are known only if they are in all of them. */
static void widen_partition(struct scheduler_partition *p, const struct scheduler_partition *other)
{
    bool is_unknown = *p->unknown || *other->unknown;

    if (!*p->unknown)
        memcpy(p->unknown, other->unknown, sizeof p->unknown);
    p->nodes = larger(p->nodes, other->nodes);
    p->away = larger(p->away, other->away);
    p->gpus_per_node = is_unknown ? 0 : larger(p->gpus_per_node, other->gpus_per_node);
    p->cpus_per_node = is_unknown ? 0 : larger(p->cpus_per_node, other->cpus_per_node);
    cluster_add_types(p->gpu_types, other->gpu_types);
    p->max_time_min = p->max_time_min && other->max_time_min
                          ? larger(p->max_time_min, other->max_time_min)
                          : 0;
}

static int choose_partition(const struct cluster *c, const char *name,
                            struct scheduler_partition *p, struct err *e)
{
    const char *word = name;

    do {
        size_t n = word ? strcspn(word, ",") : 0;
        const struct scheduler_partition *one = find_partition(c, word, n);
        if (!one)
            return refuse_partition(c, word, n, e);
        if (word == name)
            *p = *one;
        else
            widen_partition(p, one);
        word = word && word[n] ? word + n + 1 : NULL;
    } while (word);
    if (name && strchr(name, ','))
        snprintf(p->name, sizeof p->name, "%s", name);
    return 0;
}

static int slurm_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                           struct err *e)
{
    struct slurm *slurm = s->priv;

    if (check_cluster(slurm, e) || load_cluster(slurm, e))
        return -1;
    if (!slurm->cluster.is_private)
        return choose_partition(&slurm->cluster, name, p, e);
    *p = (struct scheduler_partition){
        .away = 1, .unknown = "Slurm does not show its partitions (PrivateData)"};
    snprintf(p->name, sizeof p->name, "%s", name ? name : "(default)");
    return 0;
}

/* Refuses a job that is larger than the partition, whatever runs there now. Slurm's own text for
 * this, "Requested node configuration is not available", does not say what is too large. */
static int check_size(const struct job *job, const struct scheduler_partition *p, struct err *e)
{
    int per_node = (job->tasks + job->nodes - 1) / job->nodes;
    int gpus = per_node * job->gpus_per_task, cpus = per_node * job->cpus_per_task;

    if (job->nodes > p->nodes && (p->nodes || !*p->unknown))
        return err_set(e, ERR_SCHED, "%d nodes are asked for, but partition '%s' has %d, which is "
                       "enough for %d GPUs", job->nodes, p->name, p->nodes, p->nodes * gpus);
    if (gpus > p->gpus_per_node && !*p->unknown)
        return err_set(e, ERR_SCHED, "%d GPUs per node are asked for, but nodes of partition '%s' "
                       "have at most %d: correct gpus_per_node of the site, or choose another "
                       "partition (slurm.partition)", gpus, p->name, p->gpus_per_node);
    if (p->cpus_per_node && cpus > p->cpus_per_node && job->cpus_per_task > 1)
        return err_set(e, ERR_SCHED, "%d CPUs per node are asked for (%d for each of %d tasks), "
                       "but nodes of partition '%s' have %d", cpus, job->cpus_per_task, per_node,
                       p->name, p->cpus_per_node);
    if (p->max_time_min && job->options.time_min > p->max_time_min)
        return err_set(e, ERR_SCHED, "a time limit of %d minutes is asked for, but partition '%s' "
                       "allows %d", job->options.time_min, p->name, p->max_time_min);
    return 0;
}

static int check_partition(struct scheduler *s, const struct job *job,
                           struct scheduler_partition *p, struct err *e)
{
    struct slurm *slurm = s->priv;

    if (slurm_partition(s, job->options.partition, p, e) || check_size(job, p, e))
        return -1;
    if (*p->unknown && !slurm->has_warned)
        log_info("%s: whether the runs fit is left to Slurm", p->unknown);
    bool mixed = strchr(p->gpu_types, ',') && !(job->gpu_type && *job->gpu_type) &&
                 !job->options.constraint;
    if (mixed && !slurm->has_warned)
        log_warn("partition %s has GPUs of several types (%s), and a job may get any of them, so "
                 "that times are not comparable; set gpu_type in the site file, or "
                 "slurm.constraint", p->name, p->gpu_types);
    slurm->has_warned |= *p->unknown || mixed;
    return 0;
}

static int slurm_check(struct scheduler *s, const struct job *job,
                       struct scheduler_forecast *forecast, struct err *e)
{
    const struct slurm *slurm = s->priv;
    struct scheduler_partition p;

    return check_partition(s, job, &p, e)
               ? -1
               : sbatch_forecast(slurm->way.place, job, p.away, forecast, e);
}

/* Adds to the reason what it means, unless the state says that. */
static void explain_reason(struct job_state *s)
{
    char reason[sizeof s->reason] = "";
    const char *words;

    if (s->phase == PHASE_ENDED)
        state_explain(s->state, reason, sizeof reason);
    if (*reason)
        *s->reason = 0;
    bool is_held = slurm_words_find(s->reason, &words) == WORDS_HELD;
    s->held = s->phase == PHASE_PENDING && is_held;
    if (!*words)
        return;
    snprintf(reason, sizeof reason, "%.100s: %s", s->reason, words);
    memcpy(s->reason, reason, sizeof reason);
}

/* Explains the jobs found if rc is 0, and otherwise frees them. Returns rc. */
static int finish_found(struct scheduler_found *found, int rc)
{
    for (size_t i = 0; rc == 0 && i < found->count; i++)
        explain_reason(&found->states[i]);
    if (rc) {
        free(found->states);
        *found = (struct scheduler_found){0};
    }
    return rc;
}

static int slurm_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                       struct job_state **states, size_t *nstates, struct err *e)
{
    const struct jobs_query q = {.prefix = tag_prefix, .everybody = everybody};
    struct slurm *slurm = s->priv;
    struct scheduler_found found = {0};

    if (finish_found(&found, query_jobs(&slurm->way, &q, &found, e)))
        return -1;
    if (found.count > 1)
        qsort(found.states, found.count, sizeof *found.states, job_id_compare);
    *states = found.states;
    *nstates = found.count;
    return 0;
}

static int check_ids(const struct scheduler_ids *ids, struct err *e)
{
    for (size_t i = 0; i < ids->count; i++)
        if (!*ids->ids[i] || ids->ids[i][strspn(ids->ids[i], "0123456789")])
            return err_set(e, ERR_SCHED, "'%s' is not the id of a Slurm job", ids->ids[i]);
    return 0;
}

static int slurm_find(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                      struct scheduler_found *dst, struct err *e)
{
    struct slurm *slurm = s->priv;
    struct slurm_config config;
    int rc = check_ids(ids, e) || query_config(&slurm->way, &config, e) ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < ids->count; i += IDS_MAX) {
        const struct scheduler_ids some = {ids->ids + i,
                                           ids->count - i < IDS_MAX ? ids->count - i : IDS_MAX};
        if (in_accounting)
            query_past(&slurm->way, &config, &some, dst);
        else
            rc = query_jobs(&slurm->way, &(const struct jobs_query){.ids = &some}, dst, e);
    }
    dst->hides = rc == 0 && !in_accounting && config.hides_jobs;
    return finish_found(dst, rc);
}

/* ---- actions ---- */

/* Runs a command that changes jobs. A job that has ended or is unknown is an error only if
 * must_exist. */
static int change_jobs(const struct slurm *slurm, const char *const argv[], bool must_exist,
                       struct err *e)
{
    struct child_end end;
    struct child c = {.argv = argv};
    const char *line, *text;
    char one[256];
    size_t n, others = 0;
    int rc = command_run(slurm->way.place, &c, &end, e);

    text = rc ? "" : end.err.data;
    while ((line = command_line(&text, argv[0], &n))) {
        snprintf(one, sizeof one, "%.*s", (int)n, line);
        others += must_exist || cause_find(one, CAUSE_OTHER) != CAUSE_NO_JOB;
    }
    if (rc == 0 && end.code && (others || !end.err.length)) {
        command_explain(argv[0], &end, e);
        rc = cause_refuse(cause_find(end.err.data, CAUSE_OTHER), e);
    }
    child_destroy(&end);
    return rc;
}

/* Runs COMMAND [VERB] ID ... */
static int change_ids(const struct scheduler *s, const char *command, const char *verb,
                      const struct scheduler_ids *ids, bool must_exist, struct err *e)
{
    const char **argv = mem_zero(ids->count + 3, sizeof *argv, e);
    size_t n = 0;
    int rc = argv ? check_ids(ids, e) : -1;

    if (rc == 0) {
        argv[n++] = command;
        if (verb)
            argv[n++] = verb;
        memcpy(argv + n, ids->ids, ids->count * sizeof *argv);
        rc = change_jobs(s->priv, argv, must_exist, e);
    }
    free(argv);
    return rc;
}

static int slurm_cancel(struct scheduler *s, const struct scheduler_ids *ids, struct err *e)
{
    return change_ids(s, "scancel", NULL, ids, false, e);
}

static int slurm_release(struct scheduler *s, const char *id, struct err *e)
{
    return change_ids(s, "scontrol", "release", &(const struct scheduler_ids){&id, 1}, true, e);
}

/* Looks for a job whose answer was lost. One that Slurm does not show may still appear, unless the
 * queue was full. */
static void find_lost(struct scheduler *s, const struct job *job, struct scheduler_result *result)
{
    struct job_state *states = NULL;
    struct err ignored;
    size_t n = 0;
    bool is_answered = slurm_query(s, job->tag, false, &states, &n, &ignored) == 0;

    if (is_answered && result->is_full)
        result->outcome = SCHEDULER_REFUSED;
    for (size_t i = 0; i < n; i++)
        if (strcmp(states[i].tag, job->tag) == 0 && states[i].phase != PHASE_ENDED) {
            result->outcome = SCHEDULER_SUBMITTED;
            snprintf(result->id, sizeof result->id, "%s", states[i].id);
        }
    result->is_full = result->outcome == SCHEDULER_REFUSED;
    free(states);
}

/* Cancels the submitted jobs that can never start, and makes their results refusals. Slurm accepts
 * such jobs, and they would block the queue behind them. */
static void withdraw_jobs(struct scheduler *s, struct scheduler_result *results, size_t count)
{
    const char **ids = calloc(count, sizeof *ids);
    struct scheduler_found found = {0};
    size_t n = 0, nids = 0;
    struct err e;

    for (size_t i = 0; ids && i < count; i++)
        if (results[i].outcome == SCHEDULER_SUBMITTED)
            ids[n++] = results[i].id;
    if (n && slurm_find(s, &(const struct scheduler_ids){ids, n}, false, &found, &e))
        found = (struct scheduler_found){0};
    for (size_t i = 0; i < found.count; i++) {
        const struct job_state *job = &found.states[i];
        const char *text;
        size_t k = 0;
        while (k < count && strcmp(results[k].id, job->id) != 0)
            k++;
        if (k == count || job->phase != PHASE_PENDING ||
            slurm_words_find(job->reason, &text) != WORDS_NEVER)
            continue;
        results[k].outcome = SCHEDULER_REFUSED;
        err_set(&results[k].reason, ERR_SCHED, "Slurm: job %s could never start: %.*s", job->id,
                (int)strcspn(job->reason, ":"), job->reason);
        ids[nids++] = results[k].id;
    }
    if (nids && slurm_cancel(s, &(const struct scheduler_ids){ids, nids}, &e))
        log_warn("%s", e.text);
    free(found.states);
    free(ids);
}

static void slurm_submit(struct scheduler *s, const struct job *jobs, size_t count,
                         struct scheduler_result *results)
{
    struct slurm *slurm = s->priv;
    struct scheduler_result refused = {.outcome = SCHEDULER_REFUSED};
    size_t n = 0;

    if (check_cluster(slurm, &refused.reason)) {
        for (size_t i = 0; i < count; i++)
            results[i] = refused;
        return;
    }
    do {
        sbatch_submit(slurm->way.place, &jobs[n], &results[n]);
        if (results[n].outcome == SCHEDULER_LOST)
            find_lost(s, &jobs[n], &results[n]);
    } while (results[n++].outcome == SCHEDULER_SUBMITTED && n < count);
    withdraw_jobs(s, results, n);
}

/* Adds a job that sacct shows: START, ELAPSED seconds, "cpu=4,gres/gpu=2,node=1", STATE. */
static void add_usage(char *f[COMMAND_FIELDS_MAX], time_t now, struct scheduler_usage *dst)
{
    const char *gpus = strstr(f[2], "gres/gpu=");
    double hours = atof(f[1]) / 3600, n = gpus ? atof(gpus + strlen("gres/gpu=")) : 0;
    time_t start = command_time(f[0]);

    if (!(hours > 0) || !start)
        return;
    double age = difftime(now, start) / 3600; /* of its start, in hours */
    double recent = fmin(age, 24 * SCHEDULER_RECENT_DAYS) - (age - hours);
    dst->jobs++;
    dst->completed += strcmp(f[3], "COMPLETED") == 0;
    dst->gpu_hours += n * hours;
    dst->recent_gpu_hours += n * fmax(0, fmin(recent, hours));
}

static int slurm_usage(struct scheduler *s, const char *account, time_t since,
                       struct scheduler_usage *dst, struct err *e)
{
    const struct slurm *slurm = s->priv;
    char from[32] = "", *f[COMMAND_FIELDS_MAX];
    struct child_end c;
    struct tm tm;

    if (localtime_r(&since, &tm))
        strftime(from, sizeof from, "%Y-%m-%dT%H:%M:%S", &tm);
    const char *const argv[] = {"sacct", "-a", "-X", "-T", "-n", "-P", "-A", account, "-S", from,
                                "-E", "now", "-o", "Start,ElapsedRaw,AllocTRES,State", NULL};
    int rc = command_query(slurm->way.place, argv, &c, e);
    for (char *text = rc ? NULL : c.out.data; text && command_fields(&text, f, 4);)
        add_usage(f, time(NULL), dst);
    child_destroy(&c);
    return rc;
}

static void slurm_close(struct scheduler *s)
{
    struct slurm *slurm = s->priv;

    free(slurm->cluster.partitions);
    free(slurm);
}

struct scheduler *scheduler_slurm_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {.name = "slurm",
                                             .partition = slurm_partition,
                                             .check = slurm_check,
                                             .submit = slurm_submit,
                                             .query = slurm_query,
                                             .cancel = slurm_cancel,
                                             .close = slurm_close,
                                             .find = slurm_find,
                                             .release = slurm_release,
                                             .usage = slurm_usage};
    struct slurm *slurm = mem_zero(1, sizeof *slurm, e);

    if (!slurm)
        return NULL;
    slurm->scheduler = (struct scheduler){.ops = &ops, .priv = slurm};
    slurm->clusters = config->clusters;
    if ((config->sandbox && sandbox_find(&slurm->sandbox, e)) ||
        query_open(&slurm->way, config->sandbox ? &slurm->sandbox : NULL, config->interface, e)) {
        free(slurm);
        return NULL;
    }
    return &slurm->scheduler;
}
