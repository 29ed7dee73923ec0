/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions are compared with values computed by hand and with times published for the reference
 * systems; links are decoded, and missing values are reported. */
#include "config.h"
#include "launcher/analysis/prediction.h"

#include <math.h>

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series found[SERIES_MAX];
static struct err e;

static void add(int gpus, double epoch, double images, long batch_per_gpu)
{
    struct result *r = table_add(&table, "a", gpus, 1, epoch);

    r->nodes = (gpus + 1) / 2;
    r->images = images;
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
         p.points[2].comm_s.expected,
            1e-9, "expected: all communication, and the slowest of 4 GPUs");
    near(p.points[2].epoch_s.expected, 25 * p.points[2].step_s.expected, 1e-9,
         "an epoch has a quarter of the steps");
    near(p.points[2].efficiency.expected, 0.1 / p.points[2].step_s.expected, 1e-9,
         "efficiency follows from the step");
    ok(p.njitter == 0 && !p.points[1].extrapolated && p.points[2].extrapolated,
       "4 is marked as more than twice 1, and the jitter as assumed");
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

/* Measured numbers that follow the model exactly must give back its jitter. */
static void test_jitter(void)
{
    static const int gpus[] = {8, 16};
    struct prediction_network fast = network;
    struct prediction p;

    fast.within.latency_s = fast.between.latency_s = 0;
    fast.within.bytes_per_s = fast.between.bytes_per_s = 1e18;
    for (int n = 1; n <= 4; n *= 2)
        add(n, 10. / n * (1 + 0.05 * sqrt(2 * log(n))), 1000, 10);
    prediction_compute(&p, series(), &fast, gpus, 2, &e);
    is_int(p.njitter, 2, "the jitter is taken from two numbers");
    near(p.jitter.expected, 0.05, 1e-6, "a jitter of 5 %% is found");
    near(p.points[0].epoch_s.expected, 10. / 8 * (1 + 0.05 * sqrt(2 * log(8))), 1e-6,
         "8 GPUs are predicted with it");
    ok(p.points[0].epoch_s.low < p.points[0].epoch_s.expected &&
           p.points[0].epoch_s.expected < p.points[0].epoch_s.high, "the prediction has bounds");
    ok(!p.points[0].extrapolated && p.points[1].extrapolated,
       "more than twice the largest number is marked");
    end(&p);
}

/* In a series of strong scaling, the work of a step is divided. */
static void test_strong(void)
{
    static const int gpus[] = {8};
    struct prediction_network fast = network;
    struct prediction p;

    fast.within.latency_s = fast.between.latency_s = 0;
    fast.within.bytes_per_s = fast.between.bytes_per_s = 1e18;
    add(1, 8, 800, 16);
    add(2, 4, 800, 8);
    add(4, 2, 800, 4);
    prediction_compute(&p, series(), &fast, gpus, 1, &e);
    near(p.points[0].step_s.expected, 0.16 / 8, 1e-9,
         "strong scaling divides the work of a step by 8");
    near(p.points[0].speedup.expected, 8, 1e-6, "the speed-up is then 8");
    end(&p);
}

/* Median epochs published for the reference's TensorFlow study, with 16 of 1,792 images per GPU.
 * The time on 14 GPUs is predicted from 1, 2, 4 and 8 GPUs and compared with the published one. */
static void test_reference(void)
{
    static const int gpus[] = {14};
    static const double horovod[] = {37.55, 19.10, 9.60, 4.83}, native[] = {37.61, 18.93, 10.95,
                                                                            5.56};
    static const double *const epochs[] = {horovod, native};
    static const double took[] = {2.78, 3.36};
    struct prediction_network claix = {.gpus_per_node = 2, .parameters = 487145};
    struct prediction p;

    if (prediction_link_decode("nvlink2", &claix.within, &e) ||
        prediction_link_decode("opa100", &claix.between, &e))
        bail_out("%s", e.text);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++)
            add(1 << i, epochs[k][i], 1792, 16);
        prediction_compute(&p, series(), &claix, gpus, 1, &e);
        const struct bounds *b = &p.points[0].epoch_s;
        ok(b->low <= took[k] && took[k] <= b->high,
           "%s, 14 GPUs: predicted %.2f s (%.2f to %.2f), measured %.2f",
           k ? "native" : "horovod", b->expected, b->low, b->high, took[k]);
        end(&p);
    }
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
    test_jitter();
    test_strong();
    test_reference();
    test_links();
    test_lacking();
    return done_testing();
}
