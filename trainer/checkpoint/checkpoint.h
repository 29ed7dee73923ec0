/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained weights on disk: DIR/weights.safetensors (safetensors.h) with PyTorch's names and shapes
 * (weights.h), batch-norm state included, and DIR/model.json, from which the network is built and
 * used on images and masks as in training (doc/FORMATS.md). */
#ifndef UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H
#define UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H

#include "trainer/network/network.h"

/* Names of the classes, and the mask values that stand for them. */
struct checkpoint_classes {
    char **names;    /* NULL: unknown */
    int count;       /* of names */
    char *ignore;    /* the mask value of ignored pixels, as text; "" for none */
    char *file;      /* the text of the class file; "" for none */
    bool soft_masks;
};

void checkpoint_classes_free(struct checkpoint_classes *c); /* as filled by a read */

/* Makes dir. Both files are written atomically, model.json last: a folder that has it is complete.
 * sha256: of weights.safetensors, in hexadecimal. */
int checkpoint_write(const char *dir, const struct network_config *config,
                     const struct checkpoint_classes *classes, const struct weights *w,
                     char sha256[65], struct err *e);

/* Writes w as safetensors, atomically. */
int checkpoint_write_weights(const char *path, const struct weights *w, struct err *e);

/* file: weights.safetensors (any name), beside which model.json lies. Fills the model, its
 * channels, base, depth, classes, batch_norm and the size it was trained at, and leaves the rest.
 * classes: to be freed after an error, too. sha256: of the weights, "" if model.json does not say.
 * ERR_CHECKPOINT. */
int checkpoint_read_model(const char *file, struct network_config *config,
                          struct checkpoint_classes *classes, char sha256[65], struct err *e);

/* Fill w, whose entries the file must match one to one. Every length is checked against the bytes
 * present; a value that is not finite is refused, and a file with another SHA-256 unless that is
 * "". ERR_CHECKPOINT, naming the tensor. On failure w is undefined. */
int checkpoint_read_weights(const char *file, const char *sha256, struct weights *w, struct err *e);

#endif
