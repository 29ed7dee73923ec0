/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained weights on disk: DIR/weights.safetensors (safetensors.h) with PyTorch's names and shapes
 * (weights.h), batch-norm state included, and DIR/model.json, which has what network_config needs to
 * build the network again. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H
#define UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H

#include "trainer/core/network.h"

/* Makes dir. Both files are atomic, the model last: a folder with model.json is complete. sha256:
 * of weights.safetensors, hexadecimal. */
int checkpoint_write(const char *dir, const struct network_config *config, const struct weights *w,
                     char sha256[65], struct err *e);

/* file: weights.safetensors (any name), beside which model.json lies. Fills the model, its
 * channels, base, depth, batch_norm and the size it was trained at, and leaves the rest.
 * ERR_CHECKPOINT. */
int checkpoint_read_model(const char *file, struct network_config *config, struct err *e);

/* Fill w, whose entries the file must match one to one. Every length is checked against the bytes
 * present; a value that is not finite is refused. ERR_CHECKPOINT, naming the tensor. On failure w
 * is undefined. */
int checkpoint_read_weights(const char *file, struct weights *w, struct err *e);

#endif
