/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/sequential.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"

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
