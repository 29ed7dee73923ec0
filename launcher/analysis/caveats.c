/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/decision.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "src/cluster/nodelist.h"
#include "src/rng.h"

#define PERMUTATIONS 1999
#define WORK 3e8 /* operations of a test; larger studies are permuted less often */
#define FEWEST 199
#define SEED 0x64726966
#define MAX_NODES 4096
/* Statistics that differ by rounding alone are equal. */
#define TOLERANCE 1e-9

/* The residuals of the runs whose covariates are known, count by count, and their covariates,
 * each less its mean over the count: x[k * n + i] of covariate k and run i. */
struct sample {
    const struct result **runs;
    double *residual, *x, *norm; /* norm[k]: the sum of x^2 */
    size_t *first, ncounts;      /* count c has runs first[c] .. first[c + 1] */
    size_t n, ncovariates;
};

static void sample_destroy(struct sample *m)
{
    free(m->runs);
    free(m->residual);
    free(m->x);
    free(m->norm);
    free(m->first);
}

typedef bool usable_f(const struct result *r);

static bool has_start(const struct result *r)
{
    return *r->started && r->median_epoch_s > 0;
}

static bool has_hosts(const struct result *r)
{
    return *r->hosts && r->median_epoch_s > 0;
}

/* Subtracts from the values of each count their mean. */
static void center(const struct sample *m, double *values)
{
    for (size_t c = 0; c < m->ncounts; c++) {
        size_t n = m->first[c + 1] - m->first[c];
        double mean = 0;

        for (size_t i = m->first[c]; i < m->first[c + 1]; i++)
            mean += values[i] / (double)n;
        for (size_t i = m->first[c]; i < m->first[c + 1]; i++)
            values[i] -= mean;
    }
}

static int sample_open(struct sample *m, const struct series *s, usable_f *usable, struct err *e)
{
    *m = (struct sample){.runs = calloc(s->nrows + 1, sizeof *m->runs),
                         .residual = calloc(s->nrows + 1, sizeof *m->residual),
                         .first = calloc(s->npoints + 1, sizeof *m->first)};
    if (!m->runs || !m->residual || !m->first)
        return mem_fail(e);
    for (size_t p = 0; p < s->npoints; p++) {
        for (size_t i = 0; i < s->points[p].nruns; i++) {
            const struct result *r = &s->points[p].rows[i];
            if (usable(r)) {
                m->residual[m->n] = log(r->median_epoch_s);
                m->runs[m->n++] = r;
            }
        }
        m->first[++m->ncounts] = m->n;
    }
    center(m, m->residual);
    return 0;
}

static int add_covariates(struct sample *m, size_t n, struct err *e)
{
    m->ncovariates = n;
    m->x = calloc(n * m->n + 1, sizeof *m->x);
    m->norm = calloc(n + 1, sizeof *m->norm);
    return m->x && m->norm ? 0 : mem_fail(e);
}

static void center_covariates(struct sample *m)
{
    for (size_t k = 0; k < m->ncovariates; k++) {
        double *x = m->x + k * m->n;

        center(m, x);
        for (size_t i = 0; i < m->n; i++)
            m->norm[k] += x[i] * x[i];
    }
}

/* Returns sum r x of covariate k, with the residuals in this order. */
static double product(const struct sample *m, size_t k, const size_t *order)
{
    const double *x = m->x + k * m->n;
    double sum = 0;

    for (size_t i = 0; i < m->n; i++)
        sum += m->residual[order[i]] * x[i];
    return sum;
}

/* Returns the largest standardized statistic over the covariates, and which one that is. */
static double largest(const struct sample *m, const size_t *order, bool two_sided, size_t *which)
{
    double best = -INFINITY;

    for (size_t k = 0; k < m->ncovariates; k++) {
        if (m->norm[k] < TOLERANCE)
            continue;
        double value = product(m, k, order) / sqrt(m->norm[k]);
        value = two_sided ? fabs(value) : value;
        if (value > best) {
            best = value;
            *which = k;
        }
    }
    return best;
}

