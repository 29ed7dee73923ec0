/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/png_file.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/buf.h"

#define HEAD_BYTES 33 /* signature 8, IHDR: length 4, type 4, data 13, CRC 4 */

/* deflate makes at most 1032 bytes out of one: a header that claims more than the file can hold is
 * a lie, and no memory is given to it. */
#define DEFLATE_MAX_RATIO 1032u

/* Everything that lives across libpng's longjmp is in here, not in locals. */
struct decoder {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t nbytes, at;
    struct png_pixels *img;
    enum png_file_mode mode;
    const char *name;
    struct err *e;
};

static void on_error(png_structp png, png_const_charp text)
{
    struct decoder *d = png_get_error_ptr(png);

    err_set(d->e, ERR_DATA, "%s: damaged PNG: %s", d->name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    struct decoder *d = png_get_error_ptr(png);

    if (!d->img->warning[0])
        snprintf(d->img->warning, sizeof d->img->warning, "%s", text);
}

static void read_bytes(png_structp png, png_bytep dst, size_t n)
{
    struct decoder *d = png_get_io_ptr(png);

    if (n > d->nbytes - d->at)
        png_error(png, "the file ends early");
    memcpy(dst, d->bytes + d->at, n);
    d->at += n;
}

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool starts_with(const uint8_t *bytes, size_t nbytes, const char *magic, size_t n)
{
    return nbytes >= n && memcmp(bytes, magic, n) == 0;
}

/* What a file that is no PNG seems to be: content counts, names lie. */
static const char *sniff(const uint8_t *bytes, size_t nbytes)
{
    static const struct {
        const char *magic;
        size_t n;
        const char *what;
    } kinds[] = {{"\xff\xd8\xff", 3, "JPEG is not supported yet: convert it to PNG"},
                 {"II*\0", 4, "TIFF is not supported yet: convert it to PNG"},
                 {"MM\0*", 4, "TIFF is not supported yet: convert it to PNG"},
                 {"II+\0", 4, "BigTIFF is not supported: convert it to PNG"},
                 {"MM\0+", 4, "BigTIFF is not supported: convert it to PNG"},
                 {"BM", 2, "BMP is not supported: convert it to PNG"},
                 {"\x1f\x8b", 2, "not a PNG but gzip: gunzip it first"},
                 {"version https://git-lfs", 23,
                  "not a PNG but a git-LFS pointer: git lfs pull fetches the file"},
                 {"\0\0\0\0\0\0\0\0", 8,
                  "not a PNG: starts with NUL bytes, as a full disk or a broken copy leaves"}};

    if (nbytes == 0)
        return "is empty";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (starts_with(bytes, nbytes, kinds[i].magic, kinds[i].n))
            return kinds[i].what;
    return "not a PNG (by its first bytes)";
}

/* Reads signature and IHDR by hand, before libpng sees the file: 0 and the fields, or ERR_DATA. */
static int check_head(const uint8_t *bytes, size_t nbytes, const char *name, uint32_t *width,
                      uint32_t *height, struct err *e)
{
    if (!starts_with(bytes, nbytes, "\x89PNG\r\n\x1a\n", 8))
        return err_set(e, ERR_DATA, "%s: %s", name, sniff(bytes, nbytes));
    if (nbytes < HEAD_BYTES || memcmp(bytes + 12, "IHDR", 4) != 0)
        return err_set(e, ERR_DATA, "%s: damaged PNG: no image header", name);
    *width = big_endian_32(bytes + 16);
    *height = big_endian_32(bytes + 20);
    if (*width == 0 || *height == 0)
        return err_set(e, ERR_DATA, "%s: damaged PNG: %u x %u pixels", name, *width,
                       *height);
    if (*width > PNG_FILE_MAX_SIDE || *height > PNG_FILE_MAX_SIDE)
        return err_set(e, ERR_DATA, "%s: %u x %u pixels, more than %u on a side", name,
                       *width, *height, PNG_FILE_MAX_SIDE);
    return 0;
}

static int open_decoder(struct decoder *d)
{
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, d, on_error, on_warning);
    d->info = d->png ? png_create_info_struct(d->png) : NULL;
    if (!d->info)
        return err_set(d->e, ERR_INTERNAL, "%s: no memory to decode", d->name);
    png_set_read_fn(d->png, d, read_bytes);
    png_set_user_limits(d->png, PNG_FILE_MAX_SIDE, PNG_FILE_MAX_SIDE);
    png_set_chunk_malloc_max(d->png, 1 << 20);
    /* All ancillary chunks that do not change samples (text, profiles, times) stay unread. */
    png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    return 0;
}

