/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/evaluate/mask_picture.h"

#include <math.h>
#include <stdlib.h>

#include "src/mem.h"
#include "trainer/data/image/png_file.h"

/* Sets rgb to the colour of a class. Without a class file hues of successive classes differ by the
 * golden ratio. */
static void choose_colour(const struct mask_picture *m, int class, float rgb[3])
{
    float hue = fmodf((float)(m->is_binary ? 0 : class) * 0.618034F, 1) * 6;
    uint32_t own;

    if (m->classes && classes_colour(m->classes, class, &own)) {
        for (int c = 0; c < 3; c++)
            rgb[c] = (float)(own >> (16 - 8 * c) & 255) / 255;
        return;
    }
    for (int c = 0; c < 3; c++) {
        float distance = fabsf(fmodf(hue + 6 - 2 * (float)c, 6) - 3);
        rgb[c] = fminf(fmaxf(distance - 1, 0), 1);
    }
}

/* Writes the share `opacity` of the mask's colours over the image, which is not read for 1. */
static int write_picture(const char *path, const struct mask_picture *m, const float *image,
                         int channels, float opacity, struct err *e)
{
    size_t n = (size_t)m->height * (size_t)m->width;
    uint8_t *rgb = mem_alloc(3, n, e);
    float colours[256][3];

    if (!rgb)
        return -1;
    for (int class = 0; class < 256; class++)
        choose_colour(m, class, colours[class]);
    for (size_t i = 0; i < n; i++) {
        bool is_clear = opacity < 1 && m->is_binary && !m->mask[i];
        float share = is_clear ? 0 : opacity;
        for (size_t c = 0; c < 3; c++) {
            size_t at = i * (size_t)channels + (channels == 3 ? c : 0);
            float v = share < 1 ? scale_shown(m->scale, image[at]) : 0;
            rgb[3 * i + c] =
                (uint8_t)lrintf(255 * ((1 - share) * v + share * colours[m->mask[i]][c]));
        }
    }
    int rc = png_file_write(path, (uint32_t)m->width, (uint32_t)m->height, 3, rgb, e);
    free(rgb);
    return rc;
}

int mask_picture_write(const char *path, const struct mask_picture *m, struct err *e)
{
    return write_picture(path, m, NULL, 0, 1, e);
}

int mask_picture_write_overlay(const char *path, const struct mask_picture *m, const float *image,
                               int channels, struct err *e)
{
    return write_picture(path, m, image, channels, 0.4F, e);
}
