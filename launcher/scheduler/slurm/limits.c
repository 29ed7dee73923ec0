/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/limits.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/message.h"

#define ASSOCIATION                                                                                \
    "format=Account,User,GrpJobs,GrpSubmit,GrpTRES,GrpTRESMins,GrpWall,MaxJobs,MaxSubmit,MaxTRES," \
    "MaxTRESMins,MaxTRESPerNode,MaxWall"
#define QOS                                                                                        \
    "format=Name,GrpJobs,GrpSubmit,GrpTRES,GrpTRESMins,GrpWall,MaxJobsPU,MaxSubmitPU,MaxTRESPU,"   \
    "MaxJobsPA,MaxSubmitPA,MaxTRESPA,MaxTRES,MaxTRESMins,MaxTRESPerNode,MaxWall,MinTRES"

/* Whose limits apply to a job, as conditions of sacctmgr, such as "user=NAME" and, for the QOS,
 * "name=QOS". */
struct owner {
    char cluster[256], user[256], account[256], qos[512];
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void limits_name(json_t *refusal, char *said)
{
    char *save = NULL;

    for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *word = command_last_line(line);
        if (!strchr(word, ' ') &&
            (begins_with(word, "Assoc") || begins_with(word, "QOS") || begins_with(word, "Max")))
            json_object_set_new(refusal, "limit", message_string(word));
    }
}

/* Runs a command whose output is needed. Returns false if it fails. */
static bool run_query(const char *const argv[], struct command *c)
{
    json_t *refusal = command_run(argv, c);
    bool is_answered = !refusal && c->code == 0;

    json_decref(refusal);
    return is_answered;
}

/* Copies the first line that sacctmgr prints, or "". */
static void ask_line(const char *const argv[], char *dst, size_t size)
{
    struct command c;

    *dst = 0;
    if (run_query(argv, &c))
        snprintf(dst, size, "%.*s", (int)strcspn(c.out.data, "\n"), c.out.data);
    command_destroy(&c);
}

/* Copies the value of a setting of slurm.conf, or "" if it is unknown. */
static void find_setting(const char *name, char *dst, size_t size)
{
    static const char *const show[] = {"scontrol", "show", "config", NULL};
    struct command c;

    *dst = 0;
    if (run_query(show, &c))
        command_setting(c.out.data, name, dst, size);
    command_destroy(&c);
}

/* Finds the account and the QOS that the job requests or gets by default. Without a default QOS
 * it lists all that the user may choose. */
