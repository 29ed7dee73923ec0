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
#include "launcher/scheduler/slurm/history.h"
#include "launcher/scheduler/slurm/message.h"

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
    const char *prefix = message_text(request, "tag_prefix");
    json_t *jobs = json_array();
    json_t *refusal = prefix ? slurm->query(prefix, message_flag(request, "everybody"), jobs)
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
    const char *op = message_text(request, "op");

    if (!op)
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
