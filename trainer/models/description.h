/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as data: YAML that names its parameters, blocks and layers (doc/MODELS.md). */
#ifndef UNETCTL_TRAINER_MODELS_DESCRIPTION_H
#define UNETCTL_TRAINER_MODELS_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/core/network.h"

#define DESCRIPTION_MAX 32768 /* bytes of a description: a second, however deep it nests */

struct description;

/* where: what errors call the text, "my.yaml". ERR_CONFIG: FILE:LINE, what is wrong, what there is.
 * Layers are looked at when a graph is built. */
struct description *description_decode(const char *text, const char *where, struct err *e);
void description_destroy(struct description *d);

const char *description_name(const struct description *d);
bool description_whole(const struct description *d); /* images have one class as a whole */

/* The i-th of the variants, which are models of their own with other parameters; NULL: no more. */
const char *description_variant(const struct description *d, size_t i);

/* What parameter name has as a preset; 0: there is none. variant: of its name, or NULL. */
int description_preset(const struct description *d, const char *variant, const char *name);

/* What height and width must be a multiple of, for config's depth; -1. */
int description_sides(const struct description *d, const char *variant,
                      const struct network_config *config, int *multiple, struct err *e);

/* As model.build. */
int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e);

#endif
