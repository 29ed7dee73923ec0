/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/series.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"

/* Forgets what a run that ended at its limit does not show: the end, and what the whole takes. */
static void forget_whole(struct result *r)
{
    double *const unknown[] = {&r->training_time, &r->test_time, &r->job_s, &r->energy.gpus_j,
                               &r->loss, &r->energy.cpus_j, &r->energy.nodes_j, &r->quality.iou,
                               &r->quality.iou_own_size, &r->quality.dice, &r->quality.accuracy,
                               &r->quality.value};

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        *unknown[i] = NAN;
}

void series_rows_complete(struct result *r, const struct series_facts *facts)
{
    if (r->limited == 1)
        forget_whole(r);
    double whole = quantity_of(r, QUANTITY_WHOLE);
    r->series.work = r->epochs;

    if (!r->batch_per_gpu && r->global_batch)
        r->batch_per_gpu = r->global_batch % r->gpus ? 0 : r->global_batch / r->gpus;
    if (!r->batch_per_gpu)
        r->batch_per_gpu = facts->batch_per_gpu;
    if (!r->global_batch)
        r->global_batch = r->batch_per_gpu * r->gpus;
    if (isnan(r->units) && facts->train_images && r->stepped != 1) {
        long batch = facts->keep_remainder ? 1 : r->global_batch;
        r->units = batch ? (double)(facts->train_images / batch * batch) : NAN;
        r->units_per_s = r->median_epoch_s > 0 ? r->units / r->median_epoch_s : NAN;
    }
    if (facts->epoch) {
        size_t i = (size_t)facts->epoch;
        r->second_epoch_s = r->curve && i < r->curve->n ? r->curve->seconds[i] : NAN;
    }
    r->series.energy_estimated = isnan(r->energy.gpus_j) && facts->watts_per_gpu > 0;
    if (r->series.energy_estimated)
        r->energy.gpus_j = facts->watts_per_gpu * r->gpus * whole;
}

void series_rows_measure(struct series *s, const struct series_facts *facts)
{
    const struct result *first = s->rows;

    s->unit = facts->unit && *facts->unit ? facts->unit : "images";
    s->stepped = s->nrows > 0;
    for (size_t i = s->nrows; i-- > 0;) {
        const struct result *r = &s->rows[i];
        first = isnan(result_quality(r)) ? first : r;
        s->unit = *r->unit ? r->unit : s->unit;
        s->stepped &= r->stepped == 1;
    }
    for (size_t i = 0; i < s->nrows; i++) {
        memmove(s->rows[i].quality.metric, first->quality.metric, sizeof first->quality.metric);
        s->rows[i].quality.lower = first->quality.lower;
    }
    s->has_quality = s->nrows && !isnan(result_quality(first));
    s->quality = s->nrows ? result_quality_word(first) : "IoU";
    s->is_share = s->nrows && result_quality_is_share(first);
    s->lower = s->nrows && !s->is_share && first->quality.lower == 1;
    double size = s->nrows ? fabs(result_quality(first)) : NAN;
    s->decimals = s->is_share || !(size > 1e-9 && size < 1e9) ? 4 : 3 - (int)floor(log10(size));
    s->decimals = s->decimals < 0 ? 0 : s->decimals;
}

/* Returns the run whose work the intervals of a run on `gpus` GPUs are scaled to: the first of
 * the same count that has epochs, or else any that has, or if none has epochs the first. NULL if
 * their work is unknown. */
static const struct result *find_measure(const struct result *rows, size_t n, int gpus,
                                         bool epochs)
{
    const struct result *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].units) || (epochs && rows[i].stepped == 1))
            continue;
        if (!found || (epochs && rows[i].gpus == gpus && found->gpus != gpus))
            found = &rows[i];
    }
    return found;
}

/* Returns the work of a whole run, as a multiple of an unknown unit that is the same for all. */
static double work_of(const struct result *r, bool weak)
{
    return (isnan(r->units) ? 1 : r->units) * (double)r->epochs / (weak ? r->gpus : 1);
}

static void scale_row(struct result *r, const struct result *measure, bool epochs, bool weak)
{
    double work = measure ? measure->units * (weak ? (double)r->gpus / measure->gpus : 1) : NAN;
    double factor = measure ? work / r->units : epochs ? NAN : 1;

    r->median_epoch_s *= factor;
    r->comm_s *= factor;
    r->data_s *= factor;
    r->energy.epoch_j *= factor;
    r->first_epoch_s = r->second_epoch_s = NAN;
    if (!isnan(r->units))
        r->units = work;
}

