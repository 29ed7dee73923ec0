/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm: Slurm's C interface as JSON lines (PROTOCOL.md).
 *
 * The only program that links libslurm: libslurm ends its process when it finds no usable
 * configuration, is under the GPL, and changes its ABI with each release. */
#include "src/base.h"

#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/wait.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/scheduler/slurm/serve.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

/* The differences between the releases of Slurm from 22.05 to 26.05. No other file is compiled
 * differently for another release. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "unetctl-slurm needs Slurm 22.05 or later; configure --without-slurm leaves it out"
#endif

/* slurm_free_conf has this name from 26.05. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#define slurm_free_conf slurm_free_ctl_conf
#endif

/* ---- names, as squeue prints them; no header of Slurm declares functions that return them ---- */

struct reason_name {
    uint32_t value;
    const char *text;
};

/* The first flag in this order that is set is the state. */
static const struct {
    uint32_t value;
    enum state state;
} flags[] = {{JOB_COMPLETING, STATE_COMPLETING},     {JOB_STAGE_OUT, STATE_STAGE_OUT},
             {JOB_CONFIGURING, STATE_CONFIGURING},   {JOB_RESIZING, STATE_RESIZING},
             {JOB_REQUEUE, STATE_REQUEUED},          {JOB_REQUEUE_FED, STATE_REQUEUE_FED},
             {JOB_REQUEUE_HOLD, STATE_REQUEUE_HOLD}, {JOB_SPECIAL_EXIT, STATE_SPECIAL_EXIT},
             {JOB_STOPPED, STATE_STOPPED},           {JOB_REVOKED, STATE_REVOKED},
             {JOB_RESV_DEL_HOLD, STATE_RESV_DEL_HOLD}, {JOB_SIGNALING, STATE_SIGNALING}};

static const enum state states[] = {
    [JOB_PENDING] = STATE_PENDING,     [JOB_RUNNING] = STATE_RUNNING,
    [JOB_SUSPENDED] = STATE_SUSPENDED, [JOB_COMPLETE] = STATE_COMPLETED,
    [JOB_CANCELLED] = STATE_CANCELLED, [JOB_FAILED] = STATE_FAILED,
    [JOB_TIMEOUT] = STATE_TIMEOUT,     [JOB_NODE_FAIL] = STATE_NODE_FAIL,
    [JOB_PREEMPTED] = STATE_PREEMPTED, [JOB_BOOT_FAIL] = STATE_BOOT_FAIL,
    [JOB_DEADLINE] = STATE_DEADLINE,   [JOB_OOM] = STATE_OUT_OF_MEMORY};

