/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained weights on disk: DIR/weights.safetensors (safetensors.h) with PyTorch's names and shapes
 * (weights.h), batch-norm state included, and DIR/model.json, which has what is needed to build the
 * network again and to use it on images and masks as it was trained (doc/FORMATS.md). */
#ifndef UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H
#define UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H

#include "trainer/core/network.h"

/* What the classes are called and which values of a mask stand for them. */
struct checkpoint_classes {
    char **names;    /* NULL: the file does not say */
    int count;       /* of names */
    char *ignore;    /* the mask value that does not count, as text; "" for none */
    char *file;      /* the text of the class file; "" for none */
    bool soft_masks;
};

void checkpoint_classes_free(struct checkpoint_classes *c); /* what a read has filled */

/* Makes dir. Both files are atomic, the model last: a folder with model.json is complete. sha256:
 * of weights.safetensors, hexadecimal. */
int checkpoint_write(const char *dir, const struct network_config *config,
                     const struct checkpoint_classes *classes, const struct weights *w,
                     char sha256[65], struct err *e);

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
