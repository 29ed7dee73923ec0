/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/slurm_words.h"

#include <string.h>

#define NEVER "it never starts: 'unetctl cancel' it, and submit it "

#define LAUNCH                                                                                     \
    "a node could not start it (its prolog failed, or it lacks the user or the folder; ask the "   \
    "site, or leave the node out with --exclude)"

struct explanation {
    const char *word; /* see matches_word; the first entry that matches is taken */
    const char *text;
};

/* Reasons of jobs that wait until they are released. */
static const struct explanation held[] = {
    {"JobHeldUser", "held by you: 'unetctl release RUN' releases it"},
    {"JobHeldAdmin", "held by an administrator, and only administrators can release it"},
    {"JobHoldMaxRequeue", "was requeued too often: 'unetctl release RUN' tries again"},
    {"launch failed requeued held", LAUNCH "; 'unetctl release RUN' tries again"},
    {"launch_failed_requeued_held", LAUNCH "; 'unetctl release RUN' tries again"},
    {"job requeued in held state", "'unetctl release RUN' tries again"},
    {"job_requeued_in_held_state", "'unetctl release RUN' tries again"},
    {0}};

static const struct explanation reasons[] = {
    {"Priority", "jobs of higher priority come first"},
    {"Resources", "no free nodes, GPUs or CPUs yet"},
    {"Dependency", "waits for another job (--after, --max-in-flight)"},
    {"DependencyNeverSatisfied", "the job it depends on failed, so it never starts: cancel it "
                                 "('unetctl cancel'), and submit it again"},
    {"BeginTime", "its begin time is not reached; a requeued job waits two minutes"},
    {"Licenses", "waits for a license that other jobs use"},
    {"JobLaunchFailure", LAUNCH "; 'unetctl resume' tries again"},
    {"ReqNodeNotAvail", "a node that it needs is down, drained or reserved (sinfo -R)"},
    {"Nodes required for job are DOWN", "too few nodes of the partition work (sinfo -R)"},
    {"PartitionDown", "the partition is closed for now (sinfo)"},
    {"PartitionInactive", "the partition is closed for now (sinfo)"},
    {"PartitionNodeLimit",
     "more nodes than the partition allows, or than are available (sinfo)"},
    {"PartitionTimeLimit", "more time than the partition allows; " NEVER "with less (slurm.time)"},
    {"PartitionConfig", "more than its partition allows; " NEVER "smaller, or for less time"},
    {"Reservation", "waits for its reservation to begin"},
    {"BadConstraints", "no node has what it asks for; " NEVER "with another slurm.constraint"},
    {"Cleaning", "its earlier start is still being cleaned up"},
    {"Prolog", "the node's prolog runs"},
    {"InvalidAccount", NEVER "with another slurm.account"},
    {"AccountNotAllowed", "the partition does not take this account; " NEVER "with another one"},
    {"InvalidQOS", NEVER "with another slurm.qos"},
    {"QOSNotAllowed", "the partition does not take this QOS; " NEVER "with another one"},
    {"QOSMinCpuNotSatisfied", "the QOS is for larger jobs; " NEVER "with another slurm.qos"},
    {"QOS*PerJobLimit", "more than the QOS allows a job; " NEVER "smaller"},
    {"QOS*PerJob", "more than the QOS allows a job; " NEVER "smaller"},
    {"QOS*PerNode", "more of a node than the QOS allows; " NEVER "smaller"},
    {"Assoc*PerJobLimit", "more than the account allows a job; " NEVER "smaller"},
    {"Assoc*PerJob", "more than the account allows a job; " NEVER "smaller"},
    {"Assoc*PerNode", "more of a node than the account allows; " NEVER "smaller"},
    {"QOS*", "a limit of the QOS is used up: waits for other jobs of it (sacctmgr show qos)"},
    {"Assoc*", "a limit of the account is used up: waits for its other jobs (sshare)"},
    {"Max*PerAccount", "the account has its maximum of jobs: waits for others of it"},
    {"SystemFailure", "Slurm itself failed"},
    {0}};

/* Why Slurm refuses a job at once. */
static const struct explanation refusals[] = {
    {"Invalid generic resource (gres) specification",
     "no node has such a resource: compare gpu_type of the site, and --gres, with sinfo -o '%P %G'"},
    {"Requested node configuration is not available",
     "too few nodes have what it asks for: compare slurm.cpus_per_gpu, slurm.mem, slurm.constraint "
     "and gpu_type of the site with sinfo -o '%P %D %c %m %f %G'"},
    {"Invalid feature specification",
     "compare slurm.constraint with the features in sinfo -o '%P %f'"},
    {0}};

static const struct explanation states[] = {
    {"BOOT_FAIL", "a node did not boot; 'unetctl resume' tries others"},
    {"CANCELLED", "'unetctl resume' continues"},
    {"DEADLINE", "its --deadline passed before it ended; 'unetctl resume' with a later one"},
    {"NODE_FAIL", "a node failed; 'unetctl resume' continues elsewhere"},
    {"OUT_OF_MEMORY", "it used more memory than requested; 'unetctl resume' with more "
                      "(slurm.mem), or a new study with a smaller train.batch_per_gpu"},
    {"PREEMPTED", "a job of higher priority took its nodes; 'unetctl resume' continues"},
    {"REVOKED", "another cluster took it"},
    {"TIMEOUT",
     "the time limit was reached; 'unetctl resume' continues, or give it more time (slurm.time)"},
    {0}};

/* Does text match the word? One "*" in the word matches any letters. What follows in text after a
 * comma, colon, parenthesis or blank is ignored. */
static bool matches_word(const char *word, const char *text)
{
    const char *star = strchr(word, '*');
    size_t n = star ? (size_t)(star - word) : strlen(word);

    if (strncmp(word, text, n) != 0)
        return false;
    if (!star)
        return text[n] == 0 || strchr(",:( ", text[n]);
    size_t tail = strlen(star + 1), length = strcspn(text, ",:( ");
    return length >= n + tail && strncmp(text + length - tail, star + 1, tail) == 0;
}

static const char *explain(const struct explanation *list, const char *text)
{
    for (; list->word; list++)
        if (matches_word(list->word, text))
            return list->text;
    return "";
}

const char *slurm_words_reason(const char *reason)
{
    return slurm_words_is_held(reason) ? explain(held, reason) : explain(reasons, reason);
}

const char *slurm_words_refusal(const char *text)
{
    const struct explanation *e = refusals;

    while (e->word && !strstr(text, e->word))
        e++;
    return e->word ? e->text : "";
}

bool slurm_words_is_held(const char *reason)
{
    return *explain(held, reason) != 0;
}

bool slurm_words_never(const char *reason)
{
    return strstr(explain(reasons, reason), NEVER) != NULL;
}

const char *slurm_words_state(const char *state)
{
    return explain(states, state);
}
