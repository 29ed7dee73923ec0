/* SPDX-License-Identifier: BSD-3-Clause */
/* The softmax of one pixel. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_SOFTMAX_H
#define UNETCTL_TRAINER_BACKENDS_REF_SOFTMAX_H

#include <stddef.h>

#include "trainer/backends/ref/vector_math.h"

/* Sets p[c] = exp(z[c] - largest) / *sum, where *sum is the sum of exp(z[c] - largest), and returns
 * the largest logit. z and p may be the same. One class is a sigmoid: the other class has logit
 * 0. */
static inline float softmax(const float *z, size_t nclasses, float *p, float *sum)
{
    float largest = z[0];

    if (nclasses == 1 && largest < 0)
        largest = 0;
    for (size_t c = 1; c < nclasses; c++)
        largest = z[c] > largest ? z[c] : largest;
    *sum = nclasses == 1 ? vector_exp_negative(-largest) : 0;
    for (size_t c = 0; c < nclasses; c++) {
        p[c] = vector_exp_negative(z[c] - largest);
        *sum += p[c];
    }
    for (size_t c = 0; c < nclasses; c++)
        p[c] /= *sum;
    return largest;
}

#endif