static const struct reason_name reasons[] = {
    {WAIT_NO_REASON, ""},
    {WAIT_PRIORITY, "Priority"},
    {WAIT_DEPENDENCY, "Dependency"},
    {WAIT_RESOURCES, "Resources"},
    {WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
    {WAIT_PART_TIME_LIMIT, "PartitionTimeLimit"},
    {WAIT_PART_DOWN, "PartitionDown"},
    {WAIT_PART_INACTIVE, "PartitionInactive"},
    {WAIT_PART_CONFIG, "PartitionConfig"},
    {WAIT_HELD, "JobHeldAdmin"},
    {WAIT_HELD_USER, "JobHeldUser"},
    {WAIT_TIME, "BeginTime"},
    {WAIT_LICENSES, "Licenses"},
    {WAIT_RESERVATION, "Reservation"},
    {WAIT_RESV_DELETED, "ReservationDeleted"},
    {WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
    {WAIT_CLEANING, "Cleaning"},
    {WAIT_PROLOG, "Prolog"},
    {WAIT_QOS, "QOSNotAllowed"},
    {WAIT_ACCOUNT, "AccountNotAllowed"},
    {WAIT_ACCOUNT_POLICY, "AccountingPolicy"},
    {WAIT_DEP_INVALID, "DependencyNeverSatisfied"},
    {WAIT_MAX_REQUEUE, "JobHoldMaxRequeue"},
    {WAIT_ARRAY_TASK_LIMIT, "JobArrayTaskLimit"},
    {WAIT_PN_MEM_LIMIT, "MaxMemPerLimit"},
    {WAIT_BURST_BUFFER_RESOURCE, "BurstBufferResources"},
    {WAIT_BURST_BUFFER_STAGING, "BurstBufferStageIn"},
    {FAIL_BURST_BUFFER_OP, "BurstBufferOperation"},
    {FAIL_DEFER, "SchedDefer"},
    {FAIL_DOWN_PARTITION, "PartitionDown"},
    {FAIL_DOWN_NODE, "NodeDown"},
    {FAIL_BAD_CONSTRAINTS, "BadConstraints"},
    {FAIL_SYSTEM, "SystemFailure"},
    {FAIL_LAUNCH, "JobLaunchFailure"},
    {FAIL_EXIT_CODE, "NonZeroExitCode"},
    {FAIL_TIMEOUT, "TimeLimit"},
    {FAIL_INACTIVE_LIMIT, "InactiveLimit"},
    {FAIL_ACCOUNT, "InvalidAccount"},
    {FAIL_QOS, "InvalidQOS"},
    {FAIL_DEADLINE, "DeadLine"},
    {FAIL_OOM, "OutOfMemory"},
    {WAIT_QOS_THRES, "QOSUsageThreshold"},
    {WAIT_QOS_JOB_LIMIT, "QOSJobLimit"},
    {WAIT_QOS_RESOURCE_LIMIT, "QOSResourceLimit"},
    {WAIT_QOS_TIME_LIMIT, "QOSTimeLimit"},
    {WAIT_QOS_GRP_CPU, "QOSGrpCpuLimit"},
    {WAIT_QOS_GRP_CPU_MIN, "QOSGrpCPUMinutesLimit"},
    {WAIT_QOS_GRP_GRES, "QOSGrpGRES"},
    {WAIT_QOS_GRP_GRES_MIN, "QOSGrpGRESMinutes"},
    {WAIT_QOS_GRP_JOB, "QOSGrpJobsLimit"},
    {WAIT_QOS_GRP_MEM, "QOSGrpMemLimit"},
    {WAIT_QOS_GRP_NODE, "QOSGrpNodeLimit"},
    {WAIT_QOS_GRP_SUB_JOB, "QOSGrpSubmitJobsLimit"},
    {WAIT_QOS_GRP_WALL, "QOSGrpWallLimit"},
    {WAIT_QOS_MAX_CPU_PER_JOB, "QOSMaxCpuPerJobLimit"},
    {WAIT_QOS_MAX_CPU_PER_USER, "QOSMaxCpuPerUserLimit"},
    {WAIT_QOS_MAX_GRES_PER_JOB, "QOSMaxGRESPerJob"},
    {WAIT_QOS_MAX_GRES_PER_NODE, "QOSMaxGRESPerNode"},
    {WAIT_QOS_MAX_GRES_PER_USER, "QOSMaxGRESPerUser"},
    {WAIT_QOS_MAX_GRES_PER_ACCT, "MaxGRESPerAccount"},
    {WAIT_QOS_MAX_JOB_PER_USER, "QOSMaxJobsPerUserLimit"},
    {WAIT_QOS_MAX_JOB_PER_ACCT, "MaxJobsPerAccount"},
    {WAIT_QOS_MAX_NODE_PER_JOB, "QOSMaxNodePerJobLimit"},
    {WAIT_QOS_MAX_NODE_PER_USER, "QOSMaxNodePerUserLimit"},
    {WAIT_QOS_MAX_NODE_PER_ACCT, "MaxNodePerAccount"},
    {WAIT_QOS_MAX_SUB_JOB, "QOSMaxSubmitJobPerUserLimit"},
    {WAIT_QOS_MAX_SUB_JOB_PER_ACCT, "MaxSubmitJobsPerAccount"},
    {WAIT_QOS_MAX_WALL_PER_JOB, "QOSMaxWallDurationPerJobLimit"},
    {WAIT_QOS_MIN_CPU, "QOSMinCpuNotSatisfied"},
    {WAIT_QOS_MIN_GRES, "QOSMinGRES"},
    {WAIT_ASSOC_JOB_LIMIT, "AssociationJobLimit"},
    {WAIT_ASSOC_RESOURCE_LIMIT, "AssociationResourceLimit"},
    {WAIT_ASSOC_TIME_LIMIT, "AssociationTimeLimit"},
    {WAIT_ASSOC_GRP_CPU, "AssocGrpCpuLimit"},
    {WAIT_ASSOC_GRP_CPU_MIN, "AssocGrpCPUMinutesLimit"},
    {WAIT_ASSOC_GRP_GRES, "AssocGrpGRES"},
    {WAIT_ASSOC_GRP_GRES_MIN, "AssocGrpGRESMinutes"},
    {WAIT_ASSOC_GRP_BILLING_MIN, "AssocGrpBillingMinutes"},
    {WAIT_ASSOC_GRP_JOB, "AssocGrpJobsLimit"},
    {WAIT_ASSOC_GRP_MEM, "AssocGrpMemLimit"},
    {WAIT_ASSOC_GRP_NODE, "AssocGrpNodeLimit"},
    {WAIT_ASSOC_GRP_SUB_JOB, "AssocGrpSubmitJobsLimit"},
    {WAIT_ASSOC_GRP_WALL, "AssocGrpWallLimit"},
    {WAIT_ASSOC_MAX_CPU_PER_JOB, "AssocMaxCpuPerJobLimit"},
    {WAIT_ASSOC_MAX_GRES_PER_JOB, "AssocMaxGRESPerJob"},
    {WAIT_ASSOC_MAX_JOBS, "AssocMaxJobsLimit"},
    {WAIT_ASSOC_MAX_NODE_PER_JOB, "AssocMaxNodePerJobLimit"},
    {WAIT_ASSOC_MAX_SUB_JOB, "AssocMaxSubmitJobLimit"},
    {WAIT_ASSOC_MAX_WALL_PER_JOB, "AssocMaxWallDurationPerJobLimit"}};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Returns the state of a job_state: that of its first flag in the table if it has any, otherwise
 * that of its base state. */
static enum state names_state(uint32_t state)
{
    uint32_t base = state & JOB_STATE_BASE;

    for (size_t i = 0; i < COUNT(flags); i++)
        if (state & flags[i].value)
            return flags[i].state;
    return base < COUNT(states) ? states[base] : STATE_UNKNOWN;
}

/* Returns the name of a job_state_reason, or "" for one that is not in the table. */
static const char *names_reason(uint32_t reason)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].value == reason)
            return reasons[i].text;
    return "";
}

