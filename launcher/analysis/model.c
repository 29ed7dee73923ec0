/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/statistics/bootstrap.h"
#include "launcher/analysis/statistics/distribution.h"
#include "src/mem.h"
#include "src/rng.h"

/* a prediction beyond this multiple of the largest count of the samples is an extrapolation */
#define EXTRAPOLATE 2.0
#define BETTER 0.9      /* a law with more coefficients must reduce loo_error to this part */
/* if every count has this many runs, runs are resampled instead of residuals */
#define CASES_FEWEST 10

static const struct {
    const char *name;
    int nterms;
} laws[MODEL_NLAWS] = {
    [MODEL_IDEAL] = {"ideal", 1},
    [MODEL_AMDAHL] = {"Amdahl", 2},
    [MODEL_USL] = {"universal scalability law", 3},
    [MODEL_LOG] = {"logarithmic", 2},
    [MODEL_GUSTAFSON] = {"Gustafson", 2},
};

/* The runs at one GPU count, as sums; w = 1 / value. */
struct sample_group {
    double gpus, n, sum_w, sum_ww;
    size_t begin; /* its first element in the sorted samples */
};

/* The normal equations of the least squares of the relative errors 1 - w (phi . c), where phi are
 * the terms at a sample's count, c the coefficients, and w = 1 / value; n is the number of
 * samples. */
struct equations {
    double gram[MODEL_TERMS][MODEL_TERMS], right[MODEL_TERMS], n;
};

struct model_data {
    enum model_law law;
    const struct model_sample *samples; /* sorted by count */
    size_t nsamples;
    struct sample_group *groups;
    size_t ngroups;
};

const char *model_name(enum model_law law)
{
    return laws[law].name;
}

static void terms_at(enum model_law law, double n, double phi[MODEL_TERMS])
{
    phi[0] = law == MODEL_GUSTAFSON ? 1 : 1 / n;
    phi[1] = law == MODEL_LOG ? log2(n) : law == MODEL_GUSTAFSON ? n : 1;
    phi[2] = n - 1;
}

static double value_at(enum model_law law, const double *c, double n)
{
    double phi[MODEL_TERMS], sum = 0;

    terms_at(law, n, phi);
    for (int i = 0; i < laws[law].nterms; i++)
        sum += c[i] * phi[i];
    return sum;
}

static void add_group(struct equations *s, enum model_law law, const struct sample_group *g,
                      double sign)
{
    double phi[MODEL_TERMS];

    terms_at(law, g->gpus, phi);
    for (int i = 0; i < laws[law].nterms; i++) {
        s->right[i] += sign * phi[i] * g->sum_w;
        for (int j = 0; j < laws[law].nterms; j++)
            s->gram[i][j] += sign * phi[i] * phi[j] * g->sum_ww;
    }
    s->n += sign * g->n;
}

/* Solves for the terms whose bits are set; the others are 0 in c. Returns false if the equations
 * are singular or a coefficient is negative. */
static bool solve_subset(const struct equations *s, int nterms, unsigned subset,
                         double c[MODEL_TERMS])
{
    double m[MODEL_TERMS][MODEL_TERMS + 1];
    int index[MODEL_TERMS], k = 0;

    for (int i = 0; i < nterms; i++)
        if (subset >> i & 1)
            index[k++] = i;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            m[i][j] = s->gram[index[i]][index[j]];
        m[i][k] = s->right[index[i]];
    }
    /* the matrix is symmetric and positive semidefinite, so no pivoting is needed */
    for (int i = 0; i < k; i++) {
        if (!(m[i][i] > 1e-13 * s->gram[index[i]][index[i]]))
            return false;
        for (int r = 0; r < k; r++) {
            double factor = r == i ? 0 : m[r][i] / m[i][i];
            for (int j = i; j <= k; j++)
                m[r][j] -= factor * m[i][j];
        }
    }
    memset(c, 0, MODEL_TERMS * sizeof *c);
    for (int i = 0; i < k; i++) {
        c[index[i]] = m[i][k] / m[i][i];
        if (!(c[index[i]] >= 0))
            return false;
    }
    return true;
}

static double residual_squares(const struct equations *s, int nterms, const double *c)
{
    double sum = s->n;

    for (int i = 0; i < nterms; i++) {
        sum -= 2 * c[i] * s->right[i];
        for (int j = 0; j < nterms; j++)
            sum += c[i] * c[j] * s->gram[i][j];
    }
    return fmax(0, sum);
}

/* Non-negative least squares: tries all subsets of terms but the empty one. Returns the sum of
 * squares of the best, or INFINITY if none can be solved. */
static double solve_nonnegative(const struct equations *s, int nterms, double best[MODEL_TERMS])
{
    double least = INFINITY, c[MODEL_TERMS];

    memset(best, 0, MODEL_TERMS * sizeof *best);
    for (unsigned subset = 1; subset < 1u << nterms; subset++)
        if (solve_subset(s, nterms, subset, c) && residual_squares(s, nterms, c) < least) {
            least = residual_squares(s, nterms, c);
            memcpy(best, c, sizeof c);
        }
    return least;
}

