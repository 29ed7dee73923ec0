/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/scheduler/slurm/cluster.h"
#include "launcher/scheduler/slurm/history.h"
#include "launcher/scheduler/slurm/limits.h"
#include "launcher/scheduler/slurm/message.h"
#include "src/buf.h"
#include "src/files.h"

static json_t *answer_check(const struct slurm_interface *slurm, const json_t *request)
{
    const json_t *job = json_object_get(request, "job");
    int away = (int)message_number(request, "away");
    json_t *refusal = message_check_job(job);

    return refusal ? refusal : limits_explain(job, slurm->forecast(job, away));
}

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

/* Answers "cancel" and "release". */
static json_t *answer_change(const struct slurm_interface *slurm, const char *op,
                             const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids"), *id;
    json_t *refusal = check_ids(op, ids);
    size_t i;

    if (!refusal && strcmp(op, "cancel") == 0)
        refusal = slurm->cancel(ids);
    else if (!refusal)
        json_array_foreach(ids, i, id) {
            if (!refusal)
                refusal = slurm->release_job(json_string_value(id));
        }
    return refusal ? refusal : json_pack("{s:b}", "ok", 1);
}

/* Adds the tags of jobs that may be in flight to the file, unless it is NULL. The next submission
 * reads them if unetctl, which removes the file, gets no answer. Returns NULL, or a refusal. */
static json_t *mark_in_flight(const char *file, const json_t *jobs)
{
    struct buf tags = {0};
    const json_t *job;
    size_t i;

    if (!file)
        return NULL;
    json_array_foreach(jobs, i, job) {
        buf_addf(&tags, "%s\n", message_text(job, "tag"));
    }
    int fd = tags.failed ? -1 : files_open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
    bool written = fd >= 0 && write(fd, tags.data, tags.length) == (ssize_t)tags.length;
    int code = errno;

    if (fd >= 0)
        close(fd);
    buf_destroy(&tags);
    return written ? NULL : message_refuse("%s: %s", file, strerror(code));
}

/* Submits the jobs, and none after one that was refused or lost. */
static json_t *submit_jobs(const struct slurm_interface *slurm, const json_t *jobs)
{
    size_t count = json_array_size(jobs), n = 0;
    json_t **answers = calloc(count, sizeof *answers), *results;
    bool is_ok = true;

    if (!answers)
        return message_refuse("out of memory");
    for (; is_ok && n < count; n++) {
        const json_t *job = json_array_get(jobs, n);
        answers[n] = limits_explain(job, slurm->submit(job));
        is_ok = message_flag(answers[n], "ok");
    }
    if (slurm->review)
        slurm->review(answers, n);
    results = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(results, i < n ? answers[i] : json_null());
    free(answers);
    return json_pack("{s:b, s:o}", "ok", 1, "results", results);
}

static json_t *answer_submit(const struct slurm_interface *slurm, const json_t *request)
{
    const json_t *jobs = json_object_get(request, "jobs"), *job;
    json_t *refusal = json_array_size(jobs) ? NULL : message_refuse("submit needs \"jobs\"");
    size_t i;

    json_array_foreach(jobs, i, job) {
        if (!refusal)
            refusal = message_check_job(job);
    }
    if (!refusal)
        refusal = mark_in_flight(message_text(request, "in_flight"), jobs);
    return refusal ? refusal : submit_jobs(slurm, jobs);
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
    if (strcmp(op, "check") == 0)
        return answer_check(slurm, request);
    if (strcmp(op, "submit") == 0)
        return answer_submit(slurm, request);
    if (strcmp(op, "query") == 0)
        return answer_query(slurm, request);
    if (strcmp(op, "lookup") == 0 || strcmp(op, "accounting") == 0)
        return answer_ids(slurm, op, request);
    if (strcmp(op, "cancel") == 0 || strcmp(op, "release") == 0)
        return answer_change(slurm, op, request);
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
