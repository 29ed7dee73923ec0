/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/buf.h"

#define SEED 2015
#define TIME_MARGIN 0.02 /* share of an epoch time that matters between series */

static int out_of_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory for the analysis");
}

/* What a law is fitted to: seconds of a steady epoch, as long as the base case's in images; of the
 * whole run; or images per second. NaN: this run does not know. */
static double sample_of(const struct series *s, const struct result *r, enum model_law law,
                        bool whole)
{
    double epoch = r->median_epoch_s;

    if (law == MODEL_GUSTAFSON)
        return r->images / epoch;
    if (whole)
        return s->equal_epochs && s->mode != SERIES_WEAK ? quantity_of(r, QUANTITY_WHOLE) : NAN;
    return s->by_images ? epoch * s->points[0].q[QUANTITY_IMAGES].median / r->images : epoch;
}

static int fit(struct model *m, const struct series *s, enum model_law law, bool whole,
               struct model_sample *room, struct err *e)
{
    size_t n = 0;
    bool weak = s->mode == SERIES_WEAK || s->mode == SERIES_WEAK_BATCH;

    for (size_t i = 0; i < s->nrows; i++) {
        double v = sample_of(s, &s->rows[i], law, whole);
        if (isfinite(v) && v > 0)
            room[n++] = (struct model_sample){s->rows[i].gpus, v};
    }
    return model_fit(m, law, room, law == MODEL_GUSTAFSON && (whole || !weak) ? 0 : n, SEED, e);
}

static int fit_models(struct analysis_series *as, struct err *e)
{
    struct model_sample *room = calloc(as->series.nrows + 1, sizeof *room);
    int rc = room ? 0 : out_of_memory(e);

    for (int law = 0; rc == 0 && law < MODEL_NLAWS; law++)
        rc = fit(&as->steady[law], &as->series, (enum model_law)law, false, room, e) ||
             fit(&as->whole[law], &as->series, (enum model_law)law, true, room, e) ? -1 : 0;
    free(room);
    return rc;
}

/* The default qualities of which the time to each is told. */
static const double usual_levels[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99};

static bool is_reached(const struct convergence *c)
{
    for (size_t i = 0; i < c->npoints; i++)
        if (c->points[i].nreached)
            return true;
    return false;
}

/* Those that no run reached are left out. */
static int add_levels(struct analysis_series *as, const struct analysis_options *options,
                      struct err *e)
{
    const double *levels = options->nlevels ? options->levels : usual_levels;
    size_t n = options->nlevels ? options->nlevels : sizeof usual_levels / sizeof *usual_levels;

    as->levels = calloc(n, sizeof *as->levels);
    if (!as->levels)
        return out_of_memory(e);
    for (size_t i = 0; i < n && as->convergence.scored; i++) {
        struct convergence *c = &as->levels[as->nlevels];
        if (convergence_compute(c, &as->series, levels[i], NAN, e))
            return -1;
        if (is_reached(c))
            as->nlevels++;
        else
            convergence_destroy(c);
    }
    return 0;
}

/* Models and choices point into as, which does not move any more. */
static int analyse_series(struct analysis_series *as, const struct results *table,
                          const struct analysis_options *options, struct err *e)
{
    if (fit_models(as, e))
        return -1;
    /* Gustafson's law, the last, is of work that grows. */
    as->steady_choice = model_choose(
        as->steady, as->series.mode == SERIES_WEAK ? MODEL_NLAWS : MODEL_GUSTAFSON);
    as->whole_choice = model_choose(as->whole, MODEL_GUSTAFSON);
    advice_compute(&as->advice, &as->series, as->whole_choice, options->deadline_s);
    noise_scale_compute(&as->noise, &as->series);
    if (convergence_compute(&as->convergence, &as->series, options->score_target,
                            options->loss_target, e) ||
        add_levels(as, options, e))
        return -1;
    return as->series.npoints > 1
               ? decision_compute(&as->decision, &as->series, as->steady_choice, table, e)
               : 0;
}

