/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/trainer_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/buf.h"
#include "src/log.h"
#include "src/paths.h"

#define MAX_ARGS 256

int trainer_program_exec(const char *const *argv, struct err *e)
{
    char bindir[PATH_MAX - 16], path[PATH_MAX];
    const char *words[MAX_ARGS + 2] = {path};
    size_t n = 0;

    if (paths_bindir(bindir, sizeof bindir))
        return err_set(e, ERR_INTERNAL,
                       "the folder of this program was not found (is /proc mounted?)");
    snprintf(path, sizeof path, "%s/unet-train", bindir);
    for (; argv[n]; n++) {
        if (n == MAX_ARGS)
            return err_set(e, ERR_USAGE, "more than %d words for unet-train", MAX_ARGS);
        words[n + 1] = argv[n];
    }
    execv(path, (char *const *)words);
    return err_errno(e, ERR_INTERNAL, errno, "%s", path);
}

/* Runs in the child of read_program: executes the program, or exits with 127 if it cannot be
 * started. err is negative if its stderr is to stay. */
static void become_writer(const char *const *argv, int out, int err)
{
    struct err ignored;

    if (err >= 0)
        dup2(err, STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    trainer_program_exec(argv, &ignored);
    _exit(127);
}

static int read_all(int fd, char **text, struct err *e)
{
    struct buf b = {0};
    ssize_t n;

    do {
        char *room = buf_reserve(&b, 4096);
        n = room ? read(fd, room, 4096) : 0;
        if (n > 0)
            b.data[b.length += (size_t)n] = 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    *text = buf_steal(&b);
    return *text ? 0 : err_set(e, ERR_INTERNAL, "unet-train: out of memory for its output");
}

/* Reads the program's standard output; its stderr goes to the descriptor err, or to this process's
 * if err is negative. *status is that of waitpid. */
static int read_program(const char *const *argv, int err, char **text, int *status, struct err *e)
{
    int ends[2], rc;
    pid_t child;

    *status = 0;
    *text = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return err_errno(e, ERR_INTERNAL, errno, "unet-train %s", argv[0]);
    child = fork();
    if (child == 0)
        become_writer(argv, ends[1], err);
    close(ends[1]);
    rc = child < 0 ? err_errno(e, ERR_INTERNAL, errno, "unet-train %s", argv[0])
                   : read_all(ends[0], text, e);
    close(ends[0]);
    while (child > 0 && waitpid(child, status, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0 && WIFEXITED(*status) && WEXITSTATUS(*status) == 127) {
        free(*text);
        *text = NULL;
        return err_set(e, ERR_INTERNAL, "unet-train cannot be started; it belongs beside unetctl");
    }
    return rc;
}

int trainer_program_read(const char *const *argv, char **text, struct err *e)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;
    int rc = read_program(argv, null, text, &status, e);

    if (null >= 0)
        close(null);
    return rc;
}

/* Reads the program's messages line by line. Warnings are logged if `loud`. If code is not 0, an
 * error, the last of several, becomes e's text, with this code. */
static void read_messages(int fd, bool loud, int code, struct err *e)
{
    static const char warning[] = "unet-train: warning: ", error[] = "unet-train: error: ";
    struct err ignored;
    char *text, *save = NULL;

    if (lseek(fd, 0, SEEK_SET) < 0 || read_all(fd, &text, &ignored))
        return;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, warning, strlen(warning)) == 0 && loud)
            log_warn("%s", line + strlen(warning));
        else if (strncmp(line, error, strlen(error)) == 0 && code)
            err_set(e, code, "%s", line + strlen(error));
    free(text);
}

int trainer_program_ask(const char *const *argv, bool loud, char **text, struct err *e)
{
    int words = memfd_create("unet-train", MFD_CLOEXEC), status;

    if (words < 0)
        return err_errno(e, ERR_INTERNAL, errno, "unet-train %s", argv[0]);
    int rc = read_program(argv, words, text, &status, e);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (rc == 0 && code)
        rc = err_set(e, code, "unet-train %s %s failed", argv[0], argv[1] ? argv[1] : "");
    read_messages(words, loud, code, e);
    close(words);
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
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
