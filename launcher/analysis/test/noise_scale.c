/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define STUDIES 600

static struct results table;
static struct series s[SERIES_MAX];
static struct noise_scale n;
static const struct series_facts facts;

/* Adds a run with |G|^2 = 2 and tr(Sigma) = 640, both multiplied by `wobble`; one GPU has
 * neither. */
static struct result *add(int gpus, long seed, double wobble)
{
    struct result *r = table_add(&table, "x", gpus, seed, 1);

    r->batch_per_gpu = 16;
    r->global_batch = 16L * gpus;
    if (gpus > 1) {
        r->grad_sq = 2 * wobble;
        r->grad_var = 640 * wobble;
    }
    return r;
}

static void compute(void)
{
    size_t k;

    series_destroy(&s[0]);
    if (series_compute(s, &k, "study", &table, "x", &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    noise_scale_compute(&n, &s[0]);
}

/* Draws a value like a mean of many terms: positive, and skewed to the right. */
static double draw(double mean, uint64_t stream, uint64_t i)
{
    return mean * exp(0.4 * rng_normal(5, stream, i) - 0.08);
}

static void add_epochs(struct result *r, size_t epochs, uint64_t study)
{
    double gradient = 0, noise = 0;

    r->curve = curve_create(epochs, CURVE_GRADIENT, &table_error);
    for (size_t i = 0; i < epochs; i++) {
        r->curve->seconds[i] = 1;
        r->curve->loss[i] = 1;
        r->curve->grad_sq[i] = draw(2, 2 * study, i);
        r->curve->grad_var[i] = draw(640, 2 * study + 1, i);
        if (i > 0) {
            gradient += r->curve->grad_sq[i] / (double)(epochs - 1);
            noise += r->curve->grad_var[i] / (double)(epochs - 1);
        }
    }
    r->grad_sq = gradient;
    r->grad_var = noise;
}

/* Checks in how many studies the interval contains the truth, with this number of runs, or with
 * one run of this number of epochs. */
static void cover(long runs, size_t epochs, const char *what)
{
    int hits = 0;

    for (uint64_t study = 0; study < STUDIES; study++) {
        results_destroy(&table);
        add(1, 1, 1);
        for (long seed = 1; seed <= runs; seed++) {
            struct result *r = add(4, seed, 1);
            if (epochs) {
                add_epochs(r, epochs, study);
            } else {
                r->grad_sq = draw(2, 2 * study, (uint64_t)seed);
                r->grad_var = draw(640, 2 * study + 1, (uint64_t)seed);
            }
        }
        compute();
        hits += n.interval.low <= 320 && 320 <= n.interval.high;
    }
    ok(hits >= 0.93 * STUDIES, "%s: %.1f %% of 95 %% intervals contain the truth", what,
       100. * hits / STUDIES);
}

int main(void)
{
    add(1, 1, 1);
    compute();
    ok(!n.measured && isnan(n.critical_batch) && strstr(n.why_not, "not measured"),
       "one GPU does not measure the noise scale: %s", n.why_not);
    ok(isnan(noise_scale_images(&n, 16, 32)), "without it, the cost of a batch is unknown");
    add(4, 1, 1);
    compute();
    ok(n.measured && n.nruns == 1 && !interval_is_known(&n.interval), "one run has no interval");
    near(n.critical_batch, 320, 1e-9, "the critical batch is tr(Sigma) / |G|^2");
    near(n.gpus, 20, 1e-9, "it is given in GPUs of 16 images");
    near(noise_scale_images(&n, 16, 320), 2 / 1.05, 1e-9,
         "a critical batch takes twice the images");
    ok(isnan(noise_scale_images(&n, 0, 320)), "an unknown batch has an unknown cost");
    add(2, 1, 1.1);
    add(8, 1, 0.9);
    compute();
    near(n.critical_batch, 320, 1e-9, "the critical batch does not depend on the counts");
    ok(interval_is_known(&n.interval) && !n.over_epochs && n.interval.low <= 320 + 1e-9 &&
           320 - 1e-9 <= n.interval.high, "the interval is over runs");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].grad_sq = -1;
    compute();
    ok(!n.measured && strstr(n.why_not, "lost in its noise"),
       "a gradient below its noise is reported: %s",
       n.why_not);

    cover(3, 0, "three runs");
    cover(10, 0, "ten runs");
    cover(1, 40, "one run of 40 epochs");
    ok(n.over_epochs, "the report says that the interval is over epochs");
    results_destroy(&table);
    add(1, 1, 1);
    struct result *short_run = add(4, 1, 1);
    add_epochs(short_run, 1, 1);
    short_run->grad_sq = short_run->grad_var = NAN;
    compute();
    ok(!n.measured && n.over_epochs, "a run of one epoch measures nothing");
    series_destroy(&s[0]);
    results_destroy(&table);
    return done_testing();
}