static struct equations sum_groups(const struct model_data *f)
{
    struct equations s = {0};

    for (size_t i = 0; i < f->ngroups; i++)
        add_group(&s, f->law, &f->groups[i], 1);
    return s;
}

/* Returns the root mean square of the relative errors when each count is predicted from the
 * others, or NaN with too few counts. */
static double leave_one_out_error(const struct model_data *f, const struct equations *all)
{
    double sum = 0, c[MODEL_TERMS];

    if ((int)f->ngroups <= laws[f->law].nterms)
        return NAN;
    for (size_t i = 0; i < f->ngroups; i++) {
        const struct sample_group *g = &f->groups[i];
        struct equations rest = *all;
        add_group(&rest, f->law, g, -1);
        solve_nonnegative(&rest, laws[f->law].nterms, c);
        double v = value_at(f->law, c, g->gpus);
        sum += (g->n - 2 * v * g->sum_w + v * v * g->sum_ww) / g->n;
    }
    return sqrt(fmax(0, sum) / (double)f->ngroups);
}

static void derive_model(struct model *m)
{
    const double *c = m->coefficient;
    double first = value_at(m->law, c, 1);

    m->serial = m->coherency = NAN;
    m->peak = INFINITY;
    if (m->law == MODEL_GUSTAFSON)
        m->serial = c[0] / first;
    if (m->law == MODEL_AMDAHL || m->law == MODEL_USL)
        m->serial = c[1] / first;
    if (m->law == MODEL_USL) {
        m->coherency = c[2] / first;
        m->peak = fmax(1, sqrt(c[0] / c[2]));
    }
    if (m->law == MODEL_LOG)
        m->peak = fmax(1, c[0] * log(2) / c[1]);
    if (isnan(m->peak))
        m->peak = INFINITY;
}

/* Draws a bootstrap sample for a count: from its runs if residuals is NULL, otherwise the law's
 * value changed by relative residuals, which are drawn from those of all counts. */
static void draw_group(const struct model_data *f, const struct model *m, const double *residuals,
                       struct sample_group *g, unsigned long seed, unsigned long replicate)
{
    double v = value_at(f->law, m->coefficient, g->gpus);
    size_t n = (size_t)g->n, range = residuals ? f->nsamples : n;
    uint32_t words[4];

    g->sum_w = g->sum_ww = 0;
    for (size_t i = 0; i < n; i++) {
        size_t place = g->begin + i;
        if (i == 0 || place % 4 == 0)
            rng_block(seed, replicate, place / 4, words);
        size_t k = (size_t)((uint64_t)words[place % 4] * range >> 32);
        double w = 1 / (residuals ? v * (1 + residuals[k]) : f->samples[g->begin + k].value);
        g->sum_w += w;
        g->sum_ww += w * w;
    }
}

/* Computes relative residuals, centred, scaled up for the degrees of freedom that the fit used, and
 * at least -0.9. */
static void compute_residuals(const struct model_data *f, const struct model *m, double *residuals)
{
    double n = (double)f->nsamples, mean = 0;

    for (size_t i = 0; i < f->nsamples; i++) {
        residuals[i] =
            f->samples[i].value / value_at(f->law, m->coefficient, f->samples[i].gpus) - 1;
        mean += residuals[i] / n;
    }
    for (size_t i = 0; i < f->nsamples; i++)
        residuals[i] =
            fmax(-0.9, (residuals[i] - mean) * sqrt(n / fmax(1, n - laws[f->law].nterms)));
}

/* Returns an interval of expanded percentiles. Those of few values are too close together, so
 * they are moved outwards in the ratio of Student's t to the normal distribution (Hesterberg,
 * The American Statistician 69, 2015). */
static struct interval expanded_interval(double *replicates, double df)
{
    double t = distribution_t_quantile(0.5 + INTERVAL_LEVEL / 2, fmax(1, df));
    struct interval i =
        bootstrap_percentile(replicates, MODEL_REPEATS, 1 - 2 * distribution_normal_cdf(-t));

    i.level = interval_is_known(&i) ? INTERVAL_LEVEL : i.level;
    return i;
}

static int resample_model(struct model_data *f, struct model *m, unsigned long seed, struct err *e)
{
    bool cases = true;
    double *room = mem_zero(3 * MODEL_REPEATS + f->nsamples, sizeof *room, e);

    if (!room)
        return -1;
    double *serial = room, *coherency = serial + MODEL_REPEATS, *peak = coherency + MODEL_REPEATS;
    double *residuals = peak + MODEL_REPEATS;
    for (size_t i = 0; i < f->ngroups; i++)
        cases &= f->groups[i].n >= CASES_FEWEST;
    compute_residuals(f, m, residuals);
    for (unsigned long r = 0; r < MODEL_REPEATS; r++) {
        struct model copy = {.law = m->law};
        for (size_t i = 0; i < f->ngroups; i++)
            draw_group(f, m, cases ? NULL : residuals, &f->groups[i], seed, r);
        struct equations s = sum_groups(f);
        solve_nonnegative(&s, laws[m->law].nterms, copy.coefficient);
        derive_model(&copy);
        serial[r] = copy.serial;
        coherency[r] = copy.coherency;
        peak[r] = copy.peak;
    }
    double df = (double)f->nsamples - laws[m->law].nterms;
    m->serial_interval = expanded_interval(serial, df);
    m->coherency_interval = expanded_interval(coherency, df);
    m->peak_interval = expanded_interval(peak, df);
    free(room);
    return 0;
}

