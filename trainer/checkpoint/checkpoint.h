/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained weights on disk: DIR/weights.safetensors (safetensors.h) has them with PyTorch's names
 * and shapes (core/graph.h), including the state of batch norm. DIR/model.json (doc/SCHEMAS.md)
 * describes the network, and how images and masks were prepared for it. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H
#define UNETCTL_TRAINER_CHECKPOINT_CHECKPOINT_H

#include "trainer/network/network.h"

/* Names of the classes, and how images and masks were read. */
struct checkpoint_classes {
    char **names;    /* [count]; NULL: unknown */
    int count;
    char *ignore;    /* the mask value of ignored pixels, as text, or "" */
    char *file;      /* the text of the class file, or "" */
    char scale[16];  /* data.scale; "": full */
    bool soft_masks; /* grey values of masks are probabilities */
};

/* Frees what checkpoint_read_model has filled in. */
void checkpoint_classes_free(struct checkpoint_classes *c);

/* Writes both files to dir, each atomically; dir is created if needed (not its parents); model.json
 * comes last, so that a new folder with it is complete. Sets sha256 to the hash of
 * weights.safetensors in hexadecimal. */
int checkpoint_write(const char *dir, const struct network_config *config,
                     const struct checkpoint_classes *classes, const struct weights *w,
                     char sha256[65], struct err *e);

/* Writes w as safetensors, atomically. */
int checkpoint_write_weights(const char *path, const struct weights *w, struct err *e);

/* Reads the model.json in the folder of `file`, the weights. Sets model, channels, base, depth,
 * classes (unless model.json is too old to have it), batch_norm, height and width of *config. The
 * caller frees *classes, also after an error. sha256: the hash of the weights, or "" if model.json
 * does not have it. -1 with ERR_CHECKPOINT. */
int checkpoint_read_model(const char *file, struct network_config *config,
                          struct checkpoint_classes *classes, char sha256[65], struct err *e);

/* Reads the values of w, whose entries the file must match one to one. Every length is checked
 * against the bytes present. -1 with ERR_CHECKPOINT, which names the tensor; a value that is not
 * finite is an error, as is another hash than sha256 unless that is "". After an error the values
 * of w are undefined. */
int checkpoint_read_weights(const char *file, const char *sha256, struct weights *w, struct err *e);

#endif
