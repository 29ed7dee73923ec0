/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include <pwd.h>

/* The first part that a text has decides. All are texts of slurm_strerror with which slurmctld
 * answers, but for the failures to find it and to connect to it. */
static const struct {
    const char *part;
    enum cause cause;
} texts[] = {
    {"Unable to contact slurm controller (connect failure)", CAUSE_DOWN},
    {"Communication connection failure", CAUSE_DOWN},
    {"Could not establish a configuration source", CAUSE_NO_CLUSTER},
    {"Incompatible versions of client and server code", CAUSE_INCOMPATIBLE},
    {"Access/permission denied", CAUSE_DENIED},
    {"Invalid job id", CAUSE_NO_JOB},
    {"already complet", CAUSE_NO_JOB},
    {"Requested nodes are busy", CAUSE_LATER},
    {"Required node not available", CAUSE_LATER},
    {"Job is in held state", CAUSE_LATER},
    {"Job dependency problem", CAUSE_LATER},
    {"Partition in DOWN state", CAUSE_LATER},
    {"Requested reservation is in use", CAUSE_LATER},
    {"maintenance reservation", CAUSE_LATER},
    {"Requested reservation not usable now", CAUSE_LATER},
    {"QOS usage threshold", CAUSE_LATER},
    {"Waiting for burst buffer", CAUSE_LATER},
    {"Resource temporarily unavailable", CAUSE_FULL},
    {"MaxJobCount limit reached", CAUSE_FULL},
    {"Unable to create job record", CAUSE_FULL},
    {"Job violates accounting/QOS policy", CAUSE_LIMIT},
    {"Invalid account", CAUSE_ACCOUNT},
    {"Invalid qos", CAUSE_ACCOUNT},
    {"Requested node configuration is not available", CAUSE_NODES},
    {"Invalid generic resource (gres) specification", CAUSE_GRES},
    {"Invalid feature specification", CAUSE_FEATURE},
};

/* Its other answers to a submission. "Unspecified error" is that of plugins which refuse a job. */
static const char *const others[] = {
    "Unspecified error", "Invalid partition name", "No partition specified",
    "User's group not permit",
    "Requested nodes not in this partition", "More processors requested than permitted",
    "Node count specification invalid", "Job size specification", "Job script not specified",
    "Invalid user id", "Invalid user ID", "Duplicate job id", "Pathname of a file",
    "Immediate execution impossible", "Requested partition configuration", "Invalid node name",
    "Core count for", "I/O error writing script", "Task distribution specification invalid",
    "Task count specification invalid", "Active features not subset", "Requested operation ",
    "Only batch jobs", "not permit arbitrary task distribution", "Requested more tasks than",
    "Licenses currently unavailable", "Memory required by task", "Invalid wckey", "Invalid license",
    "Requested time limit is invalid", "Access denied to requested reservation",
    "Requested reservation is invalid", "Invalid time specified", "QOS Preemption loop",
    "CPU count specification invalid", "Required partition not available",
    "Circular job dependency",
    "Invalid job array", "Burst Buffer ", "Invalid mcs_label", "Duplicate generic resource",
    "System submissions disabled", "X11 forwarding not available", "Invalid group id",
    "Invalid group ID", "Job --batch option", "Invalid Trackable RESource", "Invalid JobDefaults",
    "Invalid GRES specification", "Multiple KNL", "Requested GRES option", "Invalid --nice value",
    "Invalid time-min", "Environment is missing in job", "Multiple partition job request",
    "Cannot request more threads", "Invalid preferred feature", "Insufficient GRES available",
    "Invalid container id", "Invalid or unknown association", "Invalid QOS specification",
    "Invalid extra constraints", "RestrictedCoresPerGPU", "Max powered up nodes reached",
    "Requested topology", "Preemption is required", "Required nodes ", "topology unit",
    "without the current working directory", "Time limit specification required",
    "Rate limit exceeded", "Invalid cluster name", "No eligible clusters",
};

enum cause cause_find(const char *text, enum cause otherwise)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strstr(text, texts[i].part))
            return texts[i].cause;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(text, others[i]))
            return CAUSE_OTHER;
    return otherwise;
}

