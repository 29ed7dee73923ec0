/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/trainer_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "src/log.h"

#define MAX_ARGS 256

/* The program and its words, NULL-terminated. */
struct words {
    char path[PATH_MAX];
    const char *list[MAX_ARGS + 2];
};

static int make_words(const char *const *argv, struct words *w, struct err *e)
{
    char bindir[PATH_MAX - 16];
    size_t n = 0;

    if (paths_bindir(bindir, sizeof bindir))
        return err_set(e, ERR_INTERNAL,
                       "the folder of this program was not found (is /proc mounted?)");
    snprintf(w->path, sizeof w->path, "%s/unet-train", bindir);
    w->list[0] = w->path;
    for (; argv[n]; n++) {
        if (n == MAX_ARGS)
            return err_set(e, ERR_USAGE, "more than %d words for unet-train", MAX_ARGS);
        w->list[n + 1] = argv[n];
    }
    w->list[n + 1] = NULL;
    return 0;
}

int trainer_program_exec(const char *const *argv, struct err *e)
{
    struct words w;

    if (make_words(argv, &w, e))
        return -1;
    execv(w.path, (char *const *)w.list);
    return err_errno(e, ERR_INTERNAL, errno, "%s", w.path);
}

static int set_unstarted(struct err *e)
{
    if (errno == ENOENT || errno == EACCES)
        err_set(e, ERR_INTERNAL, "unet-train cannot be started; it belongs beside unetctl");
    return -1;
}

static int read_program(const char *const *argv, int err, struct child_end *end, struct err *e)
{
    struct words w;
    struct child c = {.argv = w.list, .out = CHILD_READ, .err = err};

    *end = (struct child_end){0};
    return make_words(argv, &w, e) ? -1 : child_run(&c, end, e) ? set_unstarted(e) : 0;
}

int trainer_program_read(const char *const *argv, char **text, struct err *e)
{
    struct child_end end;
    int rc = read_program(argv, CHILD_NULL, &end, e);

    *text = rc ? NULL : buf_steal(&end.out);
    child_destroy(&end);
    return rc;
}

/* Reads the program's messages line by line. Warnings are logged if `loud`. If code is not 0, an
 * error, the last of several, becomes e's text, with this code. */
static void read_messages(char *text, bool loud, int code, struct err *e)
{
    static const char warning[] = "unet-train: warning: ", error[] = "unet-train: error: ";
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, warning, strlen(warning)) == 0 && loud)
            log_warn("%s", line + strlen(warning));
        else if (strncmp(line, error, strlen(error)) == 0 && code)
            err_set(e, code, "%s", line + strlen(error));
}

int trainer_program_ask(const char *const *argv, bool loud, char **text, struct err *e)
{
    struct child_end end;
    int rc = read_program(argv, CHILD_READ, &end, e);

    if (rc == 0 && end.code)
        rc = err_set(e, end.code, "unet-train %s %s failed", argv[0], argv[1] ? argv[1] : "");
    if (end.err.data)
        read_messages(end.err.data, loud, end.code, e);
    *text = rc ? NULL : buf_steal(&end.out);
    child_destroy(&end);
    return rc;
}

int trainer_program_run(const char *const *argv, struct err *e)
{
    struct words w;
    struct child c = {.argv = w.list, .out = STDERR_FILENO};

    if (make_words(argv, &w, e))
        return -1;
    pid_t child = child_start(&c, e);
    if (child < 0)
        return set_unstarted(e);
    int code = child_wait(child);
    if (code > 128)
        return err_set(e, code, "unet-train %s: ended by signal %d", argv[0], code - 128);
    if (code)
        return err_set(e, code, "unet-train %s %s failed (see above); nothing was submitted",
                       argv[0], argv[1] ? argv[1] : "");
    return 0;
}
