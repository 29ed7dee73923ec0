/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm: Slurm's C interface as JSON lines, see PROTOCOL.md beside this file.
 *
 * The only program that links libslurm: libslurm ends its process when it finds no usable
 * configuration, is under the GPL, and changes its ABI with each release. Made for 22.05. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/jobenv.h"
#include "src/atomicfile.h"
#include "src/buf.h"

/* Exported by the library, but not declared in its header. */
extern char *slurm_job_state_string(uint32_t state);
extern int slurm_addto_step_list(List list, char *names);
extern char *slurm_job_reason_string(enum job_state_reason reason);
extern void slurm_free_will_run_response_msg(will_run_response_msg_t *msg);

#define CLUSTER_AGE_S 2
#define SUBMITTERS 3 /* threads beside the main one */
#define SCRIPT_LIMIT ((size_t)4 << 20)

/* An answer that refuses. code: Slurm's errno, or 0 for a refusal of our own. */
static json_t *refuse(int code, const char *text)
{
    return json_pack("{s:b, s:i, s:s}", "ok", 0, "code", code, "error", text);
}

static json_t *refuse_slurm(int code)
{
    return refuse(code, slurm_strerror(code));
}

static json_t *refuse_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static json_t *refuse_text(const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return refuse(0, text);
}

static const char *string_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static long number_of(const json_t *o, const char *key)
{
    return (long)json_integer_value(json_object_get(o, key));
}

static bool flag_of(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

static json_t *text_or_empty(const char *text)
{
    json_t *s = text ? json_string(text) : NULL;

    return s ? s : json_string("");
}

/* ---- the cluster ---- */

static json_t *op_ping(void)
{
    slurm_conf_t *conf;
    int up = -1;
    char version[32];

    snprintf(version, sizeof version, "%d.%02d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return refuse_slurm(slurm_get_errno());
    for (int i = 0; i < (int)conf->control_cnt && up < 0; i++)
        if (slurm_ping(i) == SLURM_SUCCESS)
            up = i;
    json_t *o = json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "slurm",
                          version, "cluster",
                          text_or_empty(conf->cluster_name), "controller",
                          text_or_empty(up < 0 ? NULL : conf->control_machine[up]));
    slurm_free_ctl_conf(conf);
    return o;
}

/* GPUs in a node's gres, e.g. "gpu:h200:4(S:0-1),gpu:2,mps:100". */
static int count_gpus(const char *gres)
{
    int n = 0;

    for (const char *item = gres; item && *item; item += strcspn(item, ","), item += *item == ',') {
        size_t length = strcspn(item, ",(");
        if (strncmp(item, "gpu", 3) != 0 || (item[3] != ':' && length != 3))
            continue;
        const char *last = item;
        for (const char *s = item; s < item + length; s++)
            if (*s == ':')
                last = s + 1;
        n += last > item && *last >= '0' && *last <= '9' ? atoi(last) : 1;
        item += length;
    }
    return n;
}

/* What the nodes of a partition have. */
struct capacity {
    int nodes, gpus_per_node, cpus_per_node; /* most GPUs, fewest CPUs of any node */
    int away;                                /* nodes that are down or drained now */
};

/* After a restart the controller has not heard of its nodes yet. */
static bool is_away(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND)) != 0;
}

static struct capacity measure(const partition_info_t *p, const node_info_msg_t *nodes)
{
    struct capacity c = {.nodes = (int)p->total_nodes};
    const int32_t *pair = p->node_inx;

    for (; pair && pair[0] >= 0; pair += 2)
        for (int32_t i = pair[0]; i <= pair[1] && i < (int32_t)nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];
            int gpus = count_gpus(node->gres);

            if (!node->name)
                continue;
            if (gpus > c.gpus_per_node)
                c.gpus_per_node = gpus;
            if (c.cpus_per_node == 0 || node->cpus < c.cpus_per_node)
                c.cpus_per_node = node->cpus;
            c.away += is_away(node->node_state);
        }
    return c;
}

static int minutes_of(uint32_t limit)
{
    return limit == INFINITE || limit == NO_VAL || limit > INT_MAX ? 0 : (int)limit;
}

struct cluster {
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes;
};

struct load {
    partition_info_msg_t *partitions;
    int code; /* Slurm's errno, 0 if they are there */
};

static void *load_partitions(void *arg)
{
    struct load *l = arg;

    l->code = slurm_load_partitions(0, &l->partitions, SHOW_ALL) == SLURM_SUCCESS ? 0
                                                                                  : slurm_get_errno();
    return NULL;
}

/* Two questions at the same time. */
static int cluster_load(struct cluster *c)
{
    struct load load = {0};
    pthread_t thread;
    bool threaded = pthread_create(&thread, NULL, load_partitions, &load) == 0;
    int code;

    *c = (struct cluster){0};
    code = slurm_load_node(0, &c->nodes, SHOW_ALL) == SLURM_SUCCESS ? 0 : slurm_get_errno();
    if (threaded)
        pthread_join(thread, NULL);
    else
        load_partitions(&load);
    c->partitions = load.partitions;
    if (code == 0 && load.code == 0)
        return 0;
    if (code == 0)
        slurm_free_node_info_msg(c->nodes);
    if (load.code == 0)
        slurm_free_partition_info_msg(c->partitions);
    errno = code ? code : load.code;
    return -1;
}

