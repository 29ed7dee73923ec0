/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/limits.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/scheduler/slurm/command.h"

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

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Copies the name of a limit, which is alone on a line of what sbatch printed, or "". */
static void find_name(const char *said, char *dst, size_t size)
{
    const char *word;
    size_t n;

    *dst = 0;
    while ((word = command_line(&said, "sbatch", &n)))
        if (!memchr(word, ' ', n) &&
            (begins_with(word, "Assoc") || begins_with(word, "QOS") || begins_with(word, "Max")))
            snprintf(dst, size, "%.*s", (int)n, word);
}

/* Runs a command whose output is needed. Returns false if it fails. */
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
    return !strstr(name, "Grp") || begins_with(column, "Grp");
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
    if (!begins_with(name, "QOS")) {
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
    if (!begins_with(name, "Assoc") && strcmp(o->qos, "name=") != 0)
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
