/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/run_status.h"

static struct workspace_args args;
static bool follow;

static const struct cli_option options[] = {
    {"follow", 'f', CLI_FLAG, NULL, "go on as the output grows, until the run has ended", &follow, 0,
     0},
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

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    struct run plan;
    int rc;

    (void)noperands, (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    rc = run_dir_read(w.study.dir, operands[0], &plan, NULL, e);
    if (rc)
        err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", operands[0],
                w.study.dir);
    else
        rc = show(&w, operands[0], e);
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
