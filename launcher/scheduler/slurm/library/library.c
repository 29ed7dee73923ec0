/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/library.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/scheduler/job_state.h"
#include "launcher/scheduler/slurm/library/description.h"
#include "launcher/scheduler/slurm/library/names.h"
#include "launcher/scheduler/slurm/library/refusal.h"
#include "launcher/scheduler/slurm/library/version.h"
#include "launcher/scheduler/slurm/limits.h"
#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/sbatch.h"

/* ---- the cluster ---- */

static json_t *library_load_config(struct slurm_config *dst)
{
    slurm_conf_t *conf;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return refusal_of_slurm(errno);
    const char *accounting = conf->accounting_storage_type, *jobcomp = conf->job_comp_type;
    snprintf(dst->cluster, sizeof dst->cluster, "%s", conf->cluster_name ? conf->cluster_name : "");
    dst->hides_jobs = (conf->private_data & PRIVATE_DATA_JOBS) != 0;
    dst->has_slurmdbd = accounting && strstr(accounting, "slurmdbd");
    if (jobcomp && strstr(jobcomp, "filetxt") && conf->job_comp_loc)
        snprintf(dst->jobcomp, sizeof dst->jobcomp, "%s", conf->job_comp_loc);
    slurm_free_conf(conf);
    return NULL;
}

/* Returns whether a node in this state is away. After its restart the controller knows nothing of
 * its nodes for a while. */
static bool is_away(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND)) != 0;
}

static int minutes_of(uint32_t limit)
{
    return limit == INFINITE || limit == NO_VAL || limit > INT_MAX ? 0 : (int)limit;
}

/* nodes: NULL if Slurm does not show them. Single nodes that it does not show have no name. */
static bool fill_partition(struct cluster *dst, const partition_info_t *p,
                           const node_info_msg_t *nodes)
{
    struct cluster_partition *to = cluster_add(dst, p->name ? p->name : "");
    const int32_t *pair = p->node_inx;

    if (!to)
        return false;
    to->is_default = (p->flags & PART_FLAG_DEFAULT) != 0;
    to->is_up = p->state_up == PARTITION_UP;
    to->max_time_min = minutes_of(p->max_time);
    for (; nodes && pair && pair[0] >= 0; pair += 2)
        for (int32_t i = pair[0]; i <= pair[1] && i < (int32_t)nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];
            if (node->name)
                cluster_add_node(to, node->cpus, node->gres, is_away(node->node_state));
        }
    cluster_set_total(to, (int)p->total_nodes);
    return true;
}

/* PrivateData of slurm.conf withholds partitions and nodes from users. */
static json_t *library_load_cluster(struct cluster *dst)
{
    partition_info_msg_t *partitions = NULL;
    node_info_msg_t *nodes = NULL;
    bool is_whole = true;
    int code = slurm_load_partitions(0, &partitions, SHOW_ALL) == SLURM_SUCCESS ? 0 : errno;

    dst->is_private = code == ESLURM_ACCESS_DENIED;
    if (!code)
        code = slurm_load_node(0, &nodes, SHOW_ALL) == SLURM_SUCCESS ? 0 : errno;
    if (code == ESLURM_ACCESS_DENIED)
        code = 0;
    for (uint32_t i = 0; !code && partitions && is_whole && i < partitions->record_count; i++)
        is_whole = fill_partition(dst, &partitions->partition_array[i], nodes);
    if (nodes)
        slurm_free_node_info_msg(nodes);
    if (partitions)
        slurm_free_partition_info_msg(partitions);
    if (code)
        return refusal_of_slurm(code);
    return is_whole ? NULL : message_refuse("out of memory");
}

/* ---- jobs ---- */

static json_t *describe_job(const slurm_job_info_t *info)
{
    int status = (int)info->exit_code;
    const char *reason = info->state_desc ? info->state_desc : names_reason(info->state_reason);
    /* Slurm gives the name only where slurm.conf says so. */
    const struct passwd *user = info->user_name ? NULL : getpwuid(info->user_id);
    const char *user_name = user ? user->pw_name : info->user_name;
    struct job_state j = {.uid = (long)info->user_id, .restarts = (int)info->restart_cnt,
                          .submitted = info->submit_time};

    job_state_set(&j, names_state(info->job_state));
    snprintf(j.id, sizeof j.id, "%u", info->job_id);
    snprintf(j.user, sizeof j.user, "%s", user_name ? user_name : "");
    snprintf(j.reason, sizeof j.reason, "%s", reason);
    snprintf(j.nodes, sizeof j.nodes, "%s", info->nodes ? info->nodes : "");
    snprintf(j.tag, sizeof j.tag, "%s", info->comment ? info->comment : "");
    snprintf(j.name, sizeof j.name, "%s", info->name ? info->name : "");
    /* The start of a pending job and the end of a running one are only estimates. */
    j.started = j.phase == PHASE_PENDING ? 0 : info->start_time;
    if (j.phase == PHASE_ENDED) {
        j.ended = info->end_time;
        j.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        j.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    return job_state_encode(&j);
}

static json_t *library_query(const char *prefix, bool everybody, json_t *list)
{
    job_info_msg_t *jobs;
    int rc = everybody ? slurm_load_jobs(0, &jobs, SHOW_ALL)
                       : slurm_load_job_user(&jobs, getuid(), SHOW_ALL);

    if (rc != SLURM_SUCCESS) /* ESLURM_INVALID_JOB_ID: the user has no jobs */
        return errno == ESLURM_INVALID_JOB_ID ? NULL : refusal_of_slurm(errno);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *j = &jobs->job_array[i];
        if (j->comment && strncmp(j->comment, prefix, strlen(prefix)) == 0)
            json_array_append_new(list, describe_job(j));
    }
    slurm_free_job_info_msg(jobs);
    return NULL;
}

