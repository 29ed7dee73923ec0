/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/serve.h"

#include <time.h>

#include "launcher/host/jsonio.h"
#include "launcher/scheduler/scheduler.h"
#include "launcher/scheduler/slurm/slurm_internal.h"
#include "src/clock.h"

#define CLUSTER_AGE_S 2

/* Counts the GPUs in a node's gres, such as "gpu:h200:4(S:0-1),gpu:2,mps:100". */
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

/* Adds the types in a node's gres, such as "gpu:h200:4(S:0-1),gpu:2,mps:100". */
static void add_types(char types[CLUSTER_TYPES_SIZE], const char *gres)
{
    char type[64];

    for (const char *item = gres; item && (item = strstr(item, "gpu:")); item++)
        if ((item == gres || item[-1] == ',') && !isdigit((unsigned char)item[4]) &&
            sscanf(item, "gpu:%63[^:,(]", type) == 1)
            message_add_words(types, CLUSTER_TYPES_SIZE, type);
}

struct cluster_partition *cluster_add(struct cluster *c, const char *name)
{
    struct cluster_partition *p =
        realloc(c->partitions, (c->count + 1) * sizeof *c->partitions);

    if (!p)
        return NULL;
    c->partitions = p;
    p += c->count;
    *p = (struct cluster_partition){.name = strdup(name)};
    if (!p->name)
        return NULL;
    c->count++;
    return p;
}

void cluster_add_node(struct cluster_partition *p, int cpus, const char *gres, bool is_away)
{
    int gpus = count_gpus(gres);

    p->nodes++;
    if (gpus > p->gpus_per_node)
        p->gpus_per_node = gpus;
    if (p->cpus_per_node == 0 || cpus < p->cpus_per_node)
        p->cpus_per_node = cpus;
    p->away += is_away;
    add_types(p->gpu_types, gres);
}

void cluster_set_total(struct cluster_partition *p, int nodes)
{
    p->unseen = nodes > p->nodes ? nodes - p->nodes : 0;
    p->nodes = nodes;
}

static void clear_cluster(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->partitions[i].name);
    free(c->partitions);
    *c = (struct cluster){0};
}

static json_t *encode_partition(const struct cluster_partition *p)
{
    return json_pack("{s:o, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "name",
                     message_string(p->name), "default", p->is_default, "nodes", p->nodes, "unseen",
                     p->unseen, "away", p->away, "gpus_per_node", p->gpus_per_node,
                     "cpus_per_node", p->cpus_per_node, "max_time_min", p->max_time_min,
                     "gpu_types", message_string(p->gpu_types));
}

/* Returns the answer to the request "partitions" of PROTOCOL.md, at most two seconds old, since
 * many jobs are checked in a row. */
static json_t *cluster_partitions(const struct slurm_interface *slurm)
{
    static struct cluster cluster;
    static double loaded;

    if (!(loaded > 0) || clock_now() - loaded > CLUSTER_AGE_S) {
        clear_cluster(&cluster);
        json_t *refusal = slurm->load_cluster(&cluster);
        loaded = refusal ? 0 : clock_now();
        if (refusal)
            return refusal;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < cluster.count; i++)
        json_array_append_new(list, encode_partition(&cluster.partitions[i]));
    return json_pack("{s:b, s:b, s:o}", "ok", 1, "private", cluster.is_private, "partitions", list);
}

/* ---- jobs that the controller has forgotten ---- */

static time_t take_time(const char *line, const char *name)
{
    struct tm tm = {.tm_isdst = -1};
    char text[32];

    command_value(line, name, text, sizeof text);
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

/* Takes the name of a job, which may have blanks: JobState follows it. */
static void take_name(const char *line, char *dst, size_t size)
{
    const char *name = strstr(line, " Name="), *end = name ? strstr(name, " JobState=") : NULL;

    if (end)
        snprintf(dst, size, "%.*s", (int)(end - name) - (int)strlen(" Name="), name + strlen(" Name="));
}

/* Takes "root(0)". */
static long take_user(const char *line, char *dst, size_t size)
{
    command_value(line, "UserId", dst, size);
    char *number = strrchr(dst, '('), *end;
    long uid = number ? strtol(number + 1, &end, 10) : -1;

    if (!number || end == number + 1)
        return -1;
    *number = 0;
    return uid;
}

static void take_job(const char *line, struct job_state *dst)
{
    char state[32], exit_code[32];

    command_value(line, "JobState", state, sizeof state);
    job_state_set(dst, state_find(state));
    command_value(line, "NodeList", dst->nodes, sizeof dst->nodes);
    command_value(line, "ExitCode", exit_code, sizeof exit_code);
    sscanf(exit_code, "%d:%d", &dst->exit_code, &dst->signal);
    take_name(line, dst->name, sizeof dst->name);
    dst->uid = take_user(line, dst->user, sizeof dst->user);
    dst->submitted = take_time(line, "SubmitTime");
    dst->started = take_time(line, "StartTime");
    dst->ended = take_time(line, "EndTime");
}

/* Appends one element to jobs for each line of the file whose job is in ids. There is one line for
 * each time that a job ended, so of several elements for a requeued job the last one counts.
 * Returns 0, or -1 if the file cannot be opened. */
static int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL;
    size_t capacity = 0;

    if (!f)
        return -1;
    json_t *wanted = message_index_ids(ids);
    while (getline(&line, &capacity, f) > 0) {
        struct job_state j = {.uid = -1};
        command_value(line, "JobId", j.id, sizeof j.id);
        if (!json_object_get(wanted, j.id))
            continue;
        take_job(line, &j);
        json_array_append_new(jobs, job_state_encode(&j));
    }
    json_decref(wanted);
    free(line);
    fclose(f);
    return 0;
}

