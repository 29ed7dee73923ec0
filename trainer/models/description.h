/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a model: YAML with parameters, blocks and layers (doc/MODELS.md). */
#ifndef UNETCTL_TRAINER_MODELS_DESCRIPTION_H
#define UNETCTL_TRAINER_MODELS_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/models/model.h"

#define DESCRIPTION_MAX 32768 /* bytes */

struct description;

/* Decodes the text. where: the file's name in error messages. The caller destroys the result.
 * Returns NULL with ERR_CONFIG and FILE:LINE (FILE alone if the text is too long), or if out of
 * memory. The arguments of layers are checked by description_build. */
struct description *description_decode(const char *text, const char *where, struct err *e);
void description_destroy(struct description *d);

const char *description_name(const struct description *d);
bool description_classifies(const struct description *d); /* as model.classifies */

/* Returns the name of variant i, a model with other presets, or NULL after the last one. */
const char *description_variant(const struct description *d, size_t i);

/* Returns the preset of a parameter, or 0 if it has none. variant: the name of a variant, or
 * NULL. */
int description_preset(const struct description *d, const char *variant, const char *name);

/* As model_sides. */
int description_sides(const struct description *d, const char *variant,
                      const struct network_config *config, int *multiple, struct err *e);

/* As model_build. */
int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e);

#endif
