/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/load.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/sha256.h"
#include "trainer/data/mask.h"
#include "trainer/data/pairs.h"

static void hash(const void *bytes, size_t nbytes, char hex[65])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, bytes, nbytes);
    sha256_finish(&s, hex);
}

static int load(const char *path, bool is_mask, const char *want, char *sha256,
                struct png_pixels *img, struct err *e)
{
    char hex[65];
    size_t nbytes;
    int rc = 0;

    memset(img, 0, sizeof *img);
    char *bytes = atomicfile_read(path, PNG_FILE_MAX_FILE, &nbytes, e);
    if (!bytes)
        return -1;
    if (want || sha256)
        hash(bytes, nbytes, hex);
    if (sha256)
        strcpy(sha256, hex);
    if (want && strcmp(want, hex) != 0)
        rc = err_set(e, ERR_DATA,
                     "%s: the file is not the one that the split was made with (SHA-256 %.16s..., "
                     "recorded %.16s...); restore it, or make a new split", path, hex, want);
    else if (is_mask)
        rc = mask_decode((const uint8_t *)bytes, nbytes, path, img, e);
    else
        rc = png_file_decode((const uint8_t *)bytes, nbytes, path, PNG_FILE_PICTURE, img, e);
    free(bytes);
    return rc;
}

static int load_in(const char *dir, const char *name, bool is_mask, const char *want, char *sha256,
                   struct png_pixels *img, struct err *e)
{
    char *path = pairs_path(dir, name);
    int rc = path ? load(path, is_mask, want, sha256, img, e)
                  : err_set(e, ERR_INTERNAL, "%s: no memory", name);
    free(path);
    return rc;
}

int load_image(const char *dir, const char *name, const char *want, char sha256[65],
               struct png_pixels *img, struct err *e)
{
    return load_in(dir, name, false, want, sha256, img, e);
}

int load_mask(const char *dir, const char *name, const char *want, char sha256[65],
              struct png_pixels *img, struct err *e)
{
    return load_in(dir, name, true, want, sha256, img, e);
}