#define RELEASE_MAJOR SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)
#define RELEASE_MINOR SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER)

/* Returns whether the release of Slurm's commands, which is the cluster's, differs from this
 * library's. */
static bool differs_from_commands(void)
{
    static const char *const argv[] = {"scontrol", "--version", NULL};
    struct child_end c;
    int major, minor;

    json_t *refusal = command_ask(argv, &c);
    bool differs = !refusal && sscanf(c.out.data, "slurm%*[^0-9]%d.%d", &major, &minor) == 2 &&
                   (major != RELEASE_MAJOR || minor != RELEASE_MINOR);
    json_decref(refusal);
    child_destroy(&c);
    return differs;
}

/* A controller of 26.05 answers in HTTP what it cannot read (SLURM_UNEXPECTED_MSG_ERROR). If one of
 * 24.11 answers an older library, the code is SLURM_ERROR, which can mean any failure. */
static bool is_incompatible(int code)
{
    return code == SLURM_PROTOCOL_VERSION_ERROR || code == SLURM_PROTOCOL_INSANE_MSG_LENGTH ||
           ((code == SLURM_ERROR || code == SLURM_UNEXPECTED_MSG_ERROR) && differs_from_commands());
}

/* Returns the refusal with Slurm's text for the code. */
static json_t *refusal_of_slurm(int code)
{
    if (is_incompatible(code))
        return message_refuse_for(CAUSE_INCOMPATIBLE, "the cluster does not understand libslurm of "
                                  "release %d.%02d (%s)", RELEASE_MAJOR, RELEASE_MINOR,
                                  slurm_strerror(code));
    return message_refuse_for(cause_find(slurm_strerror(code), CAUSE_OTHER), "%s",
                              slurm_strerror(code));
}

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

/* Usable between slurm_init and slurm_fini. */
static const struct slurm_interface library = {.load_config = library_load_config,
                                        .load_cluster = library_load_cluster,
                                        .query = library_query,
                                        .lookup = library_lookup};

int main(int argc, char **argv)
{
    int code = serve_check_start(argc, argv);

    if (code)
        return code;
    unsetenv("SLURM_DEBUG_FLAGS"); /* sbatch's; from 24.11 on libslurm ends if it has a wrong one */
    slurm_init(NULL);
    serve(&library);
    slurm_fini();
    return 0;
}
