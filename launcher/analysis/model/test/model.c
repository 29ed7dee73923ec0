/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of time is fitted to times of known laws, with and without noise, and to times that no
 * model may be drawn from. simulate_prediction.c checks how often its intervals hold. */
#include "config.h"
#include "launcher/analysis/model/model.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"

static struct err e;
static struct model m;
static const struct model_law_known nothing;
enum { NCOUNTS = 8, MOST = NCOUNTS * 10 };

static double usl(double n)
{
    return 30 * (1 + 0.02 * (n - 1) + 0.004 * n * (n - 1)) / n;
}

static double amdahl(double n)
{
    return 30 * (0.95 / n + 0.05);
}

static double ideal(double n)
{
    return 30 / n;
}

static double superlinear(double n)
{
    return 30 / pow(n, 1.1);
}

static double shared(double n)
{
    return 32 * ceil(16 / n) / 16;
}

static double nodes(double n)
{
    return 30 / n + (n > 4 ? 1 : 0);
}

static double lossy(double n) /* an efficiency of 0.88 with 8 GPUs */
{
    return 30 * (0.98 / n + 0.02);
}

/* Computation takes 1.5 to 1.8 times as long on several GPUs as on one. */
static double slowed(double n)
{
    return 30 / n * (n > 1 ? 1.5 + 0.4 * (1 - 2 / n) : 1);
}

static double sawtooth(double n)
{
    return 30 / n * (fmod(n, 2) == 0 ? 1 : 1.08);
}

/* Fits the model to times with 1 to 8 GPUs, whose noise is normal and relative. */
static void fit(double law(double), size_t repeats, double noise,
                const struct model_law_known *known, uint64_t seed)
{
    struct model_sample s[MOST];
    size_t k = 0;

    for (int n = NCOUNTS; n >= 1; n--) /* in any order */
        for (size_t r = 0; r < repeats; r++, k++)
            s[k] = (struct model_sample){n, law(n) * (1 + noise * rng_normal(seed, 0, k))};
    if (model_fit(&m, s, k, known, &e))
        bail_out("%s", e.text);
}

static void fit_counts(const double *counts, const double *times, size_t n)
{
    struct model_sample s[MOST];

    for (size_t i = 0; i < n; i++)
        s[i] = (struct model_sample){counts[i], times[i]};
    if (model_fit(&m, s, n, &nothing, &e))
        bail_out("%s", e.text);
}

static const char *name_of_best(void)
{
    static char text[200];
    struct buf b = {0};

    model_law_name(&m.laws[0], &b);
    snprintf(text, sizeof text, "%s", b.data);
    buf_destroy(&b);
    return text;
}

static void check_exact(void)
{
    struct buf b = {0};

    fit(amdahl, 3, 0, &nothing, 1);
    ok(m.fitted && model_is_usable(&m), "Amdahl's law without noise gives a model");
    is_str(name_of_best(), "Amdahl's law", "it has most evidence");
    near(m.laws[0].coefficient[1], 1.5, 0.05, "its serial part is found");
    struct bounds at8 = model_predict(&m, 8), at16 = model_predict(&m, 16),
                  at32 = model_predict(&m, 32);
    near(at16.expected, amdahl(16), 0.02, "twice the largest count is predicted");
    near(at32.expected, amdahl(32), 0.05, "so is four times");
    ok(at16.low < amdahl(16) && amdahl(16) < at16.high, "the interval holds it");
    ok(at8.high / at8.low < at16.high / at16.low && at16.high / at16.low < at32.high / at32.low,
       "intervals widen with the distance");
    near(model_speedup(&m, 1, 16).expected, amdahl(1) / amdahl(16), 0.02,
         "a speed-up is predicted");
    ok(!model_is_extrapolation(&m, 16) && model_is_extrapolation(&m, 17),
       "beyond twice the largest count is an extrapolation");
    model_law_describe(&m.laws[0], &b);
    ok(strncmp(b.data, "28.", 3) == 0 && strstr(b.data, " / N + 1."), "the law is described: %s",
       b.data);
    buf_destroy(&b);
}

