/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include "launcher/host/path.h"
#include "src/cluster/range.h"

#define LIBRARY "unetctl-slurm"

/* ---- the cluster ---- */

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

void cluster_add_types(char types[SCHEDULER_TYPES_SIZE], const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        size_t length = strlen(types);
        n = strcspn(list, ",");
        if (n && n < 64 && !text_has_word(types, list, n) && length + n + 2 < SCHEDULER_TYPES_SIZE)
            sprintf(types + length, "%s%.*s", length ? "," : "", (int)n, list);
    }
}

/* Adds the types in a node's gres, such as "gpu:h200:4(S:0-1),gpu:2,mps:100". */
static void add_types(char types[SCHEDULER_TYPES_SIZE], const char *gres)
{
    char type[64];

    for (const char *item = gres; item && (item = strstr(item, "gpu:")); item++)
        if ((item == gres || item[-1] == ',') && sscanf(item, "gpu:%63[^:,(]", type) == 1 &&
            type[strspn(type, "0123456789")])
            cluster_add_types(types, type);
}

/* Appends a partition without nodes and returns it, or NULL if memory ran out. */
static struct cluster_partition *add_partition(struct cluster *c, const char *name, struct err *e)
{
    if (mem_grow(&c->partitions, c->count, &c->capacity, sizeof *c->partitions, e))
        return NULL;
    struct cluster_partition *p = &c->partitions[c->count++];
    *p = (struct cluster_partition){0};
    snprintf(p->known.name, sizeof p->known.name, "%.63s", name);
    return p;
}

static void add_node(struct cluster_partition *p, int cpus, const char *gres, bool is_away)
{
    struct scheduler_partition *known = &p->known;
    int gpus = count_gpus(gres);

    known->nodes++;
    if (gpus > known->gpus_per_node)
        known->gpus_per_node = gpus;
    if (known->cpus_per_node == 0 || cpus < known->cpus_per_node)
        known->cpus_per_node = cpus;
    known->away += is_away;
    add_types(known->gpu_types, gres);
}

/* ---- asking ---- */

/* Returns whether the program of libslurm could not start or does not fit this cluster. It answers
 * with 0 or ERR_SCHED, and codes from 128 on are those of signals. */
static bool is_unfit(const struct child_end *end)
{
    return end->pid < 0 || (end->code > 0 && end->code < 128 && end->code != ERR_SCHED);
}

/* Runs a query. Returns 0, or -1 with ERR_SCHED; *cause then says why. */
static int run(const struct sandbox *place, const char *const argv[], struct child_end *dst,
               enum cause *cause, struct err *e)
{
    const char *file = place ? NULL : getenv("SLURM_CONF");
    bool is_missing = file && access(file, R_OK); /* Slurm would wait a minute for it to appear */

    *dst = (struct child_end){0};
    int rc = is_missing ? err_errno(e, ERR_SCHED, errno, "SLURM_CONF=%s", file)
                        : command_query(place, argv, dst, e);
    *cause = is_missing            ? CAUSE_NO_CLUSTER
             : rc && dst->err.data ? cause_find(dst->err.data, CAUSE_OTHER)
                                   : CAUSE_OTHER;
    return rc ? cause_refuse(*cause, e) : 0;
}

/* Runs the program of libslurm with these words (PROTOCOL.md), or a command of Slurm's that prints
 * the same. */
static int ask(struct query_way *way, const char *const words[3], const char *const command[],
               struct child_end *dst, enum cause *cause, struct err *e)
{
    const char *const own[] = {way->library, QUERY_PROTOCOL, words[0], words[1], words[2], NULL};
    int rc;

    if (*way->library) {
        rc = run(way->place, own, dst, cause, e);
        if (rc == 0 || !way->may_change || !is_unfit(dst))
            return rc;
        snprintf(way->why, sizeof way->why, "%s", e->text);
        child_destroy(dst);
    }
    rc = run(way->place, command, dst, cause, e);
    if (rc)
        return rc;
    *way->library = 0;
    if (*way->why)
        log_info("using Slurm's commands: %s (slurm.interface: commands silences this message)",
                 way->why);
    *way->why = 0;
    return 0;
}

