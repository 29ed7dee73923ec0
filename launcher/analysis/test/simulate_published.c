/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of times that others have measured and published, each as often as any other of its
 * source, from subsets of smaller counts. With enough studies, those are all subsets. A table has
 * one value per count, and so does not show its scatter. */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/simulate.h"

#include "launcher/analysis/analysis.h"
#include "launcher/collect/collect.h"
#include "t/tap.h"

#define MOST 22    /* counts of a table */
#define LEAST 3    /* counts of a subset: from two the model cannot be checked */
#define FURTHEST 4 /* times the largest count of a subset */
#define RISE 0.05    /* of the efficiency, which no prediction has */
#define TRIES 100000 /* subsets that are looked at */

enum source { REFERENCE, TENSORFLOW, MXNET, MLPERF, GROMACS, CASTEP, WAVETRISK, NSOURCES };

static const char *const sources[NSOURCES] = {
    [REFERENCE] = "reference logs",
    [TENSORFLOW] = "TensorFlow benchmarks",
    [MXNET] = "MXNet image-classification",
    [MLPERF] = "MLPerf, minutes to quality",
    [GROMACS] = "ARCHER benchmarks, GROMACS",
    [CASTEP] = "ARCHER benchmarks, CASTEP",
    [WAVETRISK] = "wavetrisk",
};

/* Rates, or seconds, of counts of GPUs, cores or nodes. */
struct table {
    enum source source;
    const char *name;
    bool seconds;
    int per_node; /* 0: not stated, or nodes are counted */
    struct {
        int count;
        double value;
    } points[MOST + 1];
};

/* tensorflow/tensorflow, tensorflow/docs_src/performance/benchmarks.md; apache/mxnet,
 * example/image-classification/README.md; minutes to the
 * quality asked for in mlcommons/training_results_v2.1 and _v3.0;
 * hpc-uk/archer-benchmarks, apps/GROMACS/analysis/GROMACS_large_perf_analysis.ipynb and
 * apps/CASTEP/analysis/CASTEP_al3x3_perf_analysis.ipynb; kevlahan/wavetrisk_hydrostatic,
 * post/scaling/speedup.m. The logs of the reference are read. */
