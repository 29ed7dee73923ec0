/* SPDX-License-Identifier: BSD-3-Clause */
/* Models by name: each builds graphs from ops. */
#ifndef UNETCTL_TRAINER_CORE_MODEL_H
#define UNETCTL_TRAINER_CORE_MODEL_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/core/network.h"

struct model {
    const char *name;
    bool whole; /* an image has one class as a whole: one target, logits [n][1][1][classes] */
    int base;   /* the usual width of the first layer */
    /* Refuse (ERR_CONFIG) what the model can't be built with. */
    int (*check)(const struct network_config *config, struct err *e);
    /* Append the ops up to the logits; sets g->input, g->target and g->logits. For model_build. */
    int (*build)(struct graph *g, const struct network_config *config, int batch, struct err *e);
};

extern const struct model *const models[]; /* NULL-terminated */

const struct model *model_find(const char *name); /* NULL: there is none */

/* All forward ops: up to the logits, and in a training graph the loss; in the other one the logits
 * are pinned. */
int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e);

#endif
