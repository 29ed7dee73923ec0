/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/host/jobenv.h"
#include "launcher/scheduler/slurm/message.h"

/* Is entry an option of the user for one of Slurm's commands? With SQUEUE_PARTITION, squeue would
 * not show the jobs of other partitions, which would be submitted again. */
static bool is_option(const char *entry)
{
    static const char *const prefixes[] = {"SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SACCT_"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Returns this process's environment without the variables that belong to another job and, except
 * for sbatch, which passes them on to the job, without options. The strings remain those of
 * environ. */
static char **own_environment(bool for_sbatch)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (!jobenv_is_foreign(environ[i]) && (for_sbatch || !is_option(environ[i])))
            list[kept++] = environ[i];
    return list;
}

static int spawn_command(const char *const argv[], int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    char **environment = own_environment(strcmp(argv[0], "sbatch") == 0);
    int code = environment ? posix_spawn_file_actions_init(&actions) : ENOMEM;

    if (code == 0) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
        code = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    return code;
}

static void read_pipe(int fd, struct buf *dst)
{
    char block[16384];
    ssize_t n;

    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            buf_add_bytes(dst, block, (size_t)n);
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

json_t *command_run(const char *const argv[], struct command *dst)
{
    int ends[2] = {-1, -1}, code = 0;
    int err = memfd_create("stderr", MFD_CLOEXEC);
    pid_t pid = 0;

    *dst = (struct command){0};
    buf_add(&dst->out, "");
    buf_add(&dst->err, "");
    if (err < 0 || pipe2(ends, O_CLOEXEC) < 0)
        code = errno;
    else
        code = spawn_command(argv, ends[1], err, &pid);
    if (ends[1] >= 0)
        close(ends[1]);
    if (code == 0) {
        read_pipe(ends[0], &dst->out);
        dst->code = wait_for(pid);
        lseek(err, 0, SEEK_SET);
        read_pipe(err, &dst->err);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    if (err >= 0)
        close(err);
    if (code == ENOENT)
        return message_refuse("%s is not in PATH (is this a login node? --scheduler local does "
                              "without Slurm)", argv[0]);
    if (code)
        return message_refuse("%s cannot be started: %s", argv[0], strerror(code));
    return dst->out.failed || dst->err.failed ? message_refuse("out of memory") : NULL;
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
    for (size_t n = strlen(text); n > 0 && text[n - 1] == '\n';)
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    return skip_label(newline ? newline + 1 : text);
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
