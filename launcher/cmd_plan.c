/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/workspace.h"

static struct workspace_args args;
static bool as_json;

static const struct cli_option options[] = {
    WORKSPACE_OPTIONS_PLAN(args),
    WORKSPACE_OPTION_SCHEDULER(args),
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &as_json, 0, 0},
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

/* What the run costs at most: its GPUs until the time limit. 0 without a limit. */
static double gpu_hours(const struct workspace *w, const struct run *run)
{
    return run->layout.gpus * (w->options.time_min / 60.0);
}

static int print_json(const struct workspace *w, const struct run_plan *plan, struct err *e)
{
    json_t *runs = json_array(), *root;
    double hours = 0;
    int rc;

    for (size_t i = 0; i < plan->count; i++) {
        const struct layout *l = &plan->runs[i].layout;
        hours += gpu_hours(w, &plan->runs[i]);
        json_array_append_new(
            runs, json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f}", "run", plan->runs[i].id,
                            "seed", plan->runs[i].seed, "gpus", l->gpus, "nodes", l->nodes, "tasks",
                            l->tasks, "tasks_per_node", l->tasks_per_node, "gpus_per_task",
                            l->gpus_per_task, "strategy", layout_strategy_encode(l->strategy),
                            "gpu_hours", gpu_hours(w, &plan->runs[i])));
    }
    root = json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:f, s:o}", "schema", 1, "study",
                     w->study.name, "engine", w->study.engine, "site", w->site.name, "scheduler",
                     w->scheduler, "time_min", w->options.time_min, "gpu_hours", hours, "runs", runs);
    rc = root ? json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : -1;
    putchar('\n');
    json_decref(root);
    return rc ? err_set(e, ERR_INTERNAL, "the plan cannot be written as JSON") : 0;
}

static void print_table(const struct workspace *w, const struct run_plan *plan)
{
    double hours = 0;

    printf("%-16s %5s %5s %5s %-12s %9s\n", "RUN", "GPUS", "NODES", "TASKS", "STRATEGY",
           "GPU-HOURS");
    for (size_t i = 0; i < plan->count; i++) {
        const struct layout *l = &plan->runs[i].layout;
        char text[32] = "-";
        if (w->options.time_min)
            snprintf(text, sizeof text, "%.1f", gpu_hours(w, &plan->runs[i]));
        hours += gpu_hours(w, &plan->runs[i]);
        printf("%-16s %5d %5d %5d %-12s %9s\n", plan->runs[i].id, l->gpus, l->nodes, l->tasks,
               layout_strategy_encode(l->strategy), text);
    }
    printf("%zu run%s on site %s (%s)", plan->count, plan->count == 1 ? "" : "s", w->site.name,
           w->scheduler);
    if (w->options.time_min)
        printf(", at most %.1f GPU-hours at %d:%02d h each", hours, w->options.time_min / 60,
               w->options.time_min % 60);
    printf("\n");
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct run_plan plan = {0};
    struct workspace w;
    int rc;

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    rc = run_plan_compute(&w.study, &w.site, w.gpus, w.seeds, &plan, e);
    if (rc == 0 && as_json)
        rc = print_json(&w, &plan, e);
    else if (rc == 0)
        print_table(&w, &plan);
    run_plan_destroy(&plan);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_plan = {
    .name = "plan",
    .args = "",
    .summary = "show which runs a study has, and on how many nodes; submits nothing",
    .details = "Example: unetctl plan --gpus 1..14 --json\n",
    .options = options,
    .run = run,
};
