/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/load.h"

#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/format/sha256.h"
#include "src/mem.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/mask.h"

enum form { FORM_PICTURE, FORM_VALUES, FORM_COLOURS };

static int decode_file(const uint8_t *bytes, size_t nbytes, const char *path, enum form form,
                  struct pixels *img, struct err *e)
{
    enum pixels_mode mode = form == FORM_VALUES ? PIXELS_RAW : PIXELS_PICTURE;
    int rc = image_file_decode(bytes, nbytes, path, 0, mode, img, e);

    if (rc == 0 && img->pages > 1)
        rc = err_set(e, ERR_DATA, "%s: has %d pages; `unet-train data convert` makes a pair of "
                     "each", path, img->pages);
    if (rc == 0 && form == FORM_VALUES)
        rc = mask_flatten(img, path, e);
    if (rc)
        pixels_free(img);
    return rc;
}

static int load_file(const char *path, enum form form, const char *want, char *sha256,
                struct pixels *img, struct err *e)
{
    char hex[65];
    size_t nbytes;
    int rc = 0;

    memset(img, 0, sizeof *img);
    char *bytes = atomicfile_read(path, PIXELS_MAX_FILE, &nbytes, e);
    if (!bytes)
        return -1;
    if (want || sha256)
        sha256_bytes(bytes, nbytes, hex);
    if (sha256)
        strcpy(sha256, hex);
    if (want && strcmp(want, hex) != 0)
        rc = err_set(e, ERR_DATA,
                     "%s: the file is not the one that the split was made with (SHA-256 %.16s..., "
                     "recorded %.16s...); restore it, or make a new split", path, hex, want);
    else
        rc = decode_file((const uint8_t *)bytes, nbytes, path, form, img, e);
    free(bytes);
    return rc;
}

static int load_in(const char *dir, const char *name, enum form form, const char *want,
                   char *sha256, struct pixels *img, struct err *e)
{
    char *path = mem_textf(e, "%s/%s", dir, name);
    int rc = path ? load_file(path, form, want, sha256, img, e) : -1;
    free(path);
    return rc;
}

int load_image(const char *dir, const char *name, const char *want, char sha256[65],
               struct pixels *img, struct err *e)
{
    return load_in(dir, name, FORM_PICTURE, want, sha256, img, e);
}

int load_mask(const char *dir, const char *name, bool coloured, const char *want, char sha256[65],
              struct pixels *img, struct err *e)
{
    return load_in(dir, name, coloured ? FORM_COLOURS : FORM_VALUES, want, sha256, img, e);
}
