/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/accounting.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "launcher/scheduler/slurm/history.h"
#include "launcher/scheduler/slurm/library/refusal.h"
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

static const slurmdb_tres_rec_t *find_tres(list_t *known, uint32_t id)
{
    list_itr_t *next = slurm_list_iterator_create(known);
    const slurmdb_tres_rec_t *r;

    while ((r = slurm_list_next(next)) && r->id != id)
        ;
    slurm_list_iterator_destroy(next);
    return r;
}

/* Decodes "1=4,2=100,1001=2": ids of resources, which known has with their names, and amounts. */
static json_t *decode_tres(const char *text, list_t *known)
{
    json_t *tres = json_object();
    char name[256], *end;

    for (; known && text && *text; text = *end ? end + 1 : end) {
        const slurmdb_tres_rec_t *r = find_tres(known, (uint32_t)strtoul(text, &end, 10));
        long long count = *end == '=' ? strtoll(end + 1, &end, 10) : 0;
        end += strcspn(end, ",");
        if (!r)
            continue;
        bool is_named = r->name && *r->name;
        snprintf(name, sizeof name, "%s%s%s", r->type, is_named ? "/" : "",
                 is_named ? r->name : "");
        history_add_tres(tres, name, count);
    }
    return tres;
}

static json_t *encode_record(const slurmdb_job_rec_t *r, list_t *known)
{
    int status = (int)r->exitcode;
    char id[16];

    snprintf(id, sizeof id, "%u", r->jobid);
    return history_describe(&(struct history_job){
        .id = id, .state = names_state(r->state), .nodes = r->nodes, .name = r->jobname,
        .user = r->user, .uid = r->uid, .submitted = r->submit,
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0, .started = r->start,
        .ended = r->end,
        .tres = decode_tres(r->tres_alloc_str, known)});
}

/* Adds the jobs that slurmdbd knows. Returns 0, or -1 if it does not answer. */
static int read_slurmdbd(const json_t *ids, json_t *jobs)
{
    slurmdb_job_cond_t cond = {.db_flags = SLURMDB_JOB_FLAG_NOTSET,
                               .step_list = select_jobs(ids)};
    slurmdb_tres_cond_t tres_cond = {0};
    uint16_t flags = 0;
    void *connection = slurmdb_connection_get(&flags);
    const slurmdb_job_rec_t *r;
    list_t *found = connection ? slurmdb_jobs_get(connection, &cond) : NULL;
    list_t *known = found ? slurmdb_tres_get(connection, &tres_cond) : NULL;
    if (found) {
        list_itr_t *next = slurm_list_iterator_create(found);
        while ((r = slurm_list_next(next)))
            json_array_append_new(jobs, encode_record(r, known));
        slurm_list_iterator_destroy(next);
        slurm_list_destroy(found);
    }
    if (known)
        slurm_list_destroy(known);
    slurm_list_destroy(cond.step_list);
    if (connection)
        slurmdb_connection_close(&connection);
    return found ? 0 : -1;
}

json_t *accounting_answer(const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids");
    json_t *jobs = json_array();
    const char *source = "";
    slurm_conf_t *conf;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) {
        json_decref(jobs);
        return refusal_of_slurm(errno);
    }
    if (conf->accounting_storage_type && strstr(conf->accounting_storage_type, "slurmdbd") &&
        read_slurmdbd(ids, jobs) == 0)
        source = "slurmdbd";
    else if (conf->job_comp_type && strstr(conf->job_comp_type, "filetxt") && conf->job_comp_loc &&
             history_read_jobcomp(conf->job_comp_loc, ids, jobs) == 0)
        source = "filetxt";
    slurm_free_conf(conf);
    return json_pack("{s:b, s:s, s:o}", "ok", 1, "source", source, "jobs", jobs);
}