static struct table tables[] = {
    {.source = REFERENCE, .name = "tensorflow native"},
    {.source = REFERENCE, .name = "tensorflow horovod"},
    {.source = REFERENCE, .name = "pytorch native"},
    {.source = REFERENCE, .name = "pytorch horovod"},
    {TENSORFLOW, "InceptionV3, EC2", false, 8,
     {{1, 29.7}, {8, 229}, {16, 459}, {32, 902}, {64, 1783}}},
    {TENSORFLOW, "ResNet-50, EC2", false, 8,
     {{1, 52.4}, {8, 378}, {16, 751}, {32, 1388}, {64, 2744}}},
    {TENSORFLOW, "ResNet-152, EC2", false, 8,
     {{1, 19.4}, {8, 146}, {16, 291}, {32, 565}, {64, 981}}},
    {TENSORFLOW, "InceptionV3, DGX-1", false, 8, {{1, 142}, {2, 284}, {4, 569}, {8, 1131}}},
    {TENSORFLOW, "ResNet-50, DGX-1", false, 8, {{1, 219}, {2, 422}, {4, 852}, {8, 1734}}},
    {TENSORFLOW, "ResNet-152, DGX-1", false, 8, {{1, 91.8}, {2, 181}, {4, 356}, {8, 716}}},
    {TENSORFLOW, "AlexNet, DGX-1", false, 8, {{1, 2987}, {2, 5658}, {4, 10509}, {8, 17822}}},
    {TENSORFLOW, "VGG16, DGX-1", false, 8, {{1, 154}, {2, 295}, {4, 584}, {8, 1081}}},
    {TENSORFLOW, "VGG16, DGX-1, real data", false, 8, {{1, 154}, {2, 284}, {4, 534}, {8, 898}}},
    {TENSORFLOW, "ResNet-50, DGX-1, real data", false, 8,
     {{1, 218}, {2, 425}, {4, 853}, {8, 1630}}},
    {MXNET, "AlexNet", false, 16,
     {{1, 457.07}, {2, 870.43}, {4, 1514.8}, {8, 2852.5}, {16, 4244.18}, {32, 7945.57},
      {64, 15840.52}, {128, 31334.88}, {256, 61938.36}}},
    {MXNET, "Inception-v3", false, 16,
     {{1, 30.4}, {2, 59.61}, {4, 117.9}, {8, 233.39}, {16, 447.61}, {32, 882.57}, {64, 1761.24},
      {128, 3416.2}, {256, 6660.98}}},
    {MXNET, "ResNet-152", false, 16,
     {{1, 20.8}, {2, 38.76}, {4, 77.01}, {8, 153.07}, {16, 298.03}, {32, 595.53}, {64, 1179.86},
      {128, 2333.47}, {256, 4630.42}}},
    {MLPERF, "BERT, HPE", true, 8,
     {{8, 19.617}, {16, 11.189}, {32, 6.836}, {64, 3.084}, {128, 2.034}}},
    {MLPERF, "BERT, Dell", true, 4,
     {{4, 38.399}, {8, 24.176}, {16, 17.874}, {32, 6.898}, {64, 3.335}, {128, 2.655}}},
    {MLPERF, "BERT, NVIDIA", true, 8,
     {{8, 5.469}, {64, 0.898}, {512, 0.344}, {768, 0.253}, {3072, 0.134}}},
    {MLPERF, "RetinaNet, NVIDIA", true, 8, {{8, 37.009}, {64, 6.511}, {512, 1.906}, {768, 1.511}}},
    {MLPERF, "ResNet-50, NVIDIA", true, 8,
     {{8, 13.601}, {64, 2.664}, {512, 0.509}, {768, 0.369}, {3584, 0.183}}},
    {MLPERF, "GPT-3, NVIDIA", true, 8,
     {{512, 64.264}, {768, 44.816}, {1536, 23.611}, {3584, 10.94}}},
    {GROMACS, "ARCHER", false, 0,
     {{2, 0.044}, {4, 0.085}, {8, 0.140}, {16, 0.243}, {32, 0.406}, {64, 0.631}, {128, 0.826},
      {256, 0.885}}},
    {GROMACS, "Cirrus", false, 0,
     {{2, 0.071}, {4, 0.118}, {8, 0.210}, {16, 0.349}, {35, 0.532}, {64, 0.647}, {70, 0.684},
      {135, 0.679}, {270, 0.819}}},
    {GROMACS, "Athena", false, 0, {{2, 0.060}, {4, 0.110}, {8, 0.211}, {16, 0.355}, {32, 0.566}}},
    {GROMACS, "Thomas", false, 0, {{2, 0.057}, {4, 0.106}, {8, 0.191}, {16, 0.324}, {32, 0.478}}},
    {GROMACS, "CSD3", false, 0,
     {{2, 0.118}, {4, 0.218}, {8, 0.388}, {16, 0.594}, {32, 0.830}, {64, 0.975}, {128, 1.161},
      {256, 0.860}}},
    {CASTEP, "ARCHER", false, 0,
     {{1, 0.005429}, {2, 0.011341}, {4, 0.019480}, {8, 0.030145}, {16, 0.034719}}},
    {CASTEP, "Cirrus", false, 0,
     {{1, 0.010757}, {2, 0.019982}, {4, 0.031879}, {8, 0.049179}, {16, 0.048335}}},
    {WAVETRISK, "Niagara, 2560 domains", true, 40,
     {{1, 2452.4}, {2, 1865}, {4, 1036.6}, {8, 558.4}, {10, 470.3}, {20, 249.8}, {40, 152.6},
      {80, 77.3}, {160, 43}, {320, 21.5}, {640, 9.88}}},
    {WAVETRISK, "Niagara, 640 domains", true, 40,
     {{1, 1136.5}, {2, 615.6}, {4, 307.6}, {8, 158.8}, {10, 128.3}, {20, 65.7}, {40, 43.8},
      {80, 24}, {160, 12.9}, {320, 7.49}, {640, 4.06}}},
    {WAVETRISK, "Niagara, 2018", true, 40,
     {{1, 2821.2}, {2, 2358.3}, {4, 1443.1}, {10, 658.01}, {20, 381.23}, {40, 192.02},
      {80, 100.19}, {160, 42.737}, {320, 21.89}, {640, 10.355}, {1280, 5.3954}, {2560, 3.0428}}},
    {WAVETRISK, "bbserv, 2560 domains", true, 0,
     {{2, 2509.5}, {5, 1267.3}, {8, 942.4}, {10, 781.6}, {20, 456.5}, {40, 215.6}, {64, 156.6},
      {80, 96.5}, {100, 75.3}, {120, 65}, {128, 67.7}, {140, 56}, {160, 53.3}, {192, 42.5},
      {200, 35.1}, {224, 34.1}, {240, 28}, {256, 26.1}, {280, 23.1}, {300, 21}, {320, 18.4},
      {384, 15.8}}},
    {WAVETRISK, "bbserv, 640 domains", true, 0,
     {{2, 1032.4}, {5, 440.6}, {8, 291.9}, {10, 233.4}, {20, 119.4}, {40, 57.6}, {64, 41.4},
      {80, 30.4}, {100, 27.6}, {120, 22.4}, {128, 19.4}, {140, 19}, {160, 15.7}, {192, 15.3},
      {200, 15.2}, {224, 12.5}, {240, 12.3}, {256, 12.4}, {280, 11.9}, {300, 11.8}, {320, 9.12},
      {384, 8.31}}},
};
#define NTABLES (sizeof tables / sizeof *tables)

