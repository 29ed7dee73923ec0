/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what would be submitted, and submits nothing. */
#include "config.h"
#include "launcher/scheduler/scheduler.h"
#include "src/plural.h"

#include <stdio.h>
#include <string.h>

static int dry_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                         struct err *e)
{
    (void)s, (void)e;
    *p = (struct scheduler_partition){0};
    snprintf(p->name, sizeof p->name, "%s", name ? name : "dry");
    return 0;
}

static int dry_check(struct scheduler *s, const struct job *job,
                     struct scheduler_forecast *forecast, struct err *e)
{
    (void)s, (void)job, (void)forecast, (void)e;
    return 0;
}

static void dry_submit(struct scheduler *s, const struct job *jobs, size_t count,
                       const char *in_flight, struct scheduler_result *results)
{
    (void)s, (void)in_flight; /* no file is written for jobs that are not submitted */
    for (size_t i = 0; i < count; i++) {
        const struct job *job = &jobs[i];
        printf("would submit %s: %d node%s, %d task%s, %d GPU%s each: sbatch %s\n", job->name,
               job->nodes, plural(job->nodes), job->tasks, plural(job->tasks),
               job->gpus_per_task, plural(job->gpus_per_task), job->script);
        results[i].outcome = SCHEDULER_SUBMITTED;
        strcpy(results[i].id, "dry");
    }
}

static int dry_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                     struct job_state **states, size_t *nstates, struct err *e)
{
    (void)s, (void)tag_prefix, (void)everybody, (void)e;
    *states = NULL;
    *nstates = 0;
    return 0;
}

static int dry_cancel(struct scheduler *s, const char *id, struct err *e)
{
    (void)s, (void)id, (void)e;
    return 0;
}

static void dry_close(struct scheduler *s)
{
    (void)s;
}

struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {.name = "dry",
                                             .partition = dry_partition,
                                             .check = dry_check,
                                             .submit = dry_submit,
                                             .query = dry_query,
                                             .cancel = dry_cancel,
                                             .close = dry_close};
    static struct scheduler dry = {.ops = &ops};

    (void)config, (void)e;
    return &dry;
}
