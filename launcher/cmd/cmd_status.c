/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/status/run_status.h"
#include "src/control.h"
#include "src/log.h"

static struct workspace_args args;
static bool as_json;

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &as_json, 0, 0},
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

static int print_status_json(const struct workspace *w, const struct run_status_list *list,
                             struct err *e)
{
    json_t *runs = json_array();

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(runs, run_status_encode(&list->runs[i]));
    return jsonio_print(json_pack("{s:i, s:s, s:s, s:o}", "schema", 1, "study", w->study.name,
                                  "study_id", w->ledger.study_id, "runs", runs),
                        9, "the status", e);
}

/* Formats the time of the job or, if the scheduler has forgotten the job, that of a finished
 * training; "-" if neither is known. */
static void format_time(const struct run_status *s, char dst[32])
{
    long seconds = -1;

    if (s->started)
        seconds = (long)difftime(s->ended ? s->ended : time(NULL), s->started);
    else if (s->phase == RUN_GOOD)
        seconds = (long)s->progress.training_s;
    if (seconds < 0)
        snprintf(dst, 32, "-");
    else
        snprintf(dst, 32, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

static void print_run(const struct run_status *s)
{
    char elapsed[32], epochs[32] = "-", gpus[16] = "-", nodes[16] = "-",
        result[sizeof s->nodes + sizeof s->reason + 8];

    format_time(s, elapsed);
    if (s->progress.epochs)
        snprintf(epochs, sizeof epochs, "%d/%d", s->progress.epoch, s->progress.epochs);
    if (s->phase == RUN_GOOD && s->progress.quality >= 0)
        snprintf(result, sizeof result, "%s %.4f", s->progress.metric,
                 s->progress.quality);
    else if (!*s->reason || strcmp(s->reason, "None") == 0)
        snprintf(result, sizeof result, "%s", s->nodes);
    else
        snprintf(result, sizeof result, "%s%s(%s)", s->nodes, *s->nodes ? " " : "", s->reason);
    control_blank(result); /* the reason may be a script's, written into FAILED */
    if (s->layout.gpus) {
        snprintf(gpus, sizeof gpus, "%d", s->layout.gpus);
        snprintf(nodes, sizeof nodes, "%d", s->layout.nodes);
    }
    printf("%-16s %-13s %8s %4s %5s %9s %9s %s\n", s->run.id, s->state, *s->job ? s->job : "-",
           gpus, nodes, elapsed, epochs, result);
}

static void print_table(const struct run_status_list *list)
{
    printf("%-16s %-13s %8s %4s %5s %9s %9s %s\n", "RUN", "STATE", "JOB", "GPUS", "NODES", "TIME",
           "EPOCH", "RESULT/NODELIST(REASON)");
    for (size_t i = 0; i < list->count; i++)
        print_run(&list->runs[i]);
}

static int cmd_status_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct run_status_list list;
    struct workspace w;
    int rc;

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    rc = run_status_collect(&w, &list, e);
    if (rc == 0) {
        if (as_json)
            rc = print_status_json(&w, &list, e);
        else if (list.count)
            print_table(&list);
        else
            log_info("%s has no runs yet; type 'unetctl submit --gpus LIST'", w.study.dir);
        if (rc == 0 && list.unreachable) {
            *e = list.reason;
            rc = -1;
        } else if (rc == 0) {
            rc = run_status_check_damage(&list, e);
        }
        run_status_destroy(&list);
    }
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_status = {
    .name = "status",
    .args = "",
    .summary = "show the state of every run",
    .details =
        "The marker in a run's folder decides (COMPLETED, FAILED); a job that ended without one\n"
        "has the state its scheduler reports. A job that ended less than a minute ago without a\n"
        "marker is ENDED, as the marker may not be visible here yet; one that Slurm does not show\n"
        "is UNSEEN, and LOST after two minutes. Runs of other users are \"submitted by X\".\n"
        "Exit 0 whatever the states are; 4 if the scheduler cannot be asked about a run (whose\n"
        "state is UNKNOWN); 7 if the run.json of a run cannot be read (its row says why; it is\n"
        "DAMAGED unless its job is active).\n",
    .options = options,
    .run = cmd_status_run,
};
