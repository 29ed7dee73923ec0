/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm through the helper program: translates jobs to JSON, and answers to structs. */
#include "config.h"
#include "launcher/scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/scheduler/slurm/helper.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/slurm_words.h"
#include "src/log.h"
#include "src/mem.h"

#define IDS_MAX 2000 /* ids of one request: squeue and sacct take them as one word of 128 KiB */

struct slurm {
    struct scheduler scheduler;
    struct helper *helper;
    const char *clusters; /* the cluster that jobs are for; NULL: the one that answers */
    bool has_warned;      /* of what Slurm does not show */
};

static json_t *ask_helper(struct scheduler *s, json_t *request, struct err *e)
{
    const struct slurm *slurm = s->priv;

    return helper_ask(slurm->helper, request, e);
}

/* Sends a request that may be repeated without harm, a query or a cancellation. A lost answer is
 * reported as ERR_SCHED, like a Slurm that cannot be reached. */
static json_t *ask_again(struct scheduler *s, json_t *request, struct err *e)
{
    json_t *answer = ask_helper(s, request, e);

    if (!answer && e->code == ERR_INTERNAL)
        e->code = ERR_SCHED;
    return answer;
}

/* Checks that the cluster that answers is the one that jobs are for. Slurm's commands would submit
 * to another one, whose jobs unetctl would not find again. */
static int check_cluster(struct scheduler *s, struct err *e)
{
    struct slurm *slurm = s->priv;
    const char *wanted = slurm->clusters;

    if (!wanted)
        return 0;
    json_t *answer = ask_again(s, json_pack("{s:s}", "op", "ping"), e);
    if (!answer)
        return -1;
    const char *here = jsonio_text(answer, "cluster");
    if (strcmp(here, wanted) == 0)
        slurm->clusters = NULL;
    else
        err_set(e, ERR_SCHED, "jobs are to go to the cluster '%s' (--clusters, $SLURM_CLUSTERS or "
                "$SBATCH_CLUSTERS), but this is '%s': run unetctl on a login node of '%s', or "
                "leave that out", wanted, here, wanted);
    json_decref(answer);
    return slurm->clusters ? -1 : 0;
}

/* Returns the words of an sbatch command line for the job, or NULL if one is not UTF-8. */
static json_t *encode_words(const struct job *job)
{
    struct job_words words;
    json_t *list = json_array();

    job_words_fill(job, &words);
    for (size_t i = 0; i < words.list.count; i++)
        json_array_append_new(list, json_string(words.list.lines[i]));
    bool whole = !words.failed && json_array_size(list) == words.list.count;
    setting_clear_lines(&words.list);
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

/* Returns whether the job has options that only sbatch knows, or #SBATCH lines, which only sbatch
 * reads. */
static bool goes_through_sbatch(const struct job *job)
{
    return job->options.nextra || job->own_directives;
}

/* Returns NULL if a text is not UTF-8. */
static json_t *encode_job(const struct job *job)
{
    const struct job_options *o = &job->options;
    const char *type = job->gpu_type && *job->gpu_type ? job->gpu_type : NULL;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:s, s:i, s:i, s:i, s:i, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, "
        "s:s*, s:s*, s:s*, s:s*, s:I, s:i, s:i, s:i, s:b, s:b, s:b, s:b, s:b, s:o}",
        "tag", job->tag, "name", job->name, "work_dir", job->work_dir, "output", job->output,
        "script", job->script, "comment", job_comment(job, (char[JOB_COMMENT_SIZE]){0}), "nodes",
        job->nodes, "tasks", job->tasks, "gpus_per_task", job->gpus_per_task, "cpus_per_task",
        job->cpus_per_task, "gpu_type", type, "partition", o->partition, "account", o->account,
        "qos", o->qos, "constraint", o->constraint, "reservation", o->reservation, "nodelist",
        o->nodelist, "exclude", o->exclude, "dependency", o->dependency, "licenses", o->licenses,
        "mem_mib", (json_int_t)(o->mem ? job_mem_decode(o->mem) : 0), "time_min", o->time_min,
        "nice", o->nice, "signal_s", job->signal_s, "requeue", job->requeues > 0, "exclusive",
        job_needs_whole_nodes(job), "hold", o->hold, "gres", job_takes_gres(job), "by_sbatch",
        goes_through_sbatch(job), "words", encode_words(job));
}

static void decode_partition(const json_t *o, struct scheduler_partition *p)
{
    int unseen = (int)jsonio_integer(o, "unseen");

    snprintf(p->name, sizeof p->name, "%s", jsonio_text(o, "name"));
    p->nodes = (int)jsonio_integer(o, "nodes");
    p->away = (int)jsonio_integer(o, "away") + unseen;
    p->max_time_min = (int)jsonio_integer(o, "max_time_min");
    if (unseen) {
        snprintf(p->unknown, sizeof p->unknown, "Slurm does not show %d of the %d nodes of "
                 "partition %s (PrivateData, or cloud nodes that are off)", unseen, p->nodes,
                 p->name);
        return;
    }
    p->gpus_per_node = (int)jsonio_integer(o, "gpus_per_node");
    p->cpus_per_node = (int)jsonio_integer(o, "cpus_per_node");
}

