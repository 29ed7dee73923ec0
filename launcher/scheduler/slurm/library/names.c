/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/names.h"

#include <slurm/slurm.h>
#include <stddef.h>

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

enum state names_state(uint32_t state)
{
    uint32_t base = state & JOB_STATE_BASE;

    for (size_t i = 0; i < COUNT(flags); i++)
        if (state & flags[i].value)
            return flags[i].state;
    return base < COUNT(states) ? states[base] : STATE_UNKNOWN;
}

const char *names_reason(uint32_t reason)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].value == reason)
            return reasons[i].text;
    return "";
}
