/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/in_flight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/status/status.h"
#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/clock.h"
#include "src/files.h"
#include "src/log.h"
#include "src/map.h"

/* After so many seconds a request can no longer become a job: it carries a credential of munge,
 * which is refused when it is older than 300 s. */
#define CREDENTIAL_S 330

/* How many seconds to wait at least for the jobs after the first query that did not show them all.
 * Slurm accepts connections in order and handles each in a thread: once it has answered this query,
 * the earlier submission can only be waiting for a lock. */
#define SETTLE_S 5.0
#define PAUSE_S 0.25
#define MAX_TAGS ((size_t)1 << 20)

static void in_flight_path(const struct ledger *l, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/in-flight", l->dir);
}

int in_flight_add(const struct ledger *l, const struct job *jobs, size_t count, struct err *e)
{
    struct buf tags = {0};
    char file[PATH_MAX];

    in_flight_path(l, file);
    for (size_t i = 0; i < count; i++)
        buf_addf(&tags, "%s\n", jobs[i].tag);
    int fd = files_open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
    bool is_written = fd >= 0 && !tags.failed &&
                      write(fd, tags.data, tags.length) == (ssize_t)tags.length;
    int code = errno;
    if (fd >= 0)
        close(fd);
    buf_destroy(&tags);
    return is_written ? 0 : err_errno(e, ERR_INTERNAL, code, "cannot write %s", file);
}

void in_flight_remove(const struct ledger *l)
{
    char file[PATH_MAX];

    in_flight_path(l, file);
    files_unlink(file);
}

static bool is_noted(const struct ledger *l, const char *prefix, const char *tag)
{
    const char *run = tag + strlen(prefix), *colon = strrchr(tag, ':');
    char name[RUN_ID_SIZE];

    if (strncmp(tag, prefix, strlen(prefix)) != 0 || !colon || colon < run ||
        colon - run >= (ptrdiff_t)sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(colon - run), run);
    const struct ledger_entry *entry = ledger_find(l, name, atoi(colon + 1));
    return entry && entry->last != LEDGER_SUBMITTING;
}

/* Returns whether the scheduler has a job for each of these tags (one per line), or the ledger its
 * answer; -1 with ERR_SCHED if the scheduler cannot be queried. */
static int has_all(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                   struct err *e)
{
    struct job_state *jobs;
    struct map known = {0};
    char prefix[256], tag[256];
    size_t njobs;
    int all = 1;

    ledger_tag(l->study_id, NULL, 0, prefix);
    if (scheduler_query(scheduler, prefix, ledger_has_others(l), &jobs, &njobs, e))
        return -1;
    for (size_t i = 0; i < njobs; i++)
        map_set(&known, jobs[i].tag, i);
    for (size_t n; all && (n = strcspn(tags, "\n")) > 0; tags += n + (tags[n] != 0)) {
        snprintf(tag, sizeof tag, "%.*s", (int)n, tags);
        all = map_get(&known, tag, NULL) || is_noted(l, prefix, tag);
    }
    map_destroy(&known);
    free(jobs);
    return all;
}

/* age is that of the submission, in seconds. */
static int wait_for_jobs(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                         double age, struct err *e)
{
    double wait = absent_wait_s() - age, end = 0;
    int all;

    while ((all = has_all(l, scheduler, tags, e)) == 0 && (end == 0 || clock_now() < end)) {
        if (end == 0) {
            wait = wait > SETTLE_S ? wait : SETTLE_S;
            end = clock_now() + wait;
            log_info("waiting at most %.0f s for jobs of the last submission, whose answer was "
                     "lost", wait);
        }
        clock_sleep(PAUSE_S);
    }
    return all < 0 ? -1 : 0;
}

int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e)
{
    char file[PATH_MAX], *tags;
    struct stat st;
    size_t n;
    int rc;

    in_flight_path(l, file);
    if (files_stat(file, &st))
        return 0;
    tags = atomicfile_read(file, MAX_TAGS, &n, e);
    if (!tags)
        return -1;
    double age = clock_age(st.st_mtime);
    rc = *tags && age < CREDENTIAL_S ? wait_for_jobs(l, scheduler, tags, age, e) : 0;
    free(tags);
    if (rc == 0)
        files_unlink(file);
    return rc;
}
