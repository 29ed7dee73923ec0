/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl report: speed-up, efficiency, quality, and how many GPUs are worth it. */
#include "config.h"
#include "launcher/launcher.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/collect/collect.h"
#include "launcher/collect/logs_folder.h"
#include "launcher/collect/path.h"
#include "launcher/report/json.h"
#include "launcher/report/mllog.h"
#include "launcher/report/report.h"
#include "launcher/report/report_folder.h"
#include "launcher/report/text.h"
#include "launcher/workspace.h"
#include "src/atomicfile.h"

static bool as_text;
static struct workspace_args args;
static struct cli_list logs_dirs;
static const char *json_file, *out_dir, *mllog_dir;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_STUDY(args),
    {"logs", 0, CLI_LIST, "DIR", "a folder of log_N.csv, log_hvd_N.csv files; may be given several times",
     &logs_dirs, 0, 0},
    {"output", 'o', CLI_STRING, "DIR", "where to write (default: STUDY/report; with others: report)",
     &out_dir, 0, 0},
    {"json", 0, CLI_STRING, "FILE", "write the numbers as JSON to FILE, - for stdout", &json_file, 0, 0},
    {"text", 0, CLI_FLAG, NULL, "print verdict, table and chart for a terminal", &as_text, 0, 0},
    {"mllog", 0, CLI_STRING, "DIR", "write each run as MLPerf logging lines to DIR/RUN.log", &mllog_dir, 0, 0},
    {0}};

/* The sources that the command line names, and where a report on them goes unless -o says. */
struct input {
    struct report_source *sources;
    size_t nsources;
    char out[PATH_MAX];
};

static int read_study(struct input *in, const char *dir, struct err *e)
{
    struct report_source *s = &in->sources[in->nsources];
    struct workspace_args one = {.dir = dir};
    struct workspace workspace;
    int rc;

    if (workspace_open(&workspace, &one, e))
        return -1;
    result_set_text(s->title, sizeof s->title, workspace.study.name);
    path_format(s->logs_dir, "%s/logs", workspace.study.dir);
    path_format(in->out, "%s/report", workspace.study.dir);
    rc = collect_study(&workspace, &s->results, e);
    workspace_close(&workspace);
    in->nsources += rc == 0;
    return rc;
}

static int read_logs(struct input *in, const char *dir, struct err *e)
{
    struct report_source *s = &in->sources[in->nsources];
    char full[PATH_MAX];

    if (!realpath(dir, full))
        return err_set(e, ERR_DATA, "there is no folder %s", dir);
    path_format(s->logs_dir, "%s", full);
    path_format(in->out, "report");
    result_set_text(s->title, sizeof s->title, basename(full));
    if (logs_folder_read(s->logs_dir, &s->results, e))
        return -1;
    in->nsources++;
    return 0;
}

/* A folder that an operand names: a study if it has a study.yaml. */
static int read_operand(struct input *in, const char *dir, struct err *e)
{
    char path[PATH_MAX];

    if (access(path_format(path, "%s/study.yaml", dir), F_OK) == 0)
        return read_study(in, dir, e);
    return read_logs(in, dir, e);
}

static int read_input(struct input *in, int noperands, char **operands, struct err *e)
{
    in->sources = calloc((size_t)noperands + logs_dirs.count + 1, sizeof *in->sources);
    if (!in->sources)
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    if (noperands == 0 && logs_dirs.count == 0)
        return read_study(in, args.dir, e);
    for (int i = 0; i < noperands; i++)
        if (read_operand(in, operands[i], e))
            return -1;
    for (size_t i = 0; i < logs_dirs.count; i++)
        if (read_logs(in, logs_dirs.values[i], e))
            return -1;
    if (in->nsources > 1)
        path_format(in->out, "report");
    return 0;
}

static void destroy_input(struct input *in)
{
    for (size_t i = 0; i < in->nsources; i++)
        results_destroy(&in->sources[i].results);
    free(in->sources);
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
static int write_report(const struct input *in, const struct report *r, struct err *e)
{
    bool json_on_stdout = json_file && strcmp(json_file, "-") == 0;
    const char *folder = out_dir ? out_dir : as_text || json_on_stdout || mllog_dir ? NULL : in->out;

    if (folder && report_folder_write(r, folder, e))
        return -1;
    for (size_t i = 0; mllog_dir && i < in->nsources; i++)
        if (mllog_write(&in->sources[i].results, in->sources[i].logs_dir, mllog_dir, e))
            return -1;
    if (json_file && print_json(r, e))
        return -1;
    return json_on_stdout ? 0 : print_text(r, folder, e);
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct input in = {0};
    struct report report;
    int rc = -1;

    (void)nrest, (void)rest;
    if (args.dir && (noperands || logs_dirs.count))
        return err_set(e, ERR_USAGE, "-C is for one study; several are named without it: report A B");
    if (read_input(&in, noperands, operands, e) == 0 &&
        report_create(&report, in.sources, in.nsources, e) == 0) {
        rc = write_report(&in, &report, e);
        report_destroy(&report);
    }
    destroy_input(&in);
    return rc;
}

const struct cli_command cmd_report = {
    .name = "report",
    .args = "[STUDY|DIR]...",
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
    .max_operands = -1,
    .run = run,
};
