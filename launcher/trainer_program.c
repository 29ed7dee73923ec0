/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/trainer_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/log.h"
#include "src/paths.h"

#define MAX_ARGS 256

int trainer_program_exec(const char *const *argv, struct err *e)
{
    char bindir[PATH_MAX - 16], path[PATH_MAX];
    const char *words[MAX_ARGS + 2] = {path};
    size_t n = 0;

    if (paths_bindir(bindir, sizeof bindir))
        return err_set(e, ERR_INTERNAL, "cannot tell where this program lies (is /proc mounted?)");
    snprintf(path, sizeof path, "%s/unet-train", bindir);
    for (; argv[n]; n++) {
        if (n == MAX_ARGS)
            return err_set(e, ERR_USAGE, "more than %d words for unet-train", MAX_ARGS);
        words[n + 1] = argv[n];
    }
    execv(path, (char *const *)words);
    return err_errno(e, ERR_INTERNAL, errno, "%s", path);
}

int trainer_program_run(const char *const *argv, struct err *e)
{
    pid_t child = fork();
    int status;

    if (child < 0)
        return err_errno(e, ERR_INTERNAL, errno, "unet-train %s", argv[0]);
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        trainer_program_exec(argv, e);
        log_error("%s", e->text);
        _exit(e->code);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno(e, ERR_INTERNAL, errno, "unet-train %s", argv[0]);
    if (WIFSIGNALED(status))
        return err_set(e, 128 + WTERMSIG(status), "unet-train %s: ended by signal %d", argv[0],
                       WTERMSIG(status));
    if (WEXITSTATUS(status))
        return err_set(e, WEXITSTATUS(status), "unet-train %s %s failed (see above); nothing was "
                       "submitted", argv[0], argv[1] ? argv[1] : "");
    return 0;
}