/* Asks for all jobs, like squeue: there is no request for several. */
static json_t *library_lookup(const json_t *ids, json_t *list)
{
    job_info_msg_t *jobs;
    char id[16];

    if (slurm_load_jobs(0, &jobs, SHOW_ALL) != SLURM_SUCCESS)
        return refusal_of_slurm(errno);
    json_t *wanted = message_index_ids(ids);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        snprintf(id, sizeof id, "%u", jobs->job_array[i].job_id);
        if (json_object_get(wanted, id))
            json_array_append_new(list, describe_job(&jobs->job_array[i]));
    }
    json_decref(wanted);
    slurm_free_job_info_msg(jobs);
    return NULL;
}

static json_t *library_cancel(const json_t *ids)
{
    const json_t *id;
    int code = 0;
    size_t i;

    json_array_foreach(ids, i, id) {
        if (code == 0 && slurm_kill_job2(json_string_value(id), SIGKILL, 0, NULL) != SLURM_SUCCESS)
            code = refusal_cause(errno) == CAUSE_NO_JOB ? 0 : errno;
    }
    return code ? refusal_of_slurm(code) : NULL;
}

static json_t *library_release_job(const char *id)
{
    job_desc_msg_t change;
    job_array_resp_msg_t *answers = NULL; /* for arrays only, which these jobs are not */
    char job[16];
    int code;

    slurm_init_job_desc_msg(&change);
    snprintf(job, sizeof job, "%s", id);
    change.job_id_str = job;
    change.user_id = getuid();
    change.priority = INFINITE; /* as scontrol release does: Slurm computes it again */
    code = slurm_update_job2(&change, &answers) == SLURM_SUCCESS ? 0 : errno;
    slurm_free_job_array_resp(answers);
    return code ? refusal_of_slurm(code) : NULL;
}

/* ---- checks and submissions ---- */

static json_t *library_forecast(const json_t *job, int away)
{
    will_run_response_msg_t *expected; /* never freed: slurm.h declares no function for it */
    struct description d;
    json_t *answer;

    if (message_flag(job, "by_sbatch"))
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

/* Returns whether this code shows that no job exists: it is Slurm's own answer, or the request was
 * not sent. By slurm_errno.h, codes from 2000 are slurmctld's and codes from 7000 those of its
 * accounting and plugins; EAGAIN is its answer at MaxJobCount. Only a failure to connect shows that
 * the request was not sent. After any other code, such as a timeout or a broken connection, Slurm
 * may have received it. */
static bool is_answered(int code)
{
    return code == EAGAIN || (code >= ESLURM_INVALID_PARTITION_NAME && code < 5000) ||
           code >= ESLURM_DB_CONNECTION || code == SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR ||
           code == SLURM_COMMUNICATIONS_CONNECTION_ERROR;
}

/* Adds the name of a limit to a refusal. libslurm prints the name on stderr only, which unetctl
 * provides as a file. */
static void name_limit(json_t *refusal)
{
    char said[1024];
    struct stat file;

    if (fstat(STDERR_FILENO, &file) || !S_ISREG(file.st_mode))
        return;
    off_t begin = file.st_size > (off_t)sizeof said - 1 ? file.st_size - (off_t)sizeof said + 1 : 0;
    ssize_t n = pread(STDERR_FILENO, said, sizeof said - 1, begin);
    said[n > 0 ? n : 0] = 0;
    limits_name(refusal, said);
}

static json_t *refuse_submission(int code)
{
    json_t *refusal = refusal_of_slurm(code);

    if (!is_answered(code))
        json_object_set_new(refusal, "code", json_integer(CAUSE_LOST));
    else if (message_cause(refusal) == CAUSE_LIMIT)
        name_limit(refusal);
    return refusal;
}

/* Submits the job. Success alone is not enough: Slurm also queues jobs that can never run, which
 * then block others. The error_code in Slurm's answer identifies such a job, which is cancelled
 * and refused. */
static json_t *submit_description(struct description *d)
{
    submit_response_msg_t *response = NULL;
    char id[16];

    if (slurm_submit_batch_job(&d->msg, &response) != SLURM_SUCCESS)
        return refuse_submission(errno);
    snprintf(id, sizeof id, "%u", VERSION_JOB_ID(response));
    int code = (int)response->error_code;
    slurm_free_submit_response_response_msg(response);
    if (code && !cause_passes(refusal_cause(code), 0)) {
        slurm_kill_job2(id, SIGKILL, 0, NULL);
        return refusal_of_slurm(code);
    }
    return json_pack("{s:b, s:s}", "ok", 1, "id", id);
}

static json_t *library_submit(const json_t *job)
{
    struct description d;

    if (message_flag(job, "by_sbatch"))
        return sbatch_submit(job);
    if (!message_text(job, "script"))
        return message_refuse("the job has no \"script\"");
    json_t *refusal = description_load(&d, job);
    json_t *answer = refusal ? refusal : submit_description(&d);
    description_free(&d);
    return answer;
}

const struct slurm_interface library = {.load_config = library_load_config,
                                        .load_cluster = library_load_cluster,
                                        .forecast = library_forecast,
                                        .submit = library_submit,
                                        .query = library_query,
                                        .lookup = library_lookup,
                                        .cancel = library_cancel,
                                        .release_job = library_release_job};