static void permute(const struct sample *m, size_t replicate, size_t *order)
{
    for (size_t c = 0; c < m->ncounts; c++) {
        size_t n = m->first[c + 1] - m->first[c];

        rng_permutation(SEED + c, replicate, n, order + m->first[c]);
        for (size_t i = m->first[c]; i < m->first[c + 1]; i++)
            order[i] += m->first[c];
    }
}

/* Tests the covariates together. *estimate is NaN if none varies within a count; otherwise *which
 * is the covariate of the largest statistic. */
static int test(const struct sample *m, bool two_sided, double *estimate, double *p, size_t *which,
                struct err *e)
{
    size_t *order = calloc(m->n + 1, sizeof *order), ignored;
    double scatter = 0, seen;

    *estimate = *p = NAN;
    if (!order)
        return mem_fail(e);
    for (size_t i = 0; i < m->n; i++) {
        order[i] = i;
        scatter += fabs(m->residual[i]);
    }
    seen = largest(m, order, two_sided, which);
    if (isfinite(seen) && scatter > TOLERANCE) {
        double work = (double)m->n * (double)m->ncovariates;
        size_t n = (size_t)fmin(PERMUTATIONS, fmax(FEWEST, WORK / work)), as_large = 0;

        *estimate = exp(product(m, *which, order) / m->norm[*which]);
        for (size_t i = 0; i < n; i++) {
            permute(m, i, order);
            as_large += largest(m, order, two_sided, &ignored) >= seen - TOLERANCE * scatter;
        }
        *p = (double)(as_large + 1) / (double)(n + 1);
    }
    free(order);
    return 0;
}

/* Sets the covariate to the rank of the start among all runs, 0 to 1; equal starts share a rank. */
static void rank_starts(struct sample *m)
{
    for (size_t i = 0; i < m->n; i++) {
        double before = 0;

        for (size_t j = 0; j < m->n; j++) {
            int order = strcmp(m->runs[j]->started, m->runs[i]->started);
            before += order < 0 ? 1 : order == 0 && j != i ? 0.5 : 0;
        }
        m->x[i] = m->n > 1 ? before / (double)(m->n - 1) : 0;
    }
}

static int test_drift(struct disturbance *dst, const struct series *s, struct err *e)
{
    struct sample m;
    size_t which;
    int rc = -1;

    if (sample_open(&m, s, has_start, e) == 0 && add_covariates(&m, 1, e) == 0) {
        rank_starts(&m);
        center_covariates(&m);
        rc = test(&m, true, &dst->drift, &dst->drift_p, &which, e);
    }
    sample_destroy(&m);
    return rc;
}

/* Numbers the nodes of all runs by their first appearance; a list that cannot be read has none.
 * With x, marks each run's nodes there instead. */
static int number_nodes(const struct sample *m, struct map *numbers, double *x, struct err *e)
{
    for (size_t i = 0; i < m->n; i++) {
        struct err unreadable = {0};
        struct nodelist *l = nodelist_decode(m->runs[i]->hosts, MAX_NODES, &unreadable);

        for (size_t j = 0; l && j < nodelist_count(l); j++) {
            const char *name = nodelist_get(l, j, NULL);
            size_t k = numbers->count;
            bool known = map_get(numbers, name, &k);
            if (x) {
                x[k * m->n + i] = 1;
            } else if (!known && map_set(numbers, name, k)) {
                nodelist_destroy(l);
                return mem_fail(e);
            }
        }
        nodelist_destroy(l);
    }
    return 0;
}

static void name_node(struct disturbance *dst, const struct sample *m, const struct map *numbers,
                      size_t which)
{
    for (size_t i = 0; i < m->n; i++) {
        struct err unreadable = {0};
        struct nodelist *l = nodelist_decode(m->runs[i]->hosts, MAX_NODES, &unreadable);
        bool is_on = false;

        for (size_t j = 0, k; l && j < nodelist_count(l); j++)
            if (map_get(numbers, nodelist_get(l, j, NULL), &k) && k == which) {
                result_set_text(dst->node, sizeof dst->node, nodelist_get(l, j, NULL));
                is_on = true;
            }
        dst->on_node += is_on;
        nodelist_destroy(l);
    }
}

