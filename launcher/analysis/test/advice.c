/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series s[SERIES_MAX];
static struct model whole;
static struct advice a;
static const struct model_law_known nothing;
static const struct series_facts watts = {.watts_per_gpu = 250};

/* Computes the advice for times by USL with these coefficients at counts[0..n), with T(1) = 60 s
 * per epoch. */
static void compute(const int *counts, size_t n, double sigma, double kappa, double deadline)
{
    struct model_sample samples[16];
    struct err e;
    size_t nseries;

    series_destroy(&s[0]);
    results_destroy(&table);
    for (size_t i = 0; i < n; i++) {
        double k = counts[i], t = 60 * (1 + sigma * (k - 1) + kappa * k * (k - 1)) / k;
        table_add(&table, "x", counts[i], 1, t);
        samples[i] = (struct model_sample){k, 12 * t, 0}; /* the whole run has 12 epochs */
    }
    if (series_compute(s, &nseries, "study", &table, "x", &watts, NULL, &e) ||
        model_fit(&whole, samples, n, &nothing, &e))
        bail_out("%s", e.text);
    advice_compute(&a, &s[0], &whole, deadline);
}

int main(void)
{
    static const int counts[] = {1, 2, 4, 8, 16, 32};

    compute(counts, 6, 0.02, 0.002, 0);
    ok(a.time.gpus == 16 && a.time.measured, "the count with the shortest time is advised");
    ok(a.gpu_hours.gpus == 1 && a.energy.gpus == 1,
       "the count with the fewest GPU-hours and the least energy is advised");
    ok(a.time_overlaps && a.hours_overlap, "single runs do not show a difference of 3 %%");
    near(a.energy.value, 250 * 12 * 60 / 3.6e6, 1e-9, "energy is given in kWh");
    ok(a.energy_estimated && !a.energy_separated && strstr(a.energy.why, "do not separate"),
       "single runs do not show which count needs the least");
    is_int(a.deadline.gpus, 0, "without a deadline no count is advised for it");
    s[0].points[3].q[QUANTITY_ENERGY].median = NAN;
    advice_compute(&a, &s[0], &whole, 0);
    ok(!a.energy.gpus && strcmp(a.energy.why, "energy was not recorded for 8 GPUs") == 0,
       "none is advised where the energy of a count is not known");

    compute(counts, 6, 0.02, 0.002, 150);
    ok(a.deadline.gpus >= 6 && a.deadline.gpus < 8 && !a.deadline.measured &&
           model_latest(&whole, a.deadline.gpus) <= 150 &&
           model_latest(&whole, a.deadline.gpus - 1) > 150 && !a.deadline.extrapolated,
       "the fewest GPUs are advised that surely meet the deadline (%d)", a.deadline.gpus);
    compute(counts, 6, 0.02, 0.002, 10);
    ok(a.deadline.gpus == 0 && strstr(a.deadline.why, "of any up to 64, twice"),
       "a deadline that cannot be met is reported: %s", a.deadline.why);

    static const int slow[] = {1, 2, 8, 16};
    compute(slow, 4, 0.02, 0.002, 112);
    s[0].points[2].q[QUANTITY_WHOLE].median = 130;
    advice_compute(&a, &s[0], &whole, model_latest(&whole, 8));
    ok(a.deadline.gpus == 9,
       "a count that was measured as too slow is not advised by the model (%d)",
       a.deadline.gpus);
    advice_compute(&a, &s[0], &whole, model_predict(&whole, 9).high);
    ok(a.deadline.gpus == 10, "nor one that only the interval of 90 %% meets (%d)",
       a.deadline.gpus);

    compute(counts, 2, 0.001, 0, 100);
    ok(a.deadline.gpus == 0, "without a model no count is predicted");

    series_destroy(&s[0]);
    results_destroy(&table);
    for (int i = 0; i < 9; i++)
        table_add(&table, "x", 1 << i % 3, 1 + i / 3, 60 + i * 5 % 4);
    results_sort(&table);
    struct err e;
    size_t nseries;
    if (series_compute(s, &nseries, "study", &table, "x", &watts, NULL, &e))
        bail_out("%s", e.text);
    advice_compute(&a, &s[0], &whole, 0);
    ok(a.time.gpus && a.time_overlaps, "times that differ by noise alone are said to overlap");
    ok(a.gpu_hours.gpus == 1 && !a.hours_overlap, "but not the GPU-hours of equal times");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].training_time /= table.rows[i].gpus;
    series_destroy(&s[0]);
    if (series_compute(s, &nseries, "study", &table, "x", &watts, NULL, &e))
        bail_out("%s", e.text);
    advice_compute(&a, &s[0], &whole, 0);
    ok(!a.time_overlaps && a.hours_overlap, "nor the times, but the GPU-hours, of ideal scaling");

    s[0].equal_epochs = false;
    advice_compute(&a, &s[0], &whole, 0);
    ok(a.time.gpus == 0 && a.gpu_hours.gpus == 0 &&
       strstr(a.time.why, "different numbers of epochs"),
       "runs with different numbers of epochs are not compared: %s", a.time.why);
    series_destroy(&s[0]);
    results_destroy(&table);
    return done_testing();
}
