/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/command_text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/host/jobenv.h"
#include "launcher/sandbox/sandbox.h"

#define PATIENCE_S 10
#define MAX_TEXT ((size_t)1 << 20)

/* Runs in the child. The alarm ends a command that waits for a controller that is down. */
static void become_command(char *const argv[], bool in_sandbox, int output)
{
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

void command_text(char *const argv[], bool in_sandbox, struct buf *dst)
{
    int ends[2];
    ssize_t n = 1;

    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t child = fork();
    if (child == 0)
        become_command(argv, in_sandbox, ends[1]);
    close(ends[1]);
    while (child > 0 && n > 0 && dst->length < MAX_TEXT) {
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