enum cause cause_of_sbatch(const char *said)
{
    static const char failed[] = "Batch job submission failed: ";
    enum cause cause = CAUSE_OTHER;
    char line[256];

    while (cause != CAUSE_LOST && (said = strstr(said, failed))) {
        said += sizeof failed - 1;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
        cause = cause_find(line, CAUSE_LOST);
    }
    return cause;
}

const char *cause_advice(enum cause cause)
{
    switch (cause) {
    case CAUSE_GRES:
        return "no node has such a resource: compare gpu_type of the site, and --gres, with sinfo "
               "-o '%P %G'";
    case CAUSE_NODES:
        return "too few nodes have what it asks for: compare slurm.cpus_per_gpu, slurm.mem, "
               "slurm.constraint and gpu_type of the site with sinfo -o '%P %D %c %m %f %G'";
    case CAUSE_FEATURE:
        return "compare slurm.constraint with the features in sinfo -o '%P %f'";
    case CAUSE_DOWN:
        return "type the same command again when 'scontrol ping' shows it up";
    case CAUSE_NO_CLUSTER:
        return "use a login node (where sinfo works), or --scheduler local";
    default:
        return "";
    }
}

int cause_refuse(enum cause cause, struct err *e)
{
    const char *advice = cause_advice(cause);
    const struct err plain = *e;

    return err_set(e, ERR_SCHED, "Slurm: %s%s%s", plain.text, *advice ? "; " : "", advice);
}

bool cause_passes(enum cause cause, int away)
{
    return cause == CAUSE_LATER || cause == CAUSE_LIMIT || cause == CAUSE_FULL ||
           (cause == CAUSE_NODES && away > 0);
}

/* ---- reasons of jobs ---- */

#define NEVER "it never starts: 'unetctl cancel' it, and submit it "

#define LAUNCH                                                                                     \
    "a node could not start it (its prolog failed, or it lacks the user or the folder; ask the "   \
    "site, or leave the node out with --exclude)"

