/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/disturbance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/nodelist.h"
#include "src/map.h"
#include "src/mem.h"
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

/* Collects the runs that are usable, and their residuals. */
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

/* Describes node `which`. */
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
