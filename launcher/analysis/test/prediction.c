/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions are compared with values computed by hand and with times published for the reference
 * systems; links are decoded, and missing values are reported. */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series found[SERIES_MAX];
static struct err e;

static void add(int gpus, double epoch, double images, long batch_per_gpu)
{
    struct result *r = table_add(&table, "a", gpus, 1, epoch);

    r->nodes = (gpus + 1) / 2;
    r->units = images;
    r->batch_per_gpu = batch_per_gpu;
    r->global_batch = batch_per_gpu * gpus;
    r->parameters = 1000000;
}

static const struct series *series(void)
{
    static const struct series_facts facts;
    size_t n;

    if (series_compute(found, &n, "t", &table, "a", &facts, NULL, &e) || n != 1)
        bail_out("no series: %s", e.text);
    return found;
}

static void end(struct prediction *p)
{
    prediction_destroy(p);
    series_destroy(found);
    results_destroy(&table);
    table = (struct results){0};
}

/* Gradients of 4 MB cross a link of 10 GB/s and 100 us within nodes, and of 1 GB/s and 1 ms
 * between them. */
static struct prediction_network network = {
    .within = {.bytes_per_s = 10e9, .latency_s = 1e-4, .what = ""},
    .between = {.bytes_per_s = 1e9, .latency_s = 1e-3, .what = ""}};

static void test_by_hand(void)
{
    static const int gpus[] = {1, 2, 4};
    struct prediction p;

    add(1, 10, 1000, 10); /* 100 steps of 100 ms */
    ok(prediction_compute(&p, series(), &network, gpus, 3, &e) == 0,
       "one measured number is enough %s",
       e.text);
    is_int(p.gpus_per_node, 1, "its node has one GPU");
    near(p.points[0].step_s.low, 0.1, 1e-12, "the step with 1 GPU is the measured one");
    near(p.points[0].step_s.high, 0.1, 1e-12, "it is the same in every case");
    near(p.points[0].speedup.expected, 1, 1e-12, "its speed-up is 1");
    end(&p);

    network.gpus_per_node = 2;
    add(1, 10, 1000, 10);
    prediction_compute(&p, series(), &network, gpus, 3, &e);
    near(p.points[1].comm_s.low, 4e6 / 10e9 + 2e-4, 1e-9,
         "2 GPUs on a node: M / bandwidth, and 2 messages");
    near(p.points[1].comm_s.high, 4e6 / 5e9 + 4 * 2e-4, 1e-9,
         "2 GPUs on a node, high: half the bandwidth, and messages for 4 slices");
    near(p.points[2].comm_s.expected, 4e6 / 8e9 + 2e-4 + 4e6 / 0.8e9 + 2e-3, 1e-9,
         "4 GPUs on 2 nodes: communication within and between nodes");
    near(p.points[2].step_s.low, 0.1 + p.points[2].comm_s.low / 4, 1e-9,
         "low: only the last of 4 slices is exposed");
    near(p.points[2].step_s.expected, 0.1 * (1 + 0.01 * sqrt(2 * log(4))) +
         p.points[2].comm_s.expected + 0.02 * 10 * 0.75 / 25,
            1e-9, "expected: all communication, the slowest of 4 GPUs, and 2 %% that stay serial");
    near(p.points[2].epoch_s.expected, 25 * p.points[2].step_s.expected, 1e-9,
         "an epoch has a quarter of the steps");
    near(p.points[2].efficiency.expected, 0.1 / p.points[2].step_s.expected, 1e-9,
         "efficiency follows from the step");
    ok(p.scenarios && !p.points[1].extrapolated && p.points[2].extrapolated,
       "4 is marked as more than twice 1, and all as scenarios");
    end(&p);

    network.sums = 36;
    add(1, 10, 1000, 10);
    prediction_compute(&p, series(), &network, gpus, 3, &e);
    near(p.points[0].step_s.expected, 0.1, 1e-12, "one GPU does not sum for batch norm");
    near(p.points[1].comm_s.low, 4e6 / 10e9 + 37 * 2e-4, 1e-9,
         "2 GPUs on a node: 36 sums of batch norm take 2 messages each");
    near(p.points[2].step_s.low, 0.1 + (p.points[2].comm_s.low - 36 * 2.2e-3) / 4 + 36 * 2.2e-3,
         1e-9, "4 GPUs on 2 nodes: sums of batch norm are never hidden");
    network.sums = 0;
    end(&p);
}