static int test_nodes(struct disturbance *dst, const struct series *s, struct err *e)
{
    struct map numbers = {0};
    struct sample m;
    size_t which = 0;
    int rc = -1;

    if (sample_open(&m, s, has_hosts, e) == 0 && number_nodes(&m, &numbers, NULL, e) == 0 &&
        add_covariates(&m, numbers.count, e) == 0) {
        number_nodes(&m, &numbers, m.x, e);
        center_covariates(&m);
        rc = test(&m, false, &dst->slow, &dst->slow_p, &which, e);
        if (rc == 0 && !isnan(dst->slow_p))
            name_node(dst, &m, &numbers, which);
    }
    sample_destroy(&m);
    map_destroy(&numbers);
    return rc;
}

int disturbance_compute(struct disturbance *dst, const struct series *s, struct err *e)
{
    *dst = (struct disturbance){NAN, NAN, NAN, NAN, "", 0};
    return test_drift(dst, s, e) || test_nodes(dst, s, e) ? -1 : 0;
}

bool disturbance_is_slow(const struct disturbance *d)
{
    return d->slow_p < DISTURBANCE_ALPHA && d->slow - 1 >= DISTURBANCE_EFFECT;
}

/* ---- what weakens a verdict ---- */

/* an evaluation shorter than this part of the base case's may have scored fewer images */
#define FEWER_IMAGES 0.6
/* a speed-up of the largest count below FLAT is called hardly one, and one within SAME of 1 none */
#define FLAT 1.2
#define SAME 0.1
/* a log that covers a smaller part of its job, and leaves more seconds, is named */
#define COVERED 0.5
#define UNCOVERED_S 1
/* so is one that adds up to more than its job took, beyond this part and these seconds */
#define OVERLONG 1.1
#define OVERLONG_S 3
/* and one with an interval longer than SERIES_GAP steady ones and this part of the run; where more
 * than this part of its intervals are, they are not exceptions (make simulate, area gap) */
#define GAP_SHARE 0.1
/* and a run of so many times the median of three or more runs of its count */
#define OUTLYING 2

__attribute__((format(printf, 3, 4)))
static void add_caveat(struct decision *d, enum caveat_kind kind, const char *fmt, ...)
{
    struct caveat *c = &d->caveats[d->ncaveats++];
    va_list ap;

    c->kind = kind;
    va_start(ap, fmt);
    vsnprintf(c->text, sizeof c->text, fmt, ap);
    va_end(ap);
}

static bool is_fake(const struct decision *d, const struct series *s, size_t i)
{
    return s->points[i].fake_gpus;
}

static bool is_oversubscribed(const struct decision *d, const struct series *s, size_t i)
{
    return s->points[i].oversubscribed;
}

static bool has_refused_kernels(const struct decision *d, const struct series *s, size_t i)
{
    return s->points[i].refused_kernels;
}

static bool is_near_threshold(const struct decision *d, const struct series *s, size_t i)
{
    return d->time[i] == DECISION_UNDECIDED && d->state[i] != DECISION_FAILS &&
           interval_is_known(&d->judged[i].interval) && !decision_is_single(d, &s->points[i]);
}

static bool has_repeats(const struct decision *d, const struct series *s, size_t i)
{
    return d->quality[i].nrepeats > 0;
}

static void add_machine(struct decision *d, const struct series *s)
{
    char counts[120];

    if (decision_list_counts(d, s, is_fake, counts, sizeof counts))
        add_caveat(d, CAVEAT_FAKE_GPUS,
            "No GPU was used: the \"GPUs\" of these runs are groups of CPU cores (%s). The method "
            "is the same, the numbers are not those of GPUs.",
            counts);
    if (decision_list_counts(d, s, is_oversubscribed, counts, sizeof counts))
        add_caveat(d, CAVEAT_FEW_CORES,
            "This speed-up measures the machine, not the method: with %s GPUs the workers "
            "outnumber the cores they run on.",
            counts);
    if (decision_list_counts(d, s, has_refused_kernels, counts, sizeof counts))
        add_caveat(d, CAVEAT_KERNELS,
            "With %s GPUs some kernels failed their check and slower ones replaced them (table of "
            "runs): the times hold only for this hardware and driver.",
            counts);
}

