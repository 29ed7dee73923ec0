/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/scheduler/job_state.h"
#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/message.h"

/* Copies the text after "NAME=" in a line of jobcomp/filetxt up to the first of the characters of
 * end, or "" if there is none. */
static void take_text(const char *line, const char *name, const char *end, char *dst, size_t size)
{
    size_t n = strlen(name);

    *dst = 0;
    for (const char *s = line; (s = strstr(s, name)); s += n)
        if ((s == line || s[-1] == ' ') && s[n] == '=') {
            snprintf(dst, size, "%.*s", (int)strcspn(s + n + 1, end), s + n + 1);
            return;
        }
}

static void take_word(const char *line, const char *name, char *dst, size_t size)
{
    take_text(line, name, " \n", dst, size);
}

static time_t take_time(const char *line, const char *name)
{
    struct tm tm = {.tm_isdst = -1};
    char text[32];

    take_word(line, name, text, sizeof text);
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

/* Takes the name of a job, which may have blanks: JobState follows it. */
static void take_name(const char *line, char *dst, size_t size)
{
    take_text(line, "Name", "\n", dst, size);
    char *end = strstr(dst, " JobState=");
    if (end)
        *end = 0;
}

/* Takes "root(0)". */
static long take_user(const char *line, char *dst, size_t size)
{
    take_word(line, "UserId", dst, size);
    char *number = strrchr(dst, '('), *end;
    long uid = number ? strtol(number + 1, &end, 10) : -1;

    if (!number || end == number + 1)
        return -1;
    *number = 0;
    return uid;
}

/* Decodes a line, but for its id. */
static void take_job(const char *line, struct job_state *dst)
{
    char state[32], exit_code[32];

    take_word(line, "JobState", state, sizeof state);
    job_state_set(dst, state_find(state));
    take_word(line, "NodeList", dst->nodes, sizeof dst->nodes);
    take_word(line, "ExitCode", exit_code, sizeof exit_code);
    sscanf(exit_code, "%d:%d", &dst->exit_code, &dst->signal);
    take_name(line, dst->name, sizeof dst->name);
    dst->uid = take_user(line, dst->user, sizeof dst->user);
    dst->submitted = take_time(line, "SubmitTime");
    dst->started = take_time(line, "StartTime");
    dst->ended = take_time(line, "EndTime");
}

int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL;
    size_t capacity = 0;

    if (!f)
        return -1;
    json_t *wanted = message_index_ids(ids);
    while (getline(&line, &capacity, f) > 0) {
        struct job_state j = {.uid = -1};
        take_word(line, "JobId", j.id, sizeof j.id);
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
    const char *names = message_text(job, "nodes");

    if (joules <= message_number(job, "joules") || atol(f[NNODES]) != nodes || !names || !*names ||
        (double)joules > WATTS_MAX * (double)(nodes * (seconds + 1)))
        return;
    long all = count_cpus(names);
    if (!all || cpus < all)
        return;
    json_object_set_new(job, "joules", json_integer(joules));
    json_object_set_new(job, "joules_s", json_integer(seconds));
}

int history_read_sacct(const json_t *ids, json_t *jobs)
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
