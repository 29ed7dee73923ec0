/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers that the description of a model can name (doc/MODELS.md). */
#ifndef UNETCTL_TRAINER_MODELS_LAYER_H
#define UNETCTL_TRAINER_MODELS_LAYER_H

#include "trainer/core/graph.h"
#include "trainer/models/model.h"

/* The arguments of a layer in the description, or their defaults. */
struct layer_args {
    char name[TENSOR_NAME_SIZE]; /* prefix of the parameters: NAME.weight ... */
    int64_t channels, kernel, stride, bias;
    double rate, l2;
    bool glorot; /* initial values as in Keras, otherwise as in PyTorch */
    struct tensor *with; /* the second input, a saved result */
    char with_name[TENSOR_NAME_SIZE];
};

struct layer_kind {
    const char *name;
    const char *args[6]; /* NULL-terminated; `- NAME: VALUE` sets the first */
    int nneeded;         /* number of required arguments, which are the first ones */
    int64_t kernel;      /* the default */
    /* Appends the layer to x and returns its result; NULL with ERR_CONFIG (a text without the place
     * in the description) or ERR_INTERNAL. */
    struct tensor *(*append)(struct graph *g, const struct network_config *config,
                             const struct layer_args *args, struct tensor *x, struct err *e);
    /* The same for layers that need neither config nor args. */
    struct tensor *(*append_plain)(struct graph *g, struct tensor *x, struct err *e);
    bool halves; /* pools 2x2 pixels: height and width must be 2 at least */
};

/* Checks the size of the input if kind->halves, and calls append or append_plain. */
struct tensor *layer_append(const struct layer_kind *kind, struct graph *g,
                            const struct network_config *config, const struct layer_args *args,
                            struct tensor *x, struct err *e);

extern const struct layer_kind layer_kinds[]; /* the last one has no name */

const struct layer_kind *layer_find(const char *name); /* or NULL */

/* Writes "48x64x32" (height, width, channels) to dst and returns dst. */
const char *layer_shape(const struct tensor *t, char dst[64]);

#endif