/* Adds that ranks see more GPUs than their runs were given. */
static void add_seen(struct decision *d, const struct series *s)
{
    const struct result *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->nrows; i++)
        if (text_begins(s->rows[i].note, RESULT_NOTE_SEEN) && n++ == 0)
            first = &s->rows[i];
    if (n)
        add_caveat(d, CAVEAT_SEEN_GPUS,
            "In %zu of %zu run%s a rank sees more GPUs than its run was given (%.60s: %.120s). A "
            "program that uses all that it sees is measured on another number of GPUs: let Slurm "
            "list them in CUDA_VISIBLE_DEVICES, or hide the others (ConstrainDevices=yes).",
            n, s->nrows, plural((long)s->nrows), first->run, first->note);
}

static bool is_foreign(const struct series *s)
{
    return strcmp(s->engine, "embedded") != 0;
}

/* Returns whether all counts of a program take the time of the base case. */
static bool is_same_time(const struct series *s)
{
    for (size_t i = 1; i < s->npoints; i++)
        if (!(fabs(series_speedup(s, &s->points[i])->value - 1) < SAME))
            return false;
    return s->mode != SERIES_WEAK && is_foreign(s);
}

/* Adds that more GPUs are hardly faster, if ranks may not share the work, or logs may count that of
 * one GPU. */
static void add_flat(struct decision *d, const struct series *s)
{
    const struct series_point *base = s->points, *last = &s->points[s->npoints - 1];
    const struct ratio *efficiency = series_efficiency(s, last);
    double times = (double)last->gpus / base->gpus;

    if (times < 2)
        return;
    if (is_same_time(s))
        add_caveat(d, CAVEAT_FLAT,
            "Every count takes the time of one: an %s takes %.4g s with %d GPU%s and %.4g s with "
            "%d. Does one rank run, or do ranks not share the work? If the logs count the work of "
            "one GPU, name its column as NAME:gpu (log.units, --column units=NAME:gpu), or set "
            "work.mode to weak.", series_interval(s), base->q[QUANTITY_STEADY_EPOCH].median,
            base->gpus, plural(base->gpus), last->q[QUANTITY_STEADY_EPOCH].median, last->gpus);
    else if ((s->stepped || (is_foreign(s) && !s->means.gpus)) && efficiency->value * times < FLAT)
        add_caveat(d, CAVEAT_FLAT, s->stepped ?
            "%d GPUs are %s than %d (%.2fx). If a step, or the work that the logs count, is that "
            "of one GPU, the speed-up is %.2g times as large: name the column of work as NAME:gpu "
            "(log.units, --column units=NAME:gpu), or set work.mode to weak." :
            "%d GPUs are %s than %d (%.2fx). If ranks do not share the data, so that each has all "
            "of it in an epoch, they do %.2g times the work: let the program divide it.",
            last->gpus,
            efficiency->interval.high * times < 1 ? "slower" : "hardly faster, if at all,",
            base->gpus, efficiency->value * times, times);
}

/* Adds that times are means, and how well they are known, where clocks count in large steps. */
static void add_clock(struct decision *d, const struct series *s)
{
    double step = 0, share = 0, error = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->nrows; i++) {
        const struct result *r = &s->rows[i];
        double sum = 0;
        if (isnan(r->clock_step_s))
            continue;
        n++;
        step = fmax(step, r->clock_step_s);
        for (size_t k = 1; r->curve && k < r->curve->n; k++)
            sum += r->curve->seconds[k];
        if (sum > 0) {
            share = fmax(share, r->clock_step_s / r->curve->seconds[r->curve->n - 1]);
            error = fmax(error, r->clock_step_s / sum);
        }
    }
    if (n)
        add_caveat(d, CAVEAT_CLOCK,
            "The clock of %zu log%s counts in steps of %.2g s, up to %.0f %% of a steady %s: its "
            "time is a mean, the slope of the clock, known to %.2g %% or better.", n,
            plural((long)n), step, 100 * share, series_interval(s), 100 * error);
}

