/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm: Slurm's C interface as JSON lines, see PROTOCOL.md beside this file.
 *
 * The only program that links libslurm: libslurm ends its process when it finds no usable
 * configuration, is under the GPL, and changes its ABI with each release (version.h). */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/slurm/accounting.h"
#include "launcher/slurm/cluster.h"
#include "launcher/slurm/forecast.h"
#include "launcher/slurm/message.h"
#include "launcher/slurm/names.h"
#include "launcher/slurm/submission.h"

/* ---- query and cancel ---- */

static json_t *describe_job(const slurm_job_info_t *j)
{
    int status = (int)j->exit_code;
    bool ended = (j->job_state & JOB_STATE_BASE) >= JOB_COMPLETE;
    bool pending = (j->job_state & JOB_STATE_BASE) == JOB_PENDING;
    const char *reason = j->state_desc ? j->state_desc : names_reason(j->state_reason);
    char id[16];

    snprintf(id, sizeof id, "%u", j->job_id);
    /* A waiting job's start and a running job's end are only expected. */
    return json_pack("{s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o}", "id", id, "state",
                     names_state(j->job_state), "reason", message_string(reason), "exit_code",
                     ended && WIFEXITED(status) ? WEXITSTATUS(status) : 0, "signal",
                     ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0, "restarts",
                     (int)j->restart_cnt, "submitted", (json_int_t)j->submit_time, "started",
                     (json_int_t)(pending ? 0 : j->start_time), "ended",
                     (json_int_t)(ended ? j->end_time : 0), "nodes", message_string(j->nodes), "tag",
                     message_string(j->comment), "name", message_string(j->name));
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
    const char *prefix = message_text(request, "tag_prefix");
    const json_t *ids = json_object_get(request, "ids");
    job_info_msg_t *jobs;
    json_t *list;

    if (!prefix && !json_is_array(ids))
        return message_refuse("query needs \"tag_prefix\" or \"ids\"");
    if (slurm_load_job_user(&jobs, getuid(), SHOW_ALL) != SLURM_SUCCESS) {
        /* Slurm's way to say that the user has none */
        if (errno == ESLURM_INVALID_JOB_ID)
            return json_pack("{s:b, s:[]}", "ok", 1, "jobs");
        return message_refuse_slurm(errno);
    }
    list = json_array();
    for (uint32_t i = 0; i < jobs->record_count; i++)
        if (is_asked_for(&jobs->job_array[i], prefix, ids))
            json_array_append_new(list, describe_job(&jobs->job_array[i]));
    slurm_free_job_info_msg(jobs);
    return json_pack("{s:b, s:o}", "ok", 1, "jobs", list);
}

static json_t *op_cancel(const json_t *request)
{
    const char *id = message_text(request, "id");
    char *end;

    if (!id)
        return message_refuse("cancel needs \"id\"");
    unsigned long n = strtoul(id, &end, 10);
    if (end == id || *end || n == 0 || n > UINT32_MAX)
        return message_refuse("'%s' is not the id of a Slurm job", id);
    if (slurm_kill_job2(id, SIGKILL, 0, NULL) != SLURM_SUCCESS && errno != ESLURM_ALREADY_DONE &&
        errno != ESLURM_INVALID_JOB_ID)
        return message_refuse_slurm(errno);
    return json_pack("{s:b}", "ok", 1);
}

/* ---- the loop ---- */

static json_t *answer_request(const json_t *request)
{
    const char *op = message_text(request, "op");
    json_t *job = json_object_get(request, "job");

    if (!op)
        return message_refuse("the request has no \"op\"");
    if (strcmp(op, "hello") == 0)
        return json_pack("{s:b}", "ok", 1);
    if (strcmp(op, "ping") == 0)
        return cluster_ping();
    if (strcmp(op, "partitions") == 0)
        return cluster_partitions();
    if (strcmp(op, "check") == 0)
        return forecast_check(job);
    if (strcmp(op, "foresee") == 0)
        return forecast_foresee(job);
    if (strcmp(op, "submit") == 0)
        return submission_answer(request);
    if (strcmp(op, "query") == 0)
        return op_query(request);
    if (strcmp(op, "accounting") == 0)
        return accounting_answer(request);
    if (strcmp(op, "cancel") == 0)
        return op_cancel(request);
    return message_refuse("unknown op \"%s\"", op);
}

/* A line for a submission that has ended early. */
static bool is_late(const json_t *request)
{
    const char *op = message_text(request, "op");

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
                                   : message_refuse("no JSON: %s", error.text);
        json_decref(request);
        if (!late && write_answer(answer) < 0)
            break;
    }
    free(line);
    forecast_forget();
    slurm_fini();
    return 0;
}
