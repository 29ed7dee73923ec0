/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/accounting.h"

#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "launcher/scheduler/job_state.h"
#include "launcher/scheduler/slurm/library/names.h"
#include "launcher/scheduler/slurm/library/version.h"

/* Returns the jobs' ids as the list that slurmdbd expects. */
static list_t *select_jobs(const json_t *ids)
{
    list_t *list = slurm_list_create(free);
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        slurm_selected_step_t *step = json_is_string(id) ? calloc(1, sizeof *step) : NULL;
        if (!step)
            continue;
        *step = (slurm_selected_step_t){
            .array_task_id = NO_VAL,
            .het_job_offset = NO_VAL,
            .step_id = {.job_id = (uint32_t)strtoul(json_string_value(id), NULL, 10),
                        .step_het_comp = NO_VAL,
                        .step_id = NO_VAL}};
        slurm_list_append(list, step);
    }
    return list;
}

static json_t *encode_record(const slurmdb_job_rec_t *r)
{
    int status = (int)r->exitcode;
    struct job_state j = {.uid = r->uid, .submitted = r->submit, .started = r->start,
                          .ended = r->end,
                          .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};

    job_state_set(&j, names_state(r->state));
    snprintf(j.id, sizeof j.id, "%u", r->jobid);
    if (r->nodes && strcmp(r->nodes, "None assigned") != 0)
        snprintf(j.nodes, sizeof j.nodes, "%s", r->nodes);
    snprintf(j.name, sizeof j.name, "%s", r->jobname ? r->jobname : "");
    snprintf(j.user, sizeof j.user, "%s", r->user ? r->user : "");
    return job_state_encode(&j);
}

bool accounting_recall(const json_t *ids, json_t *jobs)
{
    slurmdb_job_cond_t cond = {.db_flags = SLURMDB_JOB_FLAG_NOTSET,
                               .step_list = select_jobs(ids)};
    uint16_t flags = 0;
    void *connection = slurmdb_connection_get(&flags);
    const slurmdb_job_rec_t *r;
    list_t *found = connection ? slurmdb_jobs_get(connection, &cond) : NULL;
    if (found) {
        list_itr_t *next = slurm_list_iterator_create(found);
        while ((r = slurm_list_next(next)))
            json_array_append_new(jobs, encode_record(r));
        slurm_list_iterator_destroy(next);
        slurm_list_destroy(found);
    }
    slurm_list_destroy(cond.step_list);
    if (connection)
        slurmdb_connection_close(&connection);
    return found != NULL;
}
