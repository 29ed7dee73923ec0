/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include "t/tap.h"

static void reason(const char *word, const char *part)
{
    const char *text = slurm_words_reason(word);

    ok(*part ? strstr(text, part) != NULL : *text == 0, "%s: %s", word, *text ? text : "(nothing)");
}

int main(void)
{
    ok(slurm_words_never("PartitionTimeLimit") && slurm_words_never("QOSMaxCpuPerJobLimit"),
       "with these reasons a job never starts");
    ok(!slurm_words_never("Resources") && !slurm_words_never("QOSMaxJobsPerUserLimit") &&
           !slurm_words_never("None"), "with these reasons a job waits");
    ok(!slurm_words_never("DependencyNeverSatisfied"),
       "the end of another job is not such a reason");
    ok(slurm_words_is_held("JobHeldUser") && slurm_words_is_held("JobHeldAdmin") &&
           slurm_words_is_held("JobHoldMaxRequeue") &&
           slurm_words_is_held("job requeued in held state"),
       "with these reasons a job is held");
    ok(!slurm_words_is_held("Resources") && !slurm_words_is_held("None") &&
           !slurm_words_is_held(""), "with these it is not");
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