/* Returns the partition with the name `name`[0..n), or for NULL the default one. */
static const json_t *find_partition(const json_t *list, const char *name, size_t n)
{
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o) {
        const char *known = jsonio_text(o, "name");
        if (name ? strlen(known) == n && strncmp(known, name, n) == 0
                 : json_is_true(json_object_get(o, "default")))
            return o;
    }
    return NULL;
}

static int refuse_partition(const json_t *list, const char *name, size_t n, struct err *e)
{
    char names[512] = "";
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                 jsonio_text(o, "name"));
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
    p->max_time_min = p->max_time_min && other->max_time_min
                          ? larger(p->max_time_min, other->max_time_min)
                          : 0;
}

static int choose_partition(const json_t *list, const char *name, struct scheduler_partition *p,
                            struct err *e)
{
    const char *word = name;
    const json_t *o;

    do {
        struct scheduler_partition one = {0};
        size_t n = word ? strcspn(word, ",") : 0;
        if (!(o = find_partition(list, word, n)))
            return refuse_partition(list, word, n, e);
        decode_partition(o, &one);
        if (word == name)
            *p = one;
        else
            widen_partition(p, &one);
        word = word && word[n] ? word + n + 1 : NULL;
    } while (word);
    if (name && strchr(name, ','))
        snprintf(p->name, sizeof p->name, "%s", name);
    return 0;
}

static int slurm_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                           struct err *e)
{
    json_t *answer = check_cluster(s, e)
                         ? NULL
                         : ask_again(s, json_pack("{s:s}", "op", "partitions"), e);
    int rc = -1;

    if (json_is_true(json_object_get(answer, "private"))) {
        *p = (struct scheduler_partition){
            .away = 1, .unknown = "Slurm does not show its partitions (PrivateData)"};
        snprintf(p->name, sizeof p->name, "%s", name ? name : "(default)");
        rc = 0;
    } else if (answer) {
        rc = choose_partition(json_object_get(answer, "partitions"), name, p, e);
    }
    json_decref(answer);
    return rc;
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
    slurm->has_warned |= *p->unknown != 0;
    return 0;
}

static int slurm_check(struct scheduler *s, const struct job *job,
                       struct scheduler_forecast *forecast, struct err *e)
{
    struct scheduler_partition p;
    struct job without = *job;

    if (!goes_through_sbatch(job))
        without.script = NULL; /* Slurm checks a job without one */
    json_t *answer = check_partition(s, job, &p, e)
                         ? NULL
                         : ask_again(s, json_pack("{s:s, s:o, s:i}", "op", "check", "job",
                                                  encode_job(&without), "away", p.away), e);
    if (!answer)
        return -1;
    forecast->start = (time_t)jsonio_integer(answer, "start");
    snprintf(forecast->nodes, sizeof forecast->nodes, "%s", jsonio_text(answer, "nodes"));
    json_decref(answer);
    return 0;
}

static void decode_result(const json_t *o, struct scheduler_result *dst)
{
    if (json_is_null(o))
        return;
    if (json_is_true(json_object_get(o, "ok"))) {
        dst->outcome = SCHEDULER_SUBMITTED;
        snprintf(dst->id, sizeof dst->id, "%s", jsonio_text(o, "id"));
        return;
    }
    enum cause cause = message_cause(o);
    dst->outcome = cause == CAUSE_LOST ? SCHEDULER_LOST : SCHEDULER_REFUSED;
    dst->is_full = cause == CAUSE_FULL;
    err_set(&dst->reason, ERR_SCHED, "Slurm: %s", jsonio_text(o, "error"));
}

static void slurm_submit(struct scheduler *s, const struct job *jobs, size_t count,
                         const char *in_flight, struct scheduler_result *results)
{
    json_t *list = json_array();
    struct err e;

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, encode_job(&jobs[i]));
    /* an incomplete list means that a text is not UTF-8; helper_ask refuses NULL for that */
    bool whole = json_array_size(list) == count;
    json_t *request = json_pack("{s:s, s:o, s:s*}", "op", "submit", "jobs",
                                whole ? list : NULL, "in_flight", in_flight);
    if (!whole)
        json_decref(list);
    json_t *answer = NULL;
    if (check_cluster(s, &e))
        json_decref(request);
    else
        answer = ask_helper(s, request, &e);
    for (size_t i = 0; answer && i < count; i++)
        decode_result(json_array_get(json_object_get(answer, "results"), i), &results[i]);
    for (size_t i = 0; !answer && i < count; i++) {
        results[i].outcome = e.code == ERR_INTERNAL ? SCHEDULER_LOST : SCHEDULER_REFUSED;
        results[i].reason = e;
    }
    json_decref(answer);
}

