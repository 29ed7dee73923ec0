/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/scheduler.h"

#include <stdio.h>

void scheduler_close(struct scheduler *s)
{
    if (s && s->ops->close)
        s->ops->close(s);
}

int scheduler_partition(struct scheduler *s, const char *name, struct scheduler_partition *p,
                        struct err *e)
{
    *p = (struct scheduler_partition){0};
    return s->ops->partition ? s->ops->partition(s, name, p, e) : 0;
}

int scheduler_forecast(struct scheduler *s, const struct job *job, struct scheduler_forecast *dst,
                       struct err *e)
{
    *dst = (struct scheduler_forecast){0};
    return s->ops->check ? s->ops->check(s, job, dst, e) : 0;
}

int scheduler_check(struct scheduler *s, const struct job *job, struct err *e)
{
    struct scheduler_forecast ignored;

    return scheduler_forecast(s, job, &ignored, e);
}

int scheduler_submit(struct scheduler *s, const struct job *job, char id[SCHEDULER_ID_SIZE],
                     struct err *e)
{
    struct scheduler_result result;

    scheduler_submit_all(s, job, 1, &result);
    if (result.outcome == SCHEDULER_SUBMITTED) {
        snprintf(id, SCHEDULER_ID_SIZE, "%s", result.id);
        return 0;
    }
    *e = result.reason;
    e->code = result.outcome == SCHEDULER_LOST ? ERR_INTERNAL : e->code;
    return -1;
}

void scheduler_submit_all(struct scheduler *s, const struct job *jobs, size_t count,
                          struct scheduler_result *results)
{
    for (size_t i = 0; i < count; i++)
        results[i] = (struct scheduler_result){.outcome = SCHEDULER_NOT_TRIED};
    s->ops->submit(s, jobs, count, results);
}

int scheduler_query(struct scheduler *s, const char *tag_prefix, bool everybody,
                    struct job_state **states, size_t *nstates, struct err *e)
{
    *states = NULL;
    *nstates = 0;
    return s->ops->query ? s->ops->query(s, tag_prefix, everybody, states, nstates, e) : 0;
}

int scheduler_find(struct scheduler *s, const struct scheduler_ids *ids, bool in_accounting,
                   struct scheduler_found *dst, struct err *e)
{
    *dst = (struct scheduler_found){0};
    return s->ops->find && ids->count ? s->ops->find(s, ids, in_accounting, dst, e) : 0;
}

int scheduler_cancel(struct scheduler *s, const char *id, struct err *e)
{
    return scheduler_cancel_all(s, &(const struct scheduler_ids){&id, 1}, e);
}

int scheduler_cancel_all(struct scheduler *s, const struct scheduler_ids *ids, struct err *e)
{
    return s->ops->cancel && ids->count ? s->ops->cancel(s, ids, e) : 0;
}

int scheduler_release(struct scheduler *s, const char *id, struct err *e)
{
    return s->ops->release ? s->ops->release(s, id, e)
                           : err_set(e, ERR_SCHED, "scheduler %s holds no jobs", s->ops->name);
}
