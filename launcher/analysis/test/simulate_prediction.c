/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions from 1 to 8 GPUs, 3 runs each, of 8, 16 and 32, by the model of a whole analysis.
 * Each law is a sum of known functions, so that an oracle, which knows them, can be fitted
 * beside it. */
#include "config.h"
#include "launcher/analysis/test/simulate.h"

#include <stdio.h>

#define LARGEST 8
#define RUNS 3
#define ONE_GPU 30. /* seconds of an epoch */
#define NTERMS 4

static const int counts[] = {1, 2, 3, 4, 5, 6, 7, LARGEST};
#define NCOUNTS (sizeof counts / sizeof *counts)
static const double noises[] = {0.01, 0.03};
#define NNOISES (sizeof noises / sizeof *noises)

enum function { END, COMPUTE, SERIAL, LINEAR, TREE, JITTER, RING_OF_NODES, TWO_NODES, LIMIT_OF_6 };

/* Seconds with N GPUs, of which per_node are on a node: the sum of these parts of ONE_GPU. */
static const struct law {
    const char *name;
    int per_node;
    struct {
        enum function of;
        double part;
    } terms[NTERMS];
} laws[] = {
    {"ideal", 4, {{COMPUTE, 1}}},
    {"Amdahl, 3 %", 4, {{COMPUTE, 0.97}, {SERIAL, 0.03}}},
    {"Amdahl, 5 %", 4, {{COMPUTE, 0.95}, {SERIAL, 0.05}}},
    {"USL, 3 %, 0.2 %", 4, {{COMPUTE, 0.97}, {SERIAL, 0.03}, {LINEAR, 0.002}}},
    {"logarithmic, 2 %", 4, {{COMPUTE, 1}, {TREE, 0.02}}},
    {"node communication, 4 %", 2, {{COMPUTE, 1}, {RING_OF_NODES, 0.04}}},
    {"step of 2 % at 5 GPUs", 4, {{COMPUTE, 1}, {TWO_NODES, 0.02}}},
    {"storage limit at 6 GPUs", 4, {{LIMIT_OF_6, 1}}},
    {"jitter, 3 %", 4, {{COMPUTE, 1}, {JITTER, 0.03}}},
    {"mixed", 4, {{COMPUTE, 0.98}, {SERIAL, 0.02}, {TREE, 0.005}, {TWO_NODES, 0.01}}},
};
#define NLAWS (sizeof laws / sizeof *laws)

enum { BIAS_2N, BIAS_4N, COVERED_N, COVERED_2N, COVERED_4N, WIDTH_2N, ORACLE_2N, SCORE, REACH,
       DEADLINE, RISES, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [BIAS_2N] = {"error at 2N", SIMULATE_MEDIAN_WITHIN, 0.05},
    [BIAS_4N] = {"error at 4N", SIMULATE_MEDIAN_WITHIN, 0.2},
    [COVERED_N] = {"interval holds the truth at N", SIMULATE_AT_LEAST, 0.85},
    [COVERED_2N] = {"at 2N", SIMULATE_AT_LEAST, 0.85},
    [COVERED_4N] = {"at 4N", SIMULATE_AT_LEAST, 0.85},
    [WIDTH_2N] = {"width at 2N", SIMULATE_SHOWN_MEDIAN, 0},
    [ORACLE_2N] = {"oracle's", SIMULATE_SHOWN_MEDIAN, 0},
    [SCORE] = {"mean interval score at N, 2N, 4N", SIMULATE_SHOWN, 0},
    [REACH] = {"0.80 or more is predicted of an efficiency that is less", SIMULATE_AT_MOST, 0.05},
    [DEADLINE] = {"a deadline is predicted to be met that is missed", SIMULATE_AT_MOST, 0.05},
    [RISES] = {"predicted efficiency exceeds the largest count's by more than the noise",
               SIMULATE_AT_MOST, 0.05},
};

static double value_of(enum function f, int gpus, int per_node)
{
    double n = gpus, nodes = ceil(n / per_node);

    switch (f) {
    case COMPUTE:
        return 1 / n;
    case SERIAL:
        return 1;
    case LINEAR:
        return n - 1;
    case TREE:
        return log2(n);
    case JITTER:
        return sqrt(2 * log(n)) / n;
    case RING_OF_NODES:
        return (nodes - 1) / nodes;
    case TWO_NODES:
        return nodes > 1;
    case LIMIT_OF_6:
        return fmax(1 / n, 1 / 6.);
    case END:
        break;
    }
    return 0;
}

static const struct law *current; /* simulate_design.time has no argument for it */

static double truth(int gpus)
{
    double sum = 0;

    for (int i = 0; i < NTERMS; i++)
        sum += current->terms[i].part * value_of(current->terms[i].of, gpus, current->per_node);
    return ONE_GPU * sum;
}