/* Losses that were measured are predicted, and what cannot be predicted is refused. */
static void test_learnt(void)
{
    static const int gpus[] = {8, 16, 32};
    struct prediction p;

    for (int n = 1; n <= 8; n++)
        add(n, 30. / n + 1, 1000, 10);
    prediction_compute(&p, series(), &network, gpus, 3, &e);
    ok(!p.scenarios && model_is_usable(&p.model), "eight numbers of GPUs give a prediction");
    for (int i = 0; i < 3; i++) {
        const struct prediction_point *at = &p.points[i];
        double truth = (30. / at->gpus + 1) * at->step_s.expected * 1000 /
                       (10 * at->gpus) / at->epoch_s.expected;
        ok(at->epoch_s.low <= truth && truth <= at->epoch_s.high, "the serial part is learnt: %d "
           "GPUs take %.2f (%.2f to %.2f), true %.2f", at->gpus, at->epoch_s.expected,
           at->epoch_s.low, at->epoch_s.high, truth);
        ok(at->efficiency.expected <= p.points[0].efficiency.expected, "efficiency does not rise");
    }
    ok(p.points[2].extrapolated && !p.points[1].extrapolated,
       "more than twice the largest number is marked");
    end(&p);
    for (int n = 1; n <= 4; n++)
        add(n, n % 2 ? 30. / n : 60. / n, 1000, 10);
    ok(prediction_compute(&p, series(), &network, gpus, 3, &e) && e.code == ERR_STATS &&
           strstr(e.text, "cannot be predicted"),
       "numbers that contradict each other are refused: %s", e.text);
    end(&p);
}

/* With a batch of 32 per GPU, 1,792 images are 56, 28, 14, 9 and 7 steps where the rest is left
 * out. */
static void test_remainder(void)
{
    static const int gpus[] = {3, 12};
    struct prediction p;

    for (int n = 1; n <= 6; n++)
        add(n, 30. / n * floor(56. / n) * n / 56, floor(56. / n) * n * 32, 32);
    prediction_compute(&p, series(), &network, gpus, 2, &e);
    near(p.points[0].epoch_s.expected / p.points[0].step_s.expected, 18, 1e-6,
         "an epoch has whole steps");
    near(p.points[1].epoch_s.expected / p.points[1].step_s.expected, 4, 1e-6,
         "also with numbers that were not measured");
    end(&p);
}

/* In a series of strong scaling, the work of a step is divided. */
static void test_strong(void)
{
    static const int gpus[] = {8, 14};
    struct prediction_network fast = network;
    struct prediction p;

    fast.within.latency_s = fast.between.latency_s = 0;
    fast.within.bytes_per_s = fast.between.bytes_per_s = 1e18;
    add(1, 8, 800, 16);
    add(2, 4, 800, 8);
    add(4, 2, 800, 4);
    prediction_compute(&p, series(), &fast, gpus, 2, &e);
    near(p.points[0].step_s.expected, 0.16 / 8, 0.05,
         "strong scaling divides the work of a step by 8");
    near(p.points[0].speedup.expected, 8, 0.05, "the speed-up is then 8");
    ok(p.points[1].step_s.expected > 0.98 * p.points[0].step_s.expected,
       "16 images on 14 GPUs take as long as on 8");
    end(&p);
}

/* Median epochs published for the reference's studies of TensorFlow and PyTorch, with 16 of 1,792
 * images per GPU and the last, shorter step left out. */
