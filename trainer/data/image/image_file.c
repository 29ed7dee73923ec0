/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <sys/stat.h>

#include "src/atomicfile.h"

#define HEAD_BYTES 160 /* at least PNG_FILE_HEAD and the longest signature */
#define ANY32 "????????????????????????????????"

/* KIND_FOREIGN: a picture in a format that is not read */
enum image_kind { KIND_NONE, KIND_FOREIGN, KIND_PNG, KIND_TIFF, KIND_JPEG };

#define PNG_MAGIC "\x89PNG\r\n\x1a\n"

/* How to convert a file, or all of a folder, to a format that is read. */
#define CONVERT(suffix) \
    " is not read: convert it to PNG (ImageMagick: mogrify -format png *." suffix ")"

static const struct signature {
    const char *magic; /* the first bytes, where ? stands for any */
    size_t n;
    enum image_kind kind;
    const char *what; /* the error text if the format is not supported, or NULL */
} signatures[] = {
    {PNG_MAGIC, 8, KIND_PNG, NULL},
    {"II*\0", 4, KIND_TIFF, NULL},
    {"MM\0*", 4, KIND_TIFF, NULL},
    {"II+\0", 4, KIND_TIFF, NULL},
    {"MM\0+", 4, KIND_TIFF, NULL},
    {"\xff\xd8\xff", 3, KIND_JPEG, NULL},
    {"BM", 2, KIND_FOREIGN, "BMP" CONVERT("bmp")},
    {"GIF8", 4, KIND_FOREIGN, "GIF" CONVERT("gif")},
    {"RIFF????WEBP", 12, KIND_FOREIGN, "WebP" CONVERT("webp")},
    {"\0\0\0\x0cjP  ", 8, KIND_FOREIGN, "JPEG 2000" CONVERT("jp2")},
    {"\xff\x4f\xff\x51", 4, KIND_FOREIGN, "JPEG 2000" CONVERT("j2k")},
    {"\x93NUMPY", 6, KIND_FOREIGN, "an array of NumPy is not read: write it as TIFF (python3: "
     "tifffile.imwrite('NAME.tif', numpy.load('NAME.npy')))"},
    {ANY32 ANY32 ANY32 ANY32 "DICM", 132, KIND_FOREIGN,
     "DICOM is not read: convert it to PNG (DCMTK: dcm2pnm --write-16-bit-png NAME.dcm NAME.png)"},
    {"\x1f\x8b", 2, KIND_NONE, "is not an image but gzip: gunzip it first"},
    {"version https://git-lfs", 23, KIND_NONE,
     "is not an image but a git-LFS pointer: git lfs pull fetches the file"},
    {"\0\0\0\0\0\0\0\0", 8, KIND_NONE,
     "is not an image: it starts with NUL bytes, as after a full disk or an interrupted copy"}};

static bool begins_with(const uint8_t *bytes, size_t nbytes, const struct signature *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (i >= nbytes || (s->magic[i] != '?' && bytes[i] != (uint8_t)s->magic[i]))
            return false;
    return true;
}

static int detect_kind(const uint8_t *bytes, size_t nbytes, const char *name, enum image_kind *kind,
                       struct err *e)
{
    if (nbytes == 0)
        return err_set(e, ERR_DATA, "%s: is empty", name);
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const struct signature *s = &signatures[i];
        if (!begins_with(bytes, nbytes, s))
            continue;
        *kind = s->kind;
        return s->what ? err_set(e, ERR_DATA, "%s: %s", name, s->what) : 0;
    }
    return err_set(e, ERR_DATA,
                   "%s: is not an image (by its first bytes): PNG, TIFF and JPEG are read", name);
}

