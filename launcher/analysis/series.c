/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/series.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/statistics/hypothesis.h"
#include "src/stat.h"

/* Counts whose images per epoch and GPU differ by less than this part have the same work per
 * GPU. */
#define SAME_WORK 0.1
/* Speed-ups by the means of intervals that lie outside those by their medians, with their interval,
 * by more than this factor contradict them. */
#define MEANS_APART 1.03
/* Without an interval over runs, they do so by more than this factor. */
#define MEANS_APART_ALONE 1.25

/* The groups of a run: runs with the most common batch per GPU, and runs with the most common
 * global batch. A run may be in both, as the base case is. With one count or unknown batches, all
 * runs are in MODE_PER_GPU. */
enum mode_group { MODE_NEITHER = 0, MODE_PER_GPU = 1, MODE_GLOBAL = 2, MODE_BOTH = 3 };

struct mode_split {
    int n; /* number of series that result, 0 to SERIES_MAX */
    enum mode_group groups[SERIES_MAX];
    enum series_mode modes[SERIES_MAX];
    long batch_per_gpu, global_batch; /* of the groups; 0: unknown */
};

/* Fills dst with the steady intervals in ascending order. Returns their number. */
static size_t sort_steady(const struct result *r, double *dst)
{
    size_t n = curve_steady(r->curve, r->curve->seconds, dst);

    stat_sort(dst, n);
    return n;
}

/* Returns the mean over the median of a run's steady intervals, without a single exceptional one; 1
 * if that is unknown, or if its times are means already. */
static double mean_share(const struct result *r)
{
    double *sorted = r->curve && isnan(r->clock_step_s) ? calloc(r->curve->n + 1, sizeof *sorted)
                                                        : NULL;

    if (!sorted)
        return 1;
    size_t n = sort_steady(r, sorted);
    double median = n ? median_of_sorted(sorted, n) : NAN;
    if (n > 2 && sorted[n - 1] > SERIES_GAP * median && !(sorted[n - 2] > SERIES_GAP * median))
        n--;
    double share = stat_mean(sorted, n) / median;
    free(sorted);
    return isfinite(share) ? share : 1;
}

/* Returns by what factor the times of a run were scaled to other work (series_rows_scale). */
static double scale_of_work(const struct result *r)
{
    double *sorted = r->stepped == 1 && r->curve ? calloc(r->curve->n + 1, sizeof *sorted) : NULL;

    if (!sorted)
        return 1;
    size_t n = sort_steady(r, sorted);
    double scale = n ? r->median_epoch_s / median_of_sorted(sorted, n) : 1;
    free(sorted);
    scale /= r->series.mean ? mean_share(r) : 1;
    return isfinite(scale) ? scale : 1;
}

/* Returns the interval of the median steady epoch within one run. */
static struct interval epochs_interval(const struct result *r, double level)
{
    struct interval i = interval_none();
    double *sorted;

    if (!r->curve || r->curve->n < 3 || !isnan(r->clock_step_s) || r->series.mean ||
        !(sorted = calloc(r->curve->n, sizeof *sorted)))
        return i;
    size_t n = sort_steady(r, sorted);
    double scale = r->median_epoch_s / median_of_sorted(sorted, n); /* 1 but for other work */
    for (size_t k = 0; k < n; k++)
        sorted[k] *= scale;
    if (isfinite(sorted[0]) && isfinite(sorted[n - 1]))
        i = median_interval(sorted, n, level);
    i.method = interval_is_known(&i) ? INTERVAL_EPOCHS : INTERVAL_NONE;
    free(sorted);
    return i;
}