void series_rows_scale(struct result *rows, size_t n, bool weak)
{
    bool epochs = false, worked = false;
    double first = NAN;

    for (size_t i = 0; i < n; i++) {
        epochs |= rows[i].stepped != 1;
        worked |= !isnan(rows[i].units);
        if (isnan(first) && rows[i].stepped == 1 && rows[i].limited != 1)
            first = work_of(&rows[i], weak);
    }
    for (size_t i = 0; i < n && weak && !worked; i++)
        rows[i].units = rows[i].gpus;
    for (size_t i = 0; i < n; i++) {
        struct result *r = &rows[i];
        if (r->stepped != 1)
            continue;
        if (r->limited != 1)
            r->series.work = 1 + lround(SERIES_WORK_STEPS * work_of(r, weak) / first);
        scale_row(r, find_measure(rows, n, r->gpus, epochs), epochs, weak);
    }
}

/* ---- all series of a table ---- */

/* Runs of one engine with the same settings. */
struct series_group {
    const char *engine, *settings;
    char *alone, *spread; /* settings_common of settings, for one GPU and for several */
    size_t ncounts;
    int last;    /* the number of GPUs of its last run in the table */
    /* it has runs on several GPUs of one node, or of unknown nodes, to which the strategy
     * matters */
    bool narrow;
};

struct series_groups {
    struct series_group *list;
    size_t count, capacity;
};

static bool is_used(const struct result *r, const struct series_facts *facts)
{
    return r->state == RESULT_DONE && !r->copied && r->gpus >= 1 && r->gpus >= facts->base;
}

static bool is_narrow(const struct result *r)
{
    return r->gpus > 1 && r->nodes <= 1;
}

/* Returns whether the run belongs to the group. common is settings_common of the run's settings, or
 * NULL if the run is narrow or its settings are unknown. */
static bool is_in_group(const struct result *r, const char *common, const struct series_group *g)
{
    return strcmp(r->engine, g->engine) == 0 &&
           (settings_equal(r->settings, g->settings) ||
            (common && settings_equal(common, r->gpus == 1 ? g->alone : g->spread)));
}

static struct series_group *find_group(const struct series_groups *all, const struct result *r)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_in_group(r, NULL, &all->list[i]))
            return &all->list[i];
    return NULL;
}

static void destroy_groups(struct series_groups *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].alone);
        free(all->list[i].spread);
    }
    free(all->list);
}

static struct series_group *append_group(struct series_groups *all, const struct result *r)
{
    if (mem_grow(&all->list, all->count, &all->capacity, sizeof *all->list, NULL))
        return NULL;
    struct series_group *g = &all->list[all->count++];
    *g = (struct series_group){.engine = r->engine, .settings = r->settings,
                               .alone = settings_common(r->settings, true),
                               .spread = settings_common(r->settings, false)};
    return r->settings && (!g->alone || !g->spread) ? NULL : g;
}

/* Returns whether another group contains all runs of g. */
static bool is_part(const struct series_groups *all, const struct series_group *g)
{
    for (const struct series_group *other = all->list; other < all->list + all->count; other++) {
        bool larger = g->last == 1 ? other->last > 1 : other->narrow;
        if (other != g && larger && !g->narrow && g->alone &&
            strcmp(other->engine, g->engine) == 0 &&
            settings_equal(g->last == 1 ? other->alone : other->spread,
                           g->last == 1 ? g->alone : g->spread))
            return true;
    }
    return false;
}

/* Sorts the groups of an engine by descending number of counts; otherwise the table's order
 * remains. */
static void sort_groups(struct series_groups *all)
{
    for (size_t i = 1; i < all->count; i++)
        for (size_t k = i; k > 0; k--) {
            struct series_group *a = &all->list[k - 1], *b = &all->list[k], swap = *a;
            if (strcmp(a->engine, b->engine) != 0 || a->ncounts >= b->ncounts)
                break;
            *a = *b;
            *b = swap;
        }
}

static int find_groups(struct series_groups *all, const struct results *table,
                       const struct series_facts *facts, struct err *e)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        struct series_group *g;
        if (!is_used(r, facts))
            continue;
        g = find_group(all, r);
        if (!g && !(g = append_group(all, r)))
            return mem_fail(e);
        g->ncounts += g->last != r->gpus;
        g->last = r->gpus;
        g->narrow |= is_narrow(r);
    }
    sort_groups(all);
    return 0;
}

