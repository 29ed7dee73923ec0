/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models. */
#include "config.h"
#include "trainer/models/models.h"

#include <string.h>

const struct model *const models[] = {
    &unet_model,
    &resnet20_model, &resnet20_projection_model,
    &resnet32_model, &resnet32_projection_model,
    &resnet44_model, &resnet44_projection_model,
    &resnet56_model, &resnet56_projection_model,
    &resnet110_model, &resnet110_projection_model,
    NULL,
};

const struct model *model_find(const char *name)
{
    for (size_t i = 0; models[i]; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}