/* Summarizes a quantity of rows[0..n). values is room for 2 n numbers. */
static struct summary summarize(const struct result *rows, size_t n, enum quantity q,
                                double *values)
{
    size_t known = quantity_collect(rows, n, q, values);
    struct summary s = {
        .median = NAN, .mean = NAN, .min = NAN, .max = NAN, .spread = NAN,
        .interval = interval_none()};

    if (known == 0)
        return s;
    stat_sort(values, known);
    s = (struct summary){.median = median_of_sorted(values, known),
                         .mean = stat_mean(values, known),
                         .min = values[0],
                         .max = values[known - 1], .count = known,
                         .spread = stat_stddev(values, known) / stat_mean(values, known),
                         .noutliers = median_count_outliers(values, known, values + n),
                         .interval = median_interval(values, known, INTERVAL_LEVEL)};
    if (known == 1 && q == QUANTITY_STEADY_EPOCH)
        s.interval = epochs_interval(rows, INTERVAL_LEVEL);
    return s;
}

static double ratio_of(double a, double b)
{
    return a > 0 && b > 0 ? a / b : NAN;
}

static struct ratio no_ratio(void)
{
    return (struct ratio){NAN, interval_none(), NAN, NAN};
}

static struct ratio scale_ratio(struct ratio r, double factor)
{
    if (isnan(r.value * factor))
        return no_ratio();
    r.least *= factor;
    r.most *= factor;
    r.value *= factor;
    r.interval.low *= factor;
    r.interval.high *= factor;
    return r;
}

struct ratio series_compare(const struct series_point *a, const struct series_point *b,
                            enum quantity q, double level)
{
    double *room = calloc(a->nruns + b->nruns + 1, sizeof *room);
    struct ratio r = no_ratio();

    r.value = room ? ratio_of(a->q[q].median, b->q[q].median) : NAN;
    if (isnan(r.value)) {
        free(room);
        return r;
    }
    size_t na = quantity_collect(a->rows, a->nruns, q, room);
    size_t nb = quantity_collect(b->rows, b->nruns, q, room + na);
    double rounding = 0.5 * (a->q[q].resolution / a->q[q].median +
                             b->q[q].resolution / b->q[q].median); /* half a step each */
    if (na > 1 && nb > 1) {
        r.least = a->q[q].min / b->q[q].max;
        r.most = a->q[q].max / b->q[q].min;
    }
    if (na == 1 && nb == 1 && q == QUANTITY_STEADY_EPOCH) {
        /* both intervals hold together at the level */
        struct interval x = epochs_interval(a->rows, (1 + INTERVAL_LEVEL) / 2),
                        y = epochs_interval(b->rows, (1 + INTERVAL_LEVEL) / 2);
        r.interval = interval_ratio(&x, &y);
    } else {
        r.interval = compare_widen(student_ratio(room, na, room + na, nb, level), r.value,
                                   rounding);
    }
    free(room);
    return r;
}

struct ratio series_scale(struct ratio r, double value)
{
    return scale_ratio(r, value / r.value);
}

/* Compares a point with the base case. */
static void compare_point(struct series *s, struct series_point *p)
{
    const struct series_point *base = s->points;
    double share = 1 / series_ideal(s, p->gpus);
    bool same_work = base->work && base->work == p->work;

    for (int i = 0; i < QUANTITY_NTIMES; i++) {
        enum quantity q = (enum quantity)i;
        struct ratio *r = &p->speedup[q];
        *r = no_ratio();
        if (p == base)
            *r = (struct ratio){
                ratio_of(1, p->q[q].median > 0), {1, 1, 1, INTERVAL_NONE}, NAN, NAN};
        else if (same_work || (q != QUANTITY_TRAINING && q != QUANTITY_WHOLE))
            *r = series_compare(base, p, q, INTERVAL_LEVEL);
        p->efficiency[q] = scale_ratio(*r, share);
    }
    /* The number of images is counted and has no uncertainty: it shifts the interval without
     * widening it. */
    p->unit_speedup =
        scale_ratio(p->speedup[QUANTITY_STEADY_EPOCH],
                    ratio_of(p->q[QUANTITY_UNITS].median, base->q[QUANTITY_UNITS].median));
    p->unit_efficiency = scale_ratio(p->unit_speedup, share);
}

