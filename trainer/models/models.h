/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_TRAINER_MODELS_MODELS_H
#define UNETCTL_TRAINER_MODELS_MODELS_H

#include "trainer/core/model.h"

/* The U-Net of the reference scaling study: encoder blocks of base, 2 base, ... channels with 2x2
 * max pooling between them, a bridge, decoder blocks behind a 2x2 transposed convolution and the
 * concatenation [up, skip], a 1x1 head with one logit per pixel and class. A block is twice 3x3 convolution,
 * batch norm, ReLU. base 8, depth 4, 1 channel: 488,617 numbers, running statistics included. */
extern const struct model unet_model;

#endif