int query_open(struct query_way *way, const struct sandbox *place, const char *interface,
               struct err *e)
{
    *way = (struct query_way){.place = place,
                              .may_change = !interface || strcmp(interface, "auto") == 0};
    if ((interface && strcmp(interface, "commands") == 0) ||
        paths_libexec(LIBRARY, way->library, sizeof way->library, e) == 0)
        return 0;
    *way->library = 0;
    strcpy(way->why, "this unetctl was built without libslurm");
    e->code = ERR_SCHED;
    return way->may_change ? 0
                           : err_prefix(e, "this unetctl was built without libslurm; --set "
                                        "slurm.interface=commands, or rebuild it");
}

/* ---- the cluster as it is configured ---- */

int query_config(const struct query_way *way, struct slurm_config *dst, struct err *e)
{
    static const char *const show[] = {"scontrol", "show", "config", NULL};
    struct child_end c;
    enum cause ignored;
    char value[256];
    int rc = run(way->place, show, &c, &ignored, e);

    *dst = (struct slurm_config){0};
    if (rc == 0) {
        const char *config = c.out.data;
        command_setting(config, "ClusterName", dst->cluster, sizeof dst->cluster);
        command_setting(config, "PrivateData", value, sizeof value);
        dst->hides_jobs = text_has_word(value, "jobs", 4);
        command_setting(config, "AccountingStorageType", value, sizeof value);
        dst->has_slurmdbd = strcmp(value, "accounting_storage/slurmdbd") == 0;
        command_setting(config, "JobCompType", value, sizeof value);
        if (strcmp(value, "jobcomp/filetxt") == 0)
            command_setting(config, "JobCompLoc", dst->jobcomp, sizeof dst->jobcomp);
    }
    child_destroy(&c);
    return rc;
}

static int minutes_of(const char *limit)
{
    int minutes = time_limit_decode(limit);

    return minutes > 0 ? minutes : 0; /* "infinite" and "n/a" mean no limit */
}

/* Returns whether a node is away by its long state, such as "idle", "mixed" or "down*". A star
 * means that it does not respond. */
static bool is_away(const char *state)
{
    static const char *const away[] = {"down", "unknown", "drain", "fail", NULL};

    for (const char *const *s = away; *s; s++)
        if (text_begins(state, *s))
            return true;
    return strchr(state, '*') != NULL;
}

/* Asks what Slurm may withhold from users (PrivateData of slurm.conf); then *withheld becomes true,
 * and it is 0. */
static int ask_private(struct query_way *way, const char *what, const char *const command[],
                       struct child_end *c, bool *withheld, struct err *e)
{
    enum cause cause;
    int rc = ask(way, (const char *const[]){what, NULL, NULL}, command, c, &cause, e);

    *withheld = cause == CAUSE_DENIED;
    return *withheld ? 0 : rc;
}

/* Adds a partition for each line "PartitionName=main ... Default=YES ...". */
static int add_partitions(const char *text, struct cluster *dst, struct err *e)
{
    char value[256];

    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (!*command_value(line, "PartitionName", value, sizeof value))
            continue;
        struct cluster_partition *p = add_partition(dst, value, e);
        if (!p)
            return -1;
        p->is_default = strcmp(command_value(line, "Default", value, sizeof value), "YES") == 0;
        p->known.max_time_min = minutes_of(command_value(line, "MaxTime", value, sizeof value));
        p->total = atoi(command_value(line, "TotalNodes", value, sizeof value));
    }
    return 0;
}

/* Adds the nodes from the output of sinfo, which has a line for each node of each partition. */
static void add_nodes(char *text, struct cluster *dst)
{
    enum { PARTITION, CPUS, STATE, GRES, COUNT };
    char *f[COMMAND_FIELDS_MAX];

    while (command_fields(&text, f, COUNT))
        for (size_t i = 0; i < dst->count; i++)
            if (strcmp(dst->partitions[i].known.name, f[PARTITION]) == 0)
                add_node(&dst->partitions[i], atoi(f[CPUS]), f[GRES], is_away(f[STATE]));
}

