/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/in_flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/log.h"
#include "src/map.h"

/* After so many seconds a request can no longer become a job: it carries a credential of munge,
 * which is refused when it is older than 300 s. */
#define CREDENTIAL_S 330

/* How many seconds to wait for the jobs after the first query that did not show them all. Slurm
 * accepts connections in order and handles each in a thread: once it has answered this query, the
 * earlier submission can only be waiting for a lock. */
#define SETTLE_S 5.0
#define MAX_TAGS ((size_t)1 << 20)

void in_flight_path(const struct ledger *l, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/in-flight", l->dir);
}

/* Does the scheduler have a job for each of these tags (one per line)? Returns -1 with ERR_SCHED
 * if it cannot be queried. */
static int has_all(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                   struct err *e)
{
    struct job_state *jobs;
    struct map known = {0};
    char prefix[256], tag[256];
    size_t njobs;
    int all = 1;

    ledger_tag(l, NULL, 0, prefix);
    if (scheduler_query(scheduler, prefix, &jobs, &njobs, e))
        return -1;
    for (size_t i = 0; i < njobs; i++)
        map_set(&known, jobs[i].tag, i);
    for (size_t n; all && (n = strcspn(tags, "\n")) > 0; tags += n + (tags[n] != 0)) {
        snprintf(tag, sizeof tag, "%.*s", (int)n, tags);
        all = map_get(&known, tag, NULL);
    }
    map_destroy(&known);
    free(jobs);
    return all;
}

static int wait_for_jobs(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                         struct err *e)
{
    const struct timespec pause = {.tv_nsec = 250000000};
    double end = 0;
    int all;

    log_info("waiting for jobs of the last submission, whose answer was lost");
    while ((all = has_all(l, scheduler, tags, e)) == 0 && (end == 0 || clock_now() < end)) {
        if (end == 0)
            end = clock_now() + SETTLE_S;
        nanosleep(&pause, NULL);
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
    if (stat(file, &st))
        return 0;
    tags = atomicfile_read(file, MAX_TAGS, &n, e);
    if (!tags)
        return -1;
    rc = *tags && time(NULL) - st.st_mtime < CREDENTIAL_S ? wait_for_jobs(l, scheduler, tags,
                                                                          e) : 0;
    free(tags);
    if (rc == 0)
        unlink(file);
    return rc;
}
