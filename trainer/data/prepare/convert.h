/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a data set to another format without loss. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H
#define UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct convert_config {
    const char *dir;          /* in any format that source_open reads; each page of a TIFF file
                               * becomes a sample */
    const char *out;          /* a new or an empty folder */
    int tile_height, tile_width; /* 0: whole images. Tiles are cut row by row. The last ones of a
                                  * row or column overlap the ones before, so that the tiles cover
                                  * the image. A smaller image stays whole. */
    int shard;                /* samples per TFRecord file */
    bool bands;               /* TFRecord: keep channel 2 or 4, which is otherwise taken as alpha */
};

/* Writes PNG files to images/ and masks/, or to a folder per class. If the source is divided, these
 * folders are in train/ and val/. Returns the number of samples written, 0 after an error. */
size_t convert_to_png(const struct convert_config *config, struct err *e);

/* Writes TFRecord files 0.records, 1.records, ... with output_types.json and output_shapes.json, in
 * train/ and valid/ if the source is divided. All samples must have the same shape. */
size_t convert_to_tfrecord(const struct convert_config *config, struct err *e);

#endif
