/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers that a description of a model can name: doc/MODELS.md. */
#ifndef UNETCTL_TRAINER_MODELS_LAYER_H
#define UNETCTL_TRAINER_MODELS_LAYER_H

#include "trainer/core/graph.h"
#include "trainer/models/model.h"

/* From the description, or the defaults. */
struct layer_args {
    char name[TENSOR_NAME_SIZE]; /* prefix of the parameters: NAME.weight ... */
    int64_t channels, kernel, stride, bias;
    double rate, l2;
    bool glorot; /* initial values of Keras; else of PyTorch */
    struct tensor *with; /* an earlier result, for layers with two inputs */
    char with_name[TENSOR_NAME_SIZE];
};

struct layer_kind {
    const char *name;
    const char *args[6]; /* NULL-terminated; a plain value is the first */
    int nneeded;         /* number of required arguments, which come first */
    int64_t kernel;      /* the default */
    /* NULL with ERR_CONFIG (the error and what to do, without its place) or ERR_INTERNAL. */
    struct tensor *(*append)(struct graph *g, const struct network_config *config,
                             const struct layer_args *args, struct tensor *x, struct err *e);
};

extern const struct layer_kind layer_kinds[]; /* the last one has no name */

const struct layer_kind *layer_find(const char *name); /* or NULL */

/* "48x64x32": height, width, channels. */
const char *layer_shape(const struct tensor *t, char dst[64]);

#endif
