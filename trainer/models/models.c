/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models. */
#include "config.h"
#include "trainer/models/models.h"

#include <string.h>

#include "trainer/ops/ops.h"

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

int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e)
{
    if (model->build(g, config, batch, e) < 0)
        return -1;
    if (g->training)
        return loss_append(g, config->loss, config->class_weights, g->logits, g->target, e);
    g->logits->pinned = true;
    return 0;
}
