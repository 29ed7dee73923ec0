/* SPDX-License-Identifier: BSD-3-Clause */
/* Probabilities of an image of any size as training and evaluation see it: resized to the network's
 * size with the aspect kept, padded with zeros, and the result resized back. */
#ifndef UNETCTL_TRAINER_CMD_FIT_H
#define UNETCTL_TRAINER_CMD_FIT_H

#include "trainer/core/network.h"

/* As tiles_predict. An image of the network's size gives what its evaluation counts. */
float *fit_predict(struct network *n, const struct network_config *config, const float *image,
                   int height, int width, struct err *e);

#endif