/* Completes a partition whose nodes were added. */
static void note_unseen(struct cluster_partition *p)
{
    struct scheduler_partition *known = &p->known;
    int unseen = p->total - known->nodes;

    known->nodes = p->total;
    if (unseen <= 0)
        return;
    known->away += unseen;
    known->gpus_per_node = known->cpus_per_node = 0;
    snprintf(known->unknown, sizeof known->unknown, "Slurm does not show %d of the %d nodes of "
             "partition %s (PrivateData, or cloud nodes that are off)", unseen, p->total,
             known->name);
}

static int load_nodes(struct query_way *way, struct cluster *dst, struct err *e)
{
    static const char *const list[] = {"sinfo", "-h", "-a", "-N", "-o", "%R|%c|%T|%G", NULL};
    struct child_end nodes;
    bool withheld;
    int rc = ask_private(way, "nodes", list, &nodes, &withheld, e);

    if (rc == 0 && !withheld)
        add_nodes(nodes.out.data, dst);
    for (size_t i = 0; i < dst->count; i++)
        note_unseen(&dst->partitions[i]);
    child_destroy(&nodes);
    return rc;
}

int query_cluster(struct query_way *way, struct cluster *dst, struct err *e)
{
    static const char *const show[] = {"scontrol", "-a", "-o", "show", "partition", NULL};
    struct child_end partitions;
    int rc = ask_private(way, "partitions", show, &partitions, &dst->is_private, e);

    if (rc == 0 && !dst->is_private)
        rc = add_partitions(partitions.out.data, dst, e) || load_nodes(way, dst, e) ? -1 : 0;
    child_destroy(&partitions);
    return rc;
}

/* ---- jobs ---- */

static int found_add(struct scheduler_found *dst, const struct job_state *job, struct err *e)
{
    if (mem_grow(&dst->states, dst->count, &dst->capacity, sizeof *dst->states, e))
        return -1;
    dst->states[dst->count++] = *job;
    return 0;
}

/* Copies a text of Slurm's, which writes (null) for one that it does not have. One that is not
 * UTF-8 becomes "". */
static void copy_text(char *dst, size_t size, const char *text)
{
    bool has = strcmp(text, "(null)") != 0 && filename_is_utf8(text);

    snprintf(dst, size, "%s", has ? text : "");
}

#define COPY(member, text) copy_text(member, sizeof member, text)

#define JOB_FORMAT                                                                                 \
    "JobID:24|,State:32|,exit_code:16|,RestartCnt:16|,SubmitTime:24|,StartTime:24|,EndTime:24|,"   \
    "UserID:16|,UserName:64|,Reason:160|,NodeList:160|,Comment:300|,Name:160"
enum { JOB_ID, JOB_STATE, JOB_EXIT, JOB_RESTARTS, JOB_SUBMITTED, JOB_STARTED, JOB_ENDED, JOB_UID,
       JOB_USER, JOB_REASON, JOB_NODES, JOB_TAG, JOB_NAME, JOB_FIELDS };

static int add_job(struct scheduler_found *dst, char *f[COMMAND_FIELDS_MAX], struct err *e)
{
    struct job_state j = {.uid = atol(f[JOB_UID]), .restarts = atoi(f[JOB_RESTARTS]),
                          .submitted = command_time(f[JOB_SUBMITTED])};

    job_state_set(&j, state_find(f[JOB_STATE]));
    COPY(j.id, f[JOB_ID]);
    COPY(j.user, f[JOB_USER]);
    COPY(j.reason, strcmp(f[JOB_REASON], "None") == 0 ? "" : f[JOB_REASON]);
    COPY(j.nodes, f[JOB_NODES]);
    COPY(j.name, f[JOB_NAME]);
    f[JOB_TAG][strcspn(f[JOB_TAG], " ")] = 0;
    COPY(j.tag, f[JOB_TAG]);
    /* The start of a pending job and the end of a running one are only estimates. */
    j.started = j.phase == PHASE_PENDING ? 0 : command_time(f[JOB_STARTED]);
    if (j.phase == PHASE_ENDED) {
        j.ended = command_time(f[JOB_ENDED]);
        command_exit(f[JOB_EXIT], &j.exit_code, &j.signal);
    }
    return found_add(dst, &j, e);
}

