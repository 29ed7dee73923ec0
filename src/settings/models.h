/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in models, as templates/models/ describes them. */
#ifndef UNETCTL_SRC_MODELS_H
#define UNETCTL_SRC_MODELS_H

struct models_entry {
    const char *name;
    int base, depth; /* presets of model.base and model.depth; 0: it has no such parameter */
    int sides;       /* height and width are multiples of this; 0: of 2 to the power of depth */
};

/* The model of this name, or NULL. */
const struct models_entry *models_find(const char *name);

#endif