/* The first row that matches is taken. */
static const struct row {
    const char *word; /* see matches_word */
    enum slurm_words kind;
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

enum slurm_words slurm_words_find(const char *reason, const char **text)
{
    const struct row *r = rows;

    while (r->word && !matches_word(r->word, reason))
        r++;
    *text = r->word ? r->text : "";
    return r->kind;
}

/* ---- limits, accounts and QOS ---- */

#define ASSOCIATION                                                                                \
    "format=Account,User,GrpJobs,GrpSubmit,GrpTRES,GrpTRESMins,GrpWall,MaxJobs,MaxSubmit,MaxTRES," \
    "MaxTRESMins,MaxTRESPerNode,MaxWall"
#define QOS                                                                                        \
    "format=Name,GrpJobs,GrpSubmit,GrpTRES,GrpTRESMins,GrpWall,MaxJobsPU,MaxSubmitPU,MaxTRESPU,"   \
    "MaxJobsPA,MaxSubmitPA,MaxTRESPA,MaxTRES,MaxTRESMins,MaxTRESPerNode,MaxWall,MinTRES"

/* Whose limits apply to a job, as conditions of sacctmgr, such as "user=NAME" and, for the QOS,
 * "name=QOS". */
struct owner {
    const struct sandbox *sandbox; /* where sacctmgr is asked */
    char cluster[256], user[256], account[256], qos[512];
};

/* Copies the name of a limit, which is alone on a line of what sbatch printed, or "". */
static void find_name(const char *said, char *dst, size_t size)
{
    const char *word;
    size_t n;

    *dst = 0;
    while ((word = command_line(&said, "sbatch", &n)))
        if (!memchr(word, ' ', n) &&
            (text_begins(word, "Assoc") || text_begins(word, "QOS") || text_begins(word, "Max")))
            snprintf(dst, size, "%.*s", (int)n, word);
}

static bool run_query(const struct sandbox *sandbox, const char *const argv[], struct child_end *c)
{
    struct err ignored;

    return command_query(sandbox, argv, c, &ignored) == 0;
}

/* Copies the first line that sacctmgr prints, or "". */
static void ask_line(const struct sandbox *sandbox, const char *const argv[], char *dst,
                     size_t size)
{
    struct child_end c;

    *dst = 0;
    if (run_query(sandbox, argv, &c))
        snprintf(dst, size, "%.*s", (int)strcspn(c.out.data, "\n"), c.out.data);
    child_destroy(&c);
}

/* Copies the value of a setting of slurm.conf, or "" if it is unknown. */
static void find_setting(const struct sandbox *sandbox, const char *name, char *dst, size_t size)
{
    static const char *const show[] = {"scontrol", "show", "config", NULL};
    struct child_end c;

    *dst = 0;
    if (run_query(sandbox, show, &c))
        command_setting(c.out.data, name, dst, size);
    child_destroy(&c);
}

/* Finds the account and the QOS that the job requests or gets by default. Without a default QOS
 * it lists all that the user may choose. */
static void find_owner(const struct job_options *o, struct owner *dst)
{
    struct passwd record, *me = NULL;
    char text[400], names[1024], *bar;

    getpwuid_r(getuid(), &record, names, sizeof names, &me);
    find_setting(dst->sandbox, "ClusterName", text, sizeof text);
    snprintf(dst->cluster, sizeof dst->cluster, "cluster=%.240s", text);
    snprintf(dst->user, sizeof dst->user, "user=%s", me ? me->pw_name : "");
    if (o->account)
        snprintf(text, sizeof text, "%s", o->account);
    else
        ask_line(dst->sandbox,
                 (const char *const[]){"sacctmgr", "-n", "-P", "show", "user", "where", dst->user,
                                       "format=DefaultAccount", NULL},
                 text, sizeof text);
    snprintf(dst->account, sizeof dst->account, "account=%.240s", text);
    if (o->qos) {
        snprintf(dst->qos, sizeof dst->qos, "name=%s", o->qos);
        return;
    }
    ask_line(dst->sandbox,
             (const char *const[]){"sacctmgr", "-n", "-P", "show", "assoc", "where", dst->user,
                                   dst->account, dst->cluster, "format=DefaultQOS,QOS", NULL},
             text, sizeof text);
    bar = strchr(text, '|');
    if (bar)
        *bar = 0;
    snprintf(dst->qos, sizeof dst->qos, "name=%s", *text ? text : bar ? bar + 1 : "");
}

/* Returns whether this column of sacctmgr can hold the limit with Slurm's name `name`, such as
 * QOSMaxSubmitJobPerUserLimit. Any can if `name` is "". */
static bool is_wanted(const char *column, const char *name)
{
    if (*name && !strstr(column, "Submit") != !strstr(name, "Submit"))
        return false;
    return !strstr(name, "Grp") || text_begins(column, "Grp");
}

/* Adds the limits in one row: "QOS short: MaxSubmitPU=3". The columns before the limits hold the
 * owner's name. A row without a limit adds nothing. */
static void add_limits_row(struct buf *dst, char *head, char *row, const char *name)
{
    struct buf owner = {0}, limits = {0};
    char *column, *value;

    while ((column = strsep(&head, "|")) && (value = strsep(&row, "|"))) {
        const char *whose = strcmp(column, "Account") == 0 ? "account"
                            : strcmp(column, "User") == 0  ? "user"
                            : strcmp(column, "Name") == 0  ? "QOS"
                                                           : NULL;
        if (!*value)
            continue;
        if (whose)
            buf_addf(&owner, "%s%s %s", owner.length ? ", " : "", whose, value);
        else if (is_wanted(column, name))
            buf_addf(&limits, " %s=%s", column, value);
    }
    if (limits.length && owner.length)
        buf_addf(dst, "%s%s:%s", dst->length ? "; " : "", owner.data, limits.data);
    buf_destroy(&owner);
    buf_destroy(&limits);
}

static void add_limits_table(struct buf *dst, const struct owner *o, const char *const argv[],
                             const char *name)
{
    struct child_end c;
    char head[512], *save = NULL;

    if (run_query(o->sandbox, argv, &c)) {
        const char *first = strtok_r(c.out.data, "\n", &save);
        for (char *row; first && (row = strtok_r(NULL, "\n", &save));) {
            snprintf(head, sizeof head, "%s", first);
            add_limits_row(dst, head, row, name);
        }
    }
    child_destroy(&c);
}

/* Adds the limits that Slurm may mean by `name`, or all for "": those of the user, of the account,
 * and of the QOS. */
static void add_limits(struct buf *dst, const struct owner *o, const char *name)
{
    if (!text_begins(name, "QOS")) {
        add_limits_table(dst, o,
                         (const char *const[]){"sacctmgr", "-P", "show", "assoc", "where", o->user,
                                               o->account, o->cluster, ASSOCIATION, NULL},
                         name);
        if (!*name || strstr(name, "Grp"))
            add_limits_table(dst, o,
                             (const char *const[]){"sacctmgr", "-P", "show", "assoc", "where",
                                                   "user=", o->account, o->cluster, ASSOCIATION,
                                                   NULL},
                             name);
    }
    if (!text_begins(name, "Assoc") && strcmp(o->qos, "name=") != 0)
        add_limits_table(dst, o, (const char *const[]){"sacctmgr", "-P", "show", "qos", "where",
                                                    o->qos, QOS, NULL}, name);
}

static enum cause explain_limit(struct owner *owner, const struct job_options *o, const char *said,
                                struct buf *dst)
{
    struct buf limits = {0};
    char name[128];

    find_name(said, name, sizeof name);
    find_owner(o, owner);
    add_limits(&limits, owner, name);
    buf_addf(dst, "%s%s%s", name, *name ? ": " : "",
             limits.length ? limits.data : "see 'sacctmgr show assoc' and 'sacctmgr show qos'");
    buf_destroy(&limits);
    return strstr(name, "Submit") ? CAUSE_FULL : CAUSE_LIMIT;
}

/* Explains the controller's own limit on the jobs of all users. */
static void explain_full(const struct sandbox *sandbox, struct buf *dst)
{
    char most[32], age[32];

    find_setting(sandbox, "MaxJobCount", most, sizeof most);
    find_setting(sandbox, "MinJobAge", age, sizeof age);
    buf_addf(dst, "the cluster has as many jobs as slurm.conf allows (MaxJobCount=%s; those that "
                  "ended count for MinJobAge=%s)", most, age);
}

/* Adds the user's accounts and their QOS, as "ACCOUNT (QOS A,B)", or that the user has none;
 * nothing if sacctmgr does not answer. */
static void explain_account(struct owner *owner, const struct job_options *o, struct buf *dst)
{
    struct buf list = {0};
    struct child_end c;
    char *save = NULL;

    find_owner(o, owner);
    const char *const argv[] = {"sacctmgr", "-n", "-P", "show", "assoc", "where", owner->user,
                                owner->cluster, "format=Account,QOS", NULL};
    bool is_answered = run_query(owner->sandbox, argv, &c);
    for (char *row = is_answered ? strtok_r(c.out.data, "\n", &save) : NULL; row;
         row = strtok_r(NULL, "\n", &save)) {
        char *bar = strchr(row, '|');
        if (bar)
            *bar = 0;
        buf_addf(&list, "%s%s (QOS %s)", list.length ? ", " : "", row, bar ? bar + 1 : "");
    }
    const char *who = strchr(owner->user, '=') + 1;
    if (list.length)
        buf_addf(dst, "accounts of user %s: %s (slurm.account, slurm.qos)", who, list.data);
    else if (is_answered)
        buf_addf(dst, "user %s has no account on this cluster; its administrators can add one",
                 who);
    child_destroy(&c);
    buf_destroy(&list);
}

enum cause limits_explain(const struct sandbox *sandbox, const struct job_options *o,
                          enum cause cause, const char *said, struct err *e)
{
    struct owner owner = {.sandbox = sandbox};
    struct buf more = {0};

    if (cause == CAUSE_LIMIT)
        cause = explain_limit(&owner, o, said, &more);
    else if (cause == CAUSE_ACCOUNT)
        explain_account(&owner, o, &more);
    else if (cause == CAUSE_FULL)
        explain_full(sandbox, &more);
    else
        buf_add(&more, cause_advice(cause));
    if (more.length) {
        const struct err plain = *e;
        err_set(e, ERR_SCHED, "%s; %s", plain.text, more.data);
    }
    buf_destroy(&more);
    return cause;
}