/* Returns a member of all rows, or of all whole runs, if it has the same value in all, otherwise
 * 0. */
static long common_value(const struct result *rows, size_t n, size_t offset, bool whole)
{
    long common = -1;

    for (size_t i = 0; i < n; i++) {
        long value = *(const long *)((const char *)&rows[i] + offset);
        if (whole && rows[i].limited == 1)
            continue;
        if (common >= 0 && value != common)
            return 0;
        common = value;
    }
    return common < 0 ? 0 : common;
}

static void describe_point(struct series_point *p, double *room)
{
    p->gpus = p->rows[0].gpus;
    for (size_t i = 0; i < p->nruns; i++) {
        p->nodes = p->rows[i].nodes ? p->rows[i].nodes : p->nodes;
        p->oversubscribed |= p->rows[i].oversubscribed == 1;
        p->refused_kernels |= *p->rows[i].kernels.refused != 0;
        p->fake_gpus |= p->rows[i].fake_gpus == 1;
        p->nlimited += p->rows[i].limited == 1;
    }
    p->batch_per_gpu =
        common_value(p->rows, p->nruns, offsetof(struct result, batch_per_gpu), false);
    p->val_images =
        common_value(p->rows, p->nruns, offsetof(struct result, quality.val_images), true);
    p->work = common_value(p->rows, p->nruns, offsetof(struct result, series.work), true);
    for (int q = 0; q < QUANTITY_COUNT; q++)
        p->q[q] = summarize(p->rows, p->nruns, (enum quantity)q, room);
    p->gpu_hours = p->gpus * p->q[QUANTITY_WHOLE].median / 3600;
    p->unit_rate = ratio_of(p->q[QUANTITY_UNITS].median, p->q[QUANTITY_STEADY_EPOCH].median);
}

/* Returns the resolution of the single intervals that the steady ones are medians of: a median of
 * whole seconds may be half of one. Without curves, the first two of a run stand for them. */
static double resolution_of_intervals(const struct series *s)
{
    size_t n = 0, most = 1;
    double scale = 0;

    for (size_t i = 0; i < s->nrows; i++)
        most += s->rows[i].curve ? s->rows[i].curve->n : 2;
    double *room = calloc(most, sizeof *room);
    for (size_t i = 0; room && i < s->nrows; i++) {
        const struct result *r = &s->rows[i];
        const double two[] = {r->first_epoch_s, r->second_epoch_s};
        size_t own = r->curve ? r->curve->n : 2;
        for (size_t k = 0; k < own; k++)
            if (isfinite(r->curve ? r->curve->seconds[k] : two[k]))
                room[n++] = r->curve ? r->curve->seconds[k] : two[k];
        scale = fmax(scale, scale_of_work(r));
    }
    double resolution = room && n ? scale * resolution_of(room, n) : NAN;
    free(room);
    return resolution;
}

/* Returns the number of validation images, which folds do not share, if all n values, which are
 * multiples of resolution, are rounded multiples of 1 / images, or 0. */
static long count_images(const struct series *s, const double *values, size_t n, double resolution)
{
    double images = (double)s->points[0].val_images;

    if (!s->is_share || !n || series_folds(s) || !(images > 0) || resolution > 1.01 / images)
        return 0;
    for (size_t i = 1; i < s->npoints; i++)
        if (s->points[i].val_images && s->points[i].val_images != s->points[0].val_images)
            return 0;
    for (size_t i = 0; i < n; i++)
        if (fabs(values[i] - round(values[i] * images) / images) >
            fmin(0.51 * resolution, 0.13 / images) + 1e-7)
            return 0;
    return s->points[0].val_images;
}

