/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of masks: connected components of one class. */
#include "src/base.h"
#include "trainer/evaluate/evaluate.h"

/* A component of the truth; of a prediction only its size. A predicted component that agrees by an
 * IoU above 1/2 has more than half of its pixels: `most` is found by Boyer and Moore's vote. */
struct component {
    uint32_t size, most, votes, shared; /* shared: pixels of `most` */
};

static uint32_t root_of(uint32_t *parents, uint32_t i)
{
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

/* Makes two pixels one component, whose root is its first pixel. */
static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    a = root_of(parents, a);
    b = root_of(parents, b);
    parents[a > b ? a : b] = a < b ? a : b;
}

/* Sets labels[height][width] to the numbers, from 1 on, of the components of 8-connected pixels
 * with the same class; to 0 for class 0. Returns their number. */
static uint32_t label_components(const uint8_t *mask, size_t height, size_t width, uint32_t *labels)
{
    uint32_t n = 0;

    for (size_t i = 0; i < height * width; i++) {
        size_t y = i / width, x = i % width;

        labels[i] = (uint32_t)i;
        if (mask[i] && x > 0 && mask[i - 1] == mask[i])
            join(labels, (uint32_t)i, (uint32_t)i - 1);
        for (size_t k = x > 0 ? 0 : 1; mask[i] && y > 0 && k < 3 && x + k <= width; k++)
            if (mask[i - width + k - 1] == mask[i])
                join(labels, (uint32_t)i, (uint32_t)(i - width + k - 1));
    }
    for (size_t i = 0; i < height * width; i++) /* the parent is before i: it has its number */
        labels[i] = !mask[i] ? 0 : labels[i] == i ? ++n : labels[labels[i]];
    return n;
}

/* truth[], pred[]: the labels of n pixels. */
static void match_components(const uint32_t *truth, const uint32_t *pred, size_t n,
                             struct component *of_truth, struct component *of_pred)
{
    for (size_t i = 0; i < n; i++) {
        struct component *t = &of_truth[truth[i]];

        of_pred[pred[i]].size++;
        t->size++;
        if (t->votes == 0)
            t->most = pred[i];
        t->votes += t->most == pred[i] ? 1 : (uint32_t)-1;
    }
    for (size_t i = 0; i < n; i++)
        of_truth[truth[i]].shared += of_truth[truth[i]].most == pred[i];
}

/* Counts each component at its first pixel. */
static void count_components(const uint8_t *mask, const uint32_t *labels, size_t n,
                             const struct component *of_truth, const struct component *of_pred,
                             struct instance_counts *counts)
{
    for (size_t i = 0, next = 1; i < n; i++) {
        if (labels[i] != next)
            continue;
        next++;
        if (!of_truth) {
            counts[mask[i]].pred++;
            continue;
        }
        const struct component *t = &of_truth[labels[i]];
        counts[mask[i]].truth++;
        counts[mask[i]].matched +=
            t->most && 3 * (uint64_t)t->shared > (uint64_t)t->size + of_pred[t->most].size;
    }
}

int instances_add(struct instance_counts *counts, const uint8_t *truth, const uint8_t *pred,
                  size_t height, size_t width, struct err *e)
{
    size_t n = height * width;
    uint32_t *labels = mem_alloc(2 * n, sizeof *labels, e);
    struct component *components = NULL;
    int rc = -1;

    if (n >= UINT32_MAX)
        err_set(e, ERR_CONFIG, "an image of %zux%zu pixels is too large for --instances", height,
                width);
    else if (labels) {
        uint32_t ntruth = label_components(truth, height, width, labels);
        uint32_t npred = label_components(pred, height, width, labels + n);

        components = mem_zero((size_t)ntruth + npred + 2, sizeof *components, e);
        if (components) {
            struct component *of_pred = components + ntruth + 1;
            match_components(labels, labels + n, n, components, of_pred);
            count_components(truth, labels, n, components, of_pred, counts);
            count_components(pred, labels + n, n, NULL, NULL, counts);
            rc = 0;
        }
    }
    free(components);
    free(labels);
    return rc;
}
