/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <png.h>
#include <setjmp.h>

#include "src/atomicfile.h"

/* Decodes a PNG file in memory. name: the file's name in errors. Fills img, whose samples the
 * caller frees with pixels_free, or returns -1, with ERR_DATA unless libpng lacks memory. For
 * PIXELS_SIZE the first PNG_FILE_HEAD bytes are enough. */
#define PNG_FILE_HEAD 33 /* signature 8, IHDR: length 4, type 4, data 13, CRC 4 */

/* A byte of data compressed by deflate expands to at most 1032 bytes (zlib's documentation). A file
 * whose header claims more is refused before memory is allocated. */
#define PIXELS_DEFLATE_RATIO 1032u

/* State of one decoding; unlike local variables it survives libpng's longjmp. */
struct png_decoder {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t nbytes, at;
    struct pixels *img;
    enum pixels_mode mode;
    const char *name;
    struct err *e;
};

static void on_read_error(png_structp png, png_const_charp text)
{
    struct png_decoder *d = png_get_error_ptr(png);

    err_set(d->e, ERR_DATA, "%s: damaged PNG: %s", d->name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    struct png_decoder *d = png_get_error_ptr(png);

    if (!d->img->warning[0])
        snprintf(d->img->warning, sizeof d->img->warning, "%s", text);
}

static void png_read(png_structp png, png_bytep dst, size_t n)
{
    struct png_decoder *d = png_get_io_ptr(png);

    if (n > d->nbytes - d->at)
        png_error(png, "the file ends early");
    memcpy(dst, d->bytes + d->at, n);
    d->at += n;
}

/* Reads signature and IHDR without libpng, so that the limits are checked before libpng
 * allocates. */
static int read_png_size(const uint8_t *bytes, size_t nbytes, const char *name, struct pixels *img,
                         struct err *e)
{
    if (nbytes < PNG_FILE_HEAD || memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) != 0 ||
        memcmp(bytes + 12, "IHDR", 4) != 0)
        return err_set(e, ERR_DATA, "%s: damaged PNG: no image header", name);
    img->width = png_get_uint_32(bytes + 16);
    img->height = png_get_uint_32(bytes + 20);
    return pixels_check_size(img->width, img->height, name, e);
}

static int open_decoder(struct png_decoder *d)
{
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, d, on_read_error, on_warning);
    d->info = d->png ? png_create_info_struct(d->png) : NULL;
    if (!d->info)
        return err_set(d->e, ERR_INTERNAL, "%s: out of memory", d->name);
    png_set_read_fn(d->png, d, png_read);
    png_set_user_limits(d->png, PIXELS_MAX_SIDE, PIXELS_MAX_SIDE);
    png_set_chunk_malloc_max(d->png, 1 << 20);
    /* Ancillary chunks that do not change samples (text, profiles, times) are skipped. */
    png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    return 0;
}

/* Reads the header, asks libpng for the transformations of d->mode, and allocates the samples. */
static int read_png_header(struct png_decoder *d)
{
    struct pixels *img = d->img;

    if (setjmp(png_jmpbuf(d->png)))
        return -1;
    png_read_info(d->png, d->info);
    uint64_t packed = (uint64_t)png_get_rowbytes(d->png, d->info) * img->height;
    if (packed > (uint64_t)d->nbytes * PIXELS_DEFLATE_RATIO)
        return err_set(d->e, ERR_DATA,
                       "%s: damaged PNG: claims %u x %u pixels, more than its %zu bytes can hold",
                       d->name, img->width, img->height, d->nbytes);
    img->source_bits = png_get_bit_depth(d->png, d->info);
    png_set_packing(d->png);
    if (d->mode == PIXELS_PICTURE) {
        int type = png_get_color_type(d->png, d->info);
        if (type == PNG_COLOR_TYPE_PALETTE)
            png_set_palette_to_rgb(d->png);
        else if (type == PNG_COLOR_TYPE_GRAY && img->source_bits < 8)
            png_set_expand_gray_1_2_4_to_8(d->png);
    }
    png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
    /* libpng merges the rows of interlaced passes into the samples, which therefore start as
     * zero. */
    return pixels_allocate(img, d->name, png_get_channels(d->png, d->info),
                           png_get_bit_depth(d->png, d->info), d->e);
}

