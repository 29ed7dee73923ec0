/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_TRAINER_MODELS_MODELS_H
#define UNETCTL_TRAINER_MODELS_MODELS_H

#include "trainer/core/model.h"

/* The U-Net of the reference scaling study: encoder blocks of base, 2 base, ... channels with 2x2
 * max pooling between them, a bridge, decoder blocks behind a 2x2 transposed convolution and the
 * concatenation [up, skip], a 1x1 head with one logit per pixel and class. A block is twice 3x3 convolution,
 * batch norm, ReLU. base 8, depth 4, 1 channel: 488,617 numbers, running statistics included. */
extern const struct model unet_model;

/* Residual networks for CIFAR-10 (He et al. 2016, https://arxiv.org/abs/1512.03385, 4.2): 6 n + 2
 * layers, three stages of n blocks with base, 2 base and 4 base channels, then the mean over the
 * picture and a dense layer. "resnet44" has parameter-free shortcuts where the size halves (option
 * A; 658,586 parameters for RGB and 10 classes at base 16), "resnet44-projection" 1x1 convolutions,
 * and biases before each batch norm, as the example of Keras (662,826). */
extern const struct model resnet20_model, resnet20_projection_model;
extern const struct model resnet32_model, resnet32_projection_model;
extern const struct model resnet44_model, resnet44_projection_model;
extern const struct model resnet56_model, resnet56_projection_model;
extern const struct model resnet110_model, resnet110_projection_model;

#endif
