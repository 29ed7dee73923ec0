/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/slurm_words.h"

#include <string.h>

#define NEVER "it never starts: 'unetctl cancel' it, and submit it "

#define LAUNCH                                                                                     \
    "a node could not start it (its prolog failed, or it lacks the user or the folder; ask the "   \
    "site, or leave the node out with --exclude)"

/* The first row that matches is taken. */
static const struct row {
    const char *word; /* see matches_word */
    enum { WORDS_WAITS, WORDS_HELD, WORDS_NEVER } kind;
    const char *text;
} rows[] = {
    {"JobHeldUser", WORDS_HELD, "held by you: 'unetctl release RUN' releases it"},
    {"JobHeldAdmin", WORDS_HELD,
     "held by an administrator, and only administrators can release it"},
    {"JobHoldMaxRequeue", WORDS_HELD, "was requeued too often: 'unetctl release RUN' tries again"},
    {"launch failed requeued held", WORDS_HELD, LAUNCH "; 'unetctl release RUN' tries again"},
    {"launch_failed_requeued_held", WORDS_HELD, LAUNCH "; 'unetctl release RUN' tries again"},
    {"job requeued in held state", WORDS_HELD, "'unetctl release RUN' tries again"},
    {"job_requeued_in_held_state", WORDS_HELD, "'unetctl release RUN' tries again"},
    {"Priority", WORDS_WAITS, "jobs of higher priority come first"},
    {"Resources", WORDS_WAITS, "no free nodes, GPUs or CPUs yet"},
    {"Dependency", WORDS_WAITS, "waits for another job (--after, --max-in-flight)"},
    {"DependencyNeverSatisfied", WORDS_WAITS,
     "the job it depends on failed, so it never starts: cancel it ('unetctl cancel'), and submit "
     "it again"},
    {"BeginTime", WORDS_WAITS, "its begin time is not reached; a requeued job waits two minutes"},
    {"Licenses", WORDS_WAITS, "waits for a license that other jobs use"},
    {"JobLaunchFailure", WORDS_WAITS, LAUNCH "; 'unetctl resume' tries again"},
    {"ReqNodeNotAvail", WORDS_WAITS,
     "a node that it needs is down, drained or reserved (sinfo -R)"},
    {"Nodes required for job are DOWN", WORDS_WAITS,
     "too few nodes of the partition work (sinfo -R)"},
    {"PartitionDown", WORDS_WAITS, "the partition is closed for now (sinfo)"},
    {"PartitionInactive", WORDS_WAITS, "the partition is closed for now (sinfo)"},
    {"PartitionNodeLimit", WORDS_WAITS,
     "more nodes than the partition allows, or than are available (sinfo)"},
    {"PartitionTimeLimit", WORDS_NEVER,
     "more time than the partition allows; " NEVER "with less (slurm.time)"},
    {"PartitionConfig", WORDS_NEVER,
     "more than its partition allows; " NEVER "smaller, or for less time"},
    {"Reservation", WORDS_WAITS, "waits for its reservation to begin"},
    {"BadConstraints", WORDS_NEVER,
     "no node has what it asks for; " NEVER "with another slurm.constraint"},
    {"Cleaning", WORDS_WAITS, "its earlier start is still being cleaned up"},
    {"Prolog", WORDS_WAITS, "the node's prolog runs"},
    {"InvalidAccount", WORDS_NEVER, NEVER "with another slurm.account"},
    {"AccountNotAllowed", WORDS_NEVER,
     "the partition does not take this account; " NEVER "with another one"},
    {"InvalidQOS", WORDS_NEVER, NEVER "with another slurm.qos"},
    {"QOSNotAllowed", WORDS_NEVER,
     "the partition does not take this QOS; " NEVER "with another one"},
    {"QOSMinCpuNotSatisfied", WORDS_NEVER,
     "the QOS is for larger jobs; " NEVER "with another slurm.qos"},
    {"QOS*PerJobLimit", WORDS_NEVER, "more than the QOS allows a job; " NEVER "smaller"},
    {"QOS*PerJob", WORDS_NEVER, "more than the QOS allows a job; " NEVER "smaller"},
    {"QOS*PerNode", WORDS_NEVER, "more of a node than the QOS allows; " NEVER "smaller"},
    {"Assoc*PerJobLimit", WORDS_NEVER, "more than the account allows a job; " NEVER "smaller"},
    {"Assoc*PerJob", WORDS_NEVER, "more than the account allows a job; " NEVER "smaller"},
    {"Assoc*PerNode", WORDS_NEVER, "more of a node than the account allows; " NEVER "smaller"},
    {"QOS*", WORDS_WAITS,
     "a limit of the QOS is used up: waits for other jobs of it (sacctmgr show qos)"},
    {"Assoc*", WORDS_WAITS,
     "a limit of the account is used up: waits for its other jobs (sshare)"},
    {"Max*PerAccount", WORDS_WAITS, "the account has its maximum of jobs: waits for others of it"},
    {"SystemFailure", WORDS_WAITS, "Slurm itself failed"},
    {0},
};

/* Returns whether text matches the word. One "*" in the word matches any letters. What follows in
 * text after a comma, colon, parenthesis or blank is ignored. */
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

static const struct row *find_row(const char *reason)
{
    const struct row *r = rows;

    while (r->word && !matches_word(r->word, reason))
        r++;
    return r->word ? r : NULL;
}

const char *slurm_words_reason(const char *reason)
{
    const struct row *r = find_row(reason);

    return r ? r->text : "";
}

bool slurm_words_is_held(const char *reason)
{
    const struct row *r = find_row(reason);

    return r && r->kind == WORDS_HELD;
}

bool slurm_words_never(const char *reason)
{
    const struct row *r = find_row(reason);

    return r && r->kind == WORDS_NEVER;
}
