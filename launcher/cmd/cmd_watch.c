/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/report/live/live_page.h"
#include "launcher/rounds/left.h"
#include "launcher/rounds/rounds.h"
#include "launcher/status/watch.h"
#include "src/atomicfile.h"

static struct {
    struct plan_args args;
    long timeout_s, every_s;
    bool as_json;
    const char *html_file, *metrics_file;
} given;

static const struct cli_option options[] = {
    {"timeout", 0, CLI_INT, "SECONDS",
     "stop watching after this time (exit 6); the jobs continue", &given.timeout_s, 1, 1e9},
    {"every", 0, CLI_INT, "SECONDS",
     "report the progress so often where no bars are drawn (default: 60)", &given.every_s, 1, 1e9},
    {"json", 0, CLI_FLAG, NULL, "print a line of JSON for each change of state or epoch", &given.as_json,
     0, 0},
    {"html", 0, CLI_STRING, "FILE", "keep a page of the study in this file, with curves so far",
     &given.html_file, 0, 0},
    {"metrics", 0, CLI_STRING, "FILE",
     "keep metrics in this file, for the textfile collector of node_exporter", &given.metrics_file, 0, 0},
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* A study that is watched. */
struct watched {
    struct workspace w;
    struct left_repeat left;
    char rounds[ROUNDS_FILE_TEXT]; /* what was last reported of its rounds */
};

/* Repeats the submissions that left runs, and reports a round that they began. */
static long submit_left(void *arg, struct err *e)
{
    struct watched *watched = arg;
    char text[sizeof watched->rounds];
    long left = left_submit(&watched->left, e);

    if (left >= 0 && rounds_file_describe(&watched->w.ledger, text) &&
        strcmp(text, watched->rounds) != 0)
        log_info("%s", strcpy(watched->rounds, text));
    return left;
}

static int publish(void *arg, const struct status_list *list, double again_s, struct err *e)
{
    const struct watched *watched = arg;
    const struct workspace *w = &watched->w;
    struct left_counts left = {0};
    struct run_summary summary = {0};
    char rounds[ROUNDS_FILE_TEXT];
    struct live_page page = {.file = given.html_file, .again_s = again_s, .rounds = rounds,
                             .analysis = ANALYSIS_OPTIONS_INIT};

    for (size_t i = 0; i < list->count; i++)
        run_summary_add(&summary, &list->runs[i]);
    if (left_count(w, &left, e))
        return -1;
    page.left_s = run_summary_total_left(&summary, left.all > 0);
    rounds_file_describe(&w->ledger, rounds);
    rounds_rule(&w->plan.study, &page.analysis.rule, &page.analysis.facts);
    if (given.html_file && live_page_write(&page, &w->plan.study, list, &summary, e))
        return -1;
    if (!given.metrics_file)
        return 0;
    char *text = run_summary_encode_metrics(&summary, w->plan.study.name, page.left_s);
    int rc = !text ? mem_fail(e)
                   : atomicfile_check_own(given.metrics_file, RUN_SUMMARY_METRICS_MARK, e) ||
                             atomicfile_write(given.metrics_file, text, strlen(text), 0666, e)
                         ? -1
                         : 0;
    free(text);
    return rc;
}

/* Refuses a study that has no runs. */
static int check_runs(const struct workspace *w, struct err *e)
{
    struct setting_lines ids;

    if (run_dir_list(w->plan.study.dir, &ids, e))
        return -1;
    bool some = ids.count;
    setting_clear_lines(&ids);
    return some ? 0
           : err_set(e, ERR_USAGE, "%s has no runs to watch; type 'unetctl submit --gpus LIST'",
                     w->plan.study.dir);
}

static int cmd_watch_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct watch_options watch = {.ids = noperands ? operands : NULL,
                                  .nids = (size_t)noperands,
                                  .timeout_s = given.timeout_s,
                                  .every_s = given.every_s,
                                  .json = given.as_json,
                                  .publish = given.html_file || given.metrics_file ? publish
                                                                                   : NULL};
    struct watched watched = {0};
    struct workspace *w = &watched.w;
    struct left_counts left = {0};
    int rc = 0;

    if (workspace_open(w, &given.args, e))
        return -1;
    watch.arg = &watched;
    watched.left.w = w;
    watched.left.again = cmd_submit_again;
    if (!noperands)
        rc = left_count(w, &left, e);
    if (left.all) {
        watch.submit_left = submit_left;
        watch.in_rounds = left.rounds == left.all;
    }
    for (int i = 0; rc == 0 && i < noperands; i++)
        rc = run_dir_check_id(w->plan.study.dir, operands[i], e);
    if (rc == 0 && !noperands && !left.all)
        rc = check_runs(w, e);
    if (rc == 0)
        rc = watch_runs(w, &watch, e);
    if (left.rounds || (rc == 0 && !noperands))
        rc = cmd_submit_end_rounds(w, rc, !given.as_json, e);
    map_destroy(&watched.left.reported);
    workspace_close(w);
    return rc;
}

const struct cli_command cmd_watch = {
    .name = "watch",
    .args = "[RUN...]",
    .summary = "follow the runs until they have ended",
    .details =
        "Shows a bar for each run on a terminal, elsewhere a line for each change of state and,\n"
        "each minute, one for each running run and one about all, with the time left. NO_COLOR is\n"
        "honoured. Unless RUNs are named, runs that a limit left out at a 'submit' are\n"
        "submitted as other jobs end, with the options of that 'submit', and rounds continue.\n"
        "--html writes one self-contained page again whenever something has changed, by a rename,\n"
        "so that it can be read over any web server, scp or sshfs. Exit 0 if all runs are done, and\n"
        "of rounds only with their verdict (8 without one), 1 if some ended without a result, 130\n"
        "on Ctrl-C, 6 on --timeout; the jobs continue in any case.\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_watch_run,
};
