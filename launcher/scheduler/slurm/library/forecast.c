/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/forecast.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <stdbool.h>

#include "launcher/scheduler/slurm/library/description.h"
#include "launcher/scheduler/slurm/library/refusal.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/sbatch.h"

json_t *forecast_check(const json_t *job, int away)
{
    will_run_response_msg_t *expected; /* never freed: slurm.h declares no function for it */
    struct description d;
    json_t *answer;

    if (json_object_get(job, "by_sbatch"))
        return sbatch_forecast(job, away);
    answer = description_load(&d, job);
    if (!answer) {
        int code = slurm_job_will_run2(&d.msg, &expected) == SLURM_SUCCESS ? 0 : errno;
        bool passes = code && cause_passes(refusal_cause(code), away);
        answer = code && !passes
                     ? refusal_of_slurm(code)
                     : json_pack("{s:b, s:I, s:o}", "ok", 1, "start",
                                 (json_int_t)(code ? 0 : expected->start_time), "nodes",
                                 message_string(code ? NULL : expected->node_list));
    }
    description_free(&d);
    return answer;
}
