/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds PNG files chunk by chunk without libpng: kinds that png_file_write does not make, and
 * damaged ones. */
#pragma once

#include "src/base.h"
#include <zlib.h>

struct png_maker {
    uint8_t bytes[4096];
    size_t n;
};

static void maker_u32(struct png_maker *m, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        m->bytes[m->n++] = (uint8_t)(v >> shift);
}

static void maker_chunk(struct png_maker *m, const char *type, const void *data, size_t n)
{
    maker_u32(m, (uint32_t)n);
    size_t start = m->n;
    memcpy(m->bytes + m->n, type, 4);
    if (n)
        memcpy(m->bytes + m->n + 4, data, n);
    m->n += 4 + n;
    maker_u32(m, (uint32_t)crc32(0, m->bytes + start, (uInt)(4 + n)));
}

static void maker_head(struct png_maker *m, uint32_t width, uint32_t height, int bits, int type,
                       int interlace)
{
    uint8_t head[13] = {[8] = (uint8_t)bits, [9] = (uint8_t)type, [12] = (uint8_t)interlace};

    for (int i = 0; i < 4; i++) {
        head[i] = (uint8_t)(width >> (24 - 8 * i));
        head[4 + i] = (uint8_t)(height >> (24 - 8 * i));
    }
    m->n = 8;
    memcpy(m->bytes, "\x89PNG\r\n\x1a\n", 8);
    maker_chunk(m, "IHDR", head, sizeof head);
}

/* raw: all rows, each with its filter byte; deflated into IDAT, then IEND. */
static void maker_pixels(struct png_maker *m, const void *raw, size_t nraw)
{
    uint8_t packed[2048];
    uLongf n = sizeof packed;

    compress(packed, &n, raw, (uLong)nraw);
    maker_chunk(m, "IDAT", packed, n);
    maker_chunk(m, "IEND", NULL, 0);
}
