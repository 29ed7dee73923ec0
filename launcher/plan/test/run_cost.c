/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of plans in GPU-hours and on disk, and the refusal that names the GPU counts that would
 * fit. */
#include "src/base.h"
#include "launcher/plan/cost.h"

#include "t/tap.h"

#define MAX_RUNS 32

/* Makes a plan of these GPU counts with two seeds each. */
static struct plan make_plan(struct run runs[MAX_RUNS], const int *counts, size_t ncounts,
                             int minutes)
{
    struct plan plan = {.runs = runs, .count = 2 * ncounts, .scheduler = "slurm",
                        .site.gpus_per_node = 4, .options.time_min = minutes};

    for (size_t i = 0; i < plan.count; i++)
        runs[i] = (struct run){.seed = 1 + (int)(i % 2), .layout.gpus = counts[i / 2]};
    return plan;
}

static void refuses(const int *counts, size_t n, int minutes, double budget, const char *word)
{
    struct run runs[MAX_RUNS];
    struct plan plan = make_plan(runs, counts, n, minutes);
    struct err e = {0};

    if (!ok(run_cost_check(&plan, true, budget, &e) == -1 && strstr(e.text, word),
            "the error says '%s'", word))
        printf("# %s\n", e.text);
    is_int(e.code, ERR_CONFIG, "exit code");
}

int main(void)
{
    static const int loop[] = {1, 2, 3, 4, 6, 8};
    struct run runs[MAX_RUNS];
    struct plan plan = make_plan(runs, loop, 6, 60);
    struct study study = {.data = {.channels = 1, .classes = 1, .height = 1024, .width = 1024,
                                   .cache = "auto"}};
    const struct model_look model = {.parameters = 7557, .state = 160, .tensors = 44};
    struct err e = {0};

    struct run shared = {.layout = {.gpus = 5, .nodes = 2, .tasks = 5}};
    ok(run_cost_gpu_hours(&plan, &shared) == 8, "5 GPUs of two nodes cost the nodes' 8");
    shared.layout = (struct layout){.gpus = 6, .nodes = 2, .tasks = 6};
    ok(run_cost_gpu_hours(&plan, &shared) == 6, "6 GPUs, 3 of each node, cost 6");
    plan.options.exclusive = true;
    ok(run_cost_gpu_hours(&plan, &shared) == 8, "with --exclusive 8");
    plan.options = (struct job_options){.time_min = 90};
    ok(run_cost_gpu_hours(&plan, &runs[11]) == 12, "8 GPUs for 1:30 h are 12 GPU-hours");
    plan.options.time_min = 60;
    ok(run_cost_check(&plan, true, 48, &e) == 0, "48 of 48 GPU-hours are accepted");
    refuses(loop, 6, 60, 47.9, "0.1 more than --max-gpu-hours 47.9");
    refuses(loop, 6, 60, 47.9, "--gpus 1..4,6 (32.0) would fit");
    refuses(loop, 6, 60, 24, "--gpus 1..4 (20.0) would fit");
    refuses(loop, 6, 60, 24, "a time limit of 30 minutes");
    refuses(loop, 6, 60, 2, "--gpus 1 (2.0) would fit");
    refuses(loop + 1, 5, 60, 2, "no count of the list fits");
    refuses(loop, 6, 0, 1000, "no time limit");
    ok(run_cost_check(&plan, false, 47, &e) == -1 && strstr(e.text, "; fewer RUNs would fit"),
       "runs that were named cannot be chosen by their GPUs");
    ok(run_cost_check(&plan, false, 0.5, &e) == -1 &&
           strstr(e.text, "; no run of them fits, but a time limit of 0 minutes"),
       "the smallest run costs too much");
    ok(run_cost_disk(&study, &model, 60) > 4 * 7717, "the weights count as bytes on disk");
    is_int(run_cost_cache(&study, &plan, 10LL << 20), 0, "80 MiB of images stay in memory");
    is_int(run_cost_cache(&study, &plan, 100LL << 20), 800L << 20, "800 MiB of images do not");
    study.data.cache = "off";
    is_int(run_cost_cache(&study, &plan, 100LL << 20), 0,
           "800 MiB of images stay in memory if the study says so");
    ok(run_cost_disk(&study, &model, 0) > run_cost_disk(&study, &model, 60),
       "without a time limit, a day is assumed");
    done_testing();
}
