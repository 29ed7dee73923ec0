/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl finish writes the marker of an attempt (one submission of a run), the file DONE or FAILED
 * in its folder, and before DONE a record.jsonl if there is none. submit_file.sh calls it after the
 * ranks have ended with 0, except with the embedded engine, which writes both itself. */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <sys/stat.h>
#include <time.h>

#include "launcher/collect/collect.h"
#include "launcher/collect/log/log_file.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/format/schema.h"
#include "src/run/epoch_csv.h"
#include "src/run/marker.h"

#define MAX_DOCUMENT (1 << 20)

static struct {
    const char *from_dir;
} given;

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

/* Moves the log from the script's folder, where a script that ignores UNETCTL_ATTEMPT_DIR leaves
 * it, to that of the attempt, unless one is there. The file must not be older than the attempt. */
static int fetch_log(const char *from, const char *dir, const struct log_form *form, struct err *e)
{
    const char *name = form->file && !strchr(form->file, '/') ? form->file : "log.csv";
    char src[PATH_MAX], dst[PATH_MAX];
    struct stat log, attempt;

    snprintf(src, sizeof src, "%s/%s", from, name);
    snprintf(dst, sizeof dst, "%s/%s", dir, name);
    if (access(dst, F_OK) == 0 || stat(src, &log) || stat(dir, &attempt))
        return 0;
    if (log.st_mtime < attempt.st_mtime)
        return err_set(e, ERR_DATA,
                       "%s is older than this attempt: the script wrote no log", src);
    return files_rename(src, dst, 0) ? files_error(e, ERR_INTERNAL, errno, "cannot write", dst) : 0;
}

static json_t *read_finish_plan(const char *dir, struct err *e)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/run.json", dir); /* an attempt may have its own plan */
    if (access(path, F_OK) != 0)
        snprintf(path, sizeof path, "%.*s/run.json", (int)(strrchr(dir, '/') - dir), dir);
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

/* Checks the attempt's log, which --from may have to supply, as `unetctl collect` does. */
static int check_log(const char *dir, const struct log_form *form, struct err *e)
{
    char path[PATH_MAX], run_dir[PATH_MAX];

    if (given.from_dir && fetch_log(given.from_dir, dir, form, e))
        return -1;
    snprintf(run_dir, sizeof run_dir, "%.*s", (int)(strrchr(dir, '/') - dir), dir);
    if (run_log_find(dir, form, path, e) == 0)
        return run_folder_check(run_dir, attempt_number(dir), form, e);
    e->code = ERR_DATA;
    return -1;
}

/* Opens the study of an attempt, DIR/../../.., for what it says of its logs. Without one, logs are
 * read as they are. Returns whether there is something to close. */
static bool open_study(const char *dir, struct study *study, struct log_form *form)
{
    char path[PATH_MAX];
    struct err ignored;

    *form = (struct log_form){0};
    snprintf(path, sizeof path, "%s/../../..", dir);
    if (study_open(study, path, NULL, 0, &ignored))
        return false;
    *form = run_log_form(study);
    return true;
}

/* Returns the end of a run that is done. unread: why its log cannot be read, or NULL. */
static json_t *pack_end(const struct epoch_csv *log, const char *unread)
{
    const char *gpus = getenv("UNET_GPUS");
    bool fake = gpus && strcmp(gpus, "fake") == 0;
    json_t *end = json_pack("{s:s, s:i, s:s, s:s*, s:o*}", "kind", "end", "schema", SCHEMA,
                            "status", "done", "unread", unread, "fake_gpus",
                            fake ? json_true() : NULL);

    if (end && log->count)
        json_object_update_new(
            end, json_pack("{s:f, s:f, s:f}", "training_time", log->rows[0].training_time,
                           "test_time", log->rows[0].test_time, "iou", log->rows[0].iou));
    return end;
}

/* Returns the end of a run whose log cannot be read: it is done all the same, as study.yaml may
 * still say what is in it. With --from only the log says whether the script succeeded: NULL. */
static json_t *pack_unread(const char *dir, const struct err *why)
{
    char text[sizeof((struct result *)0)->note];
    size_t n = strlen(dir);
    bool inside = strncmp(why->text, dir, n) == 0 && why->text[n] == '/';

    result_set_text(text, sizeof text, why->text + (inside ? n + 1 : 0));
    if (given.from_dir && why->code != ERR_CONFIG)
        return NULL;
    log_warn("finish: %s", text);
    return pack_end(&(struct epoch_csv){0}, text);
}

/* Returns the end of the run, or NULL with the reason why it is not a result. Of a log.csv in the
 * reference's form it is the last line of a record, and record.jsonl is written unless the script
 * has. */
static json_t *read_result(const char *dir, struct err *e)
{
    json_t *plan = read_finish_plan(dir, e), *end = NULL;
    struct epoch_csv log = {0};
    struct log_form form;
    struct study study;
    char path[PATH_MAX];
    struct err other;
    size_t n;
    bool opened = open_study(dir, &study, &form);

    if (plan && check_log(dir, &form, e)) {
        end = pack_unread(dir, e);
    } else if (plan) {
        snprintf(path, sizeof path, "%s/log.csv", dir);
        bool own = !form.file && !form.pattern;
        char *text = own ? log_file_load(path, &n, &other) : NULL;
        if (text && epoch_csv_decode(text, n, path, &log, &other)) /* it is of another form */
            log = (struct epoch_csv){0};
        free(text);
        end = pack_end(&log, NULL);
        if (end && log.count && write_record(dir, plan, &log, end, e)) {
            json_decref(end);
            end = NULL;
        }
        epoch_csv_destroy(&log);
    }
    json_decref(plan);
    if (opened)
        study_close(&study);
    return end;
}

static int cmd_finish_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    char dir[PATH_MAX - 16], run_dir[PATH_MAX];
    struct err why = {0};
    json_t *end;

    if (!realpath(operands[0], dir))
        return err_errno(e, ERR_USAGE, errno, "finish: %s", operands[0]);
    if (attempt_number(dir) < 1)
        return err_set(e, ERR_USAGE, "finish: %s is not the folder of an attempt, such as "
                       "runs/RUN/attempt-1", dir);
    snprintf(run_dir, sizeof run_dir, "%.*s", (int)(strrchr(dir, '/') - dir), dir);
    files_own(run_dir);
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
    {"from", 0, CLI_STRING, "DIR",
     "use the log in DIR if the attempt has none", &given.from_dir, 0, 0},
    {0}};

const struct cli_command cmd_finish = {
    .name = "finish",
    .args = "ATTEMPT_DIR",
    .summary = "turn an attempt's log into DONE or FAILED (for job scripts)",
    .details =
        "submit_file.sh runs this with the engines other than embedded after all ranks have\n"
        "exited with 0, so the run is DONE. If its log cannot be read now, DONE has the reason:\n"
        "'unetctl collect' reads the log again. With --from, as at the end of a template with\n"
        "tags, a script that failed looks the same: without a sound log the run is FAILED (7).\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_finish_run,
};
