/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/forecast.h"

#include <errno.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "launcher/scheduler/slurm/library/description.h"
#include "launcher/scheduler/slurm/library/refusal.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/request.h"
#include "launcher/scheduler/slurm/sbatch.h"
#include "launcher/scheduler/slurm/library/version.h"

bool forecast_may_pass(int code)
{
    switch (code) {
    case ESLURM_NODES_BUSY:
    case ESLURM_NODE_NOT_AVAIL:
    case ESLURM_JOB_HELD:
    case ESLURM_DEPENDENCY:
    case ESLURM_PARTITION_DOWN:
    case ESLURM_RESERVATION_BUSY:
    case ESLURM_RESERVATION_MAINT:
    case ESLURM_RESERVATION_NOT_USABLE:
    case ESLURM_QOS_THRES:
    case ESLURM_ACCOUNTING_POLICY:
    case ESLURM_BURST_BUFFER_WAIT:
    case VERSION_FULL:
        return true;
    default:
        return false;
    }
}

/* Slurm's forecast for a job that is not submitted. */
struct forecast {
    will_run_response_msg_t *expected; /* never freed: slurm.h declares no function for it */
    int code; /* Slurm's errno, or 0 if the job would run */
};

static void forecast_load(struct forecast *f, struct description *d)
{
    *f = (struct forecast){0};
    if (slurm_job_will_run2(&d->msg, &f->expected) != SLURM_SUCCESS)
        f->code = errno;
}

/* Encodes the answer. cluster_check has already compared the job's size with the partition. Slurm
 * also checks features, accounts and reservations. If some nodes are away, that may be why Slurm
 * says that the requested node configuration is not available, so the job is not refused then. */
static json_t *encode_forecast(const struct forecast *f, int away)
{
    if (f->code == 0) {
        json_t *answer = json_pack("{s:b, s:I, s:o}", "ok", 1, "start",
                                   (json_int_t)f->expected->start_time, "nodes",
                                   message_string(f->expected->node_list));
        return answer;
    }
    if (forecast_may_pass(f->code) || (f->code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE &&
                                       away > 0))
        return json_pack("{s:b, s:I, s:s}", "ok", 1, "start", (json_int_t)0, "nodes", "");
    return refusal_of_slurm(f->code);
}

/* A check that was announced. A thread asks Slurm while other requests are answered. */
static struct {
    json_t *job; /* NULL: none */
    struct description description;
    struct forecast forecast;
    pthread_t thread;
} ahead;

static void *look_ahead(void *arg)
{
    (void)arg;
    forecast_load(&ahead.forecast, &ahead.description);
    return NULL;
}

/* Takes the result of the announced check if it was for this job, and returns whether it was.
 * Afterwards no check is announced. */
static bool take_ahead(const json_t *job, struct forecast *dst)
{
    bool same = job && json_equal(ahead.job, job);

    if (!ahead.job)
        return false;
    pthread_join(ahead.thread, NULL);
    if (same)
        *dst = ahead.forecast;
    description_free(&ahead.description);
    json_decref(ahead.job);
    ahead.job = NULL;
    return same;
}

json_t *forecast_foresee(json_t *job)
{
    json_t *refusal;

    take_ahead(NULL, NULL);
    refusal = request_check_job(job);
    if (refusal)
        return refusal;
    refusal = description_load(&ahead.description, job);
    if (refusal || pthread_create(&ahead.thread, NULL, look_ahead, NULL) != 0)
        description_free(&ahead.description);
    else
        ahead.job = json_incref(job);
    return refusal ? refusal : json_pack("{s:b}", "ok", 1);
}

json_t *forecast_check(const json_t *job, int away)
{
    struct description d;
    struct forecast forecast;
    json_t *answer;

    if (json_object_get(job, "by_sbatch"))
        return sbatch_forecast(job, away);
    answer = description_load(&d, job);
    if (!answer && message_text(job, "script"))
        answer = description_load_script(&d, job);
    if (!answer) {
        if (!take_ahead(job, &forecast))
            forecast_load(&forecast, &d);
        answer = encode_forecast(&forecast, away);
    }
    description_free(&d);
    return answer;
}

void forecast_forget(void)
{
    take_ahead(NULL, NULL);
}
