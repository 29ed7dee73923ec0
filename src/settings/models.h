/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in models, from templates/models/. */
#ifndef UNETCTL_SRC_MODELS_H
#define UNETCTL_SRC_MODELS_H

struct models_entry {
    const char *name;
    int base, depth; /* presets of model.base and model.depth; 0: the model has no such parameter */
    int sides;       /* height and width must be multiples of this; 0: of 2 to the power of depth */
};

/* Returns the model of this name, or NULL. */
const struct models_entry *models_find(const char *name);

#endif