static void cluster_free(struct cluster *c)
{
    slurm_free_partition_info_msg(c->partitions);
    slurm_free_node_info_msg(c->nodes);
}

/* The cluster as it was at most CLUSTER_AGE_S ago: many jobs are submitted at once. */
static const struct cluster *cluster_recent(void)
{
    static struct cluster cluster;
    static time_t loaded;

    if (loaded && time(NULL) - loaded <= CLUSTER_AGE_S)
        return &cluster;
    if (loaded)
        cluster_free(&cluster);
    loaded = 0;
    if (cluster_load(&cluster) < 0)
        return NULL;
    loaded = time(NULL);
    return &cluster;
}

static json_t *op_partitions(void)
{
    const struct cluster *cluster = cluster_recent();
    json_t *list;

    if (!cluster)
        return refuse_slurm(slurm_get_errno());
    list = json_array();
    for (uint32_t i = 0; i < cluster->partitions->record_count; i++) {
        const partition_info_t *p = &cluster->partitions->partition_array[i];
        struct capacity c = measure(p, cluster->nodes);

        json_array_append_new(
            list, json_pack("{s:o, s:b, s:b, s:i, s:i, s:i, s:i}", "name", text_or_empty(p->name),
                            "default", (p->flags & PART_FLAG_DEFAULT) != 0, "up",
                            p->state_up == PARTITION_UP, "nodes", c.nodes, "gpus_per_node",
                            c.gpus_per_node, "cpus_per_node", c.cpus_per_node, "max_time_min",
                            minutes_of(p->max_time)));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "partitions", list);
}

/* ---- the job's description ---- */

/* Everything that slurm_submit_batch_job needs and that we own. */
struct description {
    job_desc_msg_t msg;
    char *script;
    char tres[96];
    char **environment;
    size_t nenvironment;
    char *argv[1];
};

static int add_variable(struct description *d, const char *name, const char *value)
{
    char *entry;

    if (asprintf(&entry, "%s=%s", name, value) < 0)
        return -1;
    d->environment[d->nenvironment++] = entry;
    return 0;
}

static int add_number(struct description *d, const char *name, long value)
{
    char text[24];

    snprintf(text, sizeof text, "%ld", value);
    return add_variable(d, name, text);
}

#define SBATCH_VARIABLES 10

/* What sbatch hands to a job: our own environment but another job's variables, and its additions. */
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
    if (add_variable(d, "SLURM_SUBMIT_DIR", string_of(job, "work_dir")) < 0 ||
        add_variable(d, "SLURM_SUBMIT_HOST", host) < 0 ||
        add_variable(d, "SLURM_JOB_NAME", string_of(job, "name")) < 0 ||
        add_number(d, "SLURM_PRIO_PROCESS", niceness) < 0 ||
        add_variable(d, "SLURM_UMASK", mask_text) < 0 ||
        add_number(d, "SLURM_NTASKS", number_of(job, "tasks")) < 0 ||
        add_number(d, "SLURM_NPROCS", number_of(job, "tasks")) < 0 ||
        add_number(d, "SLURM_CPUS_PER_TASK", number_of(job, "cpus_per_task")) < 0 ||
        add_number(d, "SLURM_GPUS_PER_TASK", number_of(job, "gpus_per_task")) < 0)
        return -1;
    d->msg.environment = d->environment;
    d->msg.env_size = (uint32_t)d->nenvironment;
    return 0;
}

/* The options that people choose; what is absent keeps Slurm's default. */
static void fill_options(job_desc_msg_t *m, const json_t *job)
{
    m->partition = (char *)string_of(job, "partition");
    m->account = (char *)string_of(job, "account");
    m->qos = (char *)string_of(job, "qos");
    m->features = (char *)string_of(job, "constraint");
    m->reservation = (char *)string_of(job, "reservation");
    m->req_nodes = (char *)string_of(job, "nodelist");
    m->exc_nodes = (char *)string_of(job, "exclude");
    m->dependency = (char *)string_of(job, "dependency");
    m->licenses = (char *)string_of(job, "licenses");
    if (number_of(job, "mem_mib") > 0)
        m->pn_min_memory = (uint64_t)number_of(job, "mem_mib");
    if (number_of(job, "time_min") > 0)
        m->time_limit = (uint32_t)number_of(job, "time_min");
    if (number_of(job, "nice") != 0)
        m->nice = (uint32_t)(NICE_OFFSET + number_of(job, "nice"));
    if (number_of(job, "signal_s") > 0) {
        m->warn_signal = SIGUSR1;
        m->warn_time = (uint16_t)number_of(job, "signal_s");
        m->warn_flags = KILL_JOB_BATCH;
    }
    m->requeue = flag_of(job, "requeue");
    m->open_mode = OPEN_MODE_APPEND;
    if (flag_of(job, "exclusive"))
        m->shared = JOB_SHARED_NONE;
    if (flag_of(job, "hold"))
        m->priority = 0;
}