/* Header and transformations; sets the shape of img and allocates its samples. */
static int begin(struct decoder *d)
{
    struct png_pixels *img = d->img;

    if (setjmp(png_jmpbuf(d->png)))
        return -1;
    png_read_info(d->png, d->info);
    uint64_t packed = (uint64_t)png_get_rowbytes(d->png, d->info) * img->height;
    if (packed > (uint64_t)d->nbytes * DEFLATE_MAX_RATIO)
        return err_set(d->e, ERR_DATA,
                       "%s: damaged PNG: claims %u x %u pixels, more than its %zu bytes can hold",
                       d->name, img->width, img->height, d->nbytes);
    img->source_bits = png_get_bit_depth(d->png, d->info);
    png_set_packing(d->png);
    if (d->mode == PNG_FILE_PICTURE) {
        int type = png_get_color_type(d->png, d->info);
        if (type == PNG_COLOR_TYPE_PALETTE)
            png_set_palette_to_rgb(d->png);
        else if (type == PNG_COLOR_TYPE_GRAY && img->source_bits < 8)
            png_set_expand_gray_1_2_4_to_8(d->png);
    }
    png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
    img->channels = png_get_channels(d->png, d->info);
    img->bits = png_get_bit_depth(d->png, d->info);
    uint64_t nbytes = (uint64_t)img->width * img->height * (unsigned)img->channels *
                      (unsigned)(img->bits / 8);
    if (nbytes > PNG_FILE_MAX_SAMPLES)
        return err_set(d->e, ERR_DATA, "%s: %u x %u pixels need %llu bytes, more than the limit",
                       d->name, img->width, img->height, (unsigned long long)nbytes);
    img->nbytes = (size_t)nbytes;
    /* calloc: interlaced rows are merged into what is there. */
    img->samples = calloc(1, img->nbytes);
    if (!img->samples)
        return err_set(d->e, ERR_DATA, "%s: no memory for %u x %u pixels", d->name,
                       img->width, img->height);
    return 0;
}

/* All passes, then what follows the pixels: only there do CRC and zlib's checksum count. */
static int read_rows(struct decoder *d)
{
    const struct png_pixels *img = d->img;

    if (setjmp(png_jmpbuf(d->png)))
        return -1;
    int npasses = png_get_interlace_type(d->png, d->info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
    size_t stride = img->nbytes / img->height;
    for (int pass = 0; pass < npasses; pass++)
        for (size_t y = 0; y < img->height; y++)
            png_read_row(d->png, img->samples + y * stride, NULL);
    png_read_end(d->png, NULL);
    return 0;
}

int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name,
                    enum png_file_mode mode, struct png_pixels *img, struct err *e)
{
    struct decoder d = {.bytes = bytes, .nbytes = nbytes, .img = img, .mode = mode, .name = name,
                        .e = e};

    memset(img, 0, sizeof *img);
    if (check_head(bytes, nbytes, name, &img->width, &img->height, e))
        return -1;
    int rc = open_decoder(&d);
    if (rc == 0)
        rc = begin(&d);
    if (rc == 0)
        rc = read_rows(&d);
    png_destroy_read_struct(&d.png, &d.info, NULL);
    if (rc)
        png_pixels_free(img);
    return rc;
}

int png_file_read(const char *path, enum png_file_mode mode, struct png_pixels *img, struct err *e)
{
    size_t nbytes;

    memset(img, 0, sizeof *img);
    char *bytes = atomicfile_read(path, PNG_FILE_MAX_FILE, &nbytes, e);
    if (!bytes)
        return -1;
    int rc = png_file_decode((const uint8_t *)bytes, nbytes, path, mode, img, e);
    free(bytes);
    return rc;
}

void png_pixels_free(struct png_pixels *img)
{
    free(img->samples);
    img->samples = NULL;
    img->nbytes = 0;
}

/* O_NONBLOCK: a FIFO named like an image is refused instead of waited for. */
static int open_regular(const char *path, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(e, ERR_DATA, errno, "%s: can't be opened", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return err_set(e, ERR_DATA, "%s: is not a regular file", path);
}

int png_file_size(const char *path, uint32_t *width, uint32_t *height, struct err *e)
{
    uint8_t head[HEAD_BYTES];
    int fd = open_regular(path, e);

    if (fd < 0)
        return -1;
    ssize_t n = pread(fd, head, sizeof head, 0);
    int errnum = errno;
    close(fd);
    if (n < 0)
        return err_errno(e, ERR_DATA, errnum, "%s: can't be read", path);
    return check_head(head, (size_t)n, path, width, height, e);
}

struct encoder {
    png_structp png;
    png_infop info;
    struct buf out;
    const char *path;
    struct err *e;
};

static void on_write_error(png_structp png, png_const_charp text)
{
    struct encoder *w = png_get_error_ptr(png);

    err_set(w->e, ERR_INTERNAL, "%s: PNG can't be made: %s", w->path, text);
    png_longjmp(png, 1);
}

static void write_bytes(png_structp png, png_bytep src, size_t n)
{
    struct encoder *w = png_get_io_ptr(png);

    buf_add_bytes(&w->out, src, n);
}

static void flush_bytes(png_structp png)
{
    (void)png; /* the buffer is written when it is complete */
}

static int encode(struct encoder *w, uint32_t width, uint32_t height, int channels,
                  const uint8_t *samples)
{
    if (setjmp(png_jmpbuf(w->png)))
        return -1;
    png_set_write_fn(w->png, w, write_bytes, flush_bytes);
    png_set_IHDR(w->png, w->info, width, height, 8,
                 channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (size_t y = 0; y < height; y++)
        png_write_row(w->png, samples + y * width * (size_t)channels);
    png_write_end(w->png, NULL);
    return 0;
}

int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e)
{
    struct encoder w = {.path = path, .e = e};
    int rc = -1;

    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_write_error, NULL);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info)
        err_set(e, ERR_INTERNAL, "%s: no memory to make a PNG", path);
    else
        rc = encode(&w, width, height, channels, samples);
    png_destroy_write_struct(&w.png, &w.info);
    if (rc == 0 && w.out.failed)
        rc = err_set(e, ERR_INTERNAL, "%s: no memory to make a PNG", path);
    if (rc == 0)
        rc = atomicfile_write(path, w.out.data, w.out.length, 0666, e);
    buf_destroy(&w.out);
    return rc;
}