static int compare_samples(const void *a, const void *b)
{
    const struct model_sample *x = a, *y = b;

    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static void group_samples(struct model_data *f)
{
    for (size_t i = 0; i < f->nsamples; i++) {
        double w = 1 / f->samples[i].value;
        if (i == 0 || f->samples[i].gpus != f->samples[i - 1].gpus)
            f->groups[f->ngroups++] = (struct sample_group){.gpus = f->samples[i].gpus, .begin = i};
        struct sample_group *g = &f->groups[f->ngroups - 1];
        g->n++;
        g->sum_w += w;
        g->sum_ww += w * w;
    }
}

static void fit_model(struct model *m, const struct model_data *f)
{
    struct equations s = sum_groups(f);
    int nterms = laws[m->law].nterms;
    double n = (double)f->nsamples, k = nterms + 1,
           sum = solve_nonnegative(&s, nterms, m->coefficient);

    m->fitted = true;
    m->error = sqrt(sum / n);
    m->loo_error = leave_one_out_error(f, &s);
    m->aicc = n - k - 1 > 0 ? n * log(fmax(sum, 1e-30) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
                            : NAN;
    derive_model(m);
}

int model_fit(struct model *m, enum model_law law, const struct model_sample *samples, size_t n,
              unsigned long seed, struct err *e)
{
    struct model_sample *sorted = calloc(n + 1, sizeof *sorted);
    struct model_data f = {
        .law = law, .samples = sorted, .nsamples = n, .groups = calloc(n + 1, sizeof *f.groups)};
    int rc = 0;

    *m = (struct model){.law = law, .serial = NAN, .coherency = NAN, .error = NAN, .loo_error = NAN,
                        .aicc = NAN, .peak = NAN, .serial_interval = interval_none(),
                        .coherency_interval = interval_none(), .peak_interval = interval_none()};
    if (!sorted || !f.groups) {
        rc = mem_fail(e);
        goto out;
    }
    if (n)
        memcpy(sorted, samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_samples);
    group_samples(&f);
    if ((int)f.ngroups > laws[law].nterms) {
        m->largest = sorted[n - 1].gpus;
        fit_model(m, &f);
        rc = resample_model(&f, m, seed, e);
    }
out:
    free(sorted);
    free(f.groups);
    return rc;
}

double model_predict(const struct model *m, double gpus)
{
    return value_at(m->law, m->coefficient, gpus);
}

double model_speedup(const struct model *m, double base, double gpus)
{
    double a = model_predict(m, base), b = model_predict(m, gpus);

    return m->law == MODEL_GUSTAFSON ? b / a : a / b;
}

bool model_is_extrapolation(const struct model *m, double gpus)
{
    return gpus > EXTRAPOLATE * m->largest;
}

bool model_predicts(const struct model *m)
{
    return m->loo_error <= MODEL_POOR_FIT;
}

const struct model *model_choose(const struct model *models, size_t n)
{
    const struct model *best = NULL;

    for (int nterms = 1; nterms <= MODEL_TERMS; nterms++)
        for (size_t i = 0; i < n; i++) {
            const struct model *m = &models[i];
            if (!m->fitted || laws[m->law].nterms != nterms)
                continue;
            double needed = best && laws[best->law].nterms < nterms ? BETTER : 1;
            if (!best || m->loo_error < needed * best->loo_error)
                best = m;
        }
    return best;
}

void model_describe(const struct model *m, struct buf *b)
{
    const double *c = m->coefficient;

    switch (m->law) {
    case MODEL_IDEAL:
        buf_addf(b, "T(N) = %.4g / N", c[0]);
        return;
    case MODEL_AMDAHL:
        buf_addf(b, "T(N) = %.4g / N + %.4g", c[0], c[1]);
        return;
    case MODEL_USL:
        buf_addf(b, "T(N) = %.4g / N + %.4g + %.4g (N - 1)", c[0], c[1], c[2]);
        return;
    case MODEL_LOG:
        buf_addf(b, "T(N) = %.4g / N + %.4g log2 N", c[0], c[1]);
        return;
    case MODEL_GUSTAFSON:
        buf_addf(b, "R(N) = %.4g + %.4g N", c[0], c[1]);
        return;
    case MODEL_NLAWS:
        return;
    }
}
