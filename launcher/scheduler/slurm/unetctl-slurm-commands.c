/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm-commands answers the same requests as unetctl-slurm (PROTOCOL.md) without libslurm,
 * through sinfo, squeue, sacct and scontrol. Their output formats are the same from Slurm 22.05 to
 * 26.05, except that squeue 22.05 prints exit codes as wait statuses. */
#include "src/base.h"

#include "launcher/scheduler/scheduler.h"
#include "launcher/scheduler/slurm/serve.h"
#include "launcher/scheduler/slurm/slurm_internal.h"
#include "src/cluster/range.h"

/* ---- the cluster ---- */

static json_t *commands_load_config(struct slurm_config *dst)
{
    static const char *const show[] = {"scontrol", "show", "config", NULL};
    struct child_end c;
    json_t *refusal = command_ask(show, &c);
    char value[256];

    if (!refusal) {
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
    return refusal;
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
        if (strncmp(state, *s, strlen(*s)) == 0)
            return true;
    return strchr(state, '*') != NULL;
}

/* Runs a command whose answer Slurm may withhold from users (PrivateData of slurm.conf); then
 * *withheld becomes true. Returns NULL, or a refusal. */
static json_t *run_private(const char *const argv[], struct child_end *c, bool *withheld)
{
    json_t *refusal = command_ask(argv, c);

    *withheld = message_cause(refusal) == CAUSE_DENIED;
    if (!*withheld)
        return refusal;
    json_decref(refusal);
    return NULL;
}

/* Adds a partition for each line "PartitionName=main ... Default=YES ...", with all its nodes as
 * unseen ones. */
static json_t *add_partitions(const char *text, struct cluster *dst)
{
    char value[256];

    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (!*command_value(line, "PartitionName", value, sizeof value))
            continue;
        struct cluster_partition *p = cluster_add(dst, value);
        if (!p)
            return message_refuse("out of memory");
        p->is_default = strcmp(command_value(line, "Default", value, sizeof value), "YES") == 0;
        p->max_time_min = minutes_of(command_value(line, "MaxTime", value, sizeof value));
        p->unseen = atoi(command_value(line, "TotalNodes", value, sizeof value));
    }
    return NULL;
}

/* Adds the nodes from the output of sinfo, which has a line for each node of each partition. */
static void add_nodes(char *text, struct cluster *dst)
{
    enum { PARTITION, CPUS, STATE, GRES, COUNT };
    char *f[COMMAND_FIELDS_MAX];

    while (command_fields(&text, f, COUNT))
        for (size_t i = 0; i < dst->count; i++)
            if (strcmp(dst->partitions[i].name, f[PARTITION]) == 0)
                cluster_add_node(&dst->partitions[i], atoi(f[CPUS]), f[GRES], is_away(f[STATE]));
}

static json_t *load_nodes(struct cluster *dst)
{
    static const char *const list[] = {"sinfo", "-h", "-a", "-N", "-o", "%R|%c|%T|%G", NULL};
    struct child_end nodes;
    bool withheld;
    json_t *refusal = run_private(list, &nodes, &withheld);

    if (!refusal && !withheld)
        add_nodes(nodes.out.data, dst);
    for (size_t i = 0; i < dst->count; i++)
        cluster_set_total(&dst->partitions[i], dst->partitions[i].unseen);
    child_destroy(&nodes);
    return refusal;
}

static json_t *commands_load_cluster(struct cluster *dst)
{
    static const char *const show[] = {"scontrol", "-a", "-o", "show", "partition", NULL};
    struct child_end partitions;
    json_t *refusal = run_private(show, &partitions, &dst->is_private);

    if (!refusal && !dst->is_private)
        refusal = add_partitions(partitions.out.data, dst);
    if (!refusal && !dst->is_private)
        refusal = load_nodes(dst);
    child_destroy(&partitions);
    return refusal;
}

/* ---- jobs ---- */

#define JOB_FORMAT                                                                                 \
    "JobID:24|,State:32|,exit_code:16|,RestartCnt:16|,SubmitTime:24|,StartTime:24|,EndTime:24|,"   \
    "UserID:16|,UserName:64|,Reason:160|,NodeList:160|,Comment:300|,Name:160"
#define JOB_FIELDS 13
#define JOB_TAG 11 /* the place of Comment */

static json_t *describe_job(char *f[COMMAND_FIELDS_MAX])
{
    enum { ID, STATE, EXIT, RESTARTS, SUBMITTED, STARTED, ENDED, UID, USER, REASON, NODES, TAG,
           NAME };
    struct job_state j = {.uid = (long)command_seconds(f[UID]), .restarts = atoi(f[RESTARTS]),
                          .submitted = command_seconds(f[SUBMITTED])};

    job_state_set(&j, state_find(f[STATE]));
    snprintf(j.id, sizeof j.id, "%s", f[ID]);
    snprintf(j.user, sizeof j.user, "%s", f[USER]);
    snprintf(j.reason, sizeof j.reason, "%s", strcmp(f[REASON], "None") == 0 ? "" : f[REASON]);
    snprintf(j.nodes, sizeof j.nodes, "%s", f[NODES]);
    snprintf(j.tag, sizeof j.tag, "%s", f[TAG]);
    snprintf(j.name, sizeof j.name, "%s", f[NAME]);
    /* The start of a pending job and the end of a running one are only estimates. */
    j.started = j.phase == PHASE_PENDING ? 0 : command_seconds(f[STARTED]);
    if (j.phase == PHASE_ENDED) {
        j.ended = command_seconds(f[ENDED]);
        command_exit(f[EXIT], &j.exit_code, &j.signal);
    }
    return job_state_encode(&j);
}

/* Appends the jobs that squeue shows, with the option NAME VALUE unless name is NULL, and of them
 * those whose tag begins with prefix. Returns NULL, or a refusal. */
static json_t *list_jobs(const char *name, const char *value, const char *prefix, json_t *jobs)
{
    const char *const argv[] = {"squeue", "-h", "-a", "-t", "all", "-O",
                                JOB_FORMAT, name, value, NULL};
    struct child_end c;
    json_t *refusal = command_ask(argv, &c);
    char *text = c.out.data, *f[COMMAND_FIELDS_MAX];

    while (!refusal && command_fields(&text, f, JOB_FIELDS))
        if (strncmp(f[JOB_TAG], prefix, strlen(prefix)) == 0)
            json_array_append_new(jobs, describe_job(f));
    child_destroy(&c);
    return refusal;
}

static json_t *commands_query(const char *prefix, bool everybody, json_t *jobs)
{
    char user[16];

    snprintf(user, sizeof user, "%u", (unsigned)getuid());
    return list_jobs(everybody ? NULL : "-u", user, prefix, jobs);
}

/* squeue fails if the only job that it is asked for is unknown, but not if one of several is, so
 * all are named twice. */
static json_t *commands_lookup(const json_t *ids, json_t *jobs)
{
    struct buf words = {0};

    message_add_ids(&words, ids);
    message_add_ids(&words, ids);
    json_t *refusal = words.failed ? message_refuse("out of memory")
                                   : list_jobs("-j", words.data, "", jobs);
    buf_destroy(&words);
    return refusal;
}

static const struct slurm_interface commands = {.load_config = commands_load_config,
                                         .load_cluster = commands_load_cluster,
                                         .query = commands_query,
                                         .lookup = commands_lookup};

int main(int argc, char **argv)
{
    int code = serve_check_start(argc, argv);

    if (code)
        return code;
    serve(&commands);
    return 0;
}