/* Copies the rows of g. What they point to still belongs to the table. */
static int pick_rows(struct results *dst, const struct results *table, const struct series_group *g,
                     const struct series_facts *facts, struct err *e)
{
    dst->rows = mem_zero(table->count, sizeof *dst->rows, e);
    if (!dst->rows)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        char *common =
            is_used(r, facts) && !is_narrow(r) ? settings_common(r->settings, r->gpus == 1) : NULL;
        if (is_used(r, facts) && is_in_group(r, common, g))
            dst->rows[dst->count++] = *r;
        free(common);
    }
    return 0;
}

static int add_group(struct series_list *dst, const char *source, const struct results *table,
                     const struct series_group *g, const struct series_facts *facts,
                     struct buf *notes, struct err *e)
{
    struct series found[SERIES_MAX];
    struct results rows = {0};
    size_t n = 0;
    int rc = pick_rows(&rows, table, g, facts, e) ||
                     series_compute(found, &n, source, &rows, g->engine, facts, notes, e)
                 ? -1
                 : 0;

    for (size_t i = 0; i < n; i++) {
        found[i].settings = g->settings;
        if (rc == 0)
            rc = mem_grow(&dst->items, dst->count, &dst->capacity, sizeof *dst->items, e);
        if (rc == 0)
            dst->items[dst->count++] = found[i];
        else
            series_destroy(&found[i]);
    }
    free(rows.rows);
    return rc;
}

/* Names each series by the settings that distinguish it from the others of its engine. */
static int name_all(struct series_list *l, struct err *e)
{
    const char **settings = calloc(l->count + 1, sizeof *settings);
    int rc = settings ? 0 : mem_fail(e);

    for (size_t i = 0, first = 0, end; i < l->count && rc == 0; i++) {
        struct series *s = &l->items[i];
        struct buf name = {0};
        if (strcmp(s->engine, l->items[first].engine) != 0)
            first = i;
        for (end = first; end < l->count && strcmp(l->items[end].engine, s->engine) == 0; end++)
            settings[end - first] = l->items[end].settings;
        buf_add(&name, s->engine);
        settings_tell_apart(settings, end - first, i - first, &name);
        if (name.failed)
            rc = mem_fail(e);
        else
            result_set_text(s->name, sizeof s->name, name.data);
        buf_destroy(&name);
    }
    free(settings);
    return rc;
}

/* Adds notes on the runs that are not used as they are copies of others, and on those that executed
 * other files. */
static void note_runs(const struct results *table, struct buf *notes)
{
    const struct result *first = NULL, *edited = NULL;
    size_t n = 0, nedited = 0;

    for (const struct result *r = table->rows; r < table->rows + table->count && notes; r++)
        if (r->copied && n++ == 0)
            first = r;
        else if (!r->copied && r->state == RESULT_DONE && strstr(r->note, RESULT_NOTE_EDITED) &&
                 nedited++ == 0)
            edited = r;
    if (nedited)
        buf_addf(notes, "%zu run%s executed other files, and %s of a series of their own: of "
                 "%.80s, %.450s.\n", nedited, plural((long)nedited), nedited == 1 ? "is" : "are",
                 edited->run, edited->note);
    if (n)
        buf_addf(notes, "%zu run%s with the times and scores of another seed %s left out, such as "
                 "%.80s: a program that prints computed times, or always does the same, gives no "
                 "repetitions.\n", n, plural((long)n), n == 1 ? "is" : "are", first->run);
}

int series_list_compute(struct series_list *dst, const char *source, const struct results *table,
                        const struct series_facts *facts, struct buf *notes, struct err *e)
{
    struct series_groups all = {0};
    int rc;

    *dst = (struct series_list){0};
    rc = find_groups(&all, table, facts, e);
    for (size_t i = 0; i < all.count && rc == 0; i++)
        if (!is_part(&all, &all.list[i]))
            rc = add_group(dst, source, table, &all.list[i], facts, notes, e);
    if (rc == 0)
        rc = name_all(dst, e);
    note_runs(table, notes);
    if (rc)
        series_list_destroy(dst);
    destroy_groups(&all);
    return rc;
}

void series_list_destroy(struct series_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        series_destroy(&l->items[i]);
    free(l->items);
    *l = (struct series_list){0};
}
