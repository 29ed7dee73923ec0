/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what would be submitted, and submits nothing. */
#include "config.h"
#include "launcher/scheduler/scheduler.h"
#include "src/plural.h"

#include <stdio.h>
#include <string.h>

static void dry_submit(struct scheduler *s, const struct job *jobs, size_t count,
                       struct scheduler_result *results)
{
    for (size_t i = 0; i < count; i++) {
        const struct job *job = &jobs[i];
        printf("would submit %s: %d node%s, %d task%s, %d GPU%s each: sbatch %s\n", job->name,
               job->nodes, plural(job->nodes), job->tasks, plural(job->tasks),
               job->gpus_per_task, plural(job->gpus_per_task), job->script);
        results[i].outcome = SCHEDULER_SUBMITTED;
        strcpy(results[i].id, "dry");
    }
}

struct scheduler *scheduler_dry_open(const struct scheduler_config *config, struct err *e)
{
    static const struct scheduler_ops ops = {.name = "dry", .submit = dry_submit};
    static struct scheduler dry = {.ops = &ops};

    return &dry;
}