static void set_resolutions(struct series *s, double *room)
{
    for (int q = 0; q < QUANTITY_COUNT; q++) {
        size_t n = quantity_collect(s->rows, s->nrows, (enum quantity)q, room);
        double resolution = q == QUANTITY_STEADY_EPOCH ? resolution_of_intervals(s) : NAN;
        if (isnan(resolution))
            resolution = resolution_of(room, n);
        if (q == QUANTITY_QUALITY && (s->counted = count_images(s, room, n, resolution)) > 0)
            resolution = 1 / (double)s->counted;
        for (size_t i = 0; i < s->npoints; i++)
            s->points[i].q[q].resolution = resolution;
    }
}

static int fill_series(struct series *s, struct err *e)
{
    double *room = calloc(2 * s->nrows + 1, sizeof *room);
    size_t ncounts = 0;

    for (size_t i = 0; i < s->nrows; i++)
        ncounts += i == 0 || s->rows[i].gpus != s->rows[i - 1].gpus;
    s->points = calloc(ncounts + 1, sizeof *s->points);
    if (!room || !s->points) {
        free(room);
        return mem_fail(e);
    }
    for (size_t i = 0, end; i < s->nrows; i = end) {
        struct series_point *p = &s->points[s->npoints++];
        for (end = i; end < s->nrows && s->rows[end].gpus == s->rows[i].gpus;)
            end++;
        p->rows = &s->rows[i];
        p->nruns = end - i;
        describe_point(p, room);
    }
    set_resolutions(s, room);
    s->by_units = s->equal_epochs = true;
    const struct series_point *whole = NULL; /* the first with whole runs */
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        compare_point(s, &s->points[i]);
        s->by_units &= !isnan(p->unit_efficiency.value);
        s->limited |= p->nlimited > 0;
        s->fake_gpus |= p->fake_gpus;
        if (p->nlimited == p->nruns)
            continue;
        whole = whole ? whole : p;
        s->equal_epochs &= p->work && p->work == whole->work;
    }
    free(room);
    return 0;
}

/* Returns the median over runs of the mean steady interval. */
static double mean_interval(const struct series_point *p, double *room)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nruns; i++)
        if (!isnan(p->rows[i].median_epoch_s))
            room[n++] = p->rows[i].median_epoch_s * mean_share(&p->rows[i]);
    return stat_median(room, n);
}

/* Makes the steady intervals of all rows means if a speed-up by these contradicts that by medians:
 * the work of a run takes the sum of its intervals, of which slow ones may be a large part. */
static int choose_means(struct series *s, struct err *e)
{
    double *room = mem_zero(s->nrows + 1, sizeof *room, e), worst = MEANS_APART;

    if (!room)
        return -1;
    double base = s->npoints ? mean_interval(s->points, room) : NAN;
    for (size_t i = 1; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        const struct ratio *r = &p->speedup[QUANTITY_STEADY_EPOCH];
        double mean = base / mean_interval(p, room);
        bool known = interval_is_known(&r->interval) && r->interval.method != INTERVAL_EPOCHS;
        double slack = MEANS_APART_ALONE / MEANS_APART;
        double apart = known ? fmax(mean / r->interval.high, r->interval.low / mean)
                             : fmax(mean / r->value, r->value / mean) / slack;
        if (!(apart > worst))
            continue;
        worst = apart;
        s->means.gpus = p->gpus;
        s->means.median = series_efficiency(s, p)->value;
    }
    free(room);
    if (!s->means.gpus)
        return 0;
    for (size_t i = 0; i < s->nrows; i++) {
        double share = mean_share(&s->rows[i]);
        s->rows[i].median_epoch_s *= share;
        s->rows[i].units_per_s /= share;
        s->rows[i].series.mean = true;
    }
    free(s->points);
    s->points = NULL;
    s->npoints = 0;
    return fill_series(s, e);
}

static long batch_of_result(const struct result *r, enum mode_group g)
{
    return g == MODE_PER_GPU ? r->batch_per_gpu : r->global_batch;
}

