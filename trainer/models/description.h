/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as data: YAML with its parameters, blocks and layers (doc/MODELS.md). */
#ifndef UNETCTL_TRAINER_MODELS_DESCRIPTION_H
#define UNETCTL_TRAINER_MODELS_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/models/model.h"

#define DESCRIPTION_MAX 32768 /* bytes; with any nesting, decoding takes about a second */

struct description;

/* where: the file name for errors, "my.yaml". ERR_CONFIG with FILE:LINE. Layers are checked when a
 * graph is built. */
struct description *description_decode(const char *text, const char *where, struct err *e);
void description_destroy(struct description *d);

const char *description_name(const struct description *d);
bool description_whole(const struct description *d); /* a class per image */

/* The name of variant i, a model with other parameters; NULL: no more. */
const char *description_variant(const struct description *d, size_t i);

/* The default of a parameter, or 0. variant: name of a variant, or NULL. */
int description_preset(const struct description *d, const char *variant, const char *name);

/* Sets the number that height and width must be multiples of, for the depth of config. */
int description_sides(const struct description *d, const char *variant,
                      const struct network_config *config, int *multiple, struct err *e);

/* As model_build. */
int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e);

#endif
