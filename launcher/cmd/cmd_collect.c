/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl collect: copies the logs of a study's good runs to STUDY/logs and writes a table of all
 * runs there; with --logs it reads a folder of logs of any origin instead, and writes to the folder
 * of --output. */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <math.h>

#include "launcher/collect/collect.h"
#include "launcher/host/path.h"
#include "launcher/report/document.h"
#include "launcher/report/report.h"

static struct {
    bool as_json, as_crate;
    struct plan_args args;
    const char *logs_dir, *out_dir;
    struct log_form_args form_args;
} given;

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of lines", &given.as_json, 0, 0},
    {"crate", 0, CLI_FLAG, NULL, "the Python package describes the study as RO-Crate", &given.as_crate, 0, 0},
    {"logs", 0, CLI_STRING, "DIR", "read this folder of logs of any origin instead of a study",
     &given.logs_dir, 0, 0},
    {"output", 'o', CLI_STRING, "DIR", "write the logs to this folder, with --logs (default: logs)",
     &given.out_dir, 0, 0},
    LOG_FORM_OPTIONS(given.form_args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0}};

static void add_result_row(struct buf *b, const struct result *r)
{
    struct buf line = {0};
    char rate[48];

    buf_addf(&line, "%s: %s", r->run, result_state_names[r->state]);
    if (r->state != RESULT_DONE || r->copied)
        buf_addf(&line, ": %s", r->note);
    else if (result_is_rate(r))
        buf_addf(&line, ", %.4g %s",
                 rate_show(r->units_per_s, r->units_per_s, *r->unit ? r->unit : "images", rate,
                           sizeof rate), rate);
    else if (r->limited == 1)
        buf_addf(&line, ", ended at its limit, %.4g s an %s", r->median_epoch_s,
                 r->stepped == 1 ? "interval" : "epoch");
    else
        buf_addf(&line, ", %ld %s%s", r->epochs, r->stepped == 1 ? "interval" : "epoch",
                 plural(r->epochs));
    if (r->state == RESULT_DONE && r->limited != 1 && !isnan(result_quality(r)))
        buf_addf(&line, ", %s %.4f", result_quality_word(r), result_quality(r));
    if (r->state == RESULT_DONE && !isnan(r->energy.gpus_j))
        buf_addf(&line, ", %.4g kJ", r->energy.gpus_j / 1000);
    else if (r->state == RESULT_DONE && !isnan(r->energy.nodes_j))
        buf_addf(&line, ", %.4g kJ of whole nodes, by Slurm", r->energy.nodes_j / 1000);
    if (r->state == RESULT_DONE && *r->log)
        buf_addf(&line, ", logs/%s", r->log);
    if (r->state == RESULT_DONE && *r->note)
        buf_addf(&line, "; %s", r->note);
    text_wrap(b, line.data ? line.data : "", 2, 80);
    buf_destroy(&line);
}

/* Prints the results: as JSON, or as a line for each run and one that counts them. title names the
 * study or the folder of logs; dir is where the logs are now. */
static int print_results(const char *title, const char *dir, const struct results *table,
                         struct err *e)
{
    struct buf b = {0};
    char *out;

    if (given.as_json) {
        out = json_encode_results(title, table);
    } else {
        for (size_t i = 0; i < table->count; i++)
            add_result_row(&b, &table->rows[i]);
        buf_addf(&b, "%zu of %zu runs collected into %s\n", results_count(table, RESULT_DONE),
                 table->count, dir);
        out = buf_steal(&b);
    }
    if (!out)
        return err_set(e, ERR_INTERNAL, "out of memory");
    fputs(out, stdout);
    free(out);
    return 0;
}

static void list_incomplete(const struct results *table, struct buf *b)
{
    size_t named = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        if (r->state == RESULT_DONE)
            continue;
        if (named++ == 8) {
            buf_add(b, ", ...");
            return;
        }
        buf_addf(b, "%s%s is %s", named > 1 ? ", " : "", r->run, result_state_names[r->state]);
    }
}

static int check_results(const struct results *table, struct err *e)
{
    size_t ndone = results_count(table, RESULT_DONE), nbad = table->count - ndone;
    struct buf list = {0};

    if (nbad == 0 && ndone > 0)
        return 0;
    list_incomplete(table, &list);
    err_set(e, ndone ? ERR_INTERNAL : ERR_DATA, "%zu of %zu runs have no result: %s%s%s",
            nbad, table->count, list.data ? list.data : "none was submitted ('unetctl submit')",
            given.logs_dir ? "" : " ('unetctl status' and 'unetctl logs RUN' show more)",
            given.logs_dir || !results_count(table, RESULT_UNREAD) ? "" : "; unread logs are read "
            "again by each collect and report: correct log in study.yaml, then type this again");
    buf_destroy(&list);
    return -1;
}

static int collect_from_study(struct results *table, struct err *e)
{
    struct workspace workspace;
    char dir[PATH_MAX];
    int rc = -1;

    if (workspace_open(&workspace, &given.args, e))
        return -1;
    path_format(dir, "%s/logs", workspace.plan.study.dir);
    if (plan_open_variants(&workspace.plan, &given.args, e) == 0 &&
        collect_study(&workspace, true, table, e) == 0)
        rc = print_results(workspace.plan.study.name, dir, table, e);
    workspace_close(&workspace);
    return rc;
}

static int collect_from_logs(struct results *table, struct err *e)
{
    const char *dst = given.out_dir ? given.out_dir : "logs";
    struct log_form form;

    if (log_form_decode(&given.form_args, &form, e) ||
        collect_logs(given.logs_dir, dst, &form, table, e))
        return -1;
    return print_results(given.logs_dir, dst, table, e);
}

static int refuse_crate(struct err *e)
{
    const char *dir = given.args.dir ? given.args.dir : ".";
    char path[PATH_MAX];

    if (paths_data("python", path, sizeof path, e))
        return -1;
    return err_set(e, ERR_USAGE, "collect: --crate: the Python package writes it: type 'unetctl "
                   "report -C %s && PYTHONPATH=%s python3 -m unetctl.crate %s'", dir, path, dir);
}

static int cmd_collect_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct results table = {0};
    int rc = -1;

    if (given.logs_dir && given.args.dir)
        return err_set(e, ERR_USAGE,
                       "collect: -C names a study and --logs a folder of logs; give one of them");
    if (given.as_crate)
        return refuse_crate(e);
    if (given.out_dir && !given.logs_dir)
        return err_set(e, ERR_USAGE,
                       "collect: --output needs --logs; a study's logs go to STUDY/logs");
    if ((given.logs_dir ? collect_from_logs : collect_from_study)(&table, e) == 0)
        rc = check_results(&table, e);
    results_destroy(&table);
    return rc;
}

const struct cli_command cmd_collect = {
    .name = "collect",
    .args = "",
    .summary = "copy the logs of all runs to logs/, with one table of results",
    .details =
        "The newest attempt of each run counts, if it has DONE and its record and log are\n"
        "complete and agree. Its log becomes logs/log_N.csv for N GPUs, of further seeds\n"
        "log_N_sSEED.csv. logs/results.csv has a row for every run: a run that failed, was\n"
        "killed, is running or was never submitted has its state and the reason.\n"
        "--logs DIR reads logs of other programs, as 'unetctl report --help' says. Complete ones\n"
        "are copied; others are reported with file, line and reason, and left out.\n"
        "Exit code: 0 if every run has a result, 1 if some have none, 7 if none has one.\n"
        "Examples: unetctl collect -C demo\n"
        "          unetctl collect --logs ~/old-study/logs -o logs\n",
    .options = options,
    .run = cmd_collect_run,
};
