/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a data set to PNG files without changing values, except that images (not masks) with a
 * palette become RGB, and those of 1, 2 and 4 bits are scaled to 0..255. The output folder must be
 * new or empty. If the conversion fails, it is emptied again, and removed if it was new. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H
#define UNETCTL_TRAINER_DATA_PREPARE_CONVERT_H

#include <stddef.h>

#include "src/err.h"
#include "trainer/data/source/source.h"

struct convert_config {
    /* Any format of source_open; each page of a TIFF file becomes a sample. */
    const char *dir;
    const struct source_folders *folders; /* NULL: found by their names */
    const char *out;          /* a new or an empty folder */
    /* 0 for whole images. Tiles are cut row by row. The last tile of a row or column overlaps the
     * one before, so that the tiles cover the image. A side of an image that is smaller than the
     * tile's is not cut. */
    int tile_height, tile_width;
};

/* Writes PNG files to images/ and masks/, or to one folder per class; if the source is divided,
 * below train/ and val/ (samples of neither side: test/). Returns the number of samples written,
 * each tile being one, or 0 on error. */
size_t convert_write(const struct convert_config *config, struct err *e);

#endif
