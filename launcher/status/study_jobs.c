/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/study_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/status/allocation_jobs.h"

static int by_tag(const void *a, const void *b)
{
    const struct job_state *x = a, *y = b;
    int order = strcmp(x->tag, y->tag);
    unsigned long id_x = strtoul(x->id, NULL, 10), id_y = strtoul(y->id, NULL, 10);

    return order ? order : (id_x > id_y) - (id_x < id_y);
}

/* Removes the jobs of users who have submitted nothing in this study: anybody can give a job any
 * comment. */
static void drop_strangers(const struct ledger *l, struct job_state *jobs, size_t *njobs)
{
    size_t n = 0;

    for (size_t i = 0; i < *njobs; i++)
        if (ledger_may_be_of(l, jobs[i].uid))
            jobs[n++] = jobs[i];
    *njobs = n;
}

int study_jobs_query(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                     struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, kind, e);
    char prefix[256];

    *jobs = NULL;
    *njobs = 0;
    ledger_tag(w->plan.study_id, NULL, 0, prefix);
    if (!scheduler ||
        scheduler_query(scheduler, prefix, ledger_has_others(&w->ledger), jobs, njobs, e))
        return -1;
    drop_strangers(&w->ledger, *jobs, njobs);
    if (allocation_jobs_expand(w, jobs, njobs, e)) {
        free(*jobs);
        *jobs = NULL;
        *njobs = 0;
        return -1;
    }
    if (*njobs > 1)
        qsort(*jobs, *njobs, sizeof **jobs, by_tag);
    return 0;
}

/* Returns the index of the first of the jobs, which are sorted by tag, whose tag is not before
 * `tag`. A tag is the comment that identifies the job of an attempt. */
static size_t find_tag(const struct job_state *jobs, size_t njobs, const char *tag)
{
    size_t low = 0, high = njobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(jobs[middle].tag, tag) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct job_state *study_jobs_find(const struct plan *p, const char *run, int attempt,
                                        const char *id, const struct job_state *jobs, size_t njobs)
{
    const struct job_state *best = NULL;
    char tag[256];

    ledger_tag(p->study_id, run, attempt, tag);
    for (size_t i = find_tag(jobs, njobs, tag); i < njobs && strcmp(jobs[i].tag, tag) == 0; i++) {
        if (id && strcmp(jobs[i].id, id) == 0)
            return &jobs[i];
        if (!best || best->phase == PHASE_ENDED || jobs[i].phase != PHASE_ENDED)
            best = &jobs[i];
    }
    return best;
}
