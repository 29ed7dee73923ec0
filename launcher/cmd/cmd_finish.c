/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl finish writes the marker of an attempt (one submission of a run), the file DONE or FAILED
 * in its folder, and before DONE a record.jsonl if there is none. submit_file.sh calls it after the
 * ranks have ended, except with the embedded engine, unet-train, which writes both itself. */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher/collect/log/log_file.h"
#include "launcher/collect/run_folder.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/format/schema.h"
#include "src/log.h"
#include "src/run/marker.h"

#define MAX_DOCUMENT (1 << 20)

static const char *from_dir;

/* Writes DIR/NAME and releases document. */
static int write_marker(const char *dir, const char *name, json_t *document, struct err *e)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
    int rc;

    json_decref(document);
    if (!text)
        return err_set(e, ERR_INTERNAL, "cannot write %s as JSON", name);
    rc = marker_write(dir, name, text, strlen(text), e);
    free(text);
    return rc;
}

/* Moves log.csv from the script's folder, where a script that ignores UNETCTL_ATTEMPT_DIR leaves
 * it, to that of the attempt, unless one is there. The file must not be older than the attempt. */
static int fetch_log(const char *from, const char *dir, struct err *e)
{
    char src[PATH_MAX], dst[PATH_MAX];
    struct stat log, attempt;

    snprintf(src, sizeof src, "%s/log.csv", from);
    snprintf(dst, sizeof dst, "%s/log.csv", dir);
    if (access(dst, F_OK) == 0 || stat(src, &log) || stat(dir, &attempt))
        return 0;
    if (log.st_mtime < attempt.st_mtime)
        return err_set(e, ERR_DATA, "%s is older than this attempt: the script wrote no "
                                    "log.csv", src);
    return rename(src, dst) ? err_errno(e, ERR_INTERNAL, errno, "%s", dst) : 0;
}

static json_t *read_finish_plan(const char *dir, struct err *e)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/run.json", dir); /* an attempt may have its own plan */
    if (access(path, F_OK) != 0)
        snprintf(path, sizeof path, "%s/../run.json", dir);
    return jsonio_read(path, MAX_DOCUMENT, e);
}

static void add_line(struct buf *dst, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

    if (text)
        buf_addf(dst, "%s\n", text);
    else
        dst->failed = true;
    free(text);
    json_decref(line);
}

/* Reads when the attempt began, which is when its job took the folder; "" if that is unknown. */
static void read_start(const char *dir, char dst[32])
{
    static const char *const names[] = {"/job", ""};
    char path[PATH_MAX];
    struct stat st;
    struct tm t;

    *dst = 0;
    for (int i = 0; i < 2 && !*dst; i++) {
        snprintf(path, sizeof path, "%s%s", dir, names[i]);
        if (stat(path, &st) == 0)
            strftime(dst, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&st.st_mtime, &t));
    }
}

static json_t *encode_header(const json_t *run, const char *dir, long epochs)
{
    const json_t *layout = json_object_get(run, "layout");
    char started[32], host[256] = "";

    read_start(dir, started);
    gethostname(host, sizeof host - 1);
    return json_pack("{s:s, s:i, s:O, s:O, s:O, s:O, s:s, s:s, s:s, s:O, s:O, s:O, s:I}", "kind",
                     "run", "schema", 1, "study", json_object_get(run, "study"), "run",
                     json_object_get(run, "run"), "seed", json_object_get(run, "seed"), "engine",
                     json_object_get(run, "engine"), "attempt_dir", strrchr(dir, '/') + 1,
                     "started",
                     started, "host", host, "gpus", json_object_get(layout, "gpus"), "nodes",
                     json_object_get(layout, "nodes"), "strategy",
                     json_object_get(layout, "strategy"), "epochs", (json_int_t)epochs);
}