/* Adds that logs have as many rows for each GPU as for one, as where all ranks print. */
static void add_all_ranks(struct decision *d, const struct series *s)
{
    const struct series_point *base = s->points, *last = &s->points[s->npoints - 1];
    bool all = s->npoints > 2 && is_foreign(s);

    for (size_t i = 0; i < s->npoints; i++)
        for (size_t k = 0; k < s->points[i].nruns; k++)
            all &= s->points[i].rows[k].epochs * base->gpus ==
                   base->rows[0].epochs * s->points[i].gpus;
    if (all)
        add_caveat(d, CAVEAT_ALL_RANKS,
            "The logs have %ld %ss with %d GPU%s and %ld with %d, the same number for each GPU: "
            "all ranks seem to print. Let one rank print; otherwise the work of a run is counted "
            "once for each rank.",
            base->rows[0].epochs, series_interval(s), base->gpus, plural(base->gpus),
            last->rows[0].epochs, last->gpus);
}

static double sum_of_log(const struct result *r)
{
    double sum = 0;

    for (size_t i = 0; r->curve && i < r->curve->n; i++)
        sum += r->curve->seconds[i];
    return isnan(r->training_time) ? sum : r->training_time;
}

/* Adds that the logs of programs say more than their jobs took, also up to a limit, or cover a
 * small part of them. Rows of a series do not have what limited runs took. */
static void add_uncovered(struct decision *d, const struct series *s, const struct results *table)
{
    const struct result *longest = NULL, *worst = NULL;
    size_t nlong = 0, n = 0, nruns = 0;

    for (size_t i = 0; is_foreign(s) && i < table->count; i++) {
        const struct result *r = &table->rows[i];
        double covered = sum_of_log(r);
        if (r->state != RESULT_DONE || r->copied || strcmp(r->engine, s->engine) != 0)
            continue;
        nruns++;
        if (covered > OVERLONG * r->job_s + OVERLONG_S && !nlong++)
            longest = r;
        if (r->limited == 1 || !(covered > 0 && covered < COVERED * r->job_s &&
                                 r->job_s - covered > UNCOVERED_S))
            continue;
        n++;
        if (!worst || covered / r->job_s < sum_of_log(worst) / worst->job_s)
            worst = r;
    }
    if (nlong)
        add_caveat(d, CAVEAT_LONG_LOGS,
            "The times in the logs of %zu of %zu run%s add up to more than their jobs took, that of "
            "%.60s to %.4g s of %.4g s: they may have another unit, or be those of several ranks.",
            nlong, nruns, plural((long)nruns), longest->run, sum_of_log(longest),
            longest->job_s);
    else if (n)
        add_caveat(d, CAVEAT_SHORT_LOGS,
            "The logs of %zu of %zu run%s cover less than half of their jobs, that of %.60s %.4g s "
            "of %.4g s. No speed-up of %ss includes the rest, such as start-up, evaluation or work "
            "that is not logged.", n, nruns, plural((long)nruns), worst->run,
            sum_of_log(worst), worst->job_s, series_interval(s));
}

/* Returns the longest interval of a run, the first left out, if it is a large part of the run and
 * much longer than the steady one, and few are that long, otherwise 0. */
static double find_gap(const struct result *r)
{
    double longest = 0;
    size_t n = 0;

    for (size_t i = 1; r->curve && i < r->curve->n; i++) {
        longest = fmax(longest, r->curve->seconds[i]); /* which may be NaN */
        n += r->curve->seconds[i] > SERIES_GAP * r->median_epoch_s;
    }
    return n && (double)n <= fmax(1, GAP_SHARE * (double)r->curve->n) &&
           longest > GAP_SHARE * sum_of_log(r) ? longest : 0;
}

static void add_means(struct decision *d, const struct series *s)
{
    if (s->means.gpus)
        add_caveat(d, CAVEAT_MEANS,
            "With %d GPUs the efficiency is %.2f by the means of steady %ss, but %.2f by their "
            "medians: some %ss take longer than most, such as those with an evaluation or a "
            "checkpoint. So every steady %s of this report is a mean.", s->means.gpus,
            series_efficiency(s, series_find(s, s->means.gpus))->value, series_interval(s),
            s->means.median, series_interval(s), series_interval(s));
}