enum { USABLE, RISES, ALL_2N, ALL_4N, COVERED_2N, COVERED_4N, ERROR_2N, ERROR_4N,
       WIDTH_2N, NSTATEMENTS };
static const struct simulate_statement statements[NSTATEMENTS] = {
    [USABLE] = {"a prediction is made", SIMULATE_SHOWN, 0},
    [RISES] = {"efficiency is above that at N by 5 %", SIMULATE_SHOWN, 0},
    [ALL_2N] = {"interval holds what was measured, up to 2N", SIMULATE_SHOWN, 0},
    [ALL_4N] = {"beyond, up to 4N", SIMULATE_SHOWN, 0},
    [COVERED_2N] = {"without rises, up to 2N", SIMULATE_AT_LEAST, 0.85},
    [COVERED_4N] = {"without rises, beyond", SIMULATE_SHOWN, 0},
    [ERROR_2N] = {"absolute error at 2N", SIMULATE_SHOWN_MEDIAN, 0},
    [ERROR_4N] = {"at 4N", SIMULATE_SHOWN_MEDIAN, 0},
    [WIDTH_2N] = {"width at 2N", SIMULATE_SHOWN_MEDIAN, 0},
};

/* Reads the two tables of a folder of the reference's logs. */
static void read_reference(struct table *dst, const char *folder)
{
    static const char *const engines[] = {"native", "horovod"};
    static const struct series_facts facts = {.train_images = 1792, .batch_per_gpu = 16};
    struct results table = {0};
    struct series s[SERIES_MAX];
    char path[PATH_MAX];
    struct err e;
    size_t n;

    snprintf(path, sizeof path, "%s/reference-logs/%s", getenv("UNETCTL_SHARED"), folder);
    if (logs_folder_read(path, NULL, &table, &e))
        return;
    for (size_t i = 0; i < 2; i++) {
        if (series_compute(s, &n, "reference", &table, engines[i], &facts, NULL, &e))
            bail_out("%s", e.text);
        dst[i].per_node = 2;
        for (size_t p = 0; p < s[0].npoints; p++) {
            dst[i].points[p].count = s[0].points[p].gpus;
            dst[i].points[p].value = s[0].points[p].unit_rate;
        }
        for (size_t k = 0; k < n; k++)
            series_destroy(&s[k]);
    }
    results_destroy(&table);
}

static void describe(size_t i, char *dst, size_t size)
{
    snprintf(dst, size, "%s", sources[i]);
}