/* Writes record.jsonl from log.csv, unless the script wrote one itself. */
static int write_record(const char *dir, const json_t *run, const struct epoch_csv *log,
                        const json_t *end, struct err *e)
{
    char path[PATH_MAX];
    struct buf b = {0};
    int rc;

    snprintf(path, sizeof path, "%s/record.jsonl", dir);
    if (access(path, F_OK) == 0)
        return 0;
    add_line(&b, encode_header(run, dir, (long)log->count));
    for (size_t i = 0; i < log->count; i++)
        add_line(&b, json_pack("{s:s, s:I, s:f, s:f, s:f}", "kind", "epoch", "epoch", (json_int_t)i,
                               "seconds", log->rows[i].time_per_epoch, "loss", log->rows[i].loss,
                               "lr", log->rows[i].lr));
    add_line(&b, json_deep_copy(end));
    rc = b.failed ? err_set(e, ERR_CONFIG, "%s: a value is missing in %s/../run.json", path, dir)
                  : atomicfile_write(path, b.data, b.length, 0666, e);
    buf_destroy(&b);
    return rc;
}

/* Returns K of DIR/attempt-K, or 0 if dir has another name. */
static int attempt_number(const char *dir)
{
    int attempt = 0;

    return sscanf(strrchr(dir, '/') + 1, "attempt-%9d", &attempt) == 1 ? attempt : 0;
}

/* Reads the attempt's log, which --from may have to supply, with the same checks as `unetctl
 * collect`. */
static int read_log(const char *dir, struct epoch_csv *dst, struct err *e)
{
    const char *slash = strrchr(dir, '/');
    char path[PATH_MAX], run_dir[PATH_MAX];
    int attempt = attempt_number(dir);

    snprintf(path, sizeof path, "%s/log.csv", dir);
    if (from_dir && fetch_log(from_dir, dir, e))
        return -1;
    if (access(path, F_OK) != 0)
        return err_set(e, ERR_DATA, "the script ended without an error, but did not write "
                                    "%s", path);
    snprintf(run_dir, sizeof run_dir, "%.*s", (int)(slash - dir), dir);
    return run_folder_check(run_dir, attempt, e) || log_file_read_table(path, dst, e) ? -1 : 0;
}

/* Returns the end of the run according to log.csv, the last line of a record, or NULL with the
 * reason why log.csv is not a result. Writes record.jsonl unless the script has. */
static json_t *read_result(const char *dir, struct err *e)
{
    json_t *plan = read_finish_plan(dir, e), *end = NULL;
    struct epoch_csv log;

    if (plan && read_log(dir, &log, e) == 0) {
        end = json_pack("{s:s, s:i, s:s, s:f, s:f, s:f}", "kind", "end", "schema", SCHEMA,
                        "status", "done", "training_time", log.rows[0].training_time, "test_time",
                        log.rows[0].test_time, "iou", log.rows[0].iou);
        if (end && write_record(dir, plan, &log, end, e)) {
            json_decref(end);
            end = NULL;
        }
        epoch_csv_destroy(&log);
    }
    json_decref(plan);
    return end;
}

static int cmd_finish_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    char dir[PATH_MAX - 16];
    struct err why = {0};
    json_t *end;

    (void)noperands, (void)nrest, (void)rest;
    if (!realpath(operands[0], dir))
        return err_errno(e, ERR_USAGE, errno, "finish: %s", operands[0]);
    if (attempt_number(dir) < 1)
        return err_set(e, ERR_USAGE, "finish: %s is not the folder of an attempt, such as "
                       "runs/RUN/attempt-1", dir);
    if (path_has_file(dir, "FAILED"))
        return err_set(e, ERR_INTERNAL, "finish: %s has FAILED already", dir);
    if (path_has_file(dir, "DONE"))
        return 0;
    if (marker_check(dir, e))
        return -1;
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
    {"from", 0, CLI_STRING, "DIR", "use DIR/log.csv if the attempt has no "
                                   "log.csv", &from_dir, 0, 0},
    {0}};

const struct cli_command cmd_finish = {
    .name = "finish",
    .args = "ATTEMPT_DIR",
    .summary = "turn an attempt's log.csv into DONE or FAILED (for job scripts)",
    .details =
        "submit_file.sh runs this with the engines tensorflow, horovod, pytorch and command: after\n"
        "all ranks have exited with 0, or at its end if its template has tags. log.csv must have\n"
        "the reference's header, one row for each of train.epochs, only finite numbers and\n"
        "plausible times, and must agree with record.jsonl if the script wrote one. Exit 0: DONE\n"
        "is written; 7: FAILED with the reason.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_finish_run,
};
