/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include "t/tap.h"

static void reason(const char *word, const char *part)
{
    const char *text;

    slurm_words_find(word, &text);
    ok(*part ? strstr(text, part) != NULL : *text == 0, "%s: %s", word, *text ? text : "(nothing)");
}

static enum slurm_words kind(const char *word)
{
    const char *text;

    return slurm_words_find(word, &text);
}

int main(void)
{
    ok(kind("PartitionTimeLimit") == WORDS_NEVER && kind("QOSMaxCpuPerJobLimit") == WORDS_NEVER,
       "with these reasons a job never starts");
    ok(kind("Resources") != WORDS_NEVER && kind("QOSMaxJobsPerUserLimit") != WORDS_NEVER &&
           kind("None") != WORDS_NEVER, "with these reasons a job waits");
    ok(kind("DependencyNeverSatisfied") != WORDS_NEVER,
       "the end of another job is not such a reason");
    ok(kind("JobHeldUser") == WORDS_HELD && kind("JobHeldAdmin") == WORDS_HELD &&
           kind("JobHoldMaxRequeue") == WORDS_HELD &&
           kind("job requeued in held state") == WORDS_HELD,
       "with these reasons a job is held");
    ok(kind("Resources") != WORDS_HELD && kind("None") != WORDS_HELD &&
           kind("") != WORDS_HELD, "with these it is not");
    reason("Resources", "no free nodes");
    reason("Dependency", "waits for another job");
    reason("DependencyNeverSatisfied", "it never starts: cancel it ('unetctl cancel')");
    reason("ReqNodeNotAvail, UnavailableNodes:node[1-3]", "down, drained or reserved");
    reason("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
           "partitions",
           "sinfo -R");
    reason("launch failed requeued held", "unetctl release");
    reason("JobHeldUser", "held by you");
    reason("JobHeldAdmin", "administrator");
    reason("BeginTime", "two minutes");
    reason("QOSMaxCpuPerJobLimit", "submit it smaller");
    reason("QOSMaxGRESPerJob", "submit it smaller");
    reason("QOSMaxJobsPerUserLimit", "limit of the QOS is used up");
    reason("AssocMaxCpuPerNode", "submit it smaller");
    reason("AssocGrpGRES", "limit of the account is used up");
    reason("MaxJobsPerAccount", "maximum of jobs");
    reason("MaxJobsPerAccountant", "");
    reason("Priorities", "");
    reason("None", "");
    reason("", "");
    reason("job requeued in held state", "unetctl release");
    reason("job_requeued_in_held_state", "unetctl release");
    reason("launch_failed_requeued_held", "unetctl release");
    reason("JobLaunchFailure", "'unetctl resume' tries again");
    return done_testing();
}
