/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of time is fitted to times of known laws, with and without noise, and to times that no
 * model may be drawn from. simulate_prediction.c checks how often its intervals hold. */
#include "src/base.h"
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
            s[k] = (struct model_sample){n, law(n) * (1 + noise * rng_normal(seed, 0, k)), 0};
    if (model_fit(&m, s, k, known, &e))
        bail_out("%s", e.text);
}

static void fit_counts(const double *counts, const double *times, size_t n, double step)
{
    struct model_sample s[MOST];

    for (size_t i = 0; i < n; i++)
        s[i] = (struct model_sample){counts[i], times[i], step};
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

/* The law with most evidence is the true one where the data show it. */
static void check_evidence(void)
{
    int found = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        fit(usl, 10, 0.01, &nothing, 100 + seed);
        found += strcmp(name_of_best(), "the universal scalability law") == 0;
    }
    ok(found >= 12, "the universal scalability law is recognised in %d of 20", found);
    fit(slowed, 1, 0, &nothing, 5);
    bool jitter = false;
    for (size_t i = 0; i < m.nlaws; i++)
        jitter |= m.laws[i].nterms == 2 && m.laws[i].terms[1].kind == MODEL_LAW_JITTER;
    ok(!jitter, "what varies by half of a step is not stragglers alone, but %s", name_of_best());
}

/* Returns the width of the interval at a count, in logarithms. */
static double width_at(double gpus)
{
    struct bounds b = model_predict(&m, gpus);

    return log(b.high / b.low);
}

/* What is not known widens the interval: a loss that accelerates, a node boundary, and times that
 * were rounded. None is refused. */
static void check_width(void)
{
    static const double counts[] = {1, 2, 4, 8}, even[] = {80, 41, 21, 10.75},
                        bent[] = {80, 41, 21, 12.5}, whole[] = {30, 15, 8, 4};
    const struct model_law_known node = {.gpus_per_node = 8};
    struct buf b = {0};

    fit_counts(counts, even, 4, 0);
    double usual = width_at(16);
    near(m.acceleration, 0, 0.01, "what loses alike in each doubling does not accelerate");
    fit_counts(counts, bent, 4, 0);
    near(m.acceleration, log2(12.5 * 2 / 21) * M_LN2 - log(21 * 2 / 41.), 1e-9,
         "a loss of the last doubling is seen");
    ok(model_is_usable(&m) && width_at(16) > 1.25 * usual,
       "it widens the interval: %.2f beside %.2f",
       width_at(16), usual);
    fit(amdahl, 1, 0, &nothing, 1);
    usual = width_at(16);
    fit(amdahl, 1, 0, &node, 1);
    ok(model_boundary(&m, 16) == 16 && !model_boundary(&m, 8) && width_at(16) > 1.2 * usual,
       "a node boundary that was not measured widens it: %.2f beside %.2f", width_at(16), usual);
    model_assume(&m, 16, &b);
    is_str(b.data, ", if no limit begins beyond 8, which runs up to 8 cannot show; none of them "
           "crosses a node boundary, whose cost is that of published tables: measure 16",
           "both assumptions are named");
    b.length = 0;
    model_assume(&m, 8, &b);
    is_int((long)b.length, 0, "what was measured assumes nothing");
    buf_destroy(&b);
    fit_counts(counts, whole, 4, 0);
    usual = width_at(16);
    fit_counts(counts, whole, 4, 1);
    ok(width_at(16) > 1.5 * usual && width_at(8) > 0.1,
       "whole seconds widen it: %.2f beside %.2f", width_at(16), usual);
}

/* Where repeats show that the scatter grows with the count, large ones weigh less. */
static void check_scatter(void)
{
    struct model_sample s[40];
    double slope[2] = {0};

    for (int grows = 0; grows < 2; grows++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            for (size_t k = 0; k < 40; k++) {
                double n = (double)(k / 5 + 1), sd = grows ? 0.01 * n : 0.03;
                s[k] = (struct model_sample){n, amdahl(n) * (1 + sd * rng_normal(seed, 1, k)), 0};
            }
            if (model_fit(&m, s, 40, &nothing, &e))
                bail_out("%s", e.text);
            slope[grows] += m.exponent / 20;
        }
    near(slope[0], 0, 0.15, "a scatter that is the same everywhere has no exponent");
    near(slope[1], 0.8, 0.2, "one in proportion to the count has nearly 1");
    fit(amdahl, 1, 0.03, &nothing, 1);
    near(m.exponent, 0, 0, "single runs show no scatter");
}

static void check_unusable(void)
{
    static const double counts[] = {1, 2, 4, 8}, zeros[] = {10, 0, NAN, -1},
                        jump[] = {10, 5}, wild[] = {10, 20, 2, 19};

    fit_counts(counts, zeros, 4, 0);
    ok(!m.fitted && !model_is_usable(&m), "times of zero and NaN leave one count and no model");
    fit_counts(counts, jump, 0, 0);
    ok(!m.fitted, "no runs give no model");
    fit_counts(counts, jump, 2, 0);
    ok(m.fitted && !model_is_usable(&m) && !model_misfits(&m),
       "two counts do not check a model");
    fit_counts(counts, wild, 4, 0);
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
    check_width();
    check_scatter();
    check_unusable();
    return done_testing();
}