static int add_engine(struct analysis *a, size_t source, const char *engine,
                      const struct analysis_options *options, struct buf *notes, struct err *e)
{
    struct series found[SERIES_MAX];
    size_t n;

    if (series_compute(found, &n, a->sources[source].title, a->sources[source].table, engine,
                       &options->facts, notes, e))
        return -1;
    struct analysis_series *series = reallocarray(a->series, a->nseries + n + 1, sizeof *series);
    for (size_t i = 0; !series && i < n; i++)
        series_destroy(&found[i]);
    if (!series)
        return out_of_memory(e);
    a->series = series;
    for (size_t i = 0; i < n; i++)
        a->series[a->nseries++] = (struct analysis_series){.series = found[i], .source = source};
    return 0;
}

static int find_series(struct analysis *a, const struct analysis_options *options, struct err *e)
{
    struct buf notes = {0};
    int rc = 0;

    for (size_t i = 0; i < a->nsources && rc == 0; i++) {
        const struct results *table = a->sources[i].table;
        for (size_t row = 0; row < table->count && rc == 0;) {
            const char *engine = table->rows[row].engine;
            rc = add_engine(a, i, engine, options, &notes, e);
            while (row < table->count && strcmp(table->rows[row].engine, engine) == 0)
                row++;
        }
    }
    buf_add(&notes, "");
    a->notes = notes.data || notes.failed ? buf_steal(&notes) : calloc(1, 1);
    return rc ? rc : a->notes ? 0 : out_of_memory(e);
}

static int add_difference(struct analysis_pair *pair, const struct series_point *a,
                          const struct series_point *b, enum quantity q, struct err *e)
{
    struct analysis_difference *d = &pair->differences[pair->ndifferences++];
    bool time = q == QUANTITY_STEADY_EPOCH;
    double margin = time ? TIME_MARGIN * a->q[q].median : DECISION_IOU_MARGIN;

    *d = (struct analysis_difference){.gpus = a->gpus, .quantity = q,
                                      .ratio = {.value = NAN, .interval = interval_none()}};
    if (time)
        d->ratio = series_compare(a, b, q);
    return compare_runs(&d->compare, a->rows, a->nruns, b->rows, b->nruns, q, margin, e);
}

/* All of one quantity over the common counts, corrected together. */
static int add_quantity(struct analysis_pair *pair, const struct series *a, const struct series *b,
                        enum quantity q, struct err *e)
{
    size_t first = pair->ndifferences, n;

    for (size_t i = 0, j = 0; i < a->npoints && j < b->npoints;) {
        int x = a->points[i].gpus, y = b->points[j].gpus;
        if (x == y && add_difference(pair, &a->points[i], &b->points[j], q, e))
            return -1;
        i += x <= y;
        j += y <= x;
    }
    n = pair->ndifferences - first;
    struct comparison *compare = calloc(n + 1, sizeof *compare);
    if (!compare)
        return out_of_memory(e);
    for (size_t i = 0; i < n; i++)
        compare[i] = pair->differences[first + i].compare;
    compare_correct(compare, n);
    for (size_t i = 0; i < n; i++)
        pair->differences[first + i].compare = compare[i];
    free(compare);
    return 0;
}

static int add_pair(struct analysis *a, size_t i, size_t k, struct err *e)
{
    const struct series *x = &a->series[i].series, *y = &a->series[k].series;
    struct analysis_pair *pair = &a->pairs[a->npairs++];

    *pair = (struct analysis_pair){
        .a = i, .b = k, .differences = calloc(2 * x->npoints, sizeof *pair->differences)};
    if (!pair->differences)
        return out_of_memory(e);
    return add_quantity(pair, x, y, QUANTITY_STEADY_EPOCH, e) ||
                   add_quantity(pair, x, y, QUANTITY_IOU, e)
               ? -1
               : 0;
}

/* Weak and strong runs of a study differ by more than a cause, and so do epochs that grow and others. */
static bool are_comparable(const struct analysis_series *x, const struct analysis_series *y)
{
    enum series_mode a = x->series.mode, b = y->series.mode;

    if (a == b || a < SERIES_STRONG || b < SERIES_STRONG)
        return true;
    if (x->source == y->source && strcmp(x->series.engine, y->series.engine) == 0)
        return false;
    return a != SERIES_WEAK && b != SERIES_WEAK;
}