#if !(defined HAVE_TIFF && defined HAVE_JPEG)
static int refuse_kind(const char *name, const char *kind, const char *option, struct err *e)
{
    return err_set(e, ERR_DATA, "%s: this build does not support %s (configure --with-%s): convert "
                   "the file to PNG", name, kind, option);
}
#endif
#ifndef HAVE_TIFF
#define tiff_file_decode(bytes, n, name, page, mode, img, e) refuse_kind(name, "TIFF", "tiff", e)
#endif
#ifndef HAVE_JPEG
#define jpeg_file_decode(bytes, n, name, mode, img, e) refuse_kind(name, "JPEG", "jpeg", e)
#endif

static int decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                  enum pixels_mode mode, struct pixels *img, struct err *e)
{
    enum image_kind kind;

    memset(img, 0, sizeof *img);
    if (detect_kind(bytes, nbytes, name, &kind, e))
        return -1;
    if (kind == KIND_TIFF)
        return tiff_file_decode(bytes, nbytes, name, page, mode, img, e);
    if (page > 0)
        return err_set(e, ERR_DATA, "%s: has no page %d; only TIFF has more than one", name,
                       page + 1);
    if (kind == KIND_JPEG)
        return jpeg_file_decode(bytes, nbytes, name, mode, img, e);
    return png_file_decode(bytes, nbytes, name, mode, img, e);
}

static bool alpha_differs(const struct pixels *img)
{
    size_t n = (size_t)img->width * img->height, nc = (size_t)img->channels;

    for (size_t i = 1; i < n; i++)
        if (pixels_sample(img, i * nc + nc - 1) != pixels_sample(img, nc - 1))
            return true;
    return false;
}

int image_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                      enum pixels_mode mode, struct pixels *img, struct err *e)
{
    if (decode(bytes, nbytes, name, page, mode, img, e))
        return -1;
    if (img->orientation > 1)
        img->flags |= PIXELS_ORIENTED;
    if ((img->channels == 2 || img->channels == 4) && !(img->flags & PIXELS_BAND) &&
        alpha_differs(img))
        img->flags |= PIXELS_ALPHA;
    return 0;
}

int image_file_read(const char *path, enum pixels_mode mode, struct pixels *img, struct err *e)
{
    size_t nbytes;

    memset(img, 0, sizeof *img);
    char *bytes = atomicfile_read(path, PIXELS_MAX_FILE, &nbytes, e);
    if (!bytes)
        return -1;
    int rc = image_file_decode((const uint8_t *)bytes, nbytes, path, 0, mode, img, e);
    if (rc == 0 && img->pages > 1)
        snprintf(img->warning, sizeof img->warning, "has %d pages, of which the first is used; "
                 "`unet-train data convert` makes a pair of each", img->pages);
    free(bytes);
    return rc;
}

static ssize_t read_head(const char *path, uint8_t head[HEAD_BYTES], struct err *e)
{
    struct stat st;
    int fd = atomicfile_open_regular(path, &st, e);

    if (fd < 0)
        return -1;
    ssize_t n = pread(fd, head, HEAD_BYTES, 0);
    if (n < 0)
        err_errno(e, ERR_DATA, errno, "cannot read %s", path);
    close(fd);
    return n;
}

const char *image_file_foreign(const char *path)
{
    uint8_t head[HEAD_BYTES];
    struct err ignored;
    ssize_t n = read_head(path, head, &ignored);

    for (size_t i = 0; n > 0 && i < sizeof signatures / sizeof *signatures; i++)
        if (begins_with(head, (size_t)n, &signatures[i]))
            return signatures[i].kind == KIND_FOREIGN ? signatures[i].what : NULL;
    return NULL;
}

int image_file_size(const char *path, uint32_t *width, uint32_t *height, struct err *e)
{
    uint8_t head[HEAD_BYTES];
    enum image_kind kind;
    struct pixels img;
    ssize_t n = read_head(path, head, e);

    if (n < 0 || detect_kind(head, (size_t)n, path, &kind, e))
        return -1;
    int rc = kind == KIND_PNG ? decode(head, (size_t)n, path, 0, PIXELS_SIZE, &img, e)
                              : image_file_read(path, PIXELS_SIZE, &img, e);
    *width = img.width;
    *height = img.height;
    return rc;
}
