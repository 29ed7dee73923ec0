/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/prepare/frequency.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "src/stat.h"
#include "trainer/data/source/source.h"

static int count_mask(const struct classes *c, const struct pixels *mask, const char *name,
                      struct frequency *f, struct err *e)
{
    size_t n = (size_t)mask->width * mask->height;
    uint8_t *labels = mem_alloc(n, 1, e);
    int64_t seen[256] = {0};
    int rc = labels ? classes_label(c, mask, name, labels, e) : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        seen[labels[i]]++;
    free(labels);
    if (rc)
        return rc;
    int64_t counts = (int64_t)n - seen[CLASSES_IGNORE];
    f->masks++;
    f->pixels += counts;
    f->ignored += seen[CLASSES_IGNORE];
    for (int k = 0; k < classes_count(c); k++) {
        f->of_class[k] += seen[k];
        f->images[k] += seen[k] > 0;
        f->within[k] += seen[k] > 0 ? counts : 0;
    }
    return 0;
}

int frequency_count(const char *dir, const struct source_folders *folders, const struct classes *c,
                    struct frequency *f, struct err *e)
{
    enum source_part part = classes_are_coloured(c) ? SOURCE_COLOURS : SOURCE_VALUES;
    struct source *source = source_open(dir, folders, e);
    struct pixels mask;
    int rc = source ? 0 : -1;

    memset(f, 0, sizeof *f);
    if (rc == 0 && source->nclasses)
        rc = err_set(e, ERR_DATA, "%s: this data set has a class per image and no masks to count",
                     dir);
    for (size_t i = 0; rc == 0 && i < source->count; i++) {
        rc = source_decode(source, source->items[i].mask, part, NULL, NULL, &mask, e);
        if (rc)
            break;
        rc = count_mask(c, &mask, source->items[i].mask, f, e);
        pixels_free(&mask);
    }
    source_close(source);
    return rc;
}

void frequency_weights(const struct frequency *f, int nclasses, double *weights)
{
    double shares[CLASSES_MAX];
    size_t n = 0;

    for (int k = 0; k < nclasses; k++)
        if (f->of_class[k] > 0)
            shares[n++] = (double)f->of_class[k] / (double)f->within[k];
    double median = n ? stat_median(shares, n) : 0;
    for (int k = 0; k < nclasses; k++)
        weights[k] = f->of_class[k] ? median * (double)f->within[k] / (double)f->of_class[k] : 0;
}
