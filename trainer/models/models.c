/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models. */
#include "config.h"
#include "trainer/models/models.h"

const struct model *const models[] = {&unet_model, NULL};
