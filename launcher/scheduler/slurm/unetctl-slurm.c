/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl-slurm prints what Slurm's commands print, by libslurm (PROTOCOL.md).
 *
 * The only program that links libslurm: libslurm ends its process when it finds no usable
 * configuration, is under the GPL, and changes its ABI with each release. */
#include "src/base.h"

#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/wait.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

/* The differences between the releases of Slurm from 22.05 to 26.05. No other file is compiled
 * differently for another release. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "unetctl-slurm needs Slurm 22.05 or later; configure --without-slurm leaves it out"
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
    struct err ignored;
    int major, minor;

    bool differs = command_query(NULL, argv, &c, &ignored) == 0 &&
                   sscanf(c.out.data, "slurm%*[^0-9]%d.%d", &major, &minor) == 2 &&
                   (major != RELEASE_MAJOR || minor != RELEASE_MINOR);
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

/* Prints Slurm's text for the code. Returns the exit code. */
static int refuse(int code)
{
    if (!is_incompatible(code)) {
        fprintf(stderr, "%s\n", slurm_strerror(code));
        return ERR_SCHED;
    }
    fprintf(stderr, "the cluster does not understand libslurm of release %d.%02d (%s)\n",
            RELEASE_MAJOR, RELEASE_MINOR, slurm_strerror(code));
    return ERR_INTERNAL;
}

/* ---- the cluster ---- */

/* Returns whether a node in this state is away. After its restart the controller knows nothing of
 * its nodes for a while. */
static bool is_away(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND)) != 0;
}

static int print_partitions(void)
{
    partition_info_msg_t *all;

    if (slurm_load_partitions(0, &all, SHOW_ALL) != SLURM_SUCCESS)
        return refuse(errno);
    for (uint32_t i = 0; i < all->record_count; i++) {
        const partition_info_t *p = &all->partition_array[i];
        bool limited = p->max_time != INFINITE && p->max_time != NO_VAL && p->max_time <= INT_MAX;
        printf("PartitionName=%s Default=%s MaxTime=%u TotalNodes=%u\n", p->name,
               p->flags & PART_FLAG_DEFAULT ? "YES" : "NO", limited ? p->max_time : 0,
               p->total_nodes);
    }
    slurm_free_partition_info_msg(all);
    return 0;
}

/* Prints the nodes of a partition. Those that Slurm does not show have no name. */
static void print_nodes_of(const partition_info_t *p, const node_info_msg_t *nodes)
{
    for (const int32_t *pair = p->node_inx; pair && pair[0] >= 0; pair += 2)
        for (int32_t i = pair[0]; i <= pair[1] && i < (int32_t)nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];
            if (node->name)
                printf("%s|%u|%s|%s\n", p->name, node->cpus,
                       is_away(node->node_state) ? "down" : "up", node->gres ? node->gres : "");
        }
}

static int print_nodes(void)
{
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes = NULL;

    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS)
        return refuse(errno);
    int code = slurm_load_node(0, &nodes, SHOW_ALL) == SLURM_SUCCESS ? 0 : errno;
    for (uint32_t i = 0; !code && i < partitions->record_count; i++)
        print_nodes_of(&partitions->partition_array[i], nodes);
    slurm_free_partition_info_msg(partitions);
    if (code)
        return refuse(code);
    slurm_free_node_info_msg(nodes);
    return 0;
}

/* ---- jobs ---- */

/* Prints a text, which may be NULL, without what would end its field or its line. */
static void print_text(const char *text)
{
    for (; text && *text; text++)
        putchar(*text == '|' || (unsigned char)*text < ' ' ? ' ' : *text);
}

static void print_job(const slurm_job_info_t *j)
{
    int status = (int)j->exit_code;
    /* Slurm gives the name only where slurm.conf says so. */
    const struct passwd *user = j->user_name ? NULL : getpwuid(j->user_id);
    const char *const texts[] = {user ? user->pw_name : j->user_name,
                                 j->state_desc ? j->state_desc : names_reason(j->state_reason),
                                 j->nodes, j->comment, j->name};

    printf("%u|%s|%d:%d|%u|%lld|%lld|%lld|%u", j->job_id, state_name(names_state(j->job_state)),
           WIFEXITED(status) ? WEXITSTATUS(status) : 0,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0, j->restart_cnt, (long long)j->submit_time,
           (long long)j->start_time, (long long)j->end_time, j->user_id);
    for (size_t i = 0; i < COUNT(texts); i++) {
        putchar('|');
        print_text(texts[i]);
    }
    putchar('\n');
}

/* Prints the jobs that have one of the ids, a list between commas, or those of this user or of all
 * whose comment begins with value. Slurm has no request for several jobs. */
static int print_jobs(const char *whose, const char *value)
{
    bool by_ids = strcmp(whose, "ids") == 0;
    job_info_msg_t *jobs;
    char id[16];

    int rc = strcmp(whose, "own") == 0 ? slurm_load_job_user(&jobs, getuid(), SHOW_ALL)
                                       : slurm_load_jobs(0, &jobs, SHOW_ALL);
    if (rc != SLURM_SUCCESS) /* ESLURM_INVALID_JOB_ID: the user has no jobs */
        return errno == ESLURM_INVALID_JOB_ID ? 0 : refuse(errno);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *j = &jobs->job_array[i];
        int n = snprintf(id, sizeof id, "%u", j->job_id);
        if (by_ids ? text_has_word(value, id, (size_t)n)
                   : j->comment && text_begins(j->comment, value))
            print_job(j);
    }
    slurm_free_job_info_msg(jobs);
    return 0;
}

int main(int argc, char **argv)
{
    const char *protocol = argc > 2 ? argv[1] : "none", *what = argc > 2 ? argv[2] : "";
    int rc = ERR_USAGE;

    if (strcmp(protocol, QUERY_PROTOCOL) != 0) {
        fprintf(stderr, "%s is of version " PACKAGE_VERSION " and speaks protocol " QUERY_PROTOCOL
                "; what started it speaks protocol %s: install both from one version\n", argv[0],
                protocol);
        return rc;
    }
    slurm_init(NULL);
    if (strcmp(what, "partitions") == 0)
        rc = print_partitions();
    else if (strcmp(what, "nodes") == 0)
        rc = print_nodes();
    else if (strcmp(what, "jobs") == 0 && argc > 4)
        rc = print_jobs(argv[3], argv[4]);
    slurm_fini();
    return rc;
}
