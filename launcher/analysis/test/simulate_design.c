/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include "launcher/analysis/test/table.h"
#include "src/rng.h"

#define COLLAPSED 0.3 /* the quality of a run that collapsed */

/* What random numbers are used for; they also depend on the engine. */
enum { TIME = 11, TIME_SEED, QUALITY, QUALITY_SEED, SLOW, COLLAPSE, HEAVY, USES = HEAVY + 3 };

const int simulate_counts[SIMULATE_NCOUNTS] = {1, 2, 4, 8};

void simulate_name_case(char *dst, size_t size, const char *law, long runs)
{
    snprintf(dst, size, "%s, %ld run%s", law, runs, plural(runs));
}

struct draw {
    uint64_t base, study, place; /* place: unique per run of a study, or the seed */
};

static double normal(const struct draw *d, int use)
{
    return rng_normal(d->base + (uint64_t)use, d->study, d->place);
}

static double uniform(const struct draw *d, int use)
{
    return rng_uniform(d->base + (uint64_t)use, d->study, d->place);
}

static double draw_time(const struct simulate_design *d, int gpus, const struct draw *run,
                        const struct draw *seed)
{
    double noise = d->noise * (d->grows ? gpus : 1) * normal(run, TIME);

    if (d->heavy)
        noise /= sqrt((pow(normal(run, HEAVY), 2) + pow(normal(run, HEAVY + 1), 2) +
                       pow(normal(run, HEAVY + 2), 2)) / 3);
    double factor = 1 + noise + d->noise_seed * normal(seed, TIME_SEED);
    if (d->skewed > 0 && uniform(run, SLOW) < d->skewed)
        factor += 10 * d->noise;
    double time = (d->time ? d->time(gpus) : 20. / gpus) * fmax(0.01, factor);
    return d->clock > 0 ? round(time / d->clock) * d->clock : time;
}

static double draw_quality(const struct simulate_design *d, int gpus, const struct draw *run,
                           const struct draw *seed)
{
    double quality = d->quality + d->scatter * normal(run, QUALITY) +
                     d->scatter_seed * normal(seed, QUALITY_SEED);

    if (d->falls_from && gpus >= d->falls_from)
        quality -= d->fall;
    if ((gpus > 1 || d->collapse_all) && uniform(run, COLLAPSE) < d->collapse)
        quality = COLLAPSED + 0.05 * normal(run, QUALITY);
    if (d->resolution > 0)
        quality = round(quality / d->resolution) * d->resolution;
    return fmin(1, fmax(0, quality));
}

void simulate_fill(struct results *table, const struct simulate_design *d, const char *engine,
                   uint64_t study)
{
    uint64_t base = (uint64_t)(engine[0] * USES);
    const int *counts = d->counts ? d->counts : simulate_counts;
    size_t n = d->counts ? d->ncounts : SIMULATE_NCOUNTS;

    for (size_t i = 0; i < n; i++)
        for (long k = 1; k <= d->runs; k++) {
            long seed = d->one_seed ? 1 : k;
            struct draw of_run = {base, study, (uint64_t)(counts[i] * 1000 + seed)},
                        of_seed = {d->shared_seeds ? 0 : base, study, (uint64_t)seed},
                        of_time = {base, study, (uint64_t)(counts[i] * 1000 + k)};
            struct result *r = table_add(table, engine, counts[i], k,
                                         draw_time(d, counts[i], &of_time, &of_seed));
            if (d->epochs)
                table_add_curve(r, d->epochs, r->median_epoch_s);
            r->quality.iou = draw_quality(d, counts[i], &of_run, &of_seed);
            if (d->lower) {
                result_set_text(r->quality.metric, sizeof r->quality.metric, "val_loss");
                r->quality.lower = 1, r->quality.value = 2 - r->quality.iou;
            }
            r->loss = 1 - r->quality.iou + 1e-3 * uniform(&of_run, QUALITY);
        }
}

void simulate_analyse(struct simulate_study *s, const struct analysis_options *options)
{
    const struct analysis_options preset = ANALYSIS_OPTIONS_INIT;
    struct err e;

    snprintf(s->source.title, sizeof s->source.title, "study");
    results_sort(&s->source.results);
    if (analysis_create(&s->analysis, &s->source, 1, options ? options : &preset, &e))
        bail_out("%s", e.text);
}

void simulate_create(struct simulate_study *s, const struct simulate_design *d, uint64_t study)
{
    *s = (struct simulate_study){0};
    simulate_fill(&s->source.results, d, "x", study);
    simulate_analyse(s, NULL);
}

void simulate_destroy(struct simulate_study *s)
{
    analysis_destroy(&s->analysis);
    results_destroy(&s->source.results);
}