struct series_batch {
    long size;
    int gpus;
};

static int compare_batches(const void *a, const void *b)
{
    const struct series_batch *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

/* Returns the batch that most counts have (of equally frequent ones the smallest), or 0 if none is
 * known; *ncounts becomes the number of counts that have it. */
static long most_common_batch(const struct result *rows, size_t n, enum mode_group g,
                              size_t *ncounts)
{
    struct series_batch *all = calloc(n + 1, sizeof *all);
    long best = 0;

    *ncounts = 0;
    for (size_t i = 0; all && i < n; i++)
        all[i] = (struct series_batch){batch_of_result(&rows[i], g), rows[i].gpus};
    if (all)
        qsort(all, n, sizeof *all, compare_batches);
    for (size_t i = 0, end, counts; all && i < n; i = end) {
        counts = 0;
        for (end = i; end < n && all[end].size == all[i].size; end++)
            counts += end == i || all[end].gpus != all[end - 1].gpus;
        if (all[i].size > 0 && counts > *ncounts) {
            *ncounts = counts;
            best = all[i].size;
        }
    }
    free(all);
    return best;
}

static size_t mark_rows(const struct result *rows, size_t n, enum mode_group g, long size,
                        enum mode_group *groups)
{
    size_t marked = 0;

    for (size_t i = 0; i < n; i++)
        if (batch_of_result(&rows[i], g) == size) {
            groups[i] |= g;
            marked++;
        }
    return marked;
}

/* Returns the mode of the runs of MODE_PER_GPU, which are on several counts: SERIES_WEAK if all
 * process about the same number of images per GPU in an epoch; otherwise, also if that is unknown,
 * SERIES_WEAK_BATCH. */
static enum series_mode per_gpu_mode(const struct result *rows, size_t n,
                                     const enum mode_group *groups)
{
    double first = NAN;

    for (size_t i = 0; i < n; i++) {
        double work = rows[i].units / rows[i].gpus;
        if (!(groups[i] & MODE_PER_GPU) || rows[i].stepped == 1)
            continue;
        if (isnan(first))
            first = work;
        if (!(fabs(work / first - 1) < SAME_WORK))
            return SERIES_WEAK_BATCH;
    }
    return isnan(first) ? SERIES_WEAK_BATCH : SERIES_WEAK;
}

static struct mode_split single_mode(enum mode_group g, enum series_mode mode)
{
    return (struct mode_split){.n = 1, .groups = {g}, .modes = {mode}};
}

static struct mode_split mixed_modes(const struct result *rows, size_t n,
                                     const enum mode_group *groups, long per_gpu, size_t nper_gpu,
                                     long global, size_t nglobal)
{
    struct mode_split split = {.batch_per_gpu = per_gpu, .global_batch = global};

    if (nper_gpu > 1 || nglobal <= 1) {
        split.groups[split.n] = MODE_PER_GPU;
        split.modes[split.n++] = nper_gpu > 1 ? per_gpu_mode(rows, n, groups) : SERIES_ONE_COUNT;
    }
    if (nglobal > 1) {
        split.groups[split.n] = MODE_GLOBAL;
        split.modes[split.n++] = SERIES_STRONG;
    }
    return split;
}

/* Divides rows[0..n) of one engine, sorted by count, into series. groups[i] becomes the groups that
 * rows[i] belongs to. If all runs have the same number of GPUs, the same batch per GPU, the same
 * global batch, or unknown batches, they are one series. Otherwise there is one for the batch per
 * GPU that most counts have and one for such a global batch, each only if several counts have it;
 * if neither is, one of a single count. */
static struct mode_split decide_modes(const struct result *rows, size_t n, enum mode_group *groups)
{
    size_t nunknown = 0, nper_gpu, nglobal;

    for (size_t i = 0; i < n; i++) {
        groups[i] = MODE_NEITHER;
        nunknown += rows[i].batch_per_gpu == 0 && rows[i].global_batch == 0;
    }
    if (n == 0)
        return (struct mode_split){0};
    if (nunknown == n || rows[0].gpus == rows[n - 1].gpus) {
        for (size_t i = 0; i < n; i++)
            groups[i] = MODE_PER_GPU;
        return single_mode(MODE_PER_GPU, rows[0].gpus == rows[n - 1].gpus ? SERIES_ONE_COUNT
                                                                  : SERIES_BATCH_UNKNOWN);
    }
    long per_gpu = most_common_batch(rows, n, MODE_PER_GPU, &nper_gpu);
    long global = most_common_batch(rows, n, MODE_GLOBAL, &nglobal);
    if (mark_rows(rows, n, MODE_PER_GPU, per_gpu, groups) == n)
        return single_mode(MODE_PER_GPU, per_gpu_mode(rows, n, groups));
    if (mark_rows(rows, n, MODE_GLOBAL, global, groups) == n)
        return single_mode(MODE_GLOBAL, SERIES_STRONG);
    return mixed_modes(rows, n, groups, per_gpu, nper_gpu, global, nglobal);
}

/* Adds a line if there are two series, and a line about the runs that are in none: how many, and
 * the first. */
static void explain_modes(const struct mode_split *split, const struct result *rows,
                          const enum mode_group *groups, size_t n, const char *source,
                          struct buf *notes)
{
    size_t nneither = 0, first = n;
    enum mode_group used = MODE_NEITHER;

    for (int i = 0; i < split->n; i++)
        used |= split->groups[i];
    for (size_t i = n; i-- > 0;)
        if (!(groups[i] & used)) {
            nneither++;
            first = i;
        }
    if (split->n == 2)
        buf_addf(notes,
                 "%s, %s: the runs mix weak and strong scaling; those with %ld images per GPU and "
                 "those with a global batch of %ld are reported apart, and not compared.\n",
                 source, rows[0].engine, split->batch_per_gpu, split->global_batch);
    if (nneither)
        buf_addf(
            notes,
            "%s, %s: left out, because the batch differs or is not known: %zu run%s, the first is "
            "%s.\n",
            source, rows[0].engine, nneither, plural(nneither), rows[first].run);
}

/* Creates the series of the rows of one mode. Returns 0, also if there are none, or -1; then dst
 * must be destroyed, too. */
static int create_series(struct series *dst, const struct result *rows,
                         const enum mode_group *groups, size_t n, enum mode_group wanted,
                         enum series_mode mode, const struct series_facts *facts, struct err *e)
{
    *dst = (struct series){.mode = mode, .rows = mem_zero(n, sizeof *dst->rows, e)};
    if (!dst->rows)
        return -1;
    result_set_text(dst->engine, sizeof dst->engine, n ? rows[0].engine : "");
    result_set_text(dst->name, sizeof dst->name, dst->engine);
    for (size_t i = 0; i < n; i++)
        if (groups[i] & wanted)
            dst->rows[dst->nrows++] = rows[i];
    series_rows_measure(dst, facts);
    series_rows_scale(dst->rows, dst->nrows, mode == SERIES_WEAK);
    dst->mixed = dst->nrows < n;
    return fill_series(dst, e) || choose_means(dst, e) ? -1 : 0;
}

const char *series_quantity_name(const struct series *s, enum quantity q)
{
    return q == QUANTITY_QUALITY                         ? s->quality
           : q == QUANTITY_STEADY_EPOCH && s->stepped ? "steady interval"
                                                     : quantities[q].name;
}

const char *series_collapsed(const struct series *s)
{
    return s->is_share ? "collapsed" : "ended far worse";
}

const char *series_quality_title(const struct series *s)
{
    return strcmp(s->quality, "accuracy") == 0 ? "Accuracy" : s->quality;
}

const char *series_interval(const struct series *s)
{
    return s->stepped ? "interval" : "epoch";
}

int series_folds(const struct series *s)
{
    const char *folds = s->settings ? strstr(s->settings, "data.folds=") : NULL;

    return folds ? atoi(folds + strlen("data.folds=")) : 0;
}

const char *series_size(const struct series *s)
{
    return s->settings && strstr(s->settings, "data.patch=") ? "each image's own size"
                                                              : "the network's size";
}

double series_rate(const struct series *s, double per_second, char *name, size_t size)
{
    return rate_show(per_second, s->points[0].q[QUANTITY_RATE].median, s->unit, name, size);
}

void series_describe_speed(const struct series *s, const struct series_point *p, char *dst,
                           size_t size)
{
    char name[48];
    double rate = series_rate(s, p->q[QUANTITY_RATE].median, name, sizeof name);

    if (s->stepped && rate > 0)
        snprintf(dst, size, rate < 1000 ? "%.3g %s" : "%.0f %s", rate, name);
    else
        snprintf(dst, size, "%.4g s per steady %s", p->q[QUANTITY_STEADY_EPOCH].median,
                 series_interval(s));
}

bool series_is_rates(const struct series *s)
{
    bool rates = s->stepped && s->nrows;

    for (size_t i = 0; i < s->nrows; i++)
        rates &= result_is_rate(&s->rows[i]);
    return rates;
}

void series_describe_work(const struct series *s, char *dst, size_t size)
{
    double work = s->points[0].q[QUANTITY_UNITS].median;

    *dst = '\0';
    if (s->stepped && s->points[0].q[QUANTITY_RATE].median > 0)
        snprintf(dst, size, work < 100 ? "%.3g %s" : "%.0f %s", work, s->unit);
}

int series_compute(struct series dst[SERIES_MAX], size_t *n, const char *source,
                   const struct results *table, const char *engine,
                   const struct series_facts *facts, struct buf *notes, struct err *e)
{
    struct result *rows = mem_zero(table->count, sizeof *rows, e);
    enum mode_group *groups = mem_zero(table->count, sizeof *groups, e);
    struct series_facts own = *facts;
    size_t nrows = 0;
    bool measured = false; /* the energy of some run's GPUs */
    bool logged = false;   /* the job of some whole run is unknown */
    int rc = -1;

    *n = 0;
    if (!rows || !groups)
        goto out;
    for (size_t i = 0; i < table->count; i++) {
        const struct result *row = &table->rows[i];
        if (row->state != RESULT_DONE || row->gpus < 1 || row->gpus < facts->base ||
            strcmp(row->engine, engine))
            continue;
        rows[nrows++] = *row;
        measured |= !isnan(row->energy.gpus_j);
        logged |= row->limited != 1 && isnan(row->job_s);
    }
    own.watts_per_gpu = measured ? 0 : own.watts_per_gpu;
    for (size_t i = 0; i < nrows; i++) {
        rows[i].energy.nodes_j = measured ? NAN : rows[i].energy.nodes_j;
        rows[i].job_s = logged ? NAN : rows[i].job_s;
        series_rows_complete(&rows[i], &own);
    }
    struct mode_split split = decide_modes(rows, nrows, groups);
    for (int i = 0; i < split.n; i++)
        if (facts->mode && (split.modes[i] == SERIES_BATCH_UNKNOWN ||
                            (split.modes[i] == SERIES_WEAK_BATCH && rows[0].stepped == 1)))
            split.modes[i] = facts->mode;
    for (int i = 0; i < split.n; i++) {
        if (create_series(&dst[*n], rows, groups, nrows, split.groups[i], split.modes[i], facts,
                          e)) {
            series_destroy(&dst[*n]);
            goto out;
        }
        dst[*n].one_epoch = facts->epoch ? facts->epoch : 1;
        dst[*n].logged = logged;
        ++*n;
    }
    if (notes)
        explain_modes(&split, rows, groups, nrows, source, notes);
    rc = 0;
out:
    for (size_t i = 0; rc && i < *n; i++)
        series_destroy(&dst[i]);
    *n = rc ? 0 : *n;
    free(rows);
    free(groups);
    return rc;
}

void series_destroy(struct series *s)
{
    if (!s)
        return;
    free(s->rows);
    free(s->points);
    *s = (struct series){0};
}

const struct series_point *series_find(const struct series *s, int gpus)
{
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].gpus == gpus)
            return &s->points[i];
    return NULL;
}

