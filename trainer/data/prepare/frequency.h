/* SPDX-License-Identifier: BSD-3-Clause */
/* How often each class occurs in the masks of a data set, at the size they have. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H
#define UNETCTL_TRAINER_DATA_PREPARE_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/classes.h"

struct frequency {
    size_t masks;
    int64_t pixels, ignored;       /* that count; that do not */
    int64_t of_class[CLASSES_MAX]; /* pixels */
    size_t images[CLASSES_MAX];    /* that have the class */
    int64_t within[CLASSES_MAX];   /* pixels that count in these images */
};

/* Reads every mask of dir (source.h). ERR_DATA: a value without a class, images without masks. */
int frequency_count(const char *dir, const struct classes *c, struct frequency *f, struct err *e);

/* Weight of each class by median frequency balancing (Eigen and Fergus 2015,
 * https://arxiv.org/abs/1411.4734, 6.3.2): the median of the classes' shares, each within the
 * images that have it, divided by the class's. 0 for a class that never occurs. */
void frequency_weights(const struct frequency *f, int nclasses, double *weights);

#endif
