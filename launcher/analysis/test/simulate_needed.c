/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of seeds that would decide, as a few pilot runs say it, and what follows. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#define MOST 400 /* runs of a simulated study */
#define LOOKS 8  /* after the first, of who follows it until it is decided */

struct law {
    const char *name;
    double scatter, seed, fall;
};

static const struct law laws[] = {{"scatter 0.005 a run", 0.005, 0, 0},
                                  {"scatter 0.01 a run", 0.01, 0, 0},
                                  {"scatter 0.004 a run, 0.01 a seed", 0.004, 0.01, 0},
                                  {"scatter 0.01 a run, IoU falls by 0.01", 0.01, 0, 0.01}};
static const long runs[] = {2, 3, 5};
#define NRUNS (sizeof runs / sizeof *runs)

enum { DECIDES, SEEDS, WRONG, FOLLOWED, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [DECIDES] = {"\"about n seeds would decide\" decides", SIMULATE_AT_LEAST, 0.8},
    [SEEDS] = {"n", SIMULATE_SHOWN_MEDIAN, 0},
    [WRONG] = {"it decides for a worse count", SIMULATE_AT_MOST, 0.05},
    [FOLLOWED] = {"followed until decided: for a worse count", SIMULATE_SHOWN, 0},
};

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%s, %ld pilot runs", laws[i / NRUNS].name, runs[i % NRUNS]);
}

static struct simulate_design design_of(size_t i, long n)
{
    const struct law *l = &laws[i / NRUNS];

    return (struct simulate_design){.runs = n, .noise = 0.001,
                                    .quality = 0.9, .scatter = l->scatter,
                                    .scatter_seed = l->seed, .fall = l->fall, .falls_from = 2};
}

/* Analyses the study with n runs a count, of which the first are those of the pilot. *holds becomes
 * the state of 8 GPUs. Returns the seeds that would decide, or 0. */
static size_t analyse(size_t i, uint64_t number, long n, enum quality_state *state)
{
    struct simulate_design design = design_of(i, n);
    struct simulate_study sim;

    simulate_create(&sim, &design, number);
    const struct decision *d = &sim.analysis.series[0].decision;
    size_t needed = d->reach->gpus == 8 ? d->seeds.n : 0;
    *state = d->quality[SIMULATE_NCOUNTS - 1].state;
    simulate_destroy(&sim);
    return needed;
}

static void study(size_t i, uint64_t number, double *values)
{
    enum quality_state state;
    size_t n = analyse(i, number, runs[i % NRUNS], &state), next = n;
    bool lower = laws[i / NRUNS].fall > 0;

    if (!n || n > MOST)
        return;
    values[SEEDS] = (double)n;
    next = analyse(i, number, (long)n, &state);
    values[DECIDES] = state == QUALITY_HOLDS || state == QUALITY_FALLS;
    values[WRONG] = lower && state == QUALITY_HOLDS;
    for (int looks = 0; looks < LOOKS && state == QUALITY_UNDECIDED; looks++) {
        if (!next || next > MOST)
            break; /* it is not practicable */
        next = analyse(i, number, (long)next, &state);
    }
    values[FOLLOWED] = lower && state == QUALITY_HOLDS;
}

/* A fall by just the margin is no change that a number of seeds decides on. */
static bool promised(size_t i, size_t k)
{
    return k != DECIDES || !(laws[i / NRUNS].fall > 0);
}

const struct simulate_area simulate_needed = {
    .name = "needed",
    .what = "The seeds that would decide whether the IoU of 8 GPUs holds.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof laws / sizeof *laws * NRUNS, .quick = 2, .describe = describe, .study = study,
    .promised = promised};
