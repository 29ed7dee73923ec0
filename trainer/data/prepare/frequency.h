/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts how often each class occurs in the masks of a data set, at the masks' own sizes. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H
#define UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/source.h"

struct frequency {
    size_t masks;
    int64_t pixels, ignored;       /* ignored: pixels labelled CLASSES_IGNORE, not part of pixels */
    int64_t of_class[CLASSES_MAX]; /* pixels of the class */
    size_t images[CLASSES_MAX];    /* images that contain the class */
    int64_t within[CLASSES_MAX];   /* counted pixels of these images */
};

/* Reads every mask of dir (source.h) and fills f. ERR_DATA if a value has no class or the samples
 * have no masks. */
int frequency_count(const char *dir, const struct source_folders *folders, const struct classes *c,
                    struct frequency *f, struct err *e);

/* Sets weights[0..nclasses-1] by median frequency balancing (Eigen and Fergus 2015,
 * https://arxiv.org/abs/1411.4734, 6.3.2): the frequency of a class is its share of the pixels of
 * the images that contain it, and its weight is the median of all frequencies divided by its own,
 * or 0 if it never occurs. */
void frequency_weights(const struct frequency *f, int nclasses, double *weights);

#endif
