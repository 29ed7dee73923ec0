/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl report: speed-up, efficiency, quality, and how many GPUs are worth it. */
#include "config.h"
#include "launcher/launcher.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/collect.h"
#include "launcher/collect/path.h"
#include "launcher/report/json.h"
#include "launcher/report/logs_folder.h"
#include "launcher/report/report.h"
#include "launcher/report/report_folder.h"
#include "launcher/report/text.h"
#include "launcher/workspace.h"
#include "src/atomicfile.h"

static bool as_text;
static struct workspace_args args;
static const char *logs_dir, *json_file, *out_dir;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_STUDY(args),
    {"logs", 0, CLI_STRING, "DIR", "a folder of log_N.csv, log_hvd_N.csv files instead of a study",
     &logs_dir, 0, 0},
    {"output", 'o', CLI_STRING, "DIR", "where to write (default: STUDY/report; with --logs: report)",
     &out_dir, 0, 0},
    {"json", 0, CLI_STRING, "FILE", "write the numbers as JSON to FILE, - for stdout", &json_file, 0, 0},
    {"text", 0, CLI_FLAG, NULL, "print verdict, table and chart for a terminal", &as_text, 0, 0},
    {0}};

/* Where results come from and how they are called. */
struct source {
    char title[128], logs[PATH_MAX], out[PATH_MAX];
    struct results results;
};

static int read_study(struct source *s, struct err *e)
{
    struct workspace workspace;
    int rc;

    if (workspace_open(&workspace, &args, e))
        return -1;
    result_set_text(s->title, sizeof s->title, workspace.study.name);
    path_format(s->logs, "%s/logs", workspace.study.dir);
    path_format(s->out, "%s/report", workspace.study.dir);
    rc = collect_study(&workspace, &s->results, e);
    workspace_close(&workspace);
    return rc;
}

static int read_logs(struct source *s, struct err *e)
{
    char full[PATH_MAX];

    if (!realpath(logs_dir, full))
        return err_set(e, ERR_DATA, "there is no folder %s", logs_dir);
    path_format(s->logs, "%s", full);
    path_format(s->out, "report");
    result_set_text(s->title, sizeof s->title, basename(full));
    return logs_folder_read(s->logs, &s->results, e);
}

static int print_json(const struct report *r, struct err *e)
{
    char *json = json_encode_report(r);
    int rc = 0;

    if (!json)
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    if (strcmp(json_file, "-"))
        rc = atomicfile_write(json_file, json, strlen(json), 0666, e);
    else
        fputs(json, stdout);
    free(json);
    return rc;
}

static int print_text(const struct report *r, const char *written, struct err *e)
{
    struct buf b = {0};
    char *text;

    if (as_text)
        text_encode(r, &b);
    else
        text_encode_verdict(r, &b);
    if (written)
        buf_addf(&b, "The report: %s/report.html\n", written);
    text = buf_steal(&b);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    fputs(text, stdout);
    free(text);
    return 0;
}

/* Forms that were asked for on stdout come alone, unless a folder was named too. */
static int write_report(const struct source *s, const struct report *r, struct err *e)
{
    bool json_on_stdout = json_file && strcmp(json_file, "-") == 0;
    const char *folder = out_dir ? out_dir : as_text || json_on_stdout ? NULL : s->out;

    if (folder && report_folder_write(r, folder, e))
        return -1;
    if (json_file && print_json(r, e))
        return -1;
    return json_on_stdout ? 0 : print_text(r, folder, e);
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct source source = {0};
    struct report report;
    int rc = -1;

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (args.dir && logs_dir)
        return err_set(e, ERR_USAGE, "-C is for a study, --logs for a folder of logs: give one of them");
    if (logs_dir ? read_logs(&source, e) : read_study(&source, e))
        return -1;
    if (report_create(&report, source.title, source.logs, &source.results, e) == 0) {
        rc = write_report(&source, &report, e);
        report_destroy(&report);
    }
    results_destroy(&source.results);
    return rc;
}

const struct cli_command cmd_report = {
    .name = "report",
    .args = "",
    .summary = "speed-up, efficiency, quality, and how many GPUs are worth it",
    .details =
        "Collects the study first, then writes STUDY/report: report.html (one page that needs\n"
        "nothing beside it), report.md, report.json, and figures/ with the pictures as SVG and PNG,\n"
        "their gnuplot scripts and data. With --logs DIR it reads DIR/results.csv, or the names and\n"
        "rows of log_N.csv (engine native) and log_hvd_N.csv (horovod).\n"
        "--text and --json - print on stdout and write no folder, unless -o names one.\n"
        "Worth it is the largest number of GPUs whose steady epochs have an efficiency of at least\n"
        "0.80 and whose IoU is not below the base case's by more than 0.01, or by more than the range\n"
        "of the base case's seeds where that is larger. The base case is the smallest number run.\n"
        "Exit code: 0; 7 when no run has a result; 8 when there are not two numbers of GPUs to\n"
        "compare. Runs without a result are named in the report, and are in none of its numbers.\n"
        "Example: unetctl report -C demo --text\n",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
