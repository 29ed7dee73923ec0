/* SPDX-License-Identifier: BSD-3-Clause */
/* How often each class occurs in the masks of a data set, before they are resized. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H
#define UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/classes.h"

struct frequency {
    size_t masks;
    int64_t pixels, ignored;       /* ignored: data.ignore */
    int64_t of_class[CLASSES_MAX]; /* pixels */
    size_t images[CLASSES_MAX];    /* that have the class */
    int64_t within[CLASSES_MAX];   /* not ignored pixels of these images */
};

/* Reads every mask of dir (source.h). ERR_DATA: a value has no class, or there are no masks. */
int frequency_count(const char *dir, const struct classes *c, struct frequency *f, struct err *e);

/* The weight of each class by median frequency balancing (Eigen and Fergus 2015,
 * https://arxiv.org/abs/1411.4734, 6.3.2). The frequency of a class is its share of the pixels in
 * the images where it occurs. Its weight is the median of all frequencies divided by its own, or 0
 * if it never occurs. */
void frequency_weights(const struct frequency *f, int nclasses, double *weights);

#endif
