/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/hypothesis.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

#define MOST_NEEDED 1000000

static struct student unknown(double mean)
{
    return (struct student){mean, NAN, NAN, interval_none()};
}

static struct student make_student(double mean, double error, double df, double level)
{
    double t = distribution_t_quantile(0.5 + level / 2, df);

    return (struct student){
        mean, df, error, {mean - t * error, mean + t * error, level, INTERVAL_T}};
}

static double two_sided(double mean, double error, double df, double least)
{
    if (isnan(error))
        return NAN;
    return mean == 0 ? 1 : 2 * distribution_t_cdf(-fabs(mean / fmax(error, least)), df);
}

double student_p(const struct student *s, double least)
{
    return two_sided(s->mean, s->error, s->df, least);
}

struct student student_paired(const double *differences, size_t n, double level)
{
    double mean = stat_mean(differences, n);

    if (n < 2)
        return unknown(mean);
    return make_student(mean, stat_stddev(differences, n) / sqrt((double)n), (double)n - 1, level);
}

/* Returns the degrees of freedom of the variance va + vb, which are squared standard errors of
 * means. */
static double welch_df(double va, size_t na, double vb, size_t nb)
{
    double sum = va + vb;

    if (!(sum > 0))
        return (double)(na + nb - 2);
    return sum * sum / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
}

struct student student_welch(const double *a, size_t na, const double *b, size_t nb, double level)
{
    double mean = stat_mean(b, nb) - stat_mean(a, na);

    if (na < 2 || nb < 2)
        return unknown(mean);
    double va = pow(stat_stddev(a, na), 2) / (double)na,
           vb = pow(stat_stddev(b, nb), 2) / (double)nb;
    return make_student(mean, sqrt(va + vb), welch_df(va, na, vb, nb), level);
}

/* What Fieller's interval is made of: the means and squared standard errors of both samples, and
 * the degrees of freedom at the ratio of the means. */
struct fieller {
    double a, b, va, vb, df;
};

static struct fieller make_fieller(const double *a, size_t na, const double *b, size_t nb)
{
    struct fieller f = {.a = stat_mean(a, na), .b = stat_mean(b, nb)};
    double r = f.a / f.b;

    f.va = pow(stat_stddev(a, na), 2) / (double)na;
    f.vb = pow(stat_stddev(b, nb), 2) / (double)nb;
    f.df = welch_df(f.va, na, r * r * f.vb, nb);
    return f;
}

struct interval student_ratio(const double *a, size_t na, const double *b, size_t nb, double level)
{
    if (na < 2 || nb < 2)
        return interval_none();
    struct fieller f = make_fieller(a, na, b, nb);
    double t = distribution_t_quantile(0.5 + level / 2, f.df);
    /* The condition is quadratic in r: p r^2 - 2 q r + s <= 0. */
    double p = f.b * f.b - t * t * f.vb, q = f.a * f.b, s = f.a * f.a - t * t * f.va;
    double root = q * q - p * s;

    if (!(p > 0) || !(root >= 0))
        return interval_none();
    root = sqrt(root);
    return (struct interval){(q - root) / p, (q + root) / p, level, INTERVAL_FIELLER};
}

double student_ratio_p(const double *a, size_t na, const double *b, size_t nb, double least)
{
    if (na < 2 || nb < 2)
        return NAN;
    struct fieller f = make_fieller(a, na, b, nb);
    return two_sided(f.a - f.b, sqrt(f.va + f.vb), f.df, least);
}

double student_upper_sd(double sd, double df, double level)
{
    return sd * sqrt(df / distribution_chi_square_quantile(1 - level, df));
}

static size_t repeats(double df, double ratio, double alpha, double power, int nsamples)
{
    double t = distribution_t_quantile(1 - alpha / 2, df) + distribution_t_quantile(power, df);
    double n = ceil(nsamples * t * t * ratio * ratio - 1e-9);

    return n > MOST_NEEDED ? MOST_NEEDED + 1 : (size_t)n;
}

/* The required number falls as n grows, so the first n that is sufficient is the smallest. */
size_t student_needed(double sd, double difference, double alpha, double power, int nsamples)
{
    double ratio = sd / fabs(difference);

    if (!isfinite(ratio))
        return 0;
    size_t low = 1, high = 2;
    while (high <= MOST_NEEDED &&
           repeats(nsamples * ((double)high - 1), ratio, alpha, power, nsamples) > high) {
        low = high;
        high *= 2;
    }
    if (high > MOST_NEEDED)
        return 0;
    while (low + 1 < high) {
        size_t n = low + (high - low) / 2;
        if (repeats(nsamples * ((double)n - 1), ratio, alpha, power, nsamples) > n)
            low = n;
        else
            high = n;
    }
    return high;
}

/* ---- group-sequential tests ---- */

#define INTERVALS 128 /* of Simpson's rule, even */
#define FAR 9.        /* standard deviations beyond which a normal density counts as 0 */

/* The statistic times the square root of the information, which is a Brownian motion, at a look
 * that it has reached: points, and the probabilities that they stand for. */
