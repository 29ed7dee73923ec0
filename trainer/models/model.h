/* SPDX-License-Identifier: BSD-3-Clause */
/* Models by name: each builds graphs from ops, as its description says (trainer/models/). */
#ifndef UNETCTL_TRAINER_MODELS_MODEL_H
#define UNETCTL_TRAINER_MODELS_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/dtype.h"
#include "trainer/core/graph.h"
#include "trainer/ops/ops.h"

enum batch_norm_mode { BATCH_NORM_NONE, BATCH_NORM_LOCAL, BATCH_NORM_SYNC };

struct network_config {
    const char *model;   /* what model_open takes */
    const char *backend; /* "simd", "ref" or "cuda" */
    enum dtype dtype;    /* of activations and their gradients (precision.h) */
    bool tf32;           /* "tf32" there; of a backend that has a device */
    bool deterministic;  /* a device gives the same bits every time */
    int base, depth;     /* 0: as the model has them */
    int channels;
    int classes;         /* logits per target; 0 is 1: foreground against background */
    int height, width;   /* unet: multiples of 2^depth */
    enum loss loss;
    const float *class_weights; /* of CE, one per class, two for one class; NULL: 1. Copied. */
    enum batch_norm_mode batch_norm;
    int threads;         /* >= 1 */
    int device;          /* of a backend that has one: the replica's number on its node */
    uint64_t seed;       /* of the initial weights: a pure function of it */
};

struct description;

struct model {
    const char *name;  /* by which model_open finds it: "resnet44", or the path of a file */
    const char *title; /* for people, and in checkpoints: what the description calls itself */
    bool whole; /* an image has one class as a whole: one target, logits [n][1][1][classes] */
    int base, depth; /* presets of these parameters; 0: it has none of them */
    const char *text; /* the description; NULL: it is built in */
    const struct description *description;
    const char *variant; /* of the description; NULL: none */
};

/* A built-in model; or a file's, where name has a slash or ends in .yaml. Models live as long as
 * the process, and a file is read once. Thread-safe. ERR_CONFIG: there is none, or FILE:LINE and
 * what is wrong there. */
const struct model *model_open(const char *name, struct err *e);

/* The same from a description's text, as checkpoints have it. where: what errors call it. */
const struct model *model_decode(const char *text, const char *where, struct err *e);

/* A model that was opened or decoded, or is built in. NULL: there is none. */
const struct model *model_find(const char *name);

/* The i-th built-in model; NULL: no more. Its description, for people. */
const struct model *model_builtin(size_t i);
const char *model_source(const struct model *model);

/* Are base, depth, channels, classes, sizes and loss (0: the presets) what it can be built with?
 * ERR_CONFIG. */
int model_check(const struct model *model, const struct network_config *config, struct err *e);

/* What height and width must be a multiple of. ERR_CONFIG. */
int model_sides(const struct model *model, const struct network_config *config, int *multiple,
                struct err *e);

/* All forward ops; sets g->input, g->target and g->logits. In a graph that trains or measures
 * the last op is the loss, in the other one the logits are pinned. */
int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e);

#endif
