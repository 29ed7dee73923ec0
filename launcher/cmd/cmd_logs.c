/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/status/status.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"

#define MAX_OUTPUT ((size_t)256 << 20)

/* Files are examined twice a second. The scheduler is queried at intervals that grow, and that are
 * short again if the files examined after a query have new output. */
#define PAUSE_S 0.5
#define ASK_MIN_S 1.0
#define ASK_MAX_S 10.0
#define ASK_GROWTH 1.5

static struct {
    struct plan_args args;
    bool follow, as_json;
} given;

static const struct cli_option options[] = {
    {"follow", 'f', CLI_FLAG, NULL,
     "print the output as it grows, of later attempts as well, until the runs end", &given.follow, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "print JSON with the output of one run", &given.as_json, 0, 0},
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* The output of one run, and how much of it has been printed. */
struct tail {
    const char *id;
    char path[PATH_MAX]; /* "" until there is output */
    FILE *f;
    bool ended;
};

static int write_out(const char *data, size_t n, struct err *e)
{
    return fwrite(data, 1, n, stdout) == n ? 0 : err_errno(e, ERR_INTERNAL, errno,
                                                           "standard output");
}

/* Prints whole lines, each after the id of its run, and if `last` is true, an unfinished line. */
static int copy_lines(struct tail *t, bool last, struct err *e)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    long start = ftell(t->f);
    int rc = 0;

    while (rc == 0 && (n = getline(&line, &capacity, t->f)) > 0) {
        if (line[n - 1] != '\n' && !last) {
            fseek(t->f, start, SEEK_SET);
            break;
        }
        printf("%s: ", t->id);
        rc = write_out(line, (size_t)n, e);
        if (line[n - 1] != '\n')
            putchar('\n');
        start += (long)n;
    }
    free(line);
    return rc;
}

static int copy_bytes(struct tail *t, struct err *e)
{
    char block[8192];
    size_t n;
    int rc = 0;

    while (rc == 0 && (n = fread(block, 1, sizeof block, t->f)) > 0)
        rc = write_out(block, n, e);
    return rc;
}

/* Prints what was added to the output since the last call, and sets *moved if that was anything. */
static int copy_rest(struct tail *t, bool several, bool last, bool *moved, struct err *e)
{
    long before = ftell(t->f);

    clearerr(t->f);
    if (several ? copy_lines(t, last, e) : copy_bytes(t, e))
        return -1;
    if (ferror(t->f))
        return err_errno(e, ERR_DATA, errno, "%s", t->path);
    fflush(stdout);
    *moved |= ftell(t->f) != before;
    return 0;
}

/* Switches to the newest output of the newest attempt (submission of the run), after printing what
 * is left of the one before. Returns 1 if there is an output, 0 with the reason in e if not yet, or
 * -1. */
static int open_newest(const struct plan *p, struct tail *t, bool several, bool *moved,
                       struct err *e)
{
    struct run_attempt attempt;
    char path[PATH_MAX];
    struct err none;

    if (run_dir_attempt(p->study.dir, t->id, &attempt, e))
        return -1;
    if (run_dir_output(&attempt, path, &none)) {
        if (!t->f)
            *e = none;
        return t->f != NULL;
    }
    if (t->f && strcmp(path, t->path) == 0)
        return 1;
    if (t->f) {
        if (copy_rest(t, several, true, moved, e))
            return -1;
        fclose(t->f);
        log_info("%s continues in attempt %d (%s)", t->id, attempt.number, path);
    }
    snprintf(t->path, sizeof t->path, "%s", path);
    t->f = files_stream(path, "r", RUN_OUTPUT_MAX);
    if (!t->f && errno == EFBIG)
        return err_set(e, ERR_DATA, "%s has more than %zu GiB: 'tail -n 1000 %s' prints its end",
                       path, RUN_OUTPUT_MAX >> 30, path);
    return t->f ? 1 : files_error(e, ERR_DATA, errno, "cannot read", path);
}

/* Finds which runs have ended. While the scheduler is unreachable, only those with a marker (the
 * file DONE or FAILED) count as ended. */
