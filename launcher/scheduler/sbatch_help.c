/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/sbatch_help.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/host/jobenv.h"
#include "launcher/sandbox/sandbox.h"
#include "src/buf.h"

#define PATIENCE_S 10
#define MAX_HELP ((size_t)1 << 20)

/* In the child. A Slurm whose controller is away may keep sbatch waiting. */
static void become_sbatch(bool in_sandbox, int output)
{
    char *argv[] = {"sbatch", "--help", NULL};
    int null = open("/dev/null", O_RDWR);
    struct sandbox sandbox;
    struct err ignored;

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDERR_FILENO);
    }
    dup2(output, STDOUT_FILENO);
    alarm(PATIENCE_S);
    jobenv_clean();
    if (!in_sandbox)
        execvp(argv[0], argv);
    else if (sandbox_find(NULL, &sandbox, &ignored) == 0)
        sandbox_exec(&sandbox, NULL, argv, &ignored);
    _exit(127);
}

static void read_help(bool in_sandbox, struct buf *dst)
{
    int ends[2];
    ssize_t n = 1;

    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t child = fork();
    if (child == 0)
        become_sbatch(in_sandbox, ends[1]);
    close(ends[1]);
    while (child > 0 && n > 0 && dst->length < MAX_HELP) {
        char block[4096];
        while ((n = read(ends[0], block, sizeof block)) < 0 && errno == EINTR)
            ;
        if (n > 0)
            buf_add_bytes(dst, block, (size_t)n);
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

enum sbatch_help sbatch_help_parse(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = strstr(text, "--"); n && p; p = strstr(p + 2, "--")) {
        const char *end = p + 2 + n;
        if ((p > text && !isspace((unsigned char)p[-1])) || strncmp(p + 2, name, n) != 0)
            continue;
        if (*end == '=')
            return SBATCH_HELP_VALUE;
        if (strncmp(end, "[=", 2) == 0)
            return SBATCH_HELP_OPTIONAL;
        if (!*end || isspace((unsigned char)*end) || *end == ',')
            return SBATCH_HELP_FLAG;
    }
    return SBATCH_HELP_NONE;
}

enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox)
{
    struct buf text = {0};

    read_help(in_sandbox, &text);
    enum sbatch_help found = text.data ? sbatch_help_parse(text.data, name) : SBATCH_HELP_NONE;
    buf_destroy(&text);
    return found;
}