/* Reads all passes, and the chunks after them, so that libpng checks all data to the end. */
static int read_png_rows(struct png_decoder *d)
{
    const struct pixels *img = d->img;

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

/* Reads the orientation in the chunk eXIf, which libpng skips as it does other ancillary chunks. */
static void read_orientation(const uint8_t *bytes, size_t nbytes, struct pixels *img)
{
    for (size_t at = 8; nbytes - at >= 12;) {
        size_t n = png_get_uint_32(bytes + at);
        if (n > nbytes - at - 12)
            return;
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0)
            img->orientation = orientation_of_exif(bytes + at + 8, n);
        at += n + 12;
    }
}

int png_file_decode(const uint8_t *bytes, size_t nbytes, const char *name,
                    enum pixels_mode mode, struct pixels *img, struct err *e)
{
    struct png_decoder d = {
        .bytes = bytes, .nbytes = nbytes, .img = img, .mode = mode, .name = name, .e = e};

    memset(img, 0, sizeof *img);
    img->pages = 1;
    if (read_png_size(bytes, nbytes, name, img, e))
        return -1;
    if (mode == PIXELS_SIZE)
        return 0;
    int rc = open_decoder(&d);
    if (rc == 0)
        rc = read_png_header(&d);
    if (rc == 0)
        rc = read_png_rows(&d);
    if (rc == 0)
        read_orientation(bytes, nbytes, img);
    png_destroy_read_struct(&d.png, &d.info, NULL);
    if (rc)
        pixels_free(img);
    return rc;
}

struct png_encoder {
    png_structp png;
    png_infop info;
    struct buf out;
    const char *path;
    struct err *e;
};

static void on_write_error(png_structp png, png_const_charp text)
{
    struct png_encoder *w = png_get_error_ptr(png);

    err_set(w->e, ERR_INTERNAL, "%s: cannot encode a PNG: %s", w->path, text);
    png_longjmp(png, 1);
}

static void png_append(png_structp png, png_bytep src, size_t n)
{
    struct png_encoder *w = png_get_io_ptr(png);

    buf_add_bytes(&w->out, src, n);
}

static void png_flush_nothing(png_structp png)
{
    (void)png; /* png_file_write_pixels writes the whole buffer at once */
}

static int encode_png(struct png_encoder *w, const struct pixels *img)
{
    static const int types[] = {[1] = PNG_COLOR_TYPE_GRAY, [2] = PNG_COLOR_TYPE_GRAY_ALPHA,
                                [3] = PNG_COLOR_TYPE_RGB, [4] = PNG_COLOR_TYPE_RGB_ALPHA};
    size_t stride = (size_t)img->width * (size_t)img->channels * (size_t)(img->bits / 8);

    if (setjmp(png_jmpbuf(w->png)))
        return -1;
    png_set_write_fn(w->png, w, png_append, png_flush_nothing);
    png_set_IHDR(w->png, w->info, img->width, img->height, img->bits, types[img->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (size_t y = 0; y < img->height; y++)
        png_write_row(w->png, img->samples + y * stride);
    png_write_end(w->png, NULL);
    return 0;
}

int png_file_write_pixels(const char *path, const struct pixels *img, struct err *e)
{
    struct png_encoder w = {.path = path, .e = e};
    int rc = -1;

    if (img->channels > 4)
        return err_set(e, ERR_DATA, "%s: a PNG has up to 4 channels, not %d",
                       path, img->channels);
    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_write_error, NULL);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info)
        mem_fail(e);
    else
        rc = encode_png(&w, img);
    png_destroy_write_struct(&w.png, &w.info);
    if (rc == 0 && w.out.failed)
        rc = mem_fail(e);
    if (rc == 0)
        rc = atomicfile_write_new(path, w.out.data, w.out.length, 0666, e);
    buf_destroy(&w.out);
    return rc;
}

int png_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                   const uint8_t *samples, struct err *e)
{
    struct pixels img = {.width = width, .height = height, .channels = channels, .bits = 8,
                         .samples = (uint8_t *)(uintptr_t)samples};

    return png_file_write_pixels(path, &img, e);
}
