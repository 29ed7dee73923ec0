/* SPDX-License-Identifier: BSD-3-Clause */
/* Models are fitted to data of known coefficients, with and without noise. */
#include "config.h"
#include "launcher/analysis/model.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"

static struct err e;
static const double counts[] = {1, 2, 4, 6, 8, 10, 12, 14};
enum { NCOUNTS = 8 };

/* Makes times by USL with sigma, kappa and T(1) = 30 s: for each count as many runs as `repeats`,
 * with normal relative noise of this standard deviation. */
static size_t make_usl(struct model_sample *dst, double sigma, double kappa, size_t repeats,
                       double noise, unsigned long seed)
{
    size_t k = 0;

    for (size_t i = 0; i < NCOUNTS; i++)
        for (size_t r = 0; r < repeats; r++, k++) {
            double n = counts[i];
            dst[k].gpus = n;
            dst[k].value = 30 * (1 + sigma * (n - 1) + kappa * n * (n - 1)) / n *
                           (1 + noise * rng_normal(seed, 0, k));
        }
    return k;
}

static void check_exact(void)
{
    struct model_sample s[NCOUNTS];
    struct model m;
    struct buf b = {0};
    size_t n = make_usl(s, 0.03, 0.0008, 1, 0, 0);

    ok(model_fit(&m, MODEL_USL, s, n, 1, &e) == 0 && m.fitted, "USL is fitted to its own data");
    near(m.serial, 0.03, 1e-6, "sigma is found");
    near(m.coherency, 0.0008, 1e-6, "kappa is found");
    near(m.peak, sqrt((1 - 0.03) / 0.0008), 1e-6, "the peak is sqrt((1 - sigma) / kappa)");
    near(model_predict(&m, 1), 30, 1e-7, "T(1) is predicted");
    near(model_speedup(&m, 1, 20), 20 / (1 + 0.03 * 19 + 0.0008 * 20 * 19), 1e-6,
         "a speed-up beyond the data is predicted");
    ok(m.error < 1e-6 && m.loo_error < 1e-6, "exact data leave no error");
    near(m.serial_interval.low, 0.03, 1e-5, "exact data give an interval without width");
    ok(!model_is_extrapolation(&m, 28) && model_is_extrapolation(&m, 29),
       "twice the largest count is the limit of predictions");
    model_describe(&m, &b);
    ok(strncmp(b.data, "T(N) = 29.1 / N + 0.9 + 0.024 (N - 1)", 37) == 0,
       "the model is described: %s", b.data);
    buf_destroy(&b);

    n = make_usl(s, 0.05, 0, 1, 0, 0);
    ok(model_fit(&m, MODEL_AMDAHL, s, n, 1, &e) == 0 && isinf(m.peak),
       "Amdahl's law has no fastest count");
    near(m.serial, 0.05, 1e-9, "Amdahl's serial fraction is found");
    ok(isnan(m.coherency), "Amdahl's law has no coherency");
    model_fit(&m, MODEL_USL, s, n, 1, &e);
    near(m.coherency, 0, 1e-9, "USL finds no coherency in Amdahl's data");

    for (size_t i = 0; i < NCOUNTS; i++)
        s[i] = (struct model_sample){counts[i], 50 * (counts[i] - 0.1 * (counts[i] - 1))};
    ok(model_fit(&m, MODEL_GUSTAFSON, s, NCOUNTS, 1, &e) == 0,
       "Gustafson's law is fitted to rates");
    near(m.serial, 0.1, 1e-9, "its serial fraction is found");
    near(model_speedup(&m, 1, 14), 14 - 0.1 * 13, 1e-9, "its scaled speed-up is N - f (N - 1)");
    for (size_t i = 0; i < NCOUNTS; i++)
        s[i].value = 12 / counts[i] + 0.2 * log2(counts[i]);
    model_fit(&m, MODEL_LOG, s, NCOUNTS, 1, &e);
    near(m.coefficient[1], 0.2, 1e-9, "the logarithmic law is fitted");
    near(m.peak, 12 * log(2) / 0.2, 1e-9, "its fastest count is found");
}

static void check_bounds(void)
{
    struct model_sample s[NCOUNTS];
    struct model m;

    /* better than ideal, but coefficients must not be negative */
    for (size_t i = 0; i < NCOUNTS; i++)
        s[i] = (struct model_sample){counts[i], 10 / pow(counts[i], 1.1)};
    model_fit(&m, MODEL_USL, s, NCOUNTS, 1, &e);
    ok(m.serial == 0 && m.coherency == 0, "coefficients are not negative");
    ok(model_fit(&m, MODEL_USL, s, 3, 1, &e) == 0 && !m.fitted,
       "three counts are too few for three coefficients");
    ok(model_fit(&m, MODEL_AMDAHL, s, 3, 1, &e) == 0 && m.fitted,
       "three counts are enough for two coefficients");
    ok(model_fit(&m, MODEL_IDEAL, s, 0, 1, &e) == 0 && !m.fitted, "no data give no model");
}

static enum model_law choose(double sigma, double kappa, unsigned long seed)
{
    struct model_sample s[NCOUNTS * 5];
    struct model models[MODEL_GUSTAFSON];
    size_t n = make_usl(s, sigma, kappa, 5, 0.005, seed);

    for (int law = 0; law < MODEL_GUSTAFSON; law++)
        model_fit(&models[law], (enum model_law)law, s, n, 1, &e);
    return model_choose(models, MODEL_GUSTAFSON)->law;
}

static void check_choice(void)
{
    int usl = 0, amdahl = 0, ideal = 0;

    for (unsigned long seed = 1; seed <= 10; seed++) {
        usl += choose(0.02, 0.004, seed) == MODEL_USL;
        amdahl += choose(0.05, 0, seed) == MODEL_AMDAHL;
        ideal += choose(0, 0, seed) == MODEL_IDEAL;
    }
    ok(usl >= 9, "USL is chosen for its own data (%d of 10)", usl);
    ok(amdahl >= 8, "Amdahl's law is chosen for its own data (%d of 10)", amdahl);
    ok(ideal >= 8, "the ideal law is chosen for its own data (%d of 10)", ideal);
    ok(!model_choose(NULL, 0), "of no models none is chosen");
}

/* Do 95 % intervals contain the true value in about 95 % of studies? */
static void check_coverage(size_t repeats, double low, double high)
{
    enum { TRIALS = 150 };
    int sigma = 0, kappa = 0;

    for (unsigned long trial = 0; trial < TRIALS; trial++) {
        struct model_sample s[NCOUNTS * 5];
        struct model m;
        size_t n = make_usl(s, 0.04, 0.002, repeats, 0.01, 100 + trial);
        model_fit(&m, MODEL_USL, s, n, trial, &e);
        sigma += m.serial_interval.low <= 0.04 && 0.04 <= m.serial_interval.high;
        kappa += m.coherency_interval.low <= 0.002 && 0.002 <= m.coherency_interval.high;
    }
    double a = (double)sigma / TRIALS, b = (double)kappa / TRIALS;
    ok(a > low && a < high, "with %zu runs per count the interval covers sigma (%.3f)", repeats, a);
    ok(b > low && b < high, "with %zu runs per count the interval covers kappa (%.3f)", repeats, b);
}

int main(void)
{
    check_exact();
    check_bounds();
    check_choice();
    check_coverage(1, 0.9, 1.001);
    check_coverage(5, 0.9, 1.001);
    return done_testing();
}
