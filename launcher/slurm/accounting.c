/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/slurm/accounting.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "launcher/slurm/message.h"
#include "launcher/slurm/names.h"
#include "launcher/slurm/version.h"

static json_t *describe_past(uint32_t id, const char *state, uint32_t exit_code, time_t started,
                             time_t ended, const char *nodes)
{
    int status = (int)exit_code;
    char text[16];

    snprintf(text, sizeof text, "%u", id);
    return json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:o}", "id", text, "state", state, "exit_code",
                     WIFEXITED(status) ? WEXITSTATUS(status) : 0, "signal",
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0, "started", (json_int_t)started,
                     "ended", (json_int_t)ended, "nodes", message_string(nodes));
}

/* Returns the jobs as slurmdbd takes them. */
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

/* From slurmdbd. -1 when it does not answer. */
static int read_slurmdbd(const json_t *ids, json_t *jobs)
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
            json_array_append_new(jobs, describe_past(r->jobid, names_state(r->state),
                                                      (uint32_t)r->exitcode, r->start, r->end, r->nodes));
        slurm_list_iterator_destroy(next);
        slurm_list_destroy(found);
    }
    slurm_list_destroy(cond.step_list);
    if (connection)
        slurmdb_connection_close(&connection);
    return found ? 0 : -1;
}

/* The word behind "NAME=" in a line of jobcomp/filetxt; "" if it has none. */
static void take_word(const char *line, const char *name, char *dst, size_t size)
{
    size_t n = strlen(name);

    *dst = 0;
    for (const char *s = line; (s = strstr(s, name)); s += n)
        if ((s == line || s[-1] == ' ') && s[n] == '=') {
            snprintf(dst, size, "%.*s", (int)strcspn(s + n + 1, " \n"), s + n + 1);
            return;
        }
}

static time_t decode_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};

    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

static bool has_id(const json_t *ids, const char *text)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        if (json_is_string(id) && strcmp(json_string_value(id), text) == 0)
            return true;
    }
    return false;
}

/* From the file of jobcomp/filetxt: a line for each end, so a requeued job's last one counts. */
static int read_filetxt(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL, id[32], state[32], start[32], end[32], nodes[256], exit_code[32];
    size_t capacity = 0;

    if (!f)
        return -1;
    while (getline(&line, &capacity, f) > 0) {
        take_word(line, "JobId", id, sizeof id);
        if (!has_id(ids, id))
            continue;
        take_word(line, "JobState", state, sizeof state);
        take_word(line, "StartTime", start, sizeof start);
        take_word(line, "EndTime", end, sizeof end);
        take_word(line, "NodeList", nodes, sizeof nodes);
        take_word(line, "ExitCode", exit_code, sizeof exit_code);
        unsigned code = 0, number = 0;
        sscanf(exit_code, "%u:%u", &code, &number);
        json_array_append_new(jobs, describe_past((uint32_t)strtoul(id, NULL, 10), state,
                                                  code << 8 | number, decode_time(start),
                                                  decode_time(end), nodes));
    }
    free(line);
    fclose(f);
    return 0;
}

json_t *accounting_answer(const json_t *request)
{
    const json_t *ids = json_object_get(request, "ids");
    json_t *jobs = json_array();
    const char *source = "";
    slurm_conf_t *conf;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) {
        json_decref(jobs);
        return message_refuse_slurm(errno);
    }
    if (conf->accounting_storage_type && strstr(conf->accounting_storage_type, "slurmdbd") &&
        read_slurmdbd(ids, jobs) == 0)
        source = "slurmdbd";
    else if (conf->job_comp_type && strstr(conf->job_comp_type, "filetxt") && conf->job_comp_loc &&
             read_filetxt(conf->job_comp_loc, ids, jobs) == 0)
        source = "filetxt";
    slurm_free_conf(conf);
    return json_pack("{s:b, s:s, s:o}", "ok", 1, "source", source, "jobs", jobs);
}
