/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include <sys/wait.h>
#include <time.h>

#define QUERY_LIMIT_S 300 /* Slurm's own calls give up earlier, after MessageTimeout and retries */

/* Returns whether entry is an option of the user for one of Slurm's commands. With
 * SQUEUE_PARTITION, squeue would not show the jobs of other partitions, which would be submitted
 * again. */
static bool is_option(const char *entry)
{
    return text_has_word("SQUEUE SINFO SCANCEL SCONTROL SACCT", entry, strcspn(entry, "_"));
}

/* Returns this process's environment without the variables that belong to another job and without
 * options. The strings are not copied. */
static char **own_environment(void)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **list = calloc(n + 2, sizeof *list);
    if (list)
        list[kept++] = "SLURM_TIME_FORMAT=%s"; /* the first of a name counts */
    for (size_t i = 0; list && i < n; i++)
        if (!jobenv_is_foreign(environ[i]) && !is_option(environ[i]))
            list[kept++] = environ[i];
    return list;
}

void command_enter(void *sandbox, char *const argv[])
{
    struct err e = {0};

    sandbox_exec(sandbox, NULL, argv, &e);
    fprintf(stderr, "%s\n", e.text);
    _exit(127);
}

int command_run(const struct sandbox *sandbox, const struct child *child, struct child_end *dst,
                  struct err *e)
{
    char **own = child->environment ? NULL : own_environment();
    struct child c = *child;

    *dst = (struct child_end){0};
    if (!c.environment && !own)
        return mem_fail(e);
    if (own)
        c.environment = own;
    c.in = CHILD_NULL;
    c.out = c.err = CHILD_READ;
    c.enter = sandbox ? command_enter : NULL;
    c.arg = (void *)sandbox;
    int rc = child_run(&c, dst, e), reason = errno;
    free(own);
    if (rc && reason == ENOENT)
        err_set(e, ERR_SCHED, "%s is not in PATH (is this a login node? --scheduler local does "
                              "without Slurm)", c.argv[0]);
    if (rc)
        e->code = ERR_SCHED;
    return rc;
}

int command_query(const struct sandbox *sandbox, const char *const argv[], struct child_end *dst,
                struct err *e)
{
    struct child c = {.argv = argv, .limit_s = QUERY_LIMIT_S};

    if (command_run(sandbox, &c, dst, e))
        return -1;
    if (dst->is_killed)
        return err_set(e, ERR_SCHED, "%s did not answer within %d seconds", argv[0], QUERY_LIMIT_S);
    return dst->code ? command_explain(argv[0], dst, e) : 0;
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

char *command_value(const char *line, const char *name, char *dst, size_t size)
{
    size_t n = strlen(name), length;

    *dst = 0;
    for (const char *word = line; *word && *word != '\n'; word += length + (word[length] == ' ')) {
        length = strcspn(word, " \n");
        if (strncmp(word, name, n) == 0 && word[n] == '=')
            snprintf(dst, size, "%.*s", (int)(length - n - 1), word + n + 1);
    }
    return dst;
}

const char *command_line(const char **text, const char *name, size_t *length)
{
    const char *line = *text + strspn(*text, "\n");
    size_t n = strlen(name);

    if (!*line)
        return NULL;
    *text = line + strcspn(line, "\n");
    if (strncmp(line, name, n) == 0 && strncmp(line + n, ": ", 2) == 0)
        line += n + 2;
    if (strncmp(line, "error: ", 7) == 0)
        line += 7;
    *length = (size_t)(*text - line);
    return line;
}

int command_explain(const char *name, const struct child_end *end, struct err *e)
{
    const char *text = end->err.length ? end->err.data : end->out.data, *line;
    struct buf all = {0};
    size_t n;

    while ((line = command_line(&text, name, &n)))
        buf_addf(&all, "%s%.*s", all.length ? "; " : "", (int)n, line);
    if (all.length)
        err_set(e, ERR_SCHED, "%s", all.data);
    else
        err_set(e, ERR_SCHED, "%s printed nothing (exit code %d)", name, end->code);
    buf_destroy(&all);
    return -1;
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

time_t command_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};

    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : (time_t)atoll(text);
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