/* ---- slurmdbd ---- */

#define PAST_FORMAT                                                                                \
    "JobIDRaw,State,ExitCode,Submit,Start,End,NodeList,UID,User,ElapsedRaw,NNodes,AllocCPUS,"      \
    "ConsumedEnergyRaw,JobName"
#define WATTS_MAX 1e5 /* of a node; a counter that says more has failed */
enum { ID, STATE, EXIT, SUBMITTED, STARTED, ENDED, NODES, UID, USER, ELAPSED, NNODES, CPUS, ENERGY,
       NAME, PAST_FIELDS };

static json_t *describe_past(char *f[COMMAND_FIELDS_MAX])
{
    struct job_state j = {.uid = *f[UID] ? (long)command_seconds(f[UID]) : -1,
                          .submitted = command_seconds(f[SUBMITTED]),
                          .started = command_seconds(f[STARTED]),
                          .ended = command_seconds(f[ENDED])};

    f[STATE][strcspn(f[STATE], " ")] = 0; /* cuts "CANCELLED by 1000" */
    job_state_set(&j, state_find(f[STATE]));
    command_exit(f[EXIT], &j.exit_code, &j.signal);
    snprintf(j.id, sizeof j.id, "%s", f[ID]);
    if (strcmp(f[NODES], "None assigned") != 0)
        snprintf(j.nodes, sizeof j.nodes, "%s", f[NODES]);
    snprintf(j.user, sizeof j.user, "%s", f[USER]);
    snprintf(j.name, sizeof j.name, "%s", f[NAME]);
    return job_state_encode(&j);
}

/* Returns how many CPUs the nodes have that jobs may use, or 0. */
static long count_cpus(const char *nodes)
{
    const char *const argv[] = {"scontrol", "-o", "show", "node", nodes, NULL};
    struct child_end c;
    json_t *refusal = command_ask(argv, &c);
    long cpus = 0;

    for (const char *s = refusal ? NULL : c.out.data; s && (s = strstr(s, " CPUEfctv="));)
        cpus += strtol(s += sizeof " CPUEfctv=" - 1, NULL, 10);
    json_decref(refusal);
    child_destroy(&c);
    return cpus;
}

/* Adds the energy of a step to its job, which must be the only one on its nodes, as it has all of
 * their CPUs. Steps at the same time count the same joules, so that of several steps the one with
 * the most counts; it must be on all nodes of the job. */
static void add_energy(json_t *job, long nodes, long cpus, char *f[COMMAND_FIELDS_MAX])
{
    json_int_t joules = command_seconds(f[ENERGY]), seconds = command_seconds(f[ELAPSED]);
    const char *names = jsonio_text(job, "nodes");

    if (joules <= jsonio_integer(job, "joules") || atol(f[NNODES]) != nodes || !*names ||
        (double)joules > WATTS_MAX * (double)(nodes * (seconds + 1)))
        return;
    long all = count_cpus(names);
    if (!all || cpus < all)
        return;
    json_object_set_new(job, "joules", json_integer(joules));
    json_object_set_new(job, "joules_s", json_integer(seconds));
}

/* Likewise for the jobs that sacct shows. One that had all CPUs of its nodes, whose energy a plugin
 * of Slurm counts, has it as "joules" over "joules_s" seconds. Returns 0, or -1 if sacct fails. */
static int history_read_sacct(const json_t *ids, json_t *jobs)
{
    struct buf list = {0};
    struct child_end c;
    json_t *job = NULL;
    long nodes = 0, cpus = 0;

    message_add_ids(&list, ids);
    const char *const argv[] = {"sacct", "-n", "-P", "-j",
                                list.data ? list.data : "", "-a", "-o", PAST_FORMAT, NULL};
    json_t *refusal = command_ask(argv, &c);
    char *text = c.out.data, *f[COMMAND_FIELDS_MAX];
    while (!refusal && command_fields(&text, f, PAST_FIELDS)) {
        if (job && strchr(f[ID], '.')) {
            add_energy(job, nodes, cpus, f);
            continue;
        }
        json_array_append_new(jobs, job = describe_past(f));
        nodes = atol(f[NNODES]);
        cpus = atol(f[CPUS]);
    }
    int rc = refusal ? -1 : 0;
    json_decref(refusal);
    child_destroy(&c);
    buf_destroy(&list);
    return rc;
}

