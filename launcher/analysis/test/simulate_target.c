/* SPDX-License-Identifier: BSD-3-Clause */
/* The time to a target that the analysis chooses: curves of losses whose ratio of epochs is known,
 * because those with 2 GPUs are the same function of the epochs, stretched. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define CORRELATION 0.5 /* of the noise of neighbouring epochs */
#define SPEED 2.        /* of an epoch with 2 GPUs */
#define APART 1.2       /* as in the verdict (launcher/report/verdict.c) */

/* What a study draws by chance. */
enum { EPOCHS = 71, HEAVY, SIZE, SCATTER, RUN, NOISE, TIME = NOISE + 4 };

enum shape { EXPONENTIAL, POWER, SCHEDULE, NSHAPES };
static const char *const shapes[NSHAPES] = {"exponential", "power", "late drop by schedule"};
static const double ratios[] = {1, 1.5, 2};
static const long seeds[] = {1, 3, 5};
static const size_t lengths[] = {15, 30, 60, 100};
static const double sizes[] = {0.003, 0.01, 0.03};
#define NRATIOS (sizeof ratios / sizeof *ratios)
#define NSEEDS (sizeof seeds / sizeof *seeds)

enum { SHOWN, WRONG, ERROR, SIZE_OF, HELD, HEADLINE, OFF, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [SHOWN] = {"a difference of epochs is said", SIMULATE_SHOWN, 0},
    [WRONG] = {"where there is none, or the opposite", SIMULATE_AT_MOST, 0.05},
    [ERROR] = {"error of the ratio", SIMULATE_SHOWN_MEDIAN, 0},
    [SIZE_OF] = {"its size", SIMULATE_SHOWN_MEDIAN, 0},
    [HELD] = {"the range holds the truth", SIMULATE_AT_LEAST, 0.95},
    [HEADLINE] = {"the verdict has the time", SIMULATE_SHOWN, 0},
    [OFF] = {"and it is wrong by 10 %", SIMULATE_AT_MOST, 0.05},
};

static void describe(size_t i, char *dst, size_t size)
{
    char law[80];

    snprintf(law, sizeof law, "%s, %gx", shapes[i / (NRATIOS * NSEEDS)],
             ratios[i / NSEEDS % NRATIOS]);
    simulate_name_case(dst, size, law, seeds[i % NSEEDS]);
}

/* Returns the loss after a part of the epochs. */
static double loss_at(enum shape shape, double part)
{
    if (shape == EXPONENTIAL)
        return 0.2 + 0.8 * exp(-part * 5);
    if (shape == POWER)
        return 0.2 + 0.8 * pow(1 + part * 20, -0.7);
    return 0.3 + (part < 0.6 ? 0.2 + 0.5 * exp(-part * 12) : 0.2 * exp(-(part - 0.6) * 20));
}

static void add_run(struct results *table, enum shape shape, int gpus, long seed, double ratio,
                    uint64_t number)
{
    struct result *r = table_add(table, "x", gpus, seed, 8);
    size_t n = lengths[rng_u64(EPOCHS, number, 0) % (sizeof lengths / sizeof *lengths)];
    double size = sizes[rng_u64(SIZE, number, 0) % (sizeof sizes / sizeof *sizes)], noise = 0;
    bool heavy = rng_u64(HEAVY, number, 0) & 1;
    double slower = exp((double)(rng_u64(SCATTER, number, 0) & 1) * 0.05 *
                        rng_normal(RUN, number, (uint64_t)(gpus * 1000 + seed)));

    r->curve = curve_create(n, 0, &table_error);
    for (size_t i = 0; r->curve && i < n; i++) {
        uint64_t place = (uint64_t)(gpus * 1000 + seed) * 1000 + i;
        double z[4];
        for (size_t k = 0; k < 4; k++)
            z[k] = rng_normal(NOISE + k, number, place);
        double fresh = heavy ? z[0] / sqrt(z[1] * z[1] + z[2] * z[2] + z[3] * z[3]) : z[0];
        noise = i ? CORRELATION * noise + sqrt(1 - CORRELATION * CORRELATION) * fresh : fresh;
        r->curve->loss[i] = size * noise + loss_at(shape, (double)(i + 1) / (double)n / slower /
                                                              (gpus > 1 ? ratio : 1));
        r->curve->seconds[i] = 8 / (gpus > 1 ? SPEED : 1) *
                               exp(0.01 * rng_normal(TIME, number, place));
    }
}

static void study(size_t i, uint64_t number, double *values)
{
    double ratio = ratios[i / NSEEDS % NRATIOS];
    struct series s[SERIES_MAX];
    struct convergence c;
    struct results table = {0};
    const struct series_facts facts = {0};
    size_t n;

    for (long seed = 1; seed <= seeds[i % NSEEDS]; seed++)
        for (int gpus = 1; gpus <= 2; gpus++)
            add_run(&table, (enum shape)(i / (NRATIOS * NSEEDS)), gpus, seed, ratio, number);
    results_sort(&table);
    if (series_compute(s, &n, "study", &table, "x", &facts, NULL, &table_error) ||
        convergence_compute(&c, &s[0], NAN, NAN, &table_error))
        bail_out("%s", table_error.text);
    const struct convergence_point *p = &c.points[1];
    if (isfinite(p->epochs_ratio)) {
        double least = p->epochs_ratio_least, most = p->epochs_ratio_most;
        values[SHOWN] = least > 1 || most < 1;
        values[WRONG] = ratio > 1 ? most < 1 : least > 1 || most < 1;
        values[ERROR] = p->epochs_ratio / ratio - 1;
        values[SIZE_OF] = fabs(p->epochs_ratio / ratio - 1);
        values[HELD] = least <= ratio && ratio <= most;
        bool in_verdict = p->speedup_most <= APART * p->speedup_least;
        values[HEADLINE] = in_verdict;
        values[OFF] = in_verdict && fabs(log(p->speedup * ratio / SPEED)) > log(1.1);
    }
    convergence_destroy(&c);
    series_destroy(&s[0]);
    results_destroy(&table);
}

const struct simulate_area simulate_target = {
    .name = "target",
    .what = "Losses of 15 to 100 epochs on 1 and 2 GPUs, with noise of 0.3 to 3 % that is normal "
            "or has Student's t of 3 degrees of freedom; in half of the studies the epochs that "
            "runs need scatter by 5 %.",
    .statements = statements, .nstatements = NSTATEMENTS, .ncases = NSHAPES * NRATIOS * NSEEDS,
    .quick = 30, .describe = describe, .study = study};