static size_t counts_of(const struct table *t)
{
    size_t n = 0;

    while (n < MOST && t->points[n].count)
        n++;
    return n;
}

/* Finds counts of the tables of a source that have LEAST smaller ones, in turns. number becomes
 * that of the turn. */
static const struct table *find_target(size_t source, uint64_t *number, size_t *target)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0, k = 0; i < NTABLES; i++)
            for (*target = LEAST; tables[i].source == source && *target < counts_of(&tables[i]);
                 ++*target, k++)
                if (pass && k == *number % n) {
                    *number /= n;
                    return &tables[i];
                } else if (!pass)
                    n++;
    }
    return NULL;
}

/* Returns the number-th subset of the counts of t before the target, a bit for each, of LEAST or
 * more and at least a FURTHEST-th of it, in a mixed order; 0: there are none. */
static uint32_t find_subset(const struct table *t, size_t target, uint64_t number)
{
    uint32_t all = (1U << target) - 1;

    for (uint64_t k = number; k <= number + all && k < number + TRIES; k++) {
        uint32_t set = (uint32_t)(k * 40503 + 12345 * (k >> target)) & all;
        size_t largest = 0;
        for (size_t i = 0; set >> i; i++)
            largest = i;
        if (__builtin_popcount(set) >= LEAST &&
            FURTHEST * t->points[largest].count >= t->points[target].count)
            return set;
    }
    return 0;
}

static double seconds_of(const struct table *t, size_t i)
{
    return t->seconds ? t->points[i].value : 1 / t->points[i].value;
}

/* Compares the model with what was measured at a larger count. */
static void judge(const struct model *m, const struct table *t, size_t target, double *values)
{
    double count = t->points[target].count, truth = seconds_of(t, target);
    double ratio = count / m->largest;
    struct bounds b = model_predict(m, count);
    bool far = ratio > 2, nominal = fabs(log2(ratio) - 1 - far) < 0.25;

    values[ALL_2N + far] = b.low <= truth && truth <= b.high;
    if (values[RISES] < 1)
        values[COVERED_2N + far] = values[ALL_2N + far];
    if (nominal)
        values[ERROR_2N + far] = fabs(b.expected / truth - 1);
    if (nominal && !far)
        values[WIDTH_2N] = (b.high - b.low) / truth;
}

static void study(size_t i, uint64_t number, double *values)
{
    static bool read;
    struct model_sample samples[MOST];
    struct model m;
    struct err e;
    size_t n = 0, target, largest = 0;

    if (!read && getenv("UNETCTL_SHARED")) {
        read_reference(&tables[0], "tensorflow");
        read_reference(&tables[2], "pytorch");
    }
    read = true;
    number &= UINT32_MAX;
    const struct table *t = find_target(i, &number, &target);
    uint32_t set = t ? find_subset(t, target, number) : 0;
    for (size_t k = 0; set >> k; k++)
        if (set >> k & 1) {
            samples[n++] = (struct model_sample){t->points[k].count, seconds_of(t, k), 0};
            largest = k;
        }
    if (!n)
        return;
    if (model_fit(&m, samples, n, &(struct model_law_known){.gpus_per_node = t->per_node}, &e))
        bail_out("%s", e.text);
    values[USABLE] = model_is_usable(&m);
    values[RISES] = t->points[target].count * seconds_of(t, target) <
                    (1 - RISE) * t->points[largest].count * seconds_of(t, largest);
    if (model_is_usable(&m))
        judge(&m, t, target, values);
}

/* Minutes to a quality are for different work at different counts: no model is used for them. */
static bool promised(size_t i, size_t k)
{
    return k == COVERED_2N && i != MLPERF;
}

const struct simulate_area simulate_published = {
    .name = "published",
    .what = "Predictions of published times from subsets of three or more smaller counts, the "
            "largest of which is N; intervals of 90 %.",
    .quick = 20, .statements = statements, .nstatements = NSTATEMENTS, .ncases = NSOURCES,
    .describe = describe, .study = study, .promised = promised};
