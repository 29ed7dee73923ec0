/* SPDX-License-Identifier: BSD-3-Clause */
/* The models: networks as data.
 *
 * A model is a description in YAML (doc/MODELS.md): a built-in one (templates/models/), a user's
 * file, or the text that a checkpoint contains. It lives as long as the process. run/ and cmd/ open
 * models by name, checkpoint/ decodes them, and network/ checks a configuration and builds a graph
 * for each mode and batch size.
 *
 * A description that is wrong is refused with FILE:LINE and the reason. The layers of a description
 * are the rows of layer_kinds; a new one needs no other change here.
 *
 * To read: this file, then model.c (layers, table of models), description.c (decoding, then
 * building layer by layer) and expression.c (numbers and conditions in a description). */
#pragma once

#include "trainer/ops/ops.h"

enum batch_norm_mode { BATCH_NORM_NONE, BATCH_NORM_LOCAL, BATCH_NORM_SYNC };

struct network_config {
    const char *model;   /* a name for model_open */
    const char *backend; /* "simd", "ref" or "cuda" */
    enum dtype dtype;    /* of activations and their gradients (passes/passes.h) */
    bool tf32;           /* a device may multiply floats with 10 bits of mantissa */
    bool deterministic;  /* a device computes the same bits in every run */
    int base, depth;     /* parameters of the model; 0: its presets */
    int channels;        /* of the images */
    int classes;         /* logits per target; 0 means 1: foreground against background */
    int height, width;   /* of the images; multiples of model_sides */
    enum loss loss;
    const float *class_weights; /* of the cross entropy: [classes], [2] for one class; NULL: 1. The
                                 * network copies them. */
    bool weighs_dice;    /* Dice is the mean over classes by these weights, if there are several */
    double focal_gamma;  /* of the cross entropy */
    double tversky[2];   /* alpha and beta of Dice; both 0: 0.5 */
    enum batch_norm_mode batch_norm;
    int threads;         /* at least 1 */
    int device;          /* index of the backend's device, if it has any */
    uint64_t seed;       /* determines the initial weights */
    const char *freeze;  /* as graph.frozen; outlives the network */
};

/* Returns the loss, with the weights of config. */
struct loss_terms model_loss(const struct network_config *config);

struct description;

struct model {
    const char *name;  /* "resnet44", the path of a file, or TITLE@HASH of a checkpoint's */
    const char *title; /* the name in the description or of the variant; in messages, checkpoints */
    bool classifies; /* one class for each image: one target, logits [n][1][1][classes] */
    int base, depth; /* presets of these parameters; 0: the model does not have the parameter */
    const char *text; /* the description */
    bool built_in;
    const struct description *description; /* decoded; shared by the variants */
    const char *variant; /* of the description, or NULL */
    struct model *next;
};

/* Returns a built-in model, or one of a file if name has a slash or ends in .yaml. Models live as
 * long as the process, and a file is read once. NULL with ERR_CONFIG if there is no
 * such model, or FILE:LINE and the error in the file. */
const struct model *model_open(const char *name, struct err *e);

/* Returns the model of a description's text, which checkpoints contain, or NULL with ERR_CONFIG.
 * where: the text's name in error messages. */
const struct model *model_decode(const char *text, const char *where, struct err *e);

/* Returns a built-in model, or one that was opened or decoded before, or NULL. */
const struct model *model_find(const char *name);

/* Returns the i-th built-in model, or NULL after the last one. */
const struct model *model_builtin(size_t i);

/* Checks the ranges of base, depth (0: the presets), channels and classes, that height and width
 * are multiples of model_sides, and that the loss fits; model_build may still fail. 0, or -1 with
 * ERR_CONFIG. */
int model_check(const struct model *model, const struct network_config *config, struct err *e);

/* Sets *multiple to the number that height and width must be multiples of. 0, or -1 with
 * ERR_CONFIG. */
int model_sides(const struct model *model, const struct network_config *config, int *multiple,
                struct err *e);

/* Appends all forward ops and sets g->input, g->target and g->logits. If the graph trains or
 * measures, they end with the loss; otherwise the logits are pinned. 0, or -1 with ERR_CONFIG or
 * ERR_INTERNAL. */
int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e);

/* The layers that the description of a model can name (doc/MODELS.md). */

/* The arguments of a layer in the description, or their defaults. */
struct layer_args {
    char name[TENSOR_NAME_SIZE]; /* prefix of the parameters: NAME.weight ... */
    char torch[TENSOR_NAME_SIZE]; /* the same in weights of PyTorch, several with spaces, or "" */
    int64_t channels, kernel, stride, dilation, bias;
    int64_t groups; /* of channels; 0: instance norm */
    double rate, l2; /* rate: of dropout; the slope of leaky_relu */
    bool glorot; /* initial values as in Keras, otherwise as in PyTorch */
    struct tensor *with; /* the second input, a saved result */
    char with_name[TENSOR_NAME_SIZE];
};

struct layer_kind {
    const char *name;
    const char *args[7]; /* NULL-terminated; `- NAME: VALUE` sets the first */
    int nneeded;         /* number of required arguments, which are the first ones */
    int64_t kernel;      /* the default */
    /* Appends the layer to x and returns its result; NULL with ERR_CONFIG (a text without the place
     * in the description) or ERR_INTERNAL. */
    struct tensor *(*append)(struct graph *g, const struct network_config *config,
                             const struct layer_args *args, struct tensor *x, struct err *e);
    /* The same for layers that need neither config nor args. */
    struct tensor *(*append_plain)(struct graph *g, struct tensor *x, struct err *e);
};

extern const struct layer_kind layer_kinds[]; /* the last one has no name */

const struct layer_kind *layer_find(const char *name); /* or NULL */

/* Writes "48x64x32" (height, width, channels) to dst and returns dst. */
const char *layer_shape(const struct tensor *t, char dst[64]);