double series_ideal(const struct series *s, int gpus)
{
    return (double)gpus / s->points[0].gpus;
}

bool series_is_practical(const struct series *s, int gpus)
{
    bool shares = s->mode != SERIES_STRONG || strcmp(s->engine, "embedded") == 0 ||
                  s->rows[0].global_batch % gpus == 0;
    int node = 1;

    for (const struct series_point *p = s->points; p < s->points + s->npoints; p++)
        if (p->nodes > 1 && (p->gpus - 1) / p->nodes >= node)
            node = (p->gpus - 1) / p->nodes + 1;
    return shares && (gpus <= node || gpus % node == 0);
}

const struct ratio *series_efficiency(const struct series *s, const struct series_point *p)
{
    return s->by_units ? &p->unit_efficiency : &p->efficiency[QUANTITY_STEADY_EPOCH];
}

const struct ratio *series_speedup(const struct series *s, const struct series_point *p)
{
    return s->by_units ? &p->unit_speedup : &p->speedup[QUANTITY_STEADY_EPOCH];
}

const char *series_describe_bounds(const struct series *s, const struct ratio *r, int decimals,
                                   char dst[SERIES_BOUNDS])
{
    const struct interval *i = &r->interval;

    *dst = 0;
    if (interval_is_known(i) && i->method == INTERVAL_EPOCHS)
        snprintf(dst, SERIES_BOUNDS, "%.*f to %.*f by the %ss of single runs", decimals, i->low,
                 decimals, i->high, series_interval(s));
    else if (interval_is_known(i))
        snprintf(dst, SERIES_BOUNDS, "95 %% interval %.*f to %.*f", decimals, i->low, decimals,
                 i->high);
    else if (!isnan(r->least))
        snprintf(dst, SERIES_BOUNDS, "%.2f to %.2f between single runs, too few for an interval",
                 r->least, r->most);
    return dst;
}