static void add_gaps(struct decision *d, const struct series *s)
{
    const struct result *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->nrows; i++)
        if (find_gap(&s->rows[i]) > 0 && !n++)
            first = &s->rows[i];
    if (n)
        add_caveat(d, CAVEAT_GAP,
            "One %s of %zu of %zu run%s is far longer than the others, that of %.60s %.4g s instead "
            "of %.4g s: a clock was set, the job stood still, or it did something else. Times of "
            "whole runs, and to a loss or score, include it.", series_interval(s), n, s->nrows,
            plural((long)s->nrows), first->run, find_gap(first), first->median_epoch_s);
}

static void add_unknown_quality(struct decision *d, const struct series *s)
{
    const struct result *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->nrows && s->has_quality; i++)
        if (s->rows[i].limited != 1 && isnan(result_quality(&s->rows[i])) && n++ == 0)
            first = &s->rows[i];
    if (n)
        add_caveat(d, CAVEAT_NO_QUALITY,
            "%zu run%s no %s (the first is %.60s, with %d GPU%s). Such a run counts as %s "
            "if its log names the quality or other runs of its count have one.",
            n, n == 1 ? " has" : "s have", s->quality, first->run, first->gpus,
            plural(first->gpus), s->is_share ? "collapsed" : "far worse");
}

static void add_quality(struct decision *d, const struct series *s)
{
    double best = NAN, first = s->points[0].q[QUANTITY_EVALUATION].median;
    long images = s->points[0].val_images;
    const struct series_point *fewer = NULL;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        best = fmax(best, p->q[QUANTITY_QUALITY].median);
        if (images && p->val_images ? p->val_images != images
                                    : !series_folds(s) &&
                                          p->q[QUANTITY_EVALUATION].median < FEWER_IMAGES * first)
            fewer = p;
    }
    const struct result *blind = NULL;
    size_t nblind = 0, nwhole = s->nrows;
    for (size_t i = 0; i < s->nrows; i++)
        if (quality_is_blind(&s->rows[i]) && nblind++ == 0)
            blind = &s->rows[i];
    for (size_t i = 0; i < s->npoints; i++)
        nwhole -= s->points[i].nlimited;
    if (nblind && blind->quality.constant == 1)
        add_caveat(d, CAVEAT_NOT_LEARNT,
            "The quality is meaningless: every validation image has the same single class, and "
            "predicting that class everywhere gets %s 1.0000, too. Inspect the data set: "
            "unet-train data stats --data DIR.",
            s->quality);
    else if (nblind)
        add_caveat(d, CAVEAT_NOT_LEARNT,
            "%zu of %zu %srun%s score%s no better than one class everywhere would (%s %.4f); the "
            "first is %.60s with %.4f. The times hold, but such quality says nothing about the "
            "network. Train longer, or inspect the data set: unet-train data stats --data DIR.",
            nblind, nwhole, s->limited ? "whole " : "", plural((long)nwhole),
            nwhole == 1 ? "s" : "", s->quality,
            blind->quality.constant, blind->run, result_quality(blind));
    else if (d->unlearnt)
        add_caveat(d, CAVEAT_NOT_LEARNT,
            "No network has learnt its task (the best %s is %.3f): the times hold, but the "
            "quality says nothing yet. Train longer.",
            s->quality, best);
    if (fewer && images && fewer->val_images)
        add_caveat(d, CAVEAT_UNEQUAL_IMAGES,
            "Quality (%s) is counted over different validation images: %ld with %d GPU%s, %ld with "
            "%d. Such values are not comparable.",
            s->quality, images, s->points[0].gpus, plural(s->points[0].gpus), fewer->val_images,
            fewer->gpus);
    else if (fewer && !isnan(best))
        add_caveat(d, CAVEAT_UNEQUAL_IMAGES,
            "The logs do not say how many validation images were scored, and evaluation takes "
            "%.2f s with %d GPU%s but %.2f s with %d: either GPUs share this work or fewer "
            "were scored, and then these values of %s are not comparable.",
            first, s->points[0].gpus, plural(s->points[0].gpus),
            fewer->q[QUANTITY_EVALUATION].median, fewer->gpus, s->quality);
}