static void describe(struct description *d, const json_t *job)
{
    job_desc_msg_t *m = &d->msg;
    uint32_t tasks = (uint32_t)number_of(job, "tasks"), cpus = (uint32_t)number_of(job, "cpus_per_task");

    slurm_init_job_desc_msg(m);
    m->name = (char *)string_of(job, "name");
    m->comment = (char *)string_of(job, "tag");
    m->script = d->script;
    m->work_dir = (char *)string_of(job, "work_dir");
    m->std_in = "/dev/null";
    m->std_out = (char *)string_of(job, "output");
    d->argv[0] = (char *)string_of(job, "script");
    m->argv = d->argv;
    m->argc = 1;
    m->user_id = getuid();
    m->group_id = getgid();
    m->min_nodes = m->max_nodes = (uint32_t)number_of(job, "nodes");
    m->num_tasks = tasks;
    m->cpus_per_task = (uint16_t)cpus;
    m->min_cpus = tasks * cpus;
    /* With GPUs counted by task, Slurm fills node after node: 3 tasks on 2-GPU nodes are 2+1. */
    const char *type = string_of(job, "gpu_type");
    long gpus = number_of(job, "gpus_per_task");
    if (flag_of(job, "gres")) {
        m->ntasks_per_node = (uint16_t)(tasks / m->min_nodes);
        gpus *= m->ntasks_per_node;
    }
    snprintf(d->tres, sizeof d->tres, "gres:gpu:%s%s%ld", type ? type : "", type ? ":" : "", gpus);
    if (flag_of(job, "gres"))
        m->tres_per_node = d->tres;
    else
        m->tres_per_task = d->tres;
    fill_options(m, job);
}

static void description_free(struct description *d)
{
    for (size_t i = 0; i < d->nenvironment; i++)
        free(d->environment[i]);
    free(d->environment);
    free(d->script);
}

/* The job's script, from its file. */
static json_t *description_load_script(struct description *d, const json_t *job)
{
    const char *file = string_of(job, "script");
    struct err e = {.text = "out of memory"};
    size_t n;

    if (!file)
        return refuse_text("the job has no \"script\"");
    free(d->script);
    d->script = atomicfile_read(file, SCRIPT_LIMIT, &n, &e);
    if (!d->script)
        return refuse_text("%s", e.text);
    /* Slurm takes a script without it, and the job fails with "Exec format error". */
    if (strncmp(d->script, "#!", 2) != 0)
        return refuse_text("%s does not start with #!", file);
    d->msg.script = d->script;
    return NULL;
}

/* All but the script; an empty one stands for it. */
static json_t *description_load(struct description *d, const json_t *job)
{
    static const char *const texts[] = {"tag", "name", "work_dir", "output", NULL};
    static const char *const numbers[] = {"nodes", "tasks", "gpus_per_task", "cpus_per_task", NULL};

    *d = (struct description){0};
    for (const char *const *s = texts; *s; s++)
        if (!string_of(job, *s))
            return refuse_text("the job has no \"%s\"", *s);
    for (const char *const *s = numbers; *s; s++)
        if (number_of(job, *s) < 1 || number_of(job, *s) > UINT16_MAX)
            return refuse_text("the job's \"%s\" is not between 1 and %d", *s, UINT16_MAX);
    d->script = strdup("#!/bin/sh\n");
    describe(d, job);
    if (!d->script || fill_environment(d, job) < 0)
        return refuse_text("out of memory");
    return NULL;
}

/* ---- check and submit ---- */

/* Slurm's reasons to let a job wait for its turn. Any other one lets it wait for ever. */
static bool may_pass(int code)
{
    switch (code) {
    case ESLURM_NODES_BUSY:
    case ESLURM_NODE_NOT_AVAIL:
    case ESLURM_JOB_HELD:
    case ESLURM_DEPENDENCY:
    case ESLURM_PARTITION_DOWN:
    case ESLURM_RESERVATION_BUSY:
    case ESLURM_RESERVATION_MAINT:
    case ESLURM_RESERVATION_NOT_USABLE:
    case ESLURM_QOS_THRES:
    case ESLURM_ACCOUNTING_POLICY:
    case ESLURM_BURST_BUFFER_WAIT:
        return true;
    default:
        return false;
    }
}