void series_describe_mode(const struct series *s, struct buf *b)
{
    const struct series_point *p = s->points;
    const char *interval = series_interval(s);

    if (s->mode == SERIES_BATCH_UNKNOWN && s->stepped)
        buf_add(b, "the logs do not state whether the work grows with the GPUs (work.mode)");
    else if (s->mode == SERIES_BATCH_UNKNOWN)
        buf_add(b, "the logs do not state the batch, which distinguishes strong and weak scaling");
    else if (s->mode == SERIES_ONE_COUNT)
        buf_addf(b, "one number of GPUs, %d: no scaling yet", p->gpus);
    else if (!p->batch_per_gpu)
        buf_addf(b, s->mode == SERIES_STRONG ? "strong scaling: the same work on any number of GPUs"
                                             : "weak scaling: the work grows with the GPUs");
    else if (s->mode == SERIES_STRONG)
        buf_addf(b, "strong scaling: the same %s and the same global batch of %ld %s", interval,
                 p->batch_per_gpu * p->gpus, s->unit);
    else if (s->mode == SERIES_WEAK_BATCH)
        buf_addf(b, "%ld %s per GPU and step: the %s stays the same, the global batch grows with "
                 "the GPUs (strong in the data, weak in the batch)", p->batch_per_gpu, s->unit,
                 interval);
    else
        buf_addf(b, "weak scaling: %ld %s per GPU and step, and the %s grows with the GPUs",
                 p->batch_per_gpu, s->unit, interval);
}