/* Predicted efficiencies never rise, whatever the times are. */
static void check_falling(double law(double), const char *what)
{
    double before = INFINITY;
    bool falls = true;

    fit(law, 3, 0.02, &nothing, 3);
    for (int n = 1; n <= 64; n++) {
        double now = model_speedup(&m, 1, n).expected / n;
        falls &= now <= before * (1 + 1e-3);
        before = now;
    }
    ok(falls, "no efficiency is predicted to rise: %s", what);
}

static void check_known(void)
{
    const struct model_law_known batch = {.batch = 16}, boundary = {.gpus_per_node = 4};

    fit(shared, 3, 0.01, &batch, 4);
    near(model_predict(&m, 14).expected, shared(14), 0.03,
         "16 images on 14 GPUs take as long as on 8");
    near(model_predict(&m, 16).expected, shared(16), 0.05, "on 16 GPUs they take half as long");
    near(model_predict(&m, 32).expected, shared(16), 0.1, "more GPUs than images gain nothing");
    fit(nodes, 3, 0.01, &boundary, 4);
    ok(strstr(name_of_best(), "node"), "a node boundary is recognised: %s", name_of_best());
    near(model_predict(&m, 16).expected, nodes(16), 0.06, "its cost remains");
}

/* The best description is that of the true law where the data show it; otherwise rivals are
 * named. */
static void check_evidence(void)
{
    struct buf b = {0};
    int found = 0, told = 0, ideal_named = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        fit(usl, 10, 0.01, &nothing, 100 + seed);
        found += strcmp(name_of_best(), "the universal scalability law") == 0;
    }
    ok(found >= 12, "the universal scalability law is recognised in %d of 20", found);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fit(amdahl, 3, 0.03, &nothing, 200 + seed);
        b.length = 0;
        model_explain(&m, "epoch", &b);
        told += strstr(b.data, "do not tell apart") != NULL;
    }
    ok(told >= 10, "what 3 %% noise cannot tell apart is said in %d of 20: %s", told, b.data);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fit(lossy, 3, 0.03, &nothing, 300 + seed);
        b.length = 0;
        model_explain(&m, "epoch", &b);
        ideal_named += strstr(b.data, "best by ideal") != NULL;
    }
    is_int(ideal_named, 0, "an efficiency of 0.88 is never called ideal scaling");
    fit(slowed, 1, 0, &nothing, 5);
    bool jitter = false;
    for (size_t i = 0; i < m.nlaws; i++)
        jitter |= m.laws[i].nterms == 2 && m.laws[i].terms[1].kind == MODEL_LAW_JITTER;
    ok(!jitter, "what varies by half of a step is not stragglers alone, but %s", name_of_best());
    buf_destroy(&b);
}

static void check_unusable(void)
{
    static const double counts[] = {1, 2, 4, 8}, zeros[] = {10, 0, NAN, -1},
                        jump[] = {10, 5, 2.5, 1.25 * 1.44}, wild[] = {10, 20, 2, 19};

    fit_counts(counts, zeros, 4);
    ok(!m.fitted && !model_is_usable(&m), "times of zero and NaN leave one count and no model");
    fit_counts(counts, jump, 0);
    ok(!m.fitted, "no runs give no model");
    fit_counts(counts, jump, 2);
    ok(m.fitted && !model_is_usable(&m) && !model_misfits(&m),
       "two counts do not check a model");
    fit_counts(counts, jump, 4);
    ok(m.largest_error > MODEL_POOR_FIT && model_misfits(&m) && !model_is_usable(&m),
       "a largest count that is slower by 44 %% is a misfit (%.0f %%)", 100 * m.largest_error);
    fit_counts(counts, wild, 4);
    ok(model_misfits(&m) && !model_is_usable(&m), "wild times are a misfit (%.0f %%)",
       100 * m.loo_error);
}

int main(void)
{
    check_exact();
    check_falling(ideal, "ideal");
    check_falling(usl, "universal scalability");
    check_falling(superlinear, "superlinear");
    check_falling(sawtooth, "sawtooth");
    check_known();
    check_evidence();
    check_unusable();
    return done_testing();
}