static const struct {
    const char *name;
    double epoch[8];
} published[] = {
    {"TensorFlow, horovod", {37.55, 19.10, 9.60, 6.26, 4.828, 3.810, 3.129, 2.781}},
    {"TensorFlow, native", {37.61, 18.93, 10.95, 7.03, 5.562, 4.744, 3.701, 3.362}},
    {"PyTorch, horovod", {194.2, 174.9, 106.0, 70.6, 56.041, 44.307, 36.415, 32.488}},
    {"PyTorch, native", {192.6, 103.7, 53.6, 34.9, 27.595, 22.246, 17.890, 16.156}}};
static const int published_gpus[] = {1, 2, 4, 6, 8, 10, 12, 14};

/* Predicts the last n of the published numbers of GPUs from some of them, by bits. Returns in how
 * many the expected time is within 7 %. */
static int check_published(unsigned measured, size_t n)
{
    struct prediction_network claix = {.gpus_per_node = 2, .parameters = 487145};
    int close = 0;

    if (prediction_link_decode("nvlink2", &claix.within, &e) ||
        prediction_link_decode("opa100", &claix.between, &e))
        bail_out("%s", e.text);
    for (size_t k = 0; k < sizeof published / sizeof *published; k++) {
        const double *epochs = published[k].epoch;
        struct prediction p;
        for (int i = 0; i < 8; i++) {
            int gpus = published_gpus[i];
            if (measured & 1U << i)
                add(gpus, epochs[i], floor(1792. / (16 * gpus)) * 16 * gpus, 16);
        }
        if (prediction_compute(&p, series(), &claix, published_gpus + 8 - n, n, &e))
            bail_out("%s", e.text);
        for (size_t i = 0; i < n; i++) {
            const struct bounds *b = &p.points[i].epoch_s;
            double took = epochs[8 - n + i], error = b->expected / took - 1;
            ok(b->low <= took && took <= b->high && fabs(error) < 0.08,
               "%s, %d GPUs: predicted %.3f s (%.3f to %.3f), measured %.3f: %+.1f %%",
               published[k].name, p.points[i].gpus, b->expected, b->low, b->high, took,
               100 * error);
            close += fabs(error) < 0.07;
        }
        end(&p);
    }
    return close;
}

static void test_reference(void)
{
    enum { TO_6 = 0xf, TO_8 = 0x17 }; /* 1, 2, 4, 6 and 1, 2, 4, 8 GPUs */
    int close = check_published(TO_6, 4);

    ok(close >= 15, "from 1, 2, 4 and 6 GPUs, %d of 16 times are predicted within 7 %%", close);
    close = check_published(TO_8, 1);
    is_int(close, 4, "from 1, 2, 4 and 8 GPUs, all times on 14 are predicted within 7 %%");
}

static void test_links(void)
{
    struct prediction_link l;

    ok(prediction_link_decode("ib-edr", &l, &e) == 0 && l.bytes_per_s > 12e9,
       "a link is decoded by its name");
    ok(prediction_link_decode("12.5:5", &l, &e) == 0, "a link is decoded from numbers");
    near(l.bytes_per_s, 12.5e9, 1, "the first number is GB/s");
    near(l.latency_s, 5e-6, 1e-12, "the second number is microseconds");
    ok(prediction_link_decode("nvlink", &l, &e) && e.code == ERR_USAGE,
       "an unknown link is refused: %s", e.text);
    ok(prediction_link_decode("12.5", &l, &e) && prediction_link_decode("0:1", &l, &e) &&
           prediction_link_decode("1:x", &l, &e), "a link with one number is refused");
}

static void test_lacking(void)
{
    static const int gpus[] = {4};
    struct prediction p;

    add(1, 10, NAN, 0);
    ok(prediction_compute(&p, series(), &network, gpus, 1, &e) && e.code == ERR_STATS,
       "a missing value is reported: %s",
       e.text);
    end(&p);
    add(1, 10, 1000, 10);
    table.rows[0].parameters = 0;
    ok(prediction_compute(&p, series(), &network, gpus, 1, &e) && e.code == ERR_STATS,
       "a missing value is reported: %s",
       e.text);
    end(&p);
}

int main(void)
{
    test_by_hand();
    test_learnt();
    test_remainder();
    test_strong();
    test_reference();
    test_links();
    test_lacking();
    return done_testing();
}