static int note_ends(struct workspace *w, struct tail *tails, size_t count, struct err *e)
{
    struct status_list list;

    if (status_list_collect(w, &list, e))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct run_status *s = status_list_find(&list, tails[i].id);
        tails[i].ended = !s || (s->phase != RUN_ACTIVE && s->phase != RUN_UNKNOWN);
    }
    status_list_destroy(&list);
    return 0;
}

static int show_all(const struct plan *p, struct tail *tails, size_t count, bool last, bool *moved,
                    struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        int there = open_newest(p, &tails[i], count > 1, moved, e);
        if (there < 0 || (there && copy_rest(&tails[i], count > 1, last, moved, e)))
            return -1;
    }
    return 0;
}

/* Prints new output of all runs until they end. Ends are queried before the files are read, so
 * that no output is missed. */
static int follow_all(struct workspace *w, struct tail *tails, size_t count, struct err *e)
{
    double ask_at = 0, interval = ASK_MIN_S;

    for (;;) {
        bool asked = clock_now() >= ask_at, moved = false, all = true;
        if (asked && note_ends(w, tails, count, e))
            return -1;
        for (size_t i = 0; i < count; i++)
            all &= tails[i].ended;
        if (show_all(&w->plan, tails, count, all, &moved, e))
            return -1;
        if (all)
            return 0;
        if (asked) {
            interval = moved ? ASK_MIN_S : interval * ASK_GROWTH;
            ask_at = clock_now() + (interval < ASK_MAX_S ? interval : ASK_MAX_S);
        }
        clock_sleep(PAUSE_S);
    }
}

static int print_logs(struct workspace *w, struct tail *tails, size_t count, struct err *e)
{
    bool moved = false;
    int rc = given.follow ? follow_all(w, tails, count, e) : show_all(&w->plan, tails, count, true,
                                 &moved, e);

    for (size_t i = 0; rc == 0 && i < count; i++)
        if (!tails[i].f)
            rc = -1; /* e has the reason why there is no output */
    return rc;
}

/* Returns text as JSON, which must be UTF-8. If text is not, all its bytes beyond ASCII become
 * question marks. */
static json_t *encode_text(char *text)
{
    json_t *s = json_string(text);

    if (s)
        return s;
    for (char *p = text; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return json_string(text);
}

static int print_logs_json(const struct plan *p, const char *id, struct err *e)
{
    struct run_attempt attempt;
    char path[PATH_MAX], *text;
    json_t *root;
    size_t n;

    if (run_dir_attempt(p->study.dir, id, &attempt, e) || run_dir_output(&attempt, path, e))
        return -1;
    text = atomicfile_read(path, MAX_OUTPUT, &n, e);
    if (!text)
        return -1;
    root = json_pack("{s:i, s:s, s:i, s:s, s:s, s:o}", "schema", 1, "run", id, "attempt",
                     attempt.number, "job", attempt.job, "file", path, "text", encode_text(text));
    free(text);
    return jsonio_print(root, 15, path, e);
}

static int cmd_logs_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    struct tail *tails;
    int rc = 0;

    if (given.as_json && (given.follow || noperands > 1))
        return err_set(e, ERR_USAGE, "logs: --json takes one run and excludes --follow");
    if (workspace_open(&w, &given.args, e))
        return -1;
    tails = calloc((size_t)noperands, sizeof *tails);
    if (!tails)
        rc = err_errno(e, ERR_INTERNAL, ENOMEM, "logs");
    for (int i = 0; rc == 0 && i < noperands; i++) {
        tails[i].id = operands[i];
        rc = run_dir_check_id(w.plan.study.dir, operands[i], e);
    }
    if (rc == 0)
        rc = given.as_json ? print_logs_json(&w.plan, tails[0].id, e) : print_logs(&w, tails,
                                                                        (size_t)noperands, e);
    for (int i = 0; tails && i < noperands; i++)
        if (tails[i].f)
            fclose(tails[i].f);
    free(tails);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_logs = {
    .name = "logs",
    .args = "RUN...",
    .summary = "print the output of the newest attempt of some runs",
    .details =
        "With several runs, the name of the run precedes each line. -f continues until all runs\n"
        "have ended, also if one is requeued or resumed meanwhile.\n"
        "Example: unetctl logs unet-g04-s1 -f\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = cmd_logs_run,
};