/* ---- the conversation ---- */

static bool is_job_id(const char *id)
{
    char *end;
    unsigned long n = strtoul(id, &end, 10);

    return *id >= '0' && *id <= '9' && !*end && n > 0 && n <= UINT32_MAX;
}

static json_t *answer_ping(const struct slurm_interface *slurm)
{
    struct slurm_config config = {0};
    json_t *refusal = slurm->load_config(&config);

    return refusal ? refusal : json_pack("{s:b, s:o}", "ok", 1, "cluster",
                                         message_string(config.cluster));
}

static json_t *answer_query(const struct slurm_interface *slurm, const json_t *request)
{
    const char *prefix = json_string_value(json_object_get(request, "tag_prefix"));
    bool everybody = json_is_true(json_object_get(request, "everybody"));
    json_t *jobs = json_array();
    json_t *refusal = prefix ? slurm->query(prefix, everybody, jobs)
                             : message_refuse("query needs \"tag_prefix\"");
    json_t *answer = refusal ? refusal : json_pack("{s:b, s:O}", "ok", 1, "jobs", jobs);

    json_decref(jobs);
    return answer;
}

/* Returns NULL, or a refusal if there are no ids or one is not that of a job. */
static json_t *check_ids(const char *op, const json_t *ids)
{
    const json_t *id;
    size_t i;

    if (json_array_size(ids) == 0)
        return message_refuse("%s needs \"ids\"", op);
    json_array_foreach(ids, i, id) {
        if (!json_is_string(id) || !is_job_id(json_string_value(id)))
            return message_refuse("%s: an id is not that of a Slurm job", op);
    }
    return NULL;
}

/* Answers "lookup", from the queue, and "accounting". */
static json_t *answer_ids(const struct slurm_interface *slurm, const char *op,
                          const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids");
    bool is_lookup = strcmp(op, "lookup") == 0;
    struct slurm_config config = {0};
    json_t *jobs = json_array(), *refusal = check_ids(op, ids);
    const char *source = "";

    if (!refusal)
        refusal = slurm->load_config(&config);
    if (!refusal && is_lookup)
        refusal = slurm->lookup(ids, jobs);
    else if (!refusal && config.has_slurmdbd && history_read_sacct(ids, jobs) == 0)
        source = "slurmdbd";
    else if (!refusal && *config.jobcomp && history_read_jobcomp(config.jobcomp, ids, jobs) == 0)
        source = "filetxt";
    json_t *answer = refusal     ? refusal
                     : is_lookup ? json_pack("{s:b, s:O, s:b}", "ok", 1, "jobs", jobs, "hides",
                                             config.hides_jobs)
                                 : json_pack("{s:b, s:s, s:O}", "ok", 1, "source", source, "jobs",
                                             jobs);
    json_decref(jobs);
    return answer;
}

static json_t *answer_request(const struct slurm_interface *slurm, const json_t *request)
{
    const char *op = jsonio_text(request, "op");

    if (!*op)
        return message_refuse("the request has no \"op\"");
    if (strcmp(op, "hello") == 0)
        return json_pack("{s:b, s:i, s:s}", "ok", 1, "protocol", MESSAGE_PROTOCOL, "version",
                         PACKAGE_VERSION);
    if (strcmp(op, "ping") == 0)
        return answer_ping(slurm);
    if (strcmp(op, "partitions") == 0)
        return cluster_partitions(slurm);
    if (strcmp(op, "query") == 0)
        return answer_query(slurm, request);
    if (strcmp(op, "lookup") == 0 || strcmp(op, "accounting") == 0)
        return answer_ids(slurm, op, request);
    return message_refuse("unknown op \"%s\"", op);
}

static int write_answer(json_t *answer)
{
    bool failed = !answer || json_dumpf(answer, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF ||
                  fflush(stdout) == EOF;

    json_decref(answer);
    return failed ? -1 : 0;
}

int serve_check_start(int argc, char **argv)
{
    const char *file = getenv("SLURM_CONF");

    if (argc > 1) {
        fprintf(stderr, "%s: unetctl starts this program and talks to it on stdin; see "
                "PROTOCOL.md\n", argv[0]);
        return 2;
    }
    if (!file || access(file, R_OK) == 0)
        return 0;
    fprintf(stderr, "SLURM_CONF=%s: %s\n", file, strerror(errno));
    return 1;
}

void serve(const struct slurm_interface *slurm)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    while ((n = getline(&line, &capacity, stdin)) > 0) {
        json_error_t error;
        json_t *request = json_loadb(line, (size_t)n, 0, &error);
        json_t *answer = request ? answer_request(slurm, request)
                                 : message_refuse("not JSON: %s", error.text);
        json_decref(request);
        if (write_answer(answer) < 0)
            break;
    }
    free(line);
}
