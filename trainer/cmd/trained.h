/* SPDX-License-Identifier: BSD-3-Clause */
/* A trained network, created from its checkpoint for the verbs that use one. */
#ifndef UNETCTL_TRAINER_CMD_TRAINED_H
#define UNETCTL_TRAINER_CMD_TRAINED_H

#include <limits.h>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/image/pixels.h"
#include "trainer/network/network.h"

struct trained {
    char file[PATH_MAX]; /* path of the weights */
    struct network_config config;
    struct checkpoint_classes classes;
    enum scale scale; /* of images */
    struct network *network;
};

/* path: as OPTIONS_CHECKPOINT says. The caller sets backend, dtype, threads (0 for the cores of
 * this process), height and width (0 for those of training) in t->config; the rest is filled in.
 * ERR_CHECKPOINT, or ERR_CONFIG for a size that the network cannot have. The caller closes t, also
 * after an error. */
int trained_open(struct trained *t, const char *path, struct err *e);
void trained_close(struct trained *t);

/* Returns the name of class i, or its number (in the buffer) if the checkpoint has no names. */
const char *trained_class_name(const struct trained *t, int i, char number[16]);

#endif
