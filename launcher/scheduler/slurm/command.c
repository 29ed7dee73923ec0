/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/jobenv.h"
#include "launcher/scheduler/slurm/message.h"

/* Returns whether entry is an option of the user for one of Slurm's commands. With
 * SQUEUE_PARTITION, squeue would not show the jobs of other partitions, which would be submitted
 * again. */
static bool is_option(const char *entry)
{
    static const char *const prefixes[] = {"SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SACCT_"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Returns this process's environment without the variables that belong to another job and, except
 * for sbatch, which passes them on to the job, without options. The commands print times as seconds
 * since 1970; a submission keeps the user's format for the job. The strings are not copied. */
static char **own_environment(const char *const argv[])
{
    bool for_sbatch = strcmp(argv[0], "sbatch") == 0;
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **list = calloc(n + 2, sizeof *list);
    if (list && !(for_sbatch && strcmp(argv[1], "--parsable") == 0))
        list[kept++] = "SLURM_TIME_FORMAT=%s"; /* the first of a name counts */
    for (size_t i = 0; list && i < n; i++)
        if (!jobenv_is_foreign(environ[i]) && (for_sbatch || !is_option(environ[i])))
            list[kept++] = environ[i];
    return list;
}

json_t *command_run(const char *const argv[], struct command *dst)
{
    char **environment = own_environment(argv);
    struct child c = {.argv = argv, .environment = environment, .in = CHILD_NULL,
                      .out = CHILD_READ, .err = CHILD_READ};
    struct child_end end = {0};
    struct err e;

    errno = 0;
    int rc = environment ? child_run(&c, &end, &e) : err_set(&e, ERR_INTERNAL, "out of memory");
    bool is_missing = rc && errno == ENOENT;
    free(environment);
    *dst = (struct command){end.out, end.err, end.code};
    if (is_missing)
        return message_refuse("%s is not in PATH (is this a login node? --scheduler local does "
                              "without Slurm)", argv[0]);
    return rc ? message_refuse("%s", e.text) : NULL;
}

void command_destroy(struct command *c)
{
    buf_destroy(&c->out);
    buf_destroy(&c->err);
}

const char *command_setting(const char *config, const char *name, char *dst, size_t size)
{
    *dst = 0;
    for (const char *line = config; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, " =");
        const char *value = line + n + strspn(line + n, " =");
        if (n == strlen(name) && strncmp(line, name, n) == 0)
            snprintf(dst, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
    return dst;
}

/* Skips the label that commands print before an error: "sbatch: error: ". */
static char *skip_label(char *line)
{
    static const char label[] = ": error: ";
    char *at = strstr(line, label);

    return at && strcspn(line, " ") + 1 == (size_t)(at - line) + 2 ? at + sizeof label - 1 : line;
}

char *command_last_line(char *text)
{
    char *hint = strstr(text, "\nTry \"");

    if (hint)
        *hint = 0;
    return skip_label(child_last_line(text));
}

json_t *command_refuse(const char *name, struct command *c)
{
    enum cause cause = c->code > 128 ? CAUSE_LOST : cause_find(c->err.data);
    const char *reason = command_last_line(c->err.data);

    if (!*reason)
        reason = command_last_line(c->out.data);
    return *reason ? message_refuse_for(cause, "%s", reason)
                   : message_refuse_for(cause, "%s failed with exit code %d", name,
                                        c->code);
}

json_t *command_ask(const char *const argv[], struct command *c)
{
    json_t *refusal = command_run(argv, c);

    return refusal || c->code == 0 ? refusal : command_refuse(argv[0], c);
}

bool command_fields(char **text, char *fields[COMMAND_FIELDS_MAX], int count)
{
    char *line = *text, *end = line + strcspn(line, "\n");

    if (!*line)
        return false;
    *text = *end ? end + 1 : end;
    *end = 0;
    for (int i = 0; i < count; i++) {
        char *bar = i + 1 < count ? strchr(line, '|') : NULL;
        char *stop = bar ? bar : line + strlen(line);
        fields[i] = line + strspn(line, " ");
        line = bar ? bar + 1 : stop;
        while (stop > fields[i] && stop[-1] == ' ')
            stop--;
        *stop = 0;
    }
    return true;
}

json_int_t command_seconds(const char *text)
{
    return strtoll(text, NULL, 10);
}

void command_exit(const char *text, int *code, int *signal)
{
    int status = atoi(text);

    *code = *signal = 0;
    if (strchr(text, ':'))
        sscanf(text, "%d:%d", code, signal);
    else if (WIFEXITED(status))
        *code = WEXITSTATUS(status);
    else if (WIFSIGNALED(status))
        *signal = WTERMSIG(status);
}