/* Decodes a job, and explains its state or Slurm's reason. */
static void decode_state(const json_t *o, struct job_state *dst)
{
    char reason[sizeof dst->reason];

    job_state_decode(o, dst);
    dst->held = dst->phase == PHASE_PENDING && slurm_words_is_held(dst->reason);
    if (dst->phase == PHASE_ENDED)
        state_explain(dst->state, reason, sizeof reason);
    if (dst->phase == PHASE_ENDED && *reason)
        *dst->reason = 0;
    const char *words = slurm_words_reason(dst->reason);
    if (!*words)
        return;
    snprintf(reason, sizeof reason, "%.100s: %s", dst->reason, words);
    memcpy(dst->reason, reason, sizeof reason);
}

static int by_id(const void *a, const void *b)
{
    unsigned long x = strtoul(((const struct job_state *)a)->id, NULL, 10);
    unsigned long y = strtoul(((const struct job_state *)b)->id, NULL, 10);

    return (x > y) - (x < y);
}

/* Decodes the jobs of an answer, and releases it. */
static int take_states(json_t *answer, struct job_state **states, size_t *nstates, struct err *e)
{
    const json_t *jobs = json_object_get(answer, "jobs");
    size_t n = json_array_size(jobs);
    int rc = 0;

    if (n > 0 && !(*states = mem_zero(n, sizeof **states, e)))
        rc = -1;
    for (size_t i = 0; rc == 0 && i < n; i++)
        decode_state(json_array_get(jobs, i), &(*states)[i]);
    *nstates = rc == 0 ? n : 0;
    json_decref(answer);
    return rc;
}

static int slurm_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                       struct job_state **states, size_t *nstates, struct err *e)
{
    json_t *answer = ask_again(s, json_pack("{s:s, s:s, s:b}", "op", "query", "tag_prefix",
                                            tag_prefix, "everybody", everybody), e);

    if (!answer || take_states(answer, states, nstates, e))
        return -1;
    if (*nstates > 1)
        qsort(*states, *nstates, sizeof **states, by_id);
    return 0;
}

static json_t *encode_ids(const struct scheduler_ids *ids)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ids->count; i++)
        json_array_append_new(list, json_string(ids->ids[i]));
    return list;
}

/* Adds what the queue or the accounting knows of some of the ids. */
static int find_some(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                     struct scheduler_found *dst, struct err *e)
{
    struct job_state *states = NULL;
    size_t n;
    json_t *answer = ask_again(s, json_pack("{s:s, s:o}", "op", in_accounting ? "accounting"
                                            : "lookup", "ids", encode_ids(ids)), e);

    dst->hides = json_is_true(json_object_get(answer, "hides"));
    dst->is_answered = answer && *jsonio_text(answer, "source");
    if (!answer || take_states(answer, &states, &n, e))
        return -1;
    struct job_state *grown =
        n ? realloc(dst->states, (dst->count + n) * sizeof *grown) : dst->states;
    if (n && !grown) {
        free(states);
        return mem_fail(e);
    }
    if (n)
        memcpy(grown + dst->count, states, n * sizeof *grown);
    dst->states = grown;
    dst->count += n;
    free(states);
    return 0;
}

static int slurm_find(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                      struct scheduler_found *dst, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < ids->count; i += IDS_MAX)
        rc = find_some(s, &(const struct scheduler_ids){
                              ids->ids + i, ids->count - i < IDS_MAX ? ids->count - i : IDS_MAX},
                       in_accounting, dst, e);
    if (rc) {
        free(dst->states);
        dst->states = NULL;
    }
    return rc;
}

/* Sends a request that changes these jobs. */
static int change_jobs(struct scheduler *s, const char *op, const struct scheduler_ids *ids,
                       struct err *e)
{
    json_t *answer = ask_again(s, json_pack("{s:s, s:o}", "op", op, "ids", encode_ids(ids)), e);

    json_decref(answer);
    return answer ? 0 : -1;
}

static int slurm_cancel(struct scheduler *s, const struct scheduler_ids *ids, struct err *e)
{
    return change_jobs(s, "cancel", ids, e);
}

static int slurm_release(struct scheduler *s, const char *id, struct err *e)
{
    return change_jobs(s, "release", &(const struct scheduler_ids){&id, 1}, e);
}

static void slurm_close(struct scheduler *s)
{
    struct slurm *slurm = s->priv;

    helper_destroy(slurm->helper);
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
                                             .release = slurm_release};
    struct sandbox sandbox;
    struct slurm *slurm;

    if (config->sandbox && sandbox_find(config->sandbox_dir, &sandbox, e) < 0)
        return NULL;
    slurm = mem_zero(1, sizeof *slurm, e);
    if (!slurm)
        return NULL;
    slurm->scheduler = (struct scheduler){.ops = &ops, .priv = slurm};
    slurm->clusters = config->clusters;
    slurm->helper = helper_create(config->sandbox ? &sandbox : NULL, config->interface, e);
    if (!slurm->helper) {
        free(slurm);
        return NULL;
    }
    return &slurm->scheduler;
}
