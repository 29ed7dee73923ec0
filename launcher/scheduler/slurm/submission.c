/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/submission.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/scheduler/slurm/cluster.h"
#include "launcher/scheduler/slurm/limits.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/request.h"
#include "launcher/scheduler/slurm/way.h"
#include "src/buf.h"

#define SUBMITTERS 3 /* threads beside the main one */

/* Jobs that are submitted together. Most of a submission's time is spent on the credentials of
 * both sides, so several are submitted concurrently. */
struct submission_batch {
    const struct way *way;
    const json_t *jobs;
    void **prepared; /* from way->prepare */
    json_t **answers; /* NULL: not submitted, because another job failed or was not ready */
    size_t count;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t more;
    bool fed;     /* scripts exist only when their jobs are reported ready */
    size_t ready; /* the number of ready jobs; protected by the lock */
};

/* Waits until job i is ready. Returns false if it must not be submitted. */
static bool await_ready(struct submission_batch *b, size_t i)
{
    pthread_mutex_lock(&b->lock);
    while (b->ready <= i && !b->stop)
        pthread_cond_wait(&b->more, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return !b->stop;
}

static json_t *submit_one(struct submission_batch *b, size_t i)
{
    const json_t *job = json_array_get(b->jobs, i);
    json_t *refusal = b->fed ? b->way->load_script(b->prepared[i], job) : NULL;

    return refusal ? refusal : limits_explain(job, b->way->submit(b->prepared[i], job));
}

static void *submit_some(void *arg)
{
    struct submission_batch *b = arg;
    size_t i;

    while (!b->stop && (i = atomic_fetch_add(&b->next, 1)) < b->count && await_ready(b, i)) {
        b->answers[i] = submit_one(b, i);
        if (!message_flag(b->answers[i], "ok"))
            b->stop = true;
    }
    return NULL;
}

static void set_ready(struct submission_batch *b, size_t count, bool stop)
{
    pthread_mutex_lock(&b->lock);
    b->ready = count;
    if (stop)
        b->stop = true;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
}

/* Reads lines with the number of ready jobs until all are ready. Any other line or the end of
 * input stops the remaining submissions. */
static void read_ready(struct submission_batch *b)
{
    char *line = NULL;
    size_t capacity = 0, count = 0;
    ssize_t n;

    while (count < b->count && (n = getline(&line, &capacity, stdin)) > 0) {
        json_t *o = json_loadb(line, (size_t)n, 0, NULL);
        const char *op = message_text(o, "op");
        bool ready = op && strcmp(op, "ready") == 0;
        count = ready ? (size_t)message_number(o, "count") : count;
        json_decref(o);
        if (!ready)
            break;
        set_ready(b, count, false);
    }
    if (count < b->count)
        set_ready(b, count, true);
    free(line);
}

static void submit_all(struct submission_batch *b)
{
    pthread_t threads[SUBMITTERS];
    size_t n = 0;

    if (!b->fed)
        b->ready = b->count;
    while (n < SUBMITTERS && n + 1 < b->count &&
           pthread_create(&threads[n], NULL, submit_some, b) == 0)
        n++;
    if (b->fed)
        read_ready(b);
    submit_some(b);
    while (n > 0)
        pthread_join(threads[--n], NULL);
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
    int fd = tags.failed ? -1 : open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool written = fd >= 0 && write(fd, tags.data, tags.length) == (ssize_t)tags.length;
    int code = errno;

    if (fd >= 0)
        close(fd);
    buf_destroy(&tags);
    return written ? NULL : message_refuse("%s: %s", file, strerror(code));
}

/* Checks and prepares all jobs, then submits them. Returns an answer with one result per job, or
 * the refusal of the first check that fails; then no job was submitted. */
static json_t *submit_jobs(struct submission_batch *b, const char *in_flight)
{
    json_t *refusal = NULL, *results;
    int away;

    for (; !refusal && b->count < json_array_size(b->jobs); b->count++) {
        const json_t *job = json_array_get(b->jobs, b->count);
        refusal = request_check_job(job);
        if (!refusal)
            refusal = b->way->prepare(job, &b->prepared[b->count]);
        if (!refusal)
            refusal = cluster_check(b->way, job, &away);
        if (!refusal && !b->fed)
            refusal = b->way->load_script(b->prepared[b->count], job);
    }
    if (!refusal)
        refusal = mark_in_flight(in_flight, b->jobs);
    if (refusal)
        return refusal;
    submit_all(b);
    if (b->way->review)
        b->way->review(b->answers, b->count);
    results = json_array();
    for (size_t i = 0; i < b->count; i++)
        json_array_append_new(results, b->answers[i] ? b->answers[i] : json_null());
    return json_pack("{s:b, s:o}", "ok", 1, "results", results);
}

json_t *submission_answer(const struct way *way, const json_t *request)
{
    const json_t *jobs = json_object_get(request, "jobs");
    size_t count = json_array_size(jobs);
    struct submission_batch b = {.way = way,
                                 .jobs = jobs,
                                 .fed = message_flag(request, "fed"),
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .more = PTHREAD_COND_INITIALIZER,
                                 .prepared = calloc(count + 1, sizeof *b.prepared),
                                 .answers = calloc(count + 1, sizeof *b.answers)};
    json_t *answer;

    if (!count)
        answer = message_refuse("submit needs \"jobs\"");
    else if (!b.prepared || !b.answers)
        answer = message_refuse("out of memory");
    else
        answer = submit_jobs(&b, message_text(request, "in_flight"));
    for (size_t i = 0; b.prepared && i < count; i++)
        way->release(b.prepared[i]);
    free(b.prepared);
    free(b.answers);
    return answer;
}
