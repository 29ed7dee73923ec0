/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/scheduler/slurm/cluster.h"
#include "launcher/scheduler/slurm/limits.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/submission.h"

static json_t *answer_check(const struct way *way, const json_t *job)
{
    int away;
    json_t *refusal = cluster_check(way, job, &away);

    return refusal ? refusal : limits_explain(job, way->forecast(job, away));
}

static bool is_job_id(const char *id)
{
    char *end;
    unsigned long n = strtoul(id, &end, 10);

    return *id >= '0' && *id <= '9' && !*end && n > 0 && n <= UINT32_MAX;
}

static json_t *answer_query(const struct way *way, const json_t *request)
{
    if (!message_text(request, "tag_prefix"))
        return message_refuse("query needs \"tag_prefix\"");
    return way->query(request);
}

static json_t *answer_lookup(const struct way *way, const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids"), *id;
    size_t i;

    if (json_array_size(ids) == 0)
        return message_refuse("lookup needs \"ids\"");
    json_array_foreach(ids, i, id) {
        if (!json_is_string(id) || !is_job_id(json_string_value(id)))
            return message_refuse("lookup: an id is not that of a Slurm job");
    }
    return way->lookup(ids);
}

/* Does act, which cancels or releases a job, with the job of the request. */
static json_t *answer_act(json_t *(*act)(const char *id), const char *op, const json_t *request)
{
    const char *id = message_text(request, "id");

    if (!id)
        return message_refuse("%s needs \"id\"", op);
    if (!is_job_id(id))
        return message_refuse("'%s' is not the id of a Slurm job", id);
    return act(id);
}

static json_t *answer_request(const struct way *way, const json_t *request)
{
    const char *op = message_text(request, "op");
    json_t *job = json_object_get(request, "job");

    if (!op)
        return message_refuse("the request has no \"op\"");
    if (strcmp(op, "hello") == 0)
        return json_pack("{s:b, s:i, s:s}", "ok", 1, "protocol", MESSAGE_PROTOCOL, "version",
                         PACKAGE_VERSION);
    if (strcmp(op, "foresee") == 0 && !way->foresee)
        return json_pack("{s:b}", "ok", 1);
    if (strcmp(op, "ping") == 0)
        return way->ping();
    if (strcmp(op, "partitions") == 0)
        return cluster_partitions(way);
    if (strcmp(op, "check") == 0)
        return answer_check(way, job);
    if (strcmp(op, "foresee") == 0)
        return way->foresee(job);
    if (strcmp(op, "submit") == 0)
        return submission_answer(way, request);
    if (strcmp(op, "query") == 0)
        return answer_query(way, request);
    if (strcmp(op, "lookup") == 0)
        return answer_lookup(way, request);
    if (strcmp(op, "accounting") == 0)
        return way->accounting(request);
    if (strcmp(op, "cancel") == 0)
        return answer_act(way->cancel, op, request);
    if (strcmp(op, "release") == 0)
        return answer_act(way->release_job, op, request);
    return message_refuse("unknown op \"%s\"", op);
}

/* Does the line belong to a submission that has already ended? */
static bool is_expired(const json_t *request)
{
    const char *op = message_text(request, "op");

    return op && (strcmp(op, "ready") == 0 || strcmp(op, "stop") == 0);
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

void serve(const struct way *way)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    while ((n = getline(&line, &capacity, stdin)) > 0) {
        json_error_t error;
        json_t *request = json_loadb(line, (size_t)n, 0, &error);
        bool expired = is_expired(request);
        json_t *answer = expired   ? NULL
                         : request ? answer_request(way, request)
                                   : message_refuse("not JSON: %s", error.text);
        json_decref(request);
        if (!expired && write_answer(answer) < 0)
            break;
    }
    free(line);
}
