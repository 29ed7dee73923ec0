/* SPDX-License-Identifier: BSD-3-Clause */
/* A data set in another format: every sample read once and written again, losslessly. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H
#define UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H

#include <stddef.h>

#include <stdbool.h>

#include "src/err.h"

struct convert_config {
    const char *dir;          /* any that source_open knows; TIFF stacks too: a sample per page */
    const char *out;          /* made; must not hold anything */
    int tile_height, tile_width; /* 0: whole images. Tiles are cut row by row; those at the right
                                  * and lower edge are moved inwards, so that every pixel is in one.
                                  * An image that is smaller stays whole. */
    int shard;                /* samples per TFRecord file */
    bool bands;               /* TFRecord: the last of 2 or 4 samples of a pixel is no alpha */
};

/* PNG: images/ and masks/, or a folder per class; train/ and val/ above them where the source is
 * divided. Returns the number of samples written, 0 after an error. */
size_t convert_to_png(const struct convert_config *config, struct err *e);

/* TFRecord shards 0.records, 1.records ... with output_types.json and output_shapes.json; train/
 * and valid/ where the source is divided. All samples must have one shape (cut tiles if not). */
size_t convert_to_tfrecord(const struct convert_config *config, struct err *e);

#endif
