/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/student.h"

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