static void add_ids(struct buf *dst, const struct scheduler_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        buf_addf(dst, "%s%s", dst->length ? "," : "", ids->ids[i]);
}

int query_jobs(struct query_way *way, const struct jobs_query *q, struct scheduler_found *dst,
               struct err *e)
{
    struct buf ids = {0};
    struct child_end c = {0};
    enum cause ignored;
    char user[16], *f[COMMAND_FIELDS_MAX];

    snprintf(user, sizeof user, "%u", (unsigned)getuid());
    /* squeue fails if the only job that it is asked for is unknown, but not if one of several is,
     * so all are named twice. */
    for (int i = 0; q->ids && i < 2; i++)
        add_ids(&ids, q->ids);
    const char *const words[] = {"jobs", q->ids ? "ids" : q->everybody ? "all" : "own",
                                 q->ids ? ids.data : q->prefix};
    const char *const command[] = {"squeue", "-h", "-a", "-t", "all", "-O", JOB_FORMAT,
                                   q->ids ? "-j" : q->everybody ? NULL : "-u",
                                   q->ids ? ids.data : user, NULL};
    int rc = ids.failed ? mem_fail(e) : ask(way, words, command, &c, &ignored, e);
    char *text = rc ? NULL : c.out.data;
    while (rc == 0 && command_fields(&text, f, JOB_FIELDS))
        if (q->ids || text_begins(f[JOB_TAG], q->prefix))
            rc = add_job(dst, f, e);
    child_destroy(&c);
    buf_destroy(&ids);
    return rc;
}

/* ---- jobs that the controller has forgotten ---- */

static time_t take_time(const char *line, const char *name)
{
    char text[32];

    return command_time(command_value(line, name, text, sizeof text));
}

/* Takes the name of a job, which may have blanks: JobState follows it. */
static void take_name(const char *line, char *dst, size_t size)
{
    const char *name = strstr(line, " Name="), *end = name ? strstr(name, " JobState=") : NULL;

    name += name ? strlen(" Name=") : 0;
    if (end)
        snprintf(dst, size, "%.*s", (int)(end - name), name);
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
    char value[256];

    command_value(line, "JobState", value, sizeof value);
    job_state_set(dst, state_find(value));
    COPY(dst->nodes, command_value(line, "NodeList", value, sizeof value));
    command_value(line, "ExitCode", value, sizeof value);
    sscanf(value, "%d:%d", &dst->exit_code, &dst->signal);
    take_name(line, dst->name, sizeof dst->name);
    dst->uid = take_user(line, dst->user, sizeof dst->user);
    dst->submitted = take_time(line, "SubmitTime");
    dst->started = take_time(line, "StartTime");
    dst->ended = take_time(line, "EndTime");
}

/* Adds an element for each line of the file whose job is in ids. There is one line for each time
 * that a job ended, so of several elements for a requeued job the last one counts. Returns whether
 * the file could be read. */
static bool read_jobcomp(const char *file, const struct scheduler_ids *ids,
                         struct scheduler_found *dst)
{
    FILE *f = fopen(file, "r");
    struct map wanted = {0};
    struct err ignored;
    char *line = NULL;
    size_t capacity = 0;

    for (size_t i = 0; f && i < ids->count; i++)
        map_set(&wanted, ids->ids[i], i);
    while (f && getline(&line, &capacity, f) > 0) {
        struct job_state j = {.uid = -1};
        command_value(line, "JobId", j.id, sizeof j.id);
        if (!map_get(&wanted, j.id, NULL))
            continue;
        take_job(line, &j);
        found_add(dst, &j, &ignored);
    }
    map_destroy(&wanted);
    free(line);
    if (f)
        fclose(f);
    return f != NULL;
}

#define PAST_FORMAT                                                                                \
    "JobIDRaw,State,ExitCode,Submit,Start,End,NodeList,UID,User,ElapsedRaw,NNodes,AllocCPUS,"      \
    "ConsumedEnergyRaw,JobName"