static void find_owner(const json_t *job, struct owner *dst)
{
    struct passwd record, *me = NULL;
    const char *account = message_text(job, "account"), *qos = message_text(job, "qos");
    char text[400], names[1024], *bar;

    getpwuid_r(getuid(), &record, names, sizeof names, &me);
    find_setting("ClusterName", text, sizeof text);
    snprintf(dst->cluster, sizeof dst->cluster, "cluster=%.240s", text);
    snprintf(dst->user, sizeof dst->user, "user=%s", me ? me->pw_name : "");
    if (account)
        snprintf(text, sizeof text, "%s", account);
    else
        ask_line((const char *const[]){"sacctmgr", "-n", "-P", "show", "user", "where",
                                       dst->user, "format=DefaultAccount", NULL},
                 text, sizeof text);
    snprintf(dst->account, sizeof dst->account, "account=%.240s", text);
    if (qos) {
        snprintf(dst->qos, sizeof dst->qos, "name=%s", qos);
        return;
    }
    ask_line((const char *const[]){"sacctmgr", "-n", "-P", "show", "assoc", "where", dst->user,
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

static void add_limits_table(struct buf *dst, const char *const argv[], const char *name)
{
    struct command c;
    char head[512], *save = NULL;

    if (run_query(argv, &c)) {
        const char *first = strtok_r(c.out.data, "\n", &save);
        for (char *row; first && (row = strtok_r(NULL, "\n", &save));) {
            snprintf(head, sizeof head, "%s", first);
            add_limits_row(dst, head, row, name);
        }
    }
    command_destroy(&c);
}

/* Adds the limits that Slurm may mean by `name`, or all for "": those of the user, of the account,
 * and of the QOS. */
static void add_limits(struct buf *dst, const struct owner *o, const char *name)
{
    if (!begins_with(name, "QOS")) {
        add_limits_table(dst, (const char *const[]){"sacctmgr", "-P", "show", "assoc", "where",
                                                    o->user,
                                                    o->account, o->cluster, ASSOCIATION, NULL},
                                                    name);
        if (!*name || strstr(name, "Grp"))
            add_limits_table(dst, (const char *const[]){"sacctmgr", "-P", "show", "assoc", "where",
                                                        "user=", o->account, o->cluster,
                                                        ASSOCIATION, NULL},
                             name);
    }
    if (!begins_with(name, "Assoc") && strcmp(o->qos, "name=") != 0)
        add_limits_table(dst, (const char *const[]){"sacctmgr", "-P", "show", "qos", "where",
                                                    o->qos, QOS, NULL}, name);
}

static json_t *explain_limit(const json_t *job, const char *name)
{
    struct buf limits = {0};
    struct owner owner = {0};

    find_owner(job, &owner);
    add_limits(&limits, &owner, name);
    json_t *answer = message_refuse_for(
        strstr(name, "Submit") ? CAUSE_FULL : CAUSE_LIMIT,
        "Job violates accounting/QOS policy%s%s: %s", *name ? ", " : "", name,
        limits.length ? limits.data : "see 'sacctmgr show assoc' and 'sacctmgr show qos'");
    buf_destroy(&limits);
    return answer;
}

/* Explains the controller's own limit on the jobs of all users. */
static json_t *explain_full(const char *text)
{
    char most[32], age[32];

    find_setting("MaxJobCount", most, sizeof most);
    find_setting("MinJobAge", age, sizeof age);
    return message_refuse_for(CAUSE_FULL, "%s: the cluster has as many jobs as slurm.conf allows "
                              "(MaxJobCount=%s; those that ended count for MinJobAge=%s)",
                              text, most, age);
}

/* Returns a refusal of text with the user's accounts and their QOS, as "ACCOUNT (QOS A,B)", or the
 * words that the user has none; of text alone if sacctmgr does not answer. */
static json_t *explain_account(const json_t *job, const char *text)
{
    struct buf list = {0};
    struct owner o = {0};
    struct command c;
    char *save = NULL;

    find_owner(job, &o);
    const char *const argv[] = {"sacctmgr", "-n", "-P", "show", "assoc", "where", o.user, o.cluster,
                                "format=Account,QOS", NULL};
    bool is_answered = run_query(argv, &c);
    for (char *row = is_answered ? strtok_r(c.out.data, "\n", &save) : NULL; row;
         row = strtok_r(NULL, "\n", &save)) {
        char *bar = strchr(row, '|');
        if (bar)
            *bar = 0;
        buf_addf(&list, "%s%s (QOS %s)", list.length ? ", " : "", row, bar ? bar + 1 : "");
    }
    const char *who = strchr(o.user, '=') + 1;
    json_t *answer =
        !is_answered  ? message_refuse_for(CAUSE_ACCOUNT, "%s", text)
        : list.length ? message_refuse_for(CAUSE_ACCOUNT, "%s; accounts of user %s: %s "
                                           "(slurm.account, slurm.qos)", text, who, list.data)
                      : message_refuse_for(CAUSE_ACCOUNT, "%s; user %s has no account on this "
                                           "cluster; its administrators can add one", text, who);
    command_destroy(&c);
    buf_destroy(&list);
    return answer;
}

json_t *limits_explain(const json_t *job, json_t *answer)
{
    const char *text = message_text(answer, "error"), *name = message_text(answer, "limit");
    enum cause cause = text ? message_cause(answer) : CAUSE_OTHER;
    json_t *better = NULL;

    if (cause == CAUSE_LIMIT)
        better = explain_limit(job, name ? name : "");
    else if (cause == CAUSE_ACCOUNT)
        better = explain_account(job, text);
    else if (cause == CAUSE_FULL)
        better = explain_full(text);
    else if (*cause_advice(cause))
        better = message_refuse_for(cause, "%s; %s", text, cause_advice(cause));
    if (!better)
        return answer;
    json_decref(answer);
    return better;
}
