/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/run_status.h"
#include "src/atomicfile.h"

#define MAX_OUTPUT ((size_t)256 << 20)

static struct workspace_args args;
static bool follow, as_json;

static const struct cli_option options[] = {
    {"follow", 'f', CLI_FLAG, NULL, "go on as the output grows, until the run has ended", &follow, 0,
     0},
    {"json", 0, CLI_FLAG, NULL, "print one JSON object with the text in it", &as_json, 0, 0},
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

/* Copy what f has now. */
static int copy_rest(FILE *f, const char *path, struct err *e)
{
    char block[8192];
    size_t n;

    clearerr(f);
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        if (fwrite(block, 1, n, stdout) != n)
            return err_errno(e, ERR_INTERNAL, errno, "standard output");
    fflush(stdout);
    return ferror(f) ? err_errno(e, ERR_DATA, errno, "%s", path) : 0;
}

/* Has the run ended? -1 with an error; a scheduler that is away is waited for. */
static int has_ended(struct workspace *w, const char *id, struct err *e)
{
    struct run_status_list list;
    int ended = 1;

    if (run_status_collect(w, &list, e))
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.runs[i].run.id, id) == 0)
            ended = list.runs[i].phase != RUN_ACTIVE && list.runs[i].phase != RUN_UNKNOWN;
    run_status_destroy(&list);
    return ended;
}

static int show(struct workspace *w, const char *id, struct err *e)
{
    const struct timespec pause = {.tv_sec = 1};
    struct run_attempt attempt;
    char path[PATH_MAX] = "";
    FILE *f = NULL;
    int ended = 0, rc = 0;

    for (;;) {
        if (follow)
            ended = has_ended(w, id, e);
        rc = ended < 0 ? -1 : run_dir_attempt(w->study.dir, id, &attempt, e);
        if (rc == 0 && !f && run_dir_output(&attempt, path, e) == 0)
            f = fopen(path, "r");
        if (rc == 0 && f)
            rc = copy_rest(f, path, e);
        else if (rc == 0 && (!follow || ended))
            rc = *path ? err_errno(e, ERR_DATA, errno, "%s", path) : -1;
        if (rc || ended || !follow)
            break;
        nanosleep(&pause, NULL);
    }
    if (f)
        fclose(f);
    return rc;
}

/* Bytes that are no UTF-8 have no place in JSON: a question mark stands for each. */
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

static int print_json(const struct workspace *w, const char *id, struct err *e)
{
    struct run_attempt attempt;
    char path[PATH_MAX], *text;
    json_t *root;
    size_t n;
    int rc;

    if (run_dir_attempt(w->study.dir, id, &attempt, e) || run_dir_output(&attempt, path, e))
        return -1;
    text = atomicfile_read(path, MAX_OUTPUT, &n, e);
    if (!text)
        return -1;
    root = json_pack("{s:i, s:s, s:i, s:s, s:s, s:o}", "schema", 1, "run", id, "attempt", attempt.number,
                     "job", attempt.job, "file", path, "text", encode_text(text));
    rc = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;
    putchar('\n');
    json_decref(root);
    free(text);
    return rc ? err_set(e, ERR_INTERNAL, "%s: cannot be written as JSON", path) : 0;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    struct run plan;
    int rc;

    (void)noperands, (void)nrest, (void)rest;
    if (as_json && follow)
        return err_set(e, ERR_USAGE, "logs: --json and --follow exclude each other");
    if (workspace_open(&w, &args, e))
        return -1;
    rc = run_dir_read(w.study.dir, operands[0], &plan, NULL, e);
    if (rc)
        err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", operands[0],
                w.study.dir);
    else
        rc = as_json ? print_json(&w, operands[0], e) : show(&w, operands[0], e);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_logs = {
    .name = "logs",
    .args = "RUN",
    .summary = "print the output of a run's newest attempt",
    .details = "Example: unetctl logs unet-g04-s1 -f\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