static void add_disturbance(struct decision *d)
{
    const struct disturbance *found = &d->disturbance;

    if (found->drift_p < DISTURBANCE_ALPHA && fabs(found->drift - 1) >= DISTURBANCE_EFFECT)
        add_caveat(d, CAVEAT_DRIFT,
            "The times changed while the study ran: among runs of the same count, those that "
            "started last took %.1f %% %s than those that started first (p = %.3f). Find out what "
            "else changed, and repeat the study.",
            100 * fabs(found->drift - 1), found->drift > 1 ? "longer" : "less", found->drift_p);
    if (disturbance_is_slow(found))
        add_caveat(d, CAVEAT_SLOW_NODE,
            "Among runs of the same count, those on node %s (%zu run%s) took %.1f %% longer than "
            "the others (p = %.3f). Repeat these without it: -- --exclude=%s.",
            found->node, found->on_node, plural((long)found->on_node), 100 * (found->slow - 1),
            found->slow_p, found->node);
}

/* Adds that one run is far from the others of its count, and so widens every interval. */
static void add_outlying(struct decision *d, const struct series *s)
{
    const struct result *found = NULL;
    double worst = OUTLYING, usual = NAN;

    for (size_t i = 0; i < s->nrows; i++) {
        const struct summary *q = &series_find(s, s->rows[i].gpus)->q[QUANTITY_STEADY_EPOCH];
        double times = s->rows[i].median_epoch_s / q->median, apart = fmax(times, 1 / times);
        if (q->count < 3 || !(apart > worst))
            continue;
        worst = apart;
        found = &s->rows[i];
        usual = q->median;
    }
    if (found)
        add_caveat(d, CAVEAT_OUTLYING,
            "%.60s took %.4g s per steady %s, and the median of its count is %.4g s. One such run "
            "hides what the others show: find out what disturbed it, and repeat it before you "
            "measure more seeds.", found->run, found->median_epoch_s, series_interval(s), usual);
}

static void add_repeats(struct decision *d, const struct series *s)
{
    size_t most = 0;
    char counts[120];

    if (decision_list_counts(d, s, has_repeats, counts, sizeof counts))
        add_caveat(d, CAVEAT_EQUAL_SEEDS,
            "Runs of different seeds are equal in every loss and score (numbers of GPUs: %s), so "
            "the seed changes nothing: equal runs count as one where %s is compared.",
            counts, s->has_quality ? s->quality : "quality");
    if (s->mixed)
        add_caveat(d, CAVEAT_MIXED_MODES,
            "The study mixes strong and weak scaling, or batches: this is about the runs of one "
            "mode only.");
    for (size_t i = 0; i < s->npoints; i++)
        most = s->points[i].nruns > most ? s->points[i].nruns : most;
    if (most == 1)
        add_caveat(d, CAVEAT_ONE_RUN,
            "One run per count: intervals of times hold for these runs only, and do not show "
            "how much further runs differ. Run 3 seeds to see that.");
    if (decision_list_counts(d, s, is_near_threshold, counts, sizeof counts))
        add_caveat(d, CAVEAT_NEAR_THRESHOLD,
            "With %s GPUs the interval of the efficiency includes the threshold of %.2f: these "
            "runs do not show whether it is reached.",
            counts, d->rule.efficiency);
}

static void add_missing(struct decision *d, const struct series *s, const struct results *table)
{
    size_t nmissing = 0, nruns = 0;
    const struct result *first = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        if (strcmp(r->engine, s->engine) && *r->engine)
            continue;
        nruns++;
        if (r->state != RESULT_DONE) {
            nmissing++;
            first = first ? first : r;
        }
    }
    if (nmissing)
        add_caveat(d, CAVEAT_MISSING_COUNTS,
            "%zu of %zu runs have no result and are excluded; the first is %.60s (%d "
            "GPU%s), %s.",
            nmissing, nruns, first->run, first->gpus, plural(first->gpus),
            result_state_names[first->state]);
    if (s->points[0].gpus > 1)
        add_caveat(d, CAVEAT_BASE, "The base case is %d GPUs, not 1. An ideal speed-up is N / %d.",
            s->points[0].gpus, s->points[0].gpus);
}

