/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/rounds/left.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/mem.h"

#define LEFT_FILE "left.json"
#define LEFT_LIMIT ((size_t)1 << 20)

int left_note(const struct workspace *w, json_t *words, struct err *e)
{
    char file[PATH_MAX], folder[PATH_MAX];

    if (!words) {
        unlink(path_format(file, "%s/" LEFT_FILE, w->ledger.dir));
        return 0;
    }
    mkdir(w->ledger.dir, 0777); /* before the first round it is missing */
    json_t *o = json_pack("{s:i, s:i, s:s, s:o}", "schema", 1, "pid", (int)getpid(), "folder",
                          getcwd(folder, sizeof folder) ? folder : "", "words", words);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text ? path_write(w->ledger.dir, LEFT_FILE, text, e)
                : err_set(e, ERR_CONFIG, "submit: the command line is not UTF-8");
}

bool left_any(const struct workspace *w)
{
    return path_has_file(w->ledger.dir, LEFT_FILE);
}

static json_t *read_note(const struct workspace *w, struct err *e)
{
    char file[PATH_MAX];

    json_t *o = jsonio_read(path_format(file, "%s/" LEFT_FILE, w->ledger.dir), LEFT_LIMIT, e);
    if (!o)
        err_prefix(e, "type 'unetctl submit' again, which replaces this file");
    return o;
}

/* Runs in the child. */
static void enter_folder(void *folder, char *const argv[])
{
    static const char *const waiting[] = {"UNETCTL_WAIT", "UNETCTL_TIMEOUT", "UNETCTL_PARSABLE"};

    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        unsetenv(waiting[i]);
    if (folder && chdir(folder) == 0)
        return;
    fprintf(stderr, "cannot change to %s: %s\n", folder ? (char *)folder : "", strerror(errno));
    _exit(ERR_INTERNAL);
}

/* Runs the submission that the note describes. */
static int run_submit(const json_t *o, struct child_end *end, struct err *e)
{
    const json_t *words = json_object_get(o, "words");
    size_t count = json_array_size(words);
    const char **argv = mem_zero(count + 3, sizeof *argv, e);
    struct child c = {.argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_READ,
                      .enter = enter_folder};

    *end = (struct child_end){0};
    if (!argv)
        return -1;
    c.arg = (char *)json_string_value(json_object_get(o, "folder"));
    argv[0] = "/proc/self/exe";
    argv[1] = "submit";
    for (size_t i = 0; i < count; i++)
        argv[i + 2] = json_string_value(json_array_get(words, i));
    int rc = child_run(&c, end, e);
    free(argv);
    return rc;
}

/* Returns whether the note was written by this process. If so, it has left runs, or further rounds
 * may follow. */
static bool is_noted_by(const struct workspace *w, pid_t pid)
{
    struct err ignored;
    json_t *o = read_note(w, &ignored);
    bool is_own = o && jsonio_integer(o, "pid") == pid;

    json_decref(o);
    return is_own;
}

long left_submit(void *arg, struct err *e)
{
    const struct workspace *w = arg;
    json_t *o = read_note(w, e);
    struct child_end end;

    if (!o)
        return -1;
    int rc = run_submit(o, &end, e);
    json_decref(o);
    bool any = rc == 0 && is_noted_by(w, end.pid);
    if (rc == 0 && end.code && !(any && end.code == ERR_SCHED)) {
        const char *line = child_last_line(end.err.data);
        rc = err_set(e, end.code, "cannot submit the runs that were left for later: %.900s",
                     *line ? line : "no reason was given");
    }
    child_destroy(&end);
    return rc ? -1 : any;
}
