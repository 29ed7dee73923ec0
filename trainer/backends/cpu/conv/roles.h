/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of a convolution or one of its gradients by what they are to it: src * weights + bias
 * = dst, whatever the direction; for the gradient of the input src is dy. src or dst may be two
 * tensors whose channels lie beside each other. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_ROLES_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_ROLES_H

#include "trainer/backends/cpu/norm/batch_norm.h"

#define PARTS 2

/* Computes rows of a part of src that is never written: n rows of an image from y on, counted
 * through all images, each to where it is asked for. */
struct roles_made {
    void (*rows)(const struct roles_made *made, size_t y, size_t n, float *const *to);
    const struct op *op; /* whose results they are */
};

/* What is not there is NULL. */
struct roles {
    const struct tensor *src[PARTS], *dst[PARTS], *weights, *bias;
    const struct batch_norm_map *norm[PARTS]; /* of src on the way in; roles_of() leaves them out */
    const struct roles_made *made;            /* the first part of src; likewise */
};

struct roles roles_of(const struct op *op);

/* One of both gradients of a convolution as an op by itself, without what fusion has added but for
 * a second source. */
struct op roles_input(const struct op *op);
struct op roles_weights(const struct op *op);

/* Of all parts together; and how many divide each. */
size_t roles_channels(const struct tensor *const *parts);
size_t roles_common_channels(const struct tensor *const *parts);

#endif