static const char *device_of(const struct series_point *p)
{
    for (size_t i = 1; i < p->nruns; i++)
        if (strcmp(p->rows[i].device, p->rows[0].device) != 0)
            return "";
    return p->rows[0].device;
}

/* Adds that an efficiency is more than ideal, and which of the possible causes the records
 * exclude. */
static void add_too_good(struct decision *d, const struct series *s)
{
    const struct series_point *base = s->points, *p = decision_find_too_good(d, s);
    char excluded[240] = "";
    int n = 0;

    if (!p)
        return;
    if (s->by_units)
        n += snprintf(excluded, sizeof excluded, "%s left out (all were counted), ", s->unit);
    if (*device_of(base) && strcmp(device_of(base), device_of(p)) == 0)
        n += snprintf(excluded + n, sizeof excluded - (size_t)n, "other devices (all are %.60s), ",
                      device_of(base));
    if (!base->oversubscribed && base->rows[0].oversubscribed == 0)
        n += snprintf(excluded + n, sizeof excluded - (size_t)n,
                      "workers that share cores in the base case, ");
    add_caveat(d, CAVEAT_TOO_GOOD,
        "With %d GPUs the efficiency of %.2f is more than ideal. %s%.*s%sOther work on the machine "
        "while the base case ran, memory or caches that suffice only for a part of the work%s%s%s "
        "are not excluded. Measure the base case again.",
        p->gpus, series_efficiency(s, p)->value, n ? "Excluded by the records: " : "",
        n ? n - 2 : 0, excluded, n ? ". " : "", s->by_units ? "" : ", and ",
        s->by_units ? "" : s->unit, s->by_units ? "" : " left out");
}

static void add_numbers(struct decision *d, const struct series *s)
{
    size_t noutliers = 0;
    const struct series_point *where = NULL;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        size_t n = p->q[QUANTITY_STEADY_EPOCH].noutliers + p->q[QUANTITY_QUALITY].noutliers;
        where = n && !where ? p : where;
        noutliers += n;
    }
    add_clock(d, s);
    if (!s->by_units)
        add_caveat(d, CAVEAT_NO_IMAGES,
            "The logs do not say how much work an %s did: %s.", series_interval(s),
            s->stepped ? "it is taken to be the same at all counts"
                       : "where a last short batch is dropped, efficiency looks better than it is");
    if (!s->equal_epochs)
        add_caveat(d, CAVEAT_UNEQUAL_EPOCHS, "%s: %s%swhole %s are compared only where they are "
            "equal.", s->stepped ? "Whole runs did different amounts of work"
                                 : "Runs trained for different numbers of epochs",
            s->has_quality ? s->quality : "", s->has_quality ? " and " : "",
            s->stepped ? "runs" : "trainings");
    add_too_good(d, s);
    if (noutliers)
        add_caveat(d, CAVEAT_OUTLIERS,
            "%zu value%s of %s time%s%s lie%s far from the median of their count (first "
            "with %d GPU%s). None was dropped.",
            noutliers, plural((long)noutliers), series_interval(s), s->has_quality ? " or " : "",
            s->has_quality ? s->quality : "", noutliers == 1 ? "s" : "", where->gpus,
            plural(where->gpus));
}

void caveats_compute(struct decision *d, const struct series *s, const struct results *table)
{
    d->ncaveats = 0;
    add_machine(d, s);
    add_seen(d, s);
    add_flat(d, s);
    add_all_ranks(d, s);
    add_uncovered(d, s, table);
    add_means(d, s);
    add_gaps(d, s);
    add_quality(d, s);
    add_unknown_quality(d, s);
    add_disturbance(d);
    add_outlying(d, s);
    add_repeats(d, s);
    add_missing(d, s, table);
    add_numbers(d, s);
}