struct density {
    double at, x[INTERVALS + 1], mass[INTERVALS + 1];
    size_t n;
};

static struct density begin(void)
{
    return (struct density){.x = {0}, .mass = {1}, .n = 1};
}

/* Returns the probability that the motion is above x at information t. */
static double tail(const struct density *d, double t, double drift, double x)
{
    double sum = 0;

    for (size_t i = 0; i < d->n; i++)
        sum += d->mass[i] * distribution_normal_cdf((d->x[i] + drift * (t - d->at) - x) /
                                                    sqrt(t - d->at));
    return sum;
}

/* Moves on to information t, where the motion continues between low and high. */
static void advance(struct density *d, double t, double drift, double low, double high)
{
    struct density next = {.at = t, .n = INTERVALS + 1};
    double sd = sqrt(t - d->at), shift = drift * (t - d->at);

    low = fmax(low, fmin(0, drift * t) - FAR * sqrt(t));
    high = fmin(high, fmax(0, drift * t) + FAR * sqrt(t));
    double width = fmax(0, high - low) / INTERVALS;
    for (size_t k = 0; k <= INTERVALS; k++) {
        double sum = 0, weight = k == 0 || k == INTERVALS ? 1 : k % 2 ? 4 : 2;
        next.x[k] = low + width * (double)k;
        for (size_t i = 0; i < d->n; i++) {
            double z = (next.x[k] - d->x[i] - shift) / sd;
            sum += fabs(z) < FAR ? d->mass[i] * exp(-0.5 * z * z) : 0;
        }
        next.mass[k] = sum / (sd * sqrt(2 * 3.14159265358979323846)) * weight * width / 3;
    }
    *d = next;
}

static double spent(double alpha, double t)
{
    return 2 * distribution_normal_cdf(distribution_normal_quantile(alpha / 2) / sqrt(t));
}

void sequential_plan(struct sequential *s, double alpha, const size_t *pairs, size_t nlooks)
{
    struct density d = begin();

    *s = (struct sequential){.nlooks = nlooks};
    for (size_t k = 0; k < nlooks; k++) {
        double t = s->information[k] = (double)pairs[k] / (double)pairs[nlooks - 1];
        double wanted = spent(alpha, t) - (k ? spent(alpha, d.at) : 0), low = 0, high = FAR;
        for (int i = 0; i < 50; i++) {
            double z = (low + high) / 2;
            if (tail(&d, t, 0, z * sqrt(t)) > wanted)
                low = z;
            else
                high = z;
        }
        s->bound[k] = high;
        s->level[k] = distribution_normal_cdf(-high);
        advance(&d, t, 0, -INFINITY, high * sqrt(t));
    }
}

/* Returns the probability that the motion, which is at d, crosses a bound from a look on. */
static double cross(const struct sequential *s, struct density d, size_t look, double drift)
{
    double sum = 0;

    for (size_t k = look; k < s->nlooks; k++) {
        double t = s->information[k], bound = s->bound[k] * sqrt(t);
        sum += tail(&d, t, drift, bound);
        advance(&d, t, drift, -INFINITY, bound);
    }
    return sum;
}

double sequential_crossing(const struct sequential *s, double drift)
{
    return cross(s, begin(), 0, drift);
}

double sequential_normal(double t, double df)
{
    double below = distribution_t_cdf(-fabs(t), df);

    /* Beyond that, normal quantiles are not needed exactly. */
    double z = below > 1e-300 ? -distribution_normal_quantile(below) : 37;
    return t < 0 ? -z : z;
}

/* Returns the probability that the test ends higher than with z at the look. */
static double above(const struct sequential *s, size_t look, double z, double drift)
{
    struct density d = begin();
    double sum = 0;

    for (size_t k = 0; k < look; k++) {
        double t = s->information[k], bound = s->bound[k] * sqrt(t);
        sum += tail(&d, t, drift, bound);
        advance(&d, t, drift, -bound, bound);
    }
    return sum + tail(&d, s->information[look], drift, z * sqrt(s->information[look]));
}

/* The quantile of `above` is nearly linear in the drift, so Newton's method takes the slope of a
 * fixed sample. */
double sequential_estimate(const struct sequential *s, size_t look, double t, double df)
{
    double root = sqrt(s->information[look]), z = sequential_normal(t, df), drift = z / root;

    for (int i = 0; i < 40 && look > 0; i++) {
        double p = fmin(1 - 1e-10, fmax(1e-10, above(s, look, z, drift)));
        double step = distribution_normal_quantile(p) / root;
        drift -= step;
        if (fabs(step) < 1e-4)
            break;
    }
    return look == 0 ? t : t + (drift * root - z) * (z == 0 ? 1 : t / z);
}

bool sequential_is_futile(const struct sequential *s, size_t look, double z)
{
    struct density d = {.at = s->information[look], .x = {z * sqrt(s->information[look])},
                        .mass = {1}, .n = 1};

    return look + 1 < s->nlooks &&
           cross(s, d, look + 1, z / sqrt(s->information[look])) < SEQUENTIAL_FUTILE;
}
