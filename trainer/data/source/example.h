/* SPDX-License-Identifier: BSD-3-Clause */
/* One sample as OTBTF writes it: a tf.train.Example whose features are bytes, each a serialized
 * TensorProto (tensorflow/core/example/example.proto, framework/tensor.proto). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_EXAMPLE_H
#define UNETCTL_TRAINER_DATA_SOURCE_EXAMPLE_H

#include "src/buf.h"
#include "trainer/data/image/pixels.h"

/* Image [height][width][channels] (uint8 or uint16) under "image", and mask [height][width][1] or,
 * where there is no mask (NULL), the class as an int64 scalar, under "mask" or "label". */
void example_encode(const struct pixels *image, const struct pixels *mask, int label,
                    struct buf *dst);

/* Which feature of a sample is meant. */
enum example_part {
    EXAMPLE_IMAGE, /* the one that is not the target */
    EXAMPLE_TARGET /* whose name has "mask", "label" or "target" in it */
};

/* Image: uint8 and uint16 as they are, floats from 0 to 1 as 16 bits; any channels. Target:
 * whole numbers of any type. name: what errors call the record. ERR_DATA. */
int example_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum example_part part,
                   struct pixels *img, struct err *e);

/* 1 when the target is one number, which then stands in *label; 0 for a mask; -1 for an error. */
int example_label(const uint8_t *bytes, size_t nbytes, const char *name, int *label,
                  struct err *e);

#endif
