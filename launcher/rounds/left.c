/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/rounds/left.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "src/atomicfile.h"
#include "src/mem.h"

#define LEFT_LIMIT ((size_t)1 << 20)

static void find_file(const struct workspace *w, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/left.json", w->ledger.dir);
}

int left_note(const struct workspace *w, json_t *words, struct err *e)
{
    char file[PATH_MAX], folder[PATH_MAX];

    find_file(w, file);
    if (!words) {
        unlink(file);
        return 0;
    }
    mkdir(w->ledger.dir, 0777); /* before the first round it is missing */
    json_t *o = json_pack("{s:i, s:i, s:s, s:o}", "schema", 1, "pid", (int)getpid(), "folder",
                          getcwd(folder, sizeof folder) ? folder : "", "words", words);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    int rc = text ? atomicfile_write(file, text, strlen(text), 0666, e)
                  : err_set(e, ERR_CONFIG, "submit: the command line is not UTF-8");
    free(text);
    json_decref(o);
    return rc;
}

bool left_any(const struct workspace *w)
{
    char file[PATH_MAX];

    find_file(w, file);
    return access(file, F_OK) == 0;
}

static json_t *read_note(const struct workspace *w, struct err *e)
{
    char file[PATH_MAX];

    find_file(w, file);
    json_t *o = jsonio_read(file, LEFT_LIMIT, e);
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

/* Starts the submission that the note describes. talk gets its messages. */
static pid_t start_submit(const json_t *o, int talk, struct err *e)
{
    const json_t *words = json_object_get(o, "words");
    size_t count = json_array_size(words);
    const char **argv = mem_zero(count + 3, sizeof *argv, e);
    struct child c = {.argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .err = talk,
                      .enter = enter_folder};

    if (!argv)
        return -1;
    c.arg = (char *)json_string_value(json_object_get(o, "folder"));
    argv[0] = "/proc/self/exe";
    argv[1] = "submit";
    for (size_t i = 0; i < count; i++)
        argv[i + 2] = json_string_value(json_array_get(words, i));
    pid_t pid = child_start(&c, e);
    free(argv);
    return pid;
}

/* Copies the last line, which is the error. */
static void read_last_line(int talk, char *dst, size_t size)
{
    FILE *f = lseek(talk, 0, SEEK_SET) == 0 ? fdopen(dup(talk), "r") : NULL;
    char line[ERR_TEXT_SIZE];

    snprintf(dst, size, "no reason was given");
    while (f && fgets(line, sizeof line, f))
        snprintf(dst, size, "%.*s", (int)strcspn(line, "\n"), line);
    if (f)
        fclose(f);
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
    int talk = o ? memfd_create("submit", MFD_CLOEXEC) : -1;
    char text[ERR_TEXT_SIZE];

    if (!o)
        return -1;
    pid_t pid = talk < 0 ? err_errno(e, ERR_INTERNAL, errno, "submit") : start_submit(o, talk, e);
    int code = pid > 0 ? child_wait(pid) : 0;
    if (code)
        read_last_line(talk, text, sizeof text);
    if (talk >= 0)
        close(talk);
    json_decref(o);
    if (pid < 0)
        return -1;
    bool any = is_noted_by(w, pid);
    if (code == 0 || (any && code == ERR_SCHED))
        return any;
    return err_set(e, code, "cannot submit the runs that were left for later: %.900s", text);
}