static json_t *refuse_partition(const char *name, const partition_info_msg_t *partitions)
{
    struct buf names = {0};
    json_t *answer;

    for (uint32_t i = 0; i < partitions->record_count; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", partitions->partition_array[i].name);
    char *list = buf_steal(&names);
    if (name)
        answer = refuse_text("there is no partition '%s'; this cluster has %s", name, list ? list : "");
    else
        answer = refuse_text("this cluster has no default partition; choose one of %s", list ? list : "");
    free(list);
    return answer;
}

static const partition_info_t *find_partition(const partition_info_msg_t *partitions, const char *name)
{
    for (uint32_t i = 0; i < partitions->record_count; i++) {
        const partition_info_t *p = &partitions->partition_array[i];
        if (name ? p->name && strcmp(p->name, name) == 0 : (p->flags & PART_FLAG_DEFAULT) != 0)
            return p;
    }
    return NULL;
}

/* Is the job larger than the partition, whatever runs there now? Slurm's own text for this
 * ("Requested node configuration is not available") does not say what is too much. */
static json_t *check_size(const json_t *job, const partition_info_t *p, const struct capacity *c)
{
    long nodes = number_of(job, "nodes"), tasks = number_of(job, "tasks");
    long per_node = (tasks + nodes - 1) / nodes;
    long gpus = per_node * number_of(job, "gpus_per_task");
    long cpus = per_node * number_of(job, "cpus_per_task"), minutes = number_of(job, "time_min");

    if (nodes > c->nodes)
        return refuse_text("%ld nodes are asked for, but partition '%s' has %d", nodes, p->name, c->nodes);
    if (gpus > c->gpus_per_node)
        return refuse_text("%ld GPUs per node are asked for, but nodes of partition '%s' have at most %d",
                           gpus, p->name, c->gpus_per_node);
    if (cpus > c->cpus_per_node && c->cpus_per_node > 0 && number_of(job, "cpus_per_task") > 1)
        return refuse_text("%ld CPUs per node are asked for (%ld for each of %ld tasks), but nodes of "
                           "partition '%s' have %d", cpus, number_of(job, "cpus_per_task"), per_node,
                           p->name, c->cpus_per_node);
    if (minutes_of(p->max_time) && minutes > minutes_of(p->max_time))
        return refuse_text("a time limit of %ld minutes is asked for, but partition '%s' allows %d",
                           minutes, p->name, minutes_of(p->max_time));
    return NULL;
}

/* NULL, or why the job can never run here. *away: nodes that it has to do without for now. */
static json_t *check_cluster(const json_t *job, int *away)
{
    const char *name = string_of(job, "partition");
    const struct cluster *cluster;
    json_t *refusal = NULL;

    *away = 0;
    if (name && strchr(name, ','))
        return NULL; /* any of several: Slurm tells */
    cluster = cluster_recent();
    if (!cluster)
        return refuse_slurm(slurm_get_errno());
    const partition_info_t *p = find_partition(cluster->partitions, name);
    if (p) {
        struct capacity c = measure(p, cluster->nodes);
        refusal = check_size(job, p, &c);
        *away = c.away;
    } else {
        refusal = refuse_partition(name, cluster->partitions);
    }
    return refusal;
}

/* What Slurm says of a job that it is not given. */
struct forecast {
    will_run_response_msg_t *expected;
    int code; /* Slurm's errno, 0 if it would run */
};

static void forecast_load(struct forecast *f, struct description *d)
{
    *f = (struct forecast){0};
    if (slurm_job_will_run2(&d->msg, &f->expected) != SLURM_SUCCESS)
        f->code = slurm_get_errno();
}

/* Beyond the sizes, what only Slurm knows: features, accounts, reservations. While nodes are away
 * Slurm's "not available" may mean just that, so it is no reason to refuse. Frees f. */
static json_t *judge_forecast(struct forecast *f, int away)
{
    if (f->code == 0) {
        json_t *answer = json_pack("{s:b, s:I, s:o}", "ok", 1, "start",
                                   (json_int_t)f->expected->start_time, "nodes",
                                   text_or_empty(f->expected->node_list));
        slurm_free_will_run_response_msg(f->expected);
        return answer;
    }
    if (may_pass(f->code) || (f->code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE && away > 0))
        return json_pack("{s:b, s:I, s:s}", "ok", 1, "start", (json_int_t)0, "nodes", "");
    return refuse_slurm(f->code);
}

/* A check that will be asked for: Slurm is asked at once, while other questions are answered. */
static struct {
    json_t *job; /* NULL: none */
    struct description description;
    struct forecast forecast;
    pthread_t thread;
} ahead;

static void *look_ahead(void *arg)
{
    (void)arg;
    forecast_load(&ahead.forecast, &ahead.description);
    return NULL;
}

/* What was found out ahead of this job; false if it was another one. Either way nothing is ahead then. */
static bool take_ahead(const json_t *job, struct forecast *dst)
{
    bool same = job && json_equal(ahead.job, job);

    if (!ahead.job)
        return false;
    pthread_join(ahead.thread, NULL);
    if (same)
        *dst = ahead.forecast;
    else if (ahead.forecast.code == 0)
        slurm_free_will_run_response_msg(ahead.forecast.expected);
    description_free(&ahead.description);
    json_decref(ahead.job);
    ahead.job = NULL;
    return same;
}

static json_t *op_foresee(json_t *job)
{
    json_t *refusal;

    take_ahead(NULL, NULL);
    refusal = description_load(&ahead.description, job);
    if (refusal || pthread_create(&ahead.thread, NULL, look_ahead, NULL) != 0)
        description_free(&ahead.description);
    else
        ahead.job = json_incref(job);
    return refusal ? refusal : json_pack("{s:b}", "ok", 1);
}

/* Was this code part of Slurm's answer? slurm_errno.h: 2000 and more are slurmctld's, 7000 and more
 * its accounting's and plugins'. Any other one (a timeout, a broken connection) leaves it open whether
 * Slurm got the request; only what could not even connect was never sent. */
static bool is_answered(int code)
{
    return (code >= ESLURM_INVALID_PARTITION_NAME && code < 5000) || code >= ESLURM_DB_CONNECTION ||
           code == SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR ||
           code == SLURM_COMMUNICATIONS_CONNECTION_ERROR;
}

/* Success alone proves nothing: Slurm queues jobs that can never run, which then block the others;
 * the answer's error_code tells. */
static json_t *submit(struct description *d)
{
    submit_response_msg_t *response = NULL;
    char id[16];

    if (slurm_submit_batch_job(&d->msg, &response) != SLURM_SUCCESS) {
        int code = slurm_get_errno();
        json_t *refusal = refuse_slurm(code);
        if (!is_answered(code))
            json_object_set_new(refusal, "lost", json_true());
        return refusal;
    }
    uint32_t job_id = response->job_id;
    int code = (int)response->error_code;
    slurm_free_submit_response_response_msg(response);
    if (code && !may_pass(code)) {
        slurm_kill_job(job_id, SIGKILL, 0);
        return refuse_slurm(code);
    }
    snprintf(id, sizeof id, "%u", job_id);
    return json_pack("{s:b, s:s}", "ok", 1, "id", id);
}

/* ---- sbatch ---- */

/* In the child: no shell, and nothing of another job. */
static void become_sbatch(char **argv, int output)
{
    jobenv_clean();
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    execvp(argv[0], argv);
    fprintf(stderr, "sbatch: %s\n", strerror(errno));
    _exit(127);
}

/* Runs argv to its end. Its exit code; dst gets what it said. -1: it could not be started. */
static int run_sbatch(char **argv, struct buf *dst)
{
    int ends[2], status;
    char block[4096];
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        become_sbatch(argv, ends[1]);
    close(ends[1]);
    while (pid > 0 && ((n = read(ends[0], block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            buf_add_bytes(dst, block, (size_t)n);
    close(ends[0]);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The last line that says something, in place. */
static char *last_line(char *text)
{
    char *hint = strstr(text, "\nTry \"sbatch --help\"");

    if (hint)
        *hint = 0;
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* The id among the lines (a warning may stand beside it), or NULL. */
static const char *find_id(const char *text, size_t *length)
{
    for (; text; text = strchr(text, '\n'), text += text != NULL) {
        *length = strspn(text, "0123456789");
        if (*length > 0 && (text[*length] == 0 || text[*length] == '\n' || text[*length] == ';'))
            return text;
    }
    return NULL;
}

/* Did sbatch fail without an answer of Slurm's? Its exit code does not tell, its words do: those of
 * slurm_strerror for a timeout or a connection that broke. One that a signal ended said nothing. */
static bool lost_answer(int code, const char *words)
{
    static const char *const signs[] = {"timed out", "Zero Bytes", "send/recv", "Connection reset",
                                        "Unexpected message", "communication", NULL};

    for (const char *const *sign = signs; words && *sign; sign++)
        if (strstr(words, *sign))
            return true;
    return code > 128;
}

/* A job with words that are sbatch's business: "sbatch" has them all. mode: --parsable or --test-only.
 * The answer of a submission has the id. */
static json_t *ask_sbatch(const json_t *job, const char *mode)
{
    const json_t *words = json_object_get(job, "sbatch"), *word;
    char **argv = calloc(json_array_size(words) + 5, sizeof *argv);
    const char *script = string_of(job, "script");
    bool submits = strcmp(mode, "--parsable") == 0;
    struct buf said = {0};
    size_t n = 0, i;
    json_t *answer;

    if (!argv)
        return refuse_text("out of memory");
    argv[n++] = "sbatch";
    argv[n++] = (char *)mode;
    json_array_foreach(words, i, word) {
        argv[n++] = (char *)(json_is_string(word) ? json_string_value(word) : "");
    }
    argv[n++] = (char *)(script ? script : "--wrap=true");
    int code = run_sbatch(argv, &said);
    free(argv);
    const char *id = said.data ? find_id(said.data, &n) : NULL;
    if (code < 0 || said.failed)
        answer = refuse_text("sbatch cannot be started: %s", strerror(errno));
    else if (code != 0)
        answer = refuse_text("%s", said.data ? last_line(said.data) : "sbatch failed without a word");
    else if (!submits)
        answer = json_pack("{s:b, s:I, s:s}", "ok", 1, "start", (json_int_t)0, "nodes", "");
    else if (!id)
        answer = refuse_text("sbatch printed no job id");
    else
        answer = json_pack("{s:b, s:s#}", "ok", 1, "id", id, (int)n);
    if (submits && code != 0 && lost_answer(code, said.data))
        json_object_set_new(answer, "lost", json_true());
    buf_destroy(&said);
    return answer;
}

/* The description of a job without its script, or why it is refused without asking Slurm further. Either
 * way description_free(d) is due. */
static json_t *prepare(struct description *d, const json_t *job, int *away)
{
    json_t *refusal = description_load(d, job);

    return refusal ? refusal : check_cluster(job, away);
}

static json_t *op_check(const json_t *job)
{
    struct description d;
    struct forecast forecast;
    int away;
    json_t *answer = prepare(&d, job, &away);

    if (!answer && string_of(job, "script"))
        answer = description_load_script(&d, job);
    if (!answer && json_object_get(job, "sbatch")) {
        answer = ask_sbatch(job, "--test-only");
    } else if (!answer) {
        if (!take_ahead(job, &forecast))
            forecast_load(&forecast, &d);
        answer = judge_forecast(&forecast, away);
    }
    description_free(&d);
    return answer;
}

/* Jobs that are submitted together. Slurm takes most of a submission's time for the credentials of both
 * sides, so several are under way at once. */
struct batch {
    const json_t *jobs;
    struct description *descriptions;
    json_t **answers; /* NULL: not submitted, since another one was refused */
    size_t count;
    atomic_size_t next;
    atomic_bool stop, lost;
    pthread_mutex_t lock;
    pthread_cond_t more;
    bool fed;     /* scripts are there only once their jobs are ready */
    size_t ready; /* how many are; under the lock */
};

/* Waits until job i may go. False: it may not. */
static bool await_ready(struct batch *b, size_t i)
{
    pthread_mutex_lock(&b->lock);
    while (b->ready <= i && !b->stop)
        pthread_cond_wait(&b->more, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return !b->stop;
}

static json_t *submit_one(struct batch *b, size_t i)
{
    const json_t *job = json_array_get(b->jobs, i);
    json_t *refusal = b->fed ? description_load_script(&b->descriptions[i], job) : NULL;

    if (refusal)
        return refusal;
    return json_object_get(job, "sbatch") ? ask_sbatch(job, "--parsable") : submit(&b->descriptions[i]);
}

static void *submit_some(void *arg)
{
    struct batch *b = arg;
    size_t i;

    while (!b->stop && (i = atomic_fetch_add(&b->next, 1)) < b->count && await_ready(b, i)) {
        b->answers[i] = submit_one(b, i);
        if (flag_of(b->answers[i], "lost"))
            b->lost = true;
        if (!flag_of(b->answers[i], "ok"))
            b->stop = true;
    }
    return NULL;
}

static void set_ready(struct batch *b, size_t count, bool stop)
{
    pthread_mutex_lock(&b->lock);
    b->ready = count;
    if (stop)
        b->stop = true;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
}

/* Lines that tell how many jobs are ready, until all are. Who gives up, or is gone, stops the rest. */
static void read_ready(struct batch *b)
{
    char *line = NULL;
    size_t capacity = 0, count = 0;
    ssize_t n;

    while (count < b->count && (n = getline(&line, &capacity, stdin)) > 0) {
        json_t *o = json_loadb(line, (size_t)n, 0, NULL);
        const char *op = string_of(o, "op");
        bool goes_on = op && strcmp(op, "ready") == 0;
        count = goes_on ? (size_t)number_of(o, "count") : count;
        json_decref(o);
        if (!goes_on)
            break;
        set_ready(b, count, false);
    }
    if (count < b->count)
        set_ready(b, count, true);
    free(line);
}

static void submit_all(struct batch *b)
{
    pthread_t threads[SUBMITTERS];
    size_t n = 0;
    bool forks = json_object_get(json_array_get(b->jobs, 0), "sbatch") != NULL;

    if (!b->fed)
        b->ready = b->count;
    else if (forks) /* from a process of one thread */
        read_ready(b);
    while (!forks && n < SUBMITTERS && n + 1 < b->count &&
           pthread_create(&threads[n], NULL, submit_some, b) == 0)
        n++;
    if (b->fed && !forks)
        read_ready(b);
    submit_some(b);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* The file says which jobs may be under way, to whoever comes after a lost answer. */
static json_t *mark_in_flight(const char *file, const json_t *jobs)
{
    struct buf tags = {0};
    const json_t *job;
    size_t i;

    if (!file)
        return NULL;
    json_array_foreach(jobs, i, job) {
        buf_addf(&tags, "%s\n", string_of(job, "tag"));
    }
    int fd = tags.failed ? -1 : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool written = fd >= 0 && write(fd, tags.data, tags.length) == (ssize_t)tags.length;
    int code = errno;

    if (fd >= 0)
        close(fd);
    buf_destroy(&tags);
    return written ? NULL : refuse_text("%s: %s", file, strerror(code));
}

/* All are checked before the first is submitted. */
static json_t *submit_jobs(struct batch *b, const char *in_flight)
{
    json_t *refusal = NULL, *results;
    int away;

    for (; !refusal && b->count < json_array_size(b->jobs); b->count++) {
        const json_t *job = json_array_get(b->jobs, b->count);
        refusal = prepare(&b->descriptions[b->count], job, &away);
        if (!refusal && !b->fed)
            refusal = description_load_script(&b->descriptions[b->count], job);
    }
    if (!refusal)
        refusal = mark_in_flight(in_flight, b->jobs);
    if (refusal)
        return refusal;
    submit_all(b);
    if (in_flight && !b->lost)
        unlink(in_flight);
    results = json_array();
    for (size_t i = 0; i < b->count; i++)
        json_array_append_new(results, b->answers[i] ? b->answers[i] : json_null());
    return json_pack("{s:b, s:o}", "ok", 1, "results", results);
}

static json_t *op_submit(const json_t *request)
{
    const json_t *jobs = json_object_get(request, "jobs");
    size_t count = json_array_size(jobs);
    struct batch b = {.jobs = jobs,
                      .fed = flag_of(request, "fed"),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .more = PTHREAD_COND_INITIALIZER,
                      .descriptions = calloc(count + 1, sizeof *b.descriptions),
                      .answers = calloc(count + 1, sizeof *b.answers)};
    json_t *answer;

    if (!count)
        answer = refuse_text("submit needs \"jobs\"");
    else if (!b.descriptions || !b.answers)
        answer = refuse_text("out of memory");
    else
        answer = submit_jobs(&b, string_of(request, "in_flight"));
    for (size_t i = 0; i < b.count; i++)
        description_free(&b.descriptions[i]);
    free(b.descriptions);
    free(b.answers);
    return answer;
}

/* ---- query and cancel ---- */

static json_t *describe_job(const slurm_job_info_t *j)
{
    int status = (int)j->exit_code;
    bool ended = (j->job_state & JOB_STATE_BASE) >= JOB_COMPLETE;
    bool pending = (j->job_state & JOB_STATE_BASE) == JOB_PENDING;
    const char *reason = j->state_desc            ? j->state_desc
                         : j->state_reason != 0 ? slurm_job_reason_string(j->state_reason)
                                                : NULL;
    char id[16];

    snprintf(id, sizeof id, "%u", j->job_id);
    /* A waiting job's start and a running job's end are only expected. */
    return json_pack("{s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o}", "id", id, "state",
                     slurm_job_state_string(j->job_state), "reason", text_or_empty(reason), "exit_code",
                     ended && WIFEXITED(status) ? WEXITSTATUS(status) : 0, "signal",
                     ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0, "restarts",
                     (int)j->restart_cnt, "submitted", (json_int_t)j->submit_time, "started",
                     (json_int_t)(pending ? 0 : j->start_time), "ended",
                     (json_int_t)(ended ? j->end_time : 0), "nodes", text_or_empty(j->nodes), "tag",
                     text_or_empty(j->comment), "name", text_or_empty(j->name));
}

static bool is_asked_for(const slurm_job_info_t *j, const char *prefix, const json_t *ids)
{
    const json_t *id;
    size_t i;

    if (prefix)
        return j->comment && strncmp(j->comment, prefix, strlen(prefix)) == 0;
    json_array_foreach(ids, i, id) {
        if (json_is_string(id) && strtoul(json_string_value(id), NULL, 10) == j->job_id)
            return true;
    }
    return false;
}

static json_t *op_query(const json_t *request)
{
    const char *prefix = string_of(request, "tag_prefix");
    const json_t *ids = json_object_get(request, "ids");
    job_info_msg_t *jobs;
    json_t *list;

    if (!prefix && !json_is_array(ids))
        return refuse_text("query needs \"tag_prefix\" or \"ids\"");
    if (slurm_load_job_user(&jobs, getuid(), SHOW_ALL) != SLURM_SUCCESS) {
        /* Slurm's way to say that the user has none */
        if (slurm_get_errno() == ESLURM_INVALID_JOB_ID)
            return json_pack("{s:b, s:[]}", "ok", 1, "jobs");
        return refuse_slurm(slurm_get_errno());
    }
    list = json_array();
    for (uint32_t i = 0; i < jobs->record_count; i++)
        if (is_asked_for(&jobs->job_array[i], prefix, ids))
            json_array_append_new(list, describe_job(&jobs->job_array[i]));
    slurm_free_job_info_msg(jobs);
    return json_pack("{s:b, s:o}", "ok", 1, "jobs", list);
}

/* ---- accounting: jobs that the controller has forgotten */

static json_t *describe_past(uint32_t id, const char *state, uint32_t exit_code, time_t started,
                             time_t ended, const char *nodes)
{
    int status = (int)exit_code;
    char text[16];

    snprintf(text, sizeof text, "%u", id);
    return json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:o}", "id", text, "state", state, "exit_code",
                     WIFEXITED(status) ? WEXITSTATUS(status) : 0, "signal",
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0, "started", (json_int_t)started,
                     "ended", (json_int_t)ended, "nodes", text_or_empty(nodes));
}

/* From slurmdbd. -1 when it does not answer. */
static int read_slurmdbd(const json_t *ids, json_t *jobs)
{
    slurmdb_job_cond_t cond = {.db_flags = SLURMDB_JOB_FLAG_NOTSET,
                               .step_list = slurm_list_create(slurm_destroy_selected_step)};
    uint16_t flags = 0;
    void *connection = slurmdb_connection_get(&flags);
    const slurmdb_job_rec_t *r;
    const json_t *id;
    List found;
    size_t i;

    json_array_foreach(ids, i, id) {
        slurm_addto_step_list(cond.step_list, (char *)json_string_value(id));
    }
    found = connection ? slurmdb_jobs_get(connection, &cond) : NULL;
    if (found) {
        ListIterator next = slurm_list_iterator_create(found);
        while ((r = slurm_list_next(next)))
            json_array_append_new(jobs, describe_past(r->jobid, slurm_job_state_string(r->state),
                                                      (uint32_t)r->exitcode, r->start, r->end, r->nodes));
        slurm_list_iterator_destroy(next);
        slurm_list_destroy(found);
    }
    slurm_list_destroy(cond.step_list);
    if (connection)
        slurmdb_connection_close(&connection);
    return found ? 0 : -1;
}

/* The word behind "NAME=" in a line of jobcomp/filetxt; "" if it has none. */
static void take_word(const char *line, const char *name, char *dst, size_t size)
{
    size_t n = strlen(name);

    *dst = 0;
    for (const char *s = line; (s = strstr(s, name)); s += n)
        if ((s == line || s[-1] == ' ') && s[n] == '=') {
            snprintf(dst, size, "%.*s", (int)strcspn(s + n + 1, " \n"), s + n + 1);
            return;
        }
}

static time_t decode_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};

    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

static bool has_id(const json_t *ids, const char *text)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        if (json_is_string(id) && strcmp(json_string_value(id), text) == 0)
            return true;
    }
    return false;
}

/* From the file of jobcomp/filetxt: a line for each end, so a requeued job's last one counts. */
static int read_filetxt(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL, id[32], state[32], start[32], end[32], nodes[256], exit_code[32];
    size_t capacity = 0;

    if (!f)
        return -1;
    while (getline(&line, &capacity, f) > 0) {
        take_word(line, "JobId", id, sizeof id);
        if (!has_id(ids, id))
            continue;
        take_word(line, "JobState", state, sizeof state);
        take_word(line, "StartTime", start, sizeof start);
        take_word(line, "EndTime", end, sizeof end);
        take_word(line, "NodeList", nodes, sizeof nodes);
        take_word(line, "ExitCode", exit_code, sizeof exit_code);
        unsigned code = 0, number = 0;
        sscanf(exit_code, "%u:%u", &code, &number);
        json_array_append_new(jobs, describe_past((uint32_t)strtoul(id, NULL, 10), state,
                                                  code << 8 | number, decode_time(start),
                                                  decode_time(end), nodes));
    }
    free(line);
    fclose(f);
    return 0;
}

static json_t *op_accounting(const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids");
    json_t *jobs = json_array();
    const char *source = "";
    slurm_conf_t *conf;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) {
        json_decref(jobs);
        return refuse_slurm(slurm_get_errno());
    }
    if (conf->accounting_storage_type && strstr(conf->accounting_storage_type, "slurmdbd") &&
        read_slurmdbd(ids, jobs) == 0)
        source = "slurmdbd";
    else if (conf->job_comp_type && strstr(conf->job_comp_type, "filetxt") && conf->job_comp_loc &&
             read_filetxt(conf->job_comp_loc, ids, jobs) == 0)
        source = "filetxt";
    slurm_free_ctl_conf(conf);
    return json_pack("{s:b, s:s, s:o}", "ok", 1, "source", source, "jobs", jobs);
}

static json_t *op_cancel(const json_t *request)
{
    const char *id = string_of(request, "id");
    char *end;

    if (!id)
        return refuse_text("cancel needs \"id\"");
    unsigned long n = strtoul(id, &end, 10);
    if (end == id || *end || n == 0 || n > UINT32_MAX)
        return refuse_text("'%s' is not the id of a Slurm job", id);
    if (slurm_kill_job((uint32_t)n, SIGKILL, 0) != SLURM_SUCCESS) {
        int code = slurm_get_errno();
        if (code != ESLURM_ALREADY_DONE && code != ESLURM_INVALID_JOB_ID)
            return refuse_slurm(code);
    }
    return json_pack("{s:b}", "ok", 1);
}

/* ---- the loop ---- */

static json_t *answer_request(const json_t *request)
{
    const char *op = string_of(request, "op");
    json_t *job = json_object_get(request, "job");

    if (!op)
        return refuse_text("the request has no \"op\"");
    if (strcmp(op, "hello") == 0)
        return json_pack("{s:b}", "ok", 1);
    if (strcmp(op, "ping") == 0)
        return op_ping();
    if (strcmp(op, "partitions") == 0)
        return op_partitions();
    if (strcmp(op, "check") == 0)
        return op_check(job);
    if (strcmp(op, "foresee") == 0)
        return op_foresee(job);
    if (strcmp(op, "submit") == 0)
        return op_submit(request);
    if (strcmp(op, "query") == 0)
        return op_query(request);
    if (strcmp(op, "accounting") == 0)
        return op_accounting(request);
    if (strcmp(op, "cancel") == 0)
        return op_cancel(request);
    return refuse_text("unknown op \"%s\"", op);
}

/* A line for a submission that has ended early. */
static bool is_late(const json_t *request)
{
    const char *op = string_of(request, "op");

    return op && (strcmp(op, "ready") == 0 || strcmp(op, "stop") == 0);
}

static int write_answer(json_t *answer)
{
    int rc = !answer || json_dumpf(answer, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF ||
                     fflush(stdout) == EOF
                 ? -1
                 : 0;

    json_decref(answer);
    return rc;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    if (argc > 1) {
        fprintf(stderr, "%s: unetctl starts this program and talks to it on stdin; see PROTOCOL.md\n",
                argv[0]);
        return 2;
    }
    /* libslurm would wait a minute for the file to appear. */
    const char *conf = getenv("SLURM_CONF");
    if (conf && access(conf, R_OK) < 0) {
        fprintf(stderr, "SLURM_CONF=%s: %s\n", conf, strerror(errno));
        return 1;
    }
    slurm_init(NULL);
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        json_error_t error;
        json_t *request = json_loadb(line, (size_t)n, 0, &error);
        bool late = is_late(request);
        json_t *answer = late      ? NULL
                         : request ? answer_request(request)
                                   : refuse_text("no JSON: %s", error.text);
        json_decref(request);
        if (!late && write_answer(answer) < 0)
            break;
    }
    free(line);
    take_ahead(NULL, NULL);
    slurm_fini();
    return 0;
}
