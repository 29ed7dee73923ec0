/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/distribution.h"

#include <float.h>
#include <math.h>

#include "src/stat.h"

#define MAX_STEPS 300

double distribution_normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double normal_density(double x)
{
    return exp(-0.5 * x * x) / sqrt(2 * 3.14159265358979323846);
}

/* Newton's method on the lower half, where the function is convex: right of the root, its steps
 * never pass it. Left of the root, a step may pass it, so it is limited to 1. */
double distribution_normal_quantile(double p)
{
    if (!(p > 0 && p < 1))
        return NAN;
    if (p > 0.5)
        return -distribution_normal_quantile(1 - p);
    double x = -sqrt(-2 * log(p)); /* at or left of the root, since cdf(x) <= exp(-x^2 / 2) */
    for (int i = 0; i < MAX_STEPS; i++) {
        double step = (p - distribution_normal_cdf(x)) / normal_density(x);
        x += fmin(step, 1);
        if (fabs(step) <= 1e-15 * (1 + fabs(x)))
            break;
    }
    return x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method; it converges fast for
 * x below (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 / fmax(fabs(1 - (a + b) * x / (a + 1)), tiny), f = d;

    for (int m = 1; m < MAX_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return f;
}

double distribution_beta_cdf(double x, double a, double b)
{
    int sign;

    if (!(x > 0))
        return isnan(x) ? NAN : 0;
    if (x >= 1)
        return 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - distribution_beta_cdf(1 - x, b, a);
    double log_beta = lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
    return exp(a * log(x) + b * log1p(-x) - log_beta) / a * beta_fraction(x, a, b);
}

double distribution_t_cdf(double t, double df)
{
    double tail = 0.5 * distribution_beta_cdf(df / (df + t * t), df / 2, 0.5);

    return t > 0 ? 1 - tail : tail;
}

static double t_density(double t, double df)
{
    int sign;
    double scale = lgamma_r((df + 1) / 2, &sign) - lgamma_r(df / 2, &sign);

    return exp(scale - (df + 1) / 2 * log1p(t * t / df)) / sqrt(df * 3.14159265358979323846);
}

/* Newton's method, restricted to bounds that are narrowed in each step. */
double distribution_t_quantile(double p, double df)
{
    double low, high = 0;

    if (!(p > 0 && p < 1) || !(df > 0))
        return NAN;
    if (p > 0.5)
        return -distribution_t_quantile(1 - p, df);
    for (low = -1; distribution_t_cdf(low, df) > p; low *= 2)
        high = low;
    double t = 0.5 * (low + high);
    for (int i = 0; i < MAX_STEPS; i++) {
        double excess = distribution_t_cdf(t, df) - p;
        if (excess > 0)
            high = t;
        else
            low = t;
        double next = t - excess / t_density(t, df);
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - t) <= 1e-14 * (1 + fabs(t)))
            return next;
        t = next;
    }
    return t;
}

/* The lower incomplete gamma function over the complete one, by its series, which converges for all
 * x, in about as many steps as x has above df. */
static double chi_square_cdf(double x, double df)
{
    double half = x / 2, a = df / 2, term = 1 / a, sum = term;
    int sign;

    for (int i = 1; i < MAX_STEPS * 100 && term > sum * DBL_EPSILON; i++) {
        term *= half / (a + i);
        sum += term;
    }
    return sum * exp(a * log(half) - half - lgamma_r(a, &sign));
}

double distribution_chi_square_quantile(double p, double df)
{
    double low = 0, high = df + 1;

    if (!(p > 0 && p < 1) || !(df > 0))
        return NAN;
    while (chi_square_cdf(high, df) < p)
        high *= 2;
    for (int i = 0; i < MAX_STEPS && high - low > 1e-14 * high; i++) {
        double x = 0.5 * (low + high);
        if (chi_square_cdf(x, df) < p)
            low = x;
        else
            high = x;
    }
    return high;
}

double distribution_coins_cdf(long k, size_t n)
{
    if (k < 0)
        return 0;
    if ((size_t)k >= n)
        return 1;
    return distribution_beta_cdf(0.5, (double)n - (double)k, (double)k + 1);
}

/* ---- resolution of recorded values ---- */

#define DECIMALS 6         /* of RESOLUTION_FINEST */
#define SINGLE 1.2e-7      /* the relative error of single precision, twice */
#define ALMOST 1e-9        /* what double precision leaves */
#define PARTS 12           /* the most steps in the smallest difference */
#define CHANCE 0.01        /* that values which were not rounded look as if they were */

/* Returns whether the values are multiples of step, but for single precision and an error in parts
 * of the step. */
static bool are_multiples(const double *values, size_t n, double step, double error)
{
    for (size_t i = 0; i < n; i++) {
        double scaled = values[i] / step;
        if (!(fabs(scaled - round(scaled)) <= fabs(scaled) * SINGLE + error))
            return false;
    }
    return true;
}

/* Returns the largest power of ten, at most 1, of which the values are multiples. */
static double decimal_step(const double *values, size_t n)
{
    double step = 1;

    for (int i = 0; i < DECIMALS && n; i++, step /= 10)
        if (are_multiples(values, n, step, ALMOST))
            return step;
    return RESOLUTION_FINEST;
}

/* Returns the largest part of the smallest difference of the ascending values of which they are
 * multiples, or decimal, in whose multiples they were written, where that may be chance. One of the
 * values sets the scale, so it shows nothing, and nor do multiples of the smallest value. */
static double common_step(const double *values, size_t n, double decimal)
{
    double difference = INFINITY, shown = 0;

    for (size_t i = 1; i < n; i++) {
        double apart = values[i] - values[i - 1];
        if (!(apart > fmax(ALMOST, fabs(values[i]) * SINGLE)))
            continue;
        difference = fmin(difference, apart);
        shown += !(values[0] > 0 && are_multiples(&values[i], 1, values[0], ALMOST));
    }
    for (int parts = 1; parts <= PARTS && isfinite(difference); parts++) {
        double part = difference / parts;
        double step = part > 1 ? round(part) : 1 / round(1 / part); /* that a clock may have */
        double rounded = ALMOST + (decimal > RESOLUTION_FINEST ? 0 : RESOLUTION_FINEST / step);
        double likely = fmax(decimal / step, 2 * (values[n - 1] / step * SINGLE + rounded));
        double off = fabs(part / step - 1);
        if (off <= 2 * rounded + SINGLE * values[n - 1] / difference &&
            are_multiples(values, n, step, rounded))
            return shown > 1 && parts * pow(fmin(1, likely), shown) < CHANCE ? step : decimal;
    }
    return decimal;
}

double resolution_of(const double *values, size_t n)
{
    double *sorted = calloc(n + 1, sizeof *sorted), step = decimal_step(values, n);

    if (!sorted)
        return step;
    memcpy(sorted, values, n * sizeof *sorted);
    stat_sort(sorted, n);
    step = fmax(step, common_step(sorted, n, step));
    free(sorted);
    return step;
}