#define WATTS_MAX 1e5 /* of a node; a counter that says more has failed */
enum { ID, STATE, EXIT, SUBMITTED, STARTED, ENDED, NODES, UID, USER, ELAPSED, NNODES, CPUS, ENERGY,
       NAME, PAST_FIELDS };

static struct job_state take_past(char *f[COMMAND_FIELDS_MAX])
{
    struct job_state j = {.uid = *f[UID] ? atol(f[UID]) : -1,
                          .submitted = command_time(f[SUBMITTED]),
                          .started = command_time(f[STARTED]),
                          .ended = command_time(f[ENDED])};

    f[STATE][strcspn(f[STATE], " ")] = 0; /* cuts "CANCELLED by 1000" */
    job_state_set(&j, state_find(f[STATE]));
    command_exit(f[EXIT], &j.exit_code, &j.signal);
    COPY(j.id, f[ID]);
    COPY(j.nodes, strcmp(f[NODES], "None assigned") == 0 ? "" : f[NODES]);
    COPY(j.user, f[USER]);
    COPY(j.name, f[NAME]);
    return j;
}

/* Returns how many CPUs the nodes have that jobs may use, or 0. */
static long count_cpus(const struct sandbox *place, const char *nodes)
{
    const char *const argv[] = {"scontrol", "-o", "show", "node", nodes, NULL};
    struct child_end c;
    struct err ignored;
    long cpus = 0;

    const char *s = command_query(place, argv, &c, &ignored) ? NULL : c.out.data;
    while (s && (s = strstr(s, " CPUEfctv=")))
        cpus += strtol(s += sizeof " CPUEfctv=" - 1, NULL, 10);
    child_destroy(&c);
    return cpus;
}

/* Adds the energy of a step to its job, which must be the only one on its nodes, as it has all of
 * their CPUs. Steps at the same time count the same joules, so that of several steps the one with
 * the most counts; it must be on all nodes of the job. */
static void add_energy(const struct sandbox *place, struct job_state *job, long nodes, long cpus,
                       char *f[COMMAND_FIELDS_MAX])
{
    double joules = atof(f[ENERGY]), seconds = atof(f[ELAPSED]);

    if (joules <= job->joules || atol(f[NNODES]) != nodes || !*job->nodes ||
        joules > WATTS_MAX * (double)nodes * (seconds + 1))
        return;
    long all = count_cpus(place, job->nodes);
    if (!all || cpus < all)
        return;
    job->joules = joules;
    job->joules_s = seconds;
}

/* Likewise for the jobs that sacct shows, whose energy a plugin of Slurm may count. Returns whether
 * sacct answered. */
static bool read_sacct(const struct sandbox *place, const struct scheduler_ids *ids,
                       struct scheduler_found *dst)
{
    struct buf list = {0};
    struct child_end c;
    struct err ignored;
    bool is_added = false;
    long nodes = 0, cpus = 0;

    add_ids(&list, ids);
    const char *const argv[] = {"sacct", "-n", "-P", "-j", list.data ? list.data : "", "-a", "-o",
                                PAST_FORMAT, NULL};
    bool answered = command_query(place, argv, &c, &ignored) == 0;
    char *text = c.out.data, *f[COMMAND_FIELDS_MAX];
    while (answered && command_fields(&text, f, PAST_FIELDS)) {
        if (is_added && strchr(f[ID], '.')) {
            add_energy(place, &dst->states[dst->count - 1], nodes, cpus, f);
            continue;
        }
        const struct job_state job = take_past(f);
        is_added = found_add(dst, &job, &ignored) == 0;
        nodes = atol(f[NNODES]);
        cpus = atol(f[CPUS]);
    }
    child_destroy(&c);
    buf_destroy(&list);
    return answered;
}

void query_past(const struct query_way *way, const struct slurm_config *config,
                const struct scheduler_ids *ids, struct scheduler_found *dst)
{
    dst->is_answered = (config->has_slurmdbd && read_sacct(way->place, ids, dst)) ||
                       (*config->jobcomp && read_jobcomp(config->jobcomp, ids, dst));
}
