/* SPDX-License-Identifier: BSD-3-Clause */
/* What submit_file.sh of an engine other than ours calls last. */
#include "config.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/epoch_csv.h"
#include "src/log.h"

#define MAX_DOCUMENT (1 << 20)

static const char *from_dir;

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* Writes DIR/NAME; takes document. */
static int write_marker(const char *dir, const char *name, json_t *document, struct err *e)
{
    char path[PATH_MAX], *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
    int rc;

    json_decref(document);
    if (!text)
        return err_set(e, ERR_INTERNAL, "%s cannot be written as JSON", name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}

/* A script that knows no attempt left log.csv in its own folder: it must be of this attempt. */
static int fetch_log(const char *from, const char *dir, struct err *e)
{
    char src[PATH_MAX], dst[PATH_MAX];
    struct stat log, attempt;

    snprintf(src, sizeof src, "%s/log.csv", from);
    snprintf(dst, sizeof dst, "%s/log.csv", dir);
    if (access(dst, F_OK) == 0 || stat(src, &log) || stat(dir, &attempt))
        return 0;
    if (log.st_mtime < attempt.st_mtime)
        return err_set(e, ERR_DATA, "%s is older than this attempt: the script wrote none", src);
    return rename(src, dst) ? err_errno(e, ERR_INTERNAL, errno, "%s", dst) : 0;
}

/* The epochs that the run asks for. */
static int read_epochs(const char *dir, long *dst, struct err *e)
{
    char path[PATH_MAX];
    json_error_t why;
    size_t n;

    snprintf(path, sizeof path, "%s/../run.json", dir);
    char *text = atomicfile_read(path, MAX_DOCUMENT, &n, e);
    if (!text)
        return -1;
    json_t *run = json_loadb(text, n, 0, &why);
    free(text);
    *dst = (long)json_integer_value(json_object_get(json_object_get(run, "train"), "epochs"));
    json_decref(run);
    return *dst > 0 ? 0 : err_set(e, ERR_CONFIG, "%s: train.epochs is missing", path);
}

/* The end of the run as log.csv tells it; NULL: why it is no result. */
static json_t *read_result(const char *dir, struct err *e)
{
    char path[PATH_MAX];
    struct epoch_csv log;
    json_t *end = NULL;
    long epochs;

    snprintf(path, sizeof path, "%s/log.csv", dir);
    if (read_epochs(dir, &epochs, e) || (from_dir && fetch_log(from_dir, dir, e)))
        return NULL;
    if (access(path, F_OK) != 0) {
        err_set(e, ERR_DATA, "the script ended well, but wrote no %s", path);
        return NULL;
    }
    if (epoch_csv_read(path, &log, e))
        return NULL;
    if ((long)log.count == epochs)
        end = json_pack("{s:s, s:s, s:f, s:f, s:f}", "kind", "end", "status", "done",
                        "training_time", log.rows[0].training_time, "test_time",
                        log.rows[0].test_time, "iou", log.rows[0].iou);
    else
        err_set(e, ERR_DATA, "%s: %zu epochs, but train.epochs asks for %ld", path, log.count, epochs);
    epoch_csv_destroy(&log);
    return end;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    char dir[PATH_MAX - 16];
    struct err why = {0};
    json_t *end;

    (void)noperands, (void)nrest, (void)rest;
    if (!realpath(operands[0], dir))
        return err_errno(e, ERR_USAGE, errno, "finish: %s", operands[0]);
    if (has_file(dir, "FAILED"))
        return err_set(e, ERR_INTERNAL, "finish: %s has failed before", dir);
    if (has_file(dir, "DONE"))
        return 0;
    end = read_result(dir, &why);
    if (end)
        return write_marker(dir, "DONE", end, e);
    if (write_marker(dir, "FAILED", json_pack("{s:i, s:i, s:s}", "schema", 1, "exit_code", why.code,
                                              "error", why.text), e))
        return -1;
    *e = why;
    return -1;
}

static const struct cli_option options[] = {
    {"from", 0, CLI_STRING, "DIR", "take DIR/log.csv where the attempt has none", &from_dir, 0, 0},
    {0}};

const struct cli_command cmd_finish = {
    .name = "finish",
    .args = "ATTEMPT_DIR",
    .summary = "turn an attempt's log.csv into DONE or FAILED (for job scripts)",
    .details =
        "What the submit_file.sh of the engines tensorflow, horovod, pytorch and command calls when the\n"
        "script has ended well. log.csv must be whole: the reference's header, one row for each of\n"
        "train.epochs, no NaN. Exit 0: DONE is there. Otherwise FAILED is, with the reason (exit 7).\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
