/* SPDX-License-Identifier: BSD-3-Clause */
/* One sample as the library OTBTF writes it: a tf.train.Example whose features are bytes, each a
 * serialized TensorProto (tensorflow/core/example/example.proto, framework/tensor.proto); or as
 * most others do, with features of encoded PNG, JPEG or TIFF bytes. In such a record a whole number
 * whose name has "label" may be the class, and features that are not encoded are ignored. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_EXAMPLE_H
#define UNETCTL_TRAINER_DATA_SOURCE_EXAMPLE_H

#include "src/err.h"
#include "trainer/data/image/pixels.h"

/* The name of a feature says which part it is. */
enum example_part {
    EXAMPLE_IMAGE, /* the feature that is not the target */
    EXAMPLE_TARGET /* its name contains "mask", "label", "target" or "segmentation" */
};

/* Decodes one part of an Example. Tensors of images are uint8, uint16, or other types of tf_dtype
 * (example.c) that become 16 bits (levels.h), with 1 to PIXELS_MAX_CHANNELS channels. Targets have
 * one channel of whole numbers from 0 to 65535. name: the record's name in errors. Returns -1 with
 * ERR_DATA for anything else. */
int example_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum example_part part,
                   struct pixels *img, struct err *e);

/* Returns 1 and the class in *label if the target is a single number, 0 if it is a mask, -1 on
 * error. */
int example_label(const uint8_t *bytes, size_t nbytes, const char *name, int *label,
                  struct err *e);

#endif
