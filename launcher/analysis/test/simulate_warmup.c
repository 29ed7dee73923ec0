/* SPDX-License-Identifier: BSD-3-Clause */
/* The steady speed of single runs, some of which begin slowly (results.h). */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include "src/rng.h"
#include "src/stat.h"

#define INTERVALS 40
#define FIRST 5    /* how many times as long the first slow interval takes */
#define FURTHER 1.5

static const size_t slow[] = {0, 1, 3, 10};
static const double noises[] = {0.01, 0.03, 0.1};
#define NNOISES (sizeof noises / sizeof *noises)

enum { FOUND, MORE, ERROR, PLAIN, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [FOUND] = {"all slow intervals are left out", SIMULATE_AT_LEAST, 0.95},
    [MORE] = {"and more", SIMULATE_AT_MOST, 0.02},
    [ERROR] = {"error of the steady speed, mean", SIMULATE_SHOWN, 0},
    [PLAIN] = {"if only the first interval is left out", SIMULATE_SHOWN, 0},
};

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%zu slow, noise %.0f %%", slow[i / NNOISES], 100 * noises[i % NNOISES]);
}

static void study(size_t i, uint64_t number, double *values)
{
    size_t nslow = slow[i / NNOISES];
    struct result r;
    struct err e;
    struct curve *c = curve_create(INTERVALS, CURVE_UNITS, &e);

    for (size_t k = 0; c && k < INTERVALS; k++) {
        c->units[k] = 16 + floor(48 * rng_uniform(1, number, k)); /* rows are not of equal work */
        c->seconds[k] = c->units[k] * exp(noises[i % NNOISES] * rng_normal(2, number, k)) *
                        (k >= nslow ? 1 : k ? FURTHER : FIRST);
    }
    result_init(&r);
    curve_measure(c, &r);
    size_t warmup = curve_warmup(c);
    values[FOUND] = warmup >= nslow;
    values[MORE] = warmup > (nslow ? nslow : 1);
    values[ERROR] = fabs(r.units_per_s - 1);
    for (size_t k = 0; k < INTERVALS; k++)
        c->seconds[k] /= c->units[k];
    values[PLAIN] = fabs(1 / stat_median(c->seconds + 1, INTERVALS - 1) - 1);
    curve_destroy(c);
}

/* With 10 % of noise, 1.5 times as long is often not told from noise. */
static bool promised(size_t i, size_t k)
{
    return k != FOUND || noises[i % NNOISES] < 0.1;
}

const struct simulate_area simulate_warmup = {
    .name = "warmup",
    .what = "Runs of 40 intervals; the first slow one takes 5 times as long, further ones 1.5.",
    .statements = statements, .nstatements = NSTATEMENTS,
    .ncases = sizeof slow / sizeof *slow * NNOISES, .quick = 200,
    .describe = describe, .study = study, .promised = promised};
