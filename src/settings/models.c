/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/settings/models.h"

#include <stddef.h>
#include <string.h>

static const struct models_entry entries[] = {
#include "src/settings/models.inc"
};

const struct models_entry *models_find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}