/* Returns the relative width of the oracle's interval at a count: least squares on the terms of the
 * law, whose noise it knows. */
static double oracle_width(int gpus, double noise)
{
    double m[NTERMS][NTERMS + 1] = {{0}}, variance = 0, x[NTERMS];
    int n = 0;

    while (n < NTERMS && current->terms[n].of != END)
        n++;
    for (size_t g = 0; g < NCOUNTS; g++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                m[i][k] += RUNS * value_of(current->terms[i].of, counts[g], current->per_node) *
                           value_of(current->terms[k].of, counts[g], current->per_node) /
                           pow(truth(counts[g]), 2);
    for (int i = 0; i < n; i++)
        m[i][n] = x[i] = value_of(current->terms[i].of, gpus, current->per_node);
    for (int i = 0; i < n; i++) /* Gauss and Jordan; the matrix is positive definite */
        for (int r = 0; r < n; r++) {
            double factor = m[r][i] / m[i][i];
            for (int k = i; k <= n && r != i; k++)
                m[r][k] -= factor * m[i][k];
        }
    for (int i = 0; i < n; i++)
        variance += x[i] * m[i][n] / m[i][i];
    return 2 * 1.645 * noise * sqrt(variance) / truth(gpus);
}

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%s, noise %.0f %%", laws[i / NNOISES].name, 100 * noises[i % NNOISES]);
}

static double is_in(const struct bounds *b, double value)
{
    return b->low <= value && value <= b->high;
}

/* The interval score of Gneiting and Raftery (2007), of logarithms of times. */
static double score(const struct bounds *b, double value)
{
    return log(b->high / b->low) + 2 / (1 - MODEL_LEVEL) * (fmax(0, log(b->low / value)) +
                                                            fmax(0, log(value / b->high)));
}

static void judge_sentences(const struct analysis_series *as, double noise, double *values)
{
    const struct model *m = &as->steady;
    const struct advice_choice *deadline = &as->advice.deadline;
    int reach = as->decision.model_reach;
    double measured = series_efficiency(&as->series, &as->series.points[NCOUNTS - 1])->value;

    values[REACH] = reach > LARGEST && truth(1) / truth(reach) / reach < DECISION_EFFICIENCY;
    values[DEADLINE] = deadline->gpus && !deadline->measured &&
                       truth(deadline->gpus) > truth(LARGEST) / 1.3;
    values[RISES] = 0;
    for (int n = LARGEST + 1; n <= 4 * LARGEST; n++)
        if (model_speedup(m, 1, n).expected / n > measured * (1 + 3 * noise))
            values[RISES] = 1;
}

static void study(size_t i, uint64_t number, double *values)
{
    double noise = noises[i % NNOISES];
    const struct simulate_design design = {.counts = counts, .ncounts = NCOUNTS, .runs = RUNS,
                                           .time = truth, .noise = noise, .quality = 0.9};
    struct simulate_study sim = {0};
    struct bounds b[3];

    current = &laws[i / NNOISES];
    simulate_fill(&sim.source.results, &design, "x", number);
    for (size_t k = 0; k < sim.source.results.count; k++) {
        struct result *r = &sim.source.results.rows[k];
        r->nodes = (r->gpus + current->per_node - 1) / current->per_node;
    }
    struct analysis_options options = ANALYSIS_OPTIONS_INIT;
    options.deadline_s = 12 * truth(LARGEST) / 1.3; /* runs have 12 epochs, and no start-up */
    simulate_analyse(&sim, &options);
    const struct analysis_series *as = &sim.analysis.series[0];
    for (int k = 0; k < 3; k++)
        b[k] = model_predict(&as->steady, LARGEST << k);
    values[BIAS_2N] = b[1].expected / truth(2 * LARGEST) - 1;
    values[BIAS_4N] = b[2].expected / truth(4 * LARGEST) - 1;
    for (int k = 0; k < 3; k++)
        values[COVERED_N + k] = is_in(&b[k], truth(LARGEST << k));
    values[WIDTH_2N] = (b[1].high - b[1].low) / truth(2 * LARGEST);
    values[ORACLE_2N] = oracle_width(2 * LARGEST, noise);
    values[SCORE] = (score(&b[0], truth(LARGEST)) + score(&b[1], truth(2 * LARGEST)) +
                     score(&b[2], truth(4 * LARGEST))) / 3;
    judge_sentences(as, noise, values);
    simulate_destroy(&sim);
}

static bool promised(size_t i, size_t k)
{
    return k != BIAS_4N || noises[i % NNOISES] < 0.015;
}

const struct simulate_area simulate_prediction = {
    .name = "prediction",
    .what = "Predictions from 1, 2 ... N = 8 GPUs, 3 runs each; intervals of 90 %.",
    .quick = 10, .statements = statements, .nstatements = NSTATEMENTS, .ncases = NLAWS * NNOISES,
    .describe = describe, .study = study, .promised = promised};
