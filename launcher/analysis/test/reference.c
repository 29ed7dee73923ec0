/* SPDX-License-Identifier: BSD-3-Clause */
/* From the 32 logs of the reference systems, the cells of their published tables that are listed
 * below are reproduced to the last printed digit. The images processed in an epoch are not in those
 * logs; they follow from 1792 images, 16 per GPU, with a last short batch dropped. */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/series.h"

#include <math.h>

#include "launcher/collect/collect.h"
#include "t/tap.h"

#define NCOUNTS 8

/* Columns: GPUs, first epoch, median epoch, training and test in seconds, IoU, final loss, speed-up
 * by the epoch of index 1 and by training, images/s, efficiency by images in percent. */
static const char *const tensorflow[2][NCOUNTS] = {
    {"1 50.69 37.61 7535.5 1.890 0.9643 0.0093 1.00 1.00 47.6 100.0",
     "2 38.92 18.93 3828.6 2.205 0.9508 0.0100 1.99 1.97 94.7 99.3",
     "4 39.52 10.95 2236.6 2.182 0.9506 0.0106 3.44 3.37 163.7 85.9",
     "6 31.97 7.03 1450.1 2.345 0.9345 0.0121 5.38 5.20 245.8 86.0",
     "8 29.89 5.56 1155.7 1.518 0.9241 0.0124 6.73 6.52 322.2 84.5",
     "10 37.60 4.74 1001.8 1.760 0.9105 0.0150 7.92 7.52 371.0 77.9",
     "12 29.68 3.70 785.9 2.066 0.5509 0.0168 10.18 9.59 466.9 81.7",
     "14 29.71 3.36 718.4 2.133 0.4858 0.0287 11.24 10.49 533.0 79.9"},
    {"1 66.25 37.55 7547.0 1.876 0.9653 0.0095 1.00 1.00 47.7 100.0",
     "2 58.29 19.10 3859.2 1.132 0.9678 0.0093 1.96 1.96 93.8 98.3",
     "4 50.15 9.60 1960.6 0.658 0.9195 0.0224 3.90 3.85 186.8 97.8",
     "6 46.04 6.26 1291.9 0.247 0.9560 0.0112 5.99 5.84 276.2 96.4",
     "8 44.75 4.83 1006.1 0.133 0.8862 0.0162 7.76 7.50 371.2 97.2",
     "10 44.52 3.81 803.5 0.127 0.9444 0.0146 9.83 9.39 462.0 96.8",
     "12 50.33 3.13 674.1 0.125 0.9170 0.0210 11.95 11.20 552.2 96.4",
     "14 42.85 2.78 599.2 0.126 0.8882 0.0207 13.47 12.59 644.5 96.5"}};

/* Columns: GPUs, median epoch and training in seconds, IoU, final loss, speed-up by the epoch of
 * index 1, images/s, efficiency by images in percent. */
static const char *const pytorch[2][NCOUNTS] = {
    {"1 192.6 38765.4 0.8998 0.0021 1.00 9.3 100.0", "2 103.7 20774.7 0.8977 0.0023 1.84 17.3 92.9",
     "4 53.6 10741.2 0.8840 0.0033 3.58 33.4 89.9", "6 34.9 6994.0 0.8517 0.0043 5.46 49.5 88.7",
     "8 27.6 5535.3 0.8680 0.0041 6.86 64.9 87.3", "10 22.2 4460.7 0.7814 0.0082 8.50 79.1 85.0",
     "12 17.9 3594.8 0.8022 0.0094 10.66 96.6 86.5",
     "14 16.2 3241.0 0.9244 0.0093 11.88 110.9 85.2"},
    {"1 194.2 38880.9 0.8985 0.0016 1.00 9.2 100.0", "2 174.9 35061.0 0.8846 0.0024 1.11 10.2 55.5",
     "4 106.0 21196.4 0.8942 0.0037 1.78 16.9 45.8", "6 70.6 14130.3 0.8843 0.0039 2.88 24.5 44.2",
     "8 56.0 11219.1 0.8673 0.0136 3.47 32.0 43.3", "10 44.3 8869.8 0.7835 0.0121 4.39 39.7 43.0",
     "12 36.4 7272.9 0.7929 0.0120 5.33 47.5 42.8", "14 32.5 6507.2 0.9018 0.0277 5.70 55.2 42.7"}};

static const char *print_tensorflow(const struct series_point *p, char line[256])
{
    snprintf(line, 256, "%d %.2f %.2f %.1f %.3f %.4f %.4f %.2f %.2f %.1f %.1f", p->gpus,
             p->q[QUANTITY_FIRST_EPOCH].median, p->q[QUANTITY_STEADY_EPOCH].median,
             p->q[QUANTITY_TRAINING].median, p->q[QUANTITY_EVALUATION].median,
             p->q[QUANTITY_QUALITY].median,
             p->q[QUANTITY_LOSS].median, p->speedup[QUANTITY_ONE_EPOCH].value,
             p->speedup[QUANTITY_TRAINING].value, p->unit_rate, 100 * p->unit_efficiency.value);
    return line;
}

static const char *print_pytorch(const struct series_point *p, char line[256])
{
    snprintf(line, 256, "%d %.1f %.1f %.4f %.4f %.2f %.1f %.1f", p->gpus,
             p->q[QUANTITY_STEADY_EPOCH].median, p->q[QUANTITY_TRAINING].median,
             p->q[QUANTITY_QUALITY].median, p->q[QUANTITY_LOSS].median,
             p->speedup[QUANTITY_ONE_EPOCH].value, p->unit_rate, 100 * p->unit_efficiency.value);
    return line;
}

static void check_table(const struct results *table, const char *engine,
                        const char *const want[NCOUNTS],
                        const char *print(const struct series_point *, char line[256]))
{
    static const struct series_facts facts = {.train_images = 1792, .batch_per_gpu = 16};
    struct series s[SERIES_MAX];
    char line[256];
    size_t n;
    struct err e;

    if (series_compute(s, &n, "reference", table, engine, &facts, NULL, &e))
        bail_out("%s", e.text);
    is_int(n, 1, "%s is one series", engine);
    is_int(s[0].npoints, NCOUNTS, "the series has 8 counts");
    for (size_t i = 0; i < NCOUNTS && i < s[0].npoints; i++)
        is_str(print(&s[0].points[i], line), want[i], "%s, %d GPUs", engine, s[0].points[i].gpus);
    series_destroy(&s[0]);
}

static void check_folder(const char *name, const char *const want[2][NCOUNTS],
                         const char *print(const struct series_point *, char line[256]))
{
    struct results table = {0};
    char path[PATH_MAX];
    struct err e;

    snprintf(path, sizeof path, "%s/reference-logs/%s", getenv("UNETCTL_SHARED"), name);
    if (logs_folder_read(path, NULL, &table, &e))
        bail_out("%s", e.text);
    is_int(results_count(&table, RESULT_DONE), 16, "%s: 16 logs are good", name);
    check_table(&table, "native", want[0], print);
    check_table(&table, "horovod", want[1], print);
    results_destroy(&table);
}

int main(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/reference-logs",
             getenv("UNETCTL_SHARED") ? getenv("UNETCTL_SHARED") : "");
    if (access(path, R_OK))
        skip_all("the reference logs are not on this machine");
    check_folder("tensorflow", tensorflow, print_tensorflow);
    check_folder("pytorch", pytorch, print_pytorch);
    return done_testing();
}