static int compare_series(struct analysis *a, struct err *e)
{
    size_t n = a->nseries < ANALYSIS_PAIRED ? a->nseries : ANALYSIS_PAIRED;

    a->pairs = calloc(n * n + 1, sizeof *a->pairs);
    if (!a->pairs)
        return out_of_memory(e);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (are_comparable(&a->series[i], &a->series[k]) && add_pair(a, i, k, e))
                return -1;
    return 0;
}

/* The first run without a result, for the message that there is none with one. */
static const struct result *first_bad(const struct analysis *a)
{
    for (size_t i = 0; i < a->nsources; i++)
        if (a->sources[i].table->count)
            return &a->sources[i].table->rows[0];
    return NULL;
}

/* A speed-up is told over 1 GPU, unless another base case was named. */
static int check_base(const struct analysis *a, int wanted, struct err *e)
{
    int smallest = 0;

    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        if (s->npoints > 1 && s->points[0].gpus == wanted)
            return 0;
        if (s->npoints > 1 && (smallest == 0 || s->points[0].gpus < smallest))
            smallest = s->points[0].gpus;
    }
    return err_set(e, ERR_STATS,
                   "%s: no run on %d GPU%s has a result, and speed-ups are told over that. Run it "
                   "(unetctl submit --gpus %d; unetctl collect says what became of it), or take %d GPUs "
                   "as the base case: --base %d",
                   a->sources[0].title, wanted, wanted == 1 ? "" : "s", wanted, smallest, smallest);
}

static int check(const struct analysis *a, int base, struct err *e)
{
    const char *title = a->nsources ? a->sources[0].title : "";
    const struct result *bad = first_bad(a);
    bool compared = false;

    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        compared |= s->npoints > 1;
        if (s->npoints > 1 && !isnan(s->points[0].q[QUANTITY_STEADY_EPOCH].median))
            return check_base(a, base ? base : 1, e);
    }
    if (compared)
        return err_set(
            e, ERR_STATS,
            "%s: the runs of the base case have no steady epoch (a single epoch, which pays for "
            "start-up, or no times), so there is nothing to compare. Train for two epochs or more",
            title);
    if (!bad)
        return err_set(e, ERR_DATA, "%s: there is no run in it", title);
    if (a->nseries == 0)
        return err_set(e, ERR_DATA,
                       "%s: no run has a result; the first, %.60s (%d GPU%s), is %s: %.300s",
                       title, bad->run, bad->gpus, bad->gpus == 1 ? "" : "s",
                       result_state_name(bad->state), bad->note);
    return err_set(
        e, ERR_STATS,
        "%s: a speed-up compares two numbers of GPUs, and all runs with a result ran on %d GPU%s "
        "only; submit more counts, e.g. --gpus 1,2,4",
        title, a->series[0].series.points[0].gpus,
        a->series[0].series.points[0].gpus == 1 ? "" : "s");
}

int analysis_create(struct analysis *a, const struct analysis_source *sources, size_t nsources,
                    const struct analysis_options *options, struct err *e)
{
    *a = (struct analysis){.sources = sources, .nsources = nsources};
    if (find_series(a, options, e) || check(a, options->facts.base, e))
        goto fail;
    for (size_t i = 0; i < a->nseries; i++)
        if (analyse_series(&a->series[i], sources[a->series[i].source].table, options, e))
            goto fail;
    if (compare_series(a, e))
        goto fail;
    rules_compute(a->rules, a);
    return 0;
fail:
    analysis_destroy(a);
    return -1;
}

void analysis_destroy(struct analysis *a)
{
    for (size_t i = 0; i < a->nseries; i++) {
        series_destroy(&a->series[i].series);
        convergence_destroy(&a->series[i].convergence);
        for (size_t k = 0; k < a->series[i].nlevels; k++)
            convergence_destroy(&a->series[i].levels[k]);
        free(a->series[i].levels);
        decision_destroy(&a->series[i].decision);
    }
    for (size_t i = 0; i < a->npairs; i++)
        free(a->pairs[i].differences);
    free(a->series);
    free(a->pairs);
    free(a->notes);
    *a = (struct analysis){0};
}
