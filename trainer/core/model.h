/* SPDX-License-Identifier: BSD-3-Clause */
/* Models by name: each builds graphs from ops, as its description says (trainer/models/). */
#ifndef UNETCTL_TRAINER_CORE_MODEL_H
#define UNETCTL_TRAINER_CORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/core/network.h"

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
