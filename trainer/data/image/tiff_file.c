/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <sys/param.h>
#include <tiffio.h>

#include "src/atomicfile.h"

#define MAX_PAGES 10000               /* a file with more directories has a loop or is malicious */
#define MAX_ALLOC ((tmsize_t)1 << 30) /* of one allocation inside libtiff */
/* The most that a byte of a strip can expand to: LZW expands 12 bits to 4 KiB, fax codes expand one
 * bit to a row. A file whose header claims more is refused before memory is allocated. */
#define MAX_RATIO 65536u
#define MAX_PADDING ((tmsize_t)16 << 20) /* by so much a strip or tile may exceed the samples */

struct tiff_reader {
    const uint8_t *bytes;
    size_t nbytes, at;
    const char *name;
    struct err *e;
    bool failed; /* libtiff has reported an error, which is in *e */
    char *warning;
    size_t warning_size;
};

/* The fields of one TIFF directory, which describes one picture. */
struct tiff_layout {
    uint32_t width, height;
    uint16_t bits, samples, format, photometric, planar, compression;
    bool palette, tiled;
    bool wide; /* samples are held as pixels.h says */
    uint16_t *red, *green, *blue;
};

/* Where the samples of a page go. */
struct tiff_sink {
    struct pixels *img;
    bool picture;
    struct levels *levels; /* of wide samples */
    bool measure;          /* they are only added to levels */
};

static tmsize_t tiff_read(thandle_t handle, void *dst, tmsize_t n)
{
    struct tiff_reader *r = handle;
    size_t left = r->nbytes - r->at, want = n < 0 ? 0 : (size_t)n;

    if (want > left)
        want = left;
    memcpy(dst, r->bytes + r->at, want);
    r->at += want;
    return (tmsize_t)want;
}

static tmsize_t tiff_write(thandle_t handle, void *src, tmsize_t n)
{
    return 0;
}

static toff_t tiff_seek(thandle_t handle, toff_t offset, int whence)
{
    struct tiff_reader *r = handle;
    uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? r->at : r->nbytes, at;

    if (__builtin_add_overflow(base, (uint64_t)offset, &at) || at > r->nbytes)
        return (toff_t)-1;
    r->at = (size_t)at;
    return (toff_t)at;
}

static int tiff_close(thandle_t handle)
{
    return 0;
}

static toff_t tiff_nbytes(thandle_t handle)
{
    return ((struct tiff_reader *)handle)->nbytes;
}

__attribute__((format(printf, 4, 0))) static int
record_error(TIFF *tif, void *arg, const char *module, const char *fmt, va_list ap)
{
    struct tiff_reader *r = arg;
    char text[256];

    vsnprintf(text, sizeof text, fmt, ap);
    bool sound = strstr(text, "not configured") || strstr(text, "not implemented");
    if (!r->failed && sound)
        err_set(r->e, ERR_DATA, "%s: a TIFF of a kind that is not read (%s): convert it to PNG",
                r->name, text);
    else if (!r->failed)
        err_set(r->e, ERR_DATA, "%s: damaged TIFF: %s", r->name, text);
    r->failed = true;
    return 1;
}

__attribute__((format(printf, 4, 0))) static int
record_warning(TIFF *tif, void *arg, const char *module, const char *fmt, va_list ap)
{
    struct tiff_reader *r = arg;

    if (r->warning && !r->warning[0])
        vsnprintf(r->warning, r->warning_size, fmt, ap);
    return 1;
}

static TIFF *open_tiff(struct tiff_reader *r)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    TIFF *tif = NULL;

    if (options) {
        TIFFOpenOptionsSetErrorHandlerExtR(options, record_error, r);
        TIFFOpenOptionsSetWarningHandlerExtR(options, record_warning, r);
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_ALLOC);
        /* "m": without a map function libtiff reads strips by tiff_read. */
        tif = TIFFClientOpenExt(r->name, "rm", r, tiff_read, tiff_write, tiff_seek, tiff_close,
                                tiff_nbytes, NULL, NULL, options);
        TIFFOpenOptionsFree(options);
    }
    if (!tif && !r->failed)
        err_set(r->e, ERR_DATA, "%s: damaged TIFF: cannot be opened", r->name);
    return tif;
}

static int refuse_field(const struct tiff_reader *r, const char *what, unsigned value)
{
    return err_set(r->e, ERR_DATA, "%s: this TIFF has %s %u, which is not supported: convert it to PNG",
                   r->name, what, value);
}

static int check_colours(TIFF *tif, const struct tiff_reader *r, struct tiff_layout *l)
{
    unsigned colours = l->photometric == PHOTOMETRIC_RGB || l->photometric == PHOTOMETRIC_YCBCR
                           ? 3 : 1;

    if (l->photometric == PHOTOMETRIC_YCBCR) {
        if (l->compression != COMPRESSION_JPEG)
            return refuse_field(r, "YCbCr colours in compression", l->compression);
        TIFFSetField(tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    } else if (l->photometric == PHOTOMETRIC_PALETTE) {
        if (!TIFFGetField(tif, TIFFTAG_COLORMAP, &l->red, &l->green, &l->blue) || l->bits > 8)
            return err_set(r->e, ERR_DATA, "%s: damaged TIFF: no palette", r->name);
        l->palette = true;
    } else if (l->photometric != PHOTOMETRIC_MINISBLACK &&
               l->photometric != PHOTOMETRIC_MINISWHITE && l->photometric != PHOTOMETRIC_RGB)
        return refuse_field(r, "photometric interpretation", l->photometric);
    if (l->samples < colours || l->samples + (l->palette ? 2 : 0) > PIXELS_MAX_CHANNELS)
        return refuse_field(r, "samples per pixel:", l->samples);
    return 0;
}

/* Sets l->wide, and refuses types of samples that are not supported. */
static int check_type(const struct tiff_reader *r, struct tiff_layout *l)
{
    bool whole = l->bits == 8 || l->bits == 16 || l->bits == 32 || l->bits == 64;

    switch (l->format) {
    case SAMPLEFORMAT_UINT: case SAMPLEFORMAT_VOID: l->wide = l->bits > 16; break;
    case SAMPLEFORMAT_INT: l->wide = true; break;
    case SAMPLEFORMAT_IEEEFP:
        l->wide = true;
        whole = l->bits >= 32 && whole;
        break;
    default: return refuse_field(r, "sample format", l->format);
    }
    if (l->bits == 0 || (l->wide && !whole))
        return refuse_field(r, "bits per sample:", l->bits);
    if (l->wide && l->photometric != PHOTOMETRIC_MINISBLACK && l->photometric != PHOTOMETRIC_RGB)
        return refuse_field(r, "signed, 32-bit or float samples and photometric interpretation",
                            l->photometric);
    return 0;
}

static int read_layout(TIFF *tif, const struct tiff_reader *r, struct tiff_layout *l)
{
    memset(l, 0, sizeof *l);
    TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &l->width);
    TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &l->height);
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &l->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &l->format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &l->planar);
    TIFFGetFieldDefaulted(tif, TIFFTAG_COMPRESSION, &l->compression);
    if (!TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &l->photometric))
        l->photometric = PHOTOMETRIC_MINISBLACK;
    l->tiled = TIFFIsTiled(tif) != 0;
    if (pixels_check_size(l->width, l->height, r->name, r->e))
        return -1;
    if (check_type(r, l) || check_colours(tif, r, l))
        return -1;
    double packed = (double)l->width * l->height * l->samples * l->bits / 8;
    if (packed > (double)PIXELS_MAX_BYTES)
        return err_set(r->e, ERR_DATA, "%s: %u x %u pixels of %d x %d bits need %.0f bytes, more "
                       "than the limit of %llu", r->name, l->width, l->height, l->samples, l->bits,
                       packed, (unsigned long long)PIXELS_MAX_BYTES);
    if (packed > (double)r->nbytes * (l->compression == COMPRESSION_NONE ? 1 : MAX_RATIO))
        return err_set(r->e, ERR_DATA, "%s: damaged TIFF: claims %u x %u pixels, more than its %zu "
                       "bytes can hold", r->name, l->width, l->height, r->nbytes);
    return 0;
}

/* Returns sample i of a row in which samples of 1 to 16 bits are packed, highest bits first. */
static unsigned unpack(const uint8_t *row, size_t i, unsigned bits)
{
    uint16_t deep;
    unsigned v = 0;

    if (bits == 8)
        return row[i];
    if (bits == 16) {
        memcpy(&deep, row + 2 * i, 2); /* already in the machine's byte order */
        return deep;
    }
    for (size_t at = i * bits; at < (i + 1) * bits; at++)
        v = v << 1 | (row[at / 8] >> (7 - at % 8) & 1u);
    return v;
}

/* Returns wide sample i of a row, in the machine's byte order. */
static double unpack_wide(const uint8_t *row, size_t i, const struct tiff_layout *l)
{
    union {
        uint8_t bytes[8];
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    bool has_sign = l->format == SAMPLEFORMAT_INT;

    memcpy(v.bytes, row + i * (l->bits / 8), l->bits / 8);
    if (l->format == SAMPLEFORMAT_IEEEFP)
        return l->bits == 32 ? (double)v.f32 : v.f64;
    switch (l->bits) {
    case 8: return v.i8;
    case 16: return v.i16;
    case 32: return has_sign ? (double)v.i32 : (double)v.u32;
    default: return has_sign ? (double)v.i64 : (double)v.u64;
    }
}

/* Stores one sample of the file. dst: index of the pixel's first sample in img; channel: of the
 * file. */
static void store_sample(struct pixels *img, const struct tiff_layout *l, bool picture, size_t dst,
                         unsigned channel, unsigned v)
{
    unsigned full = (1u << l->bits) - 1;

    if (l->palette && picture && channel == 0) {
        pixels_set(img, dst, l->red[v] >> 8);
        pixels_set(img, dst + 1, l->green[v] >> 8);
        pixels_set(img, dst + 2, l->blue[v] >> 8);
        return;
    }
    if (l->palette && picture)
        channel += 2; /* alpha follows the three colours of the palette */
    if (l->photometric == PHOTOMETRIC_MINISWHITE && channel == 0)
        v = full - v;
    if (picture && !l->palette && l->bits != 8 && l->bits != 16)
        v = v * (img->bits == 16 ? 65535 : 255) / full;
    pixels_set(img, dst + channel, v);
}

struct block {
    uint32_t x, y, width, height; /* its part inside the picture, in pixels */
    size_t row_bytes;             /* length of a row in the block's buffer */
    int plane;                    /* the plane it holds, or -1 for interleaved samples */
};

static void copy_wide(const struct tiff_sink *sink, size_t dst, double v)
{
    if (sink->measure)
        levels_add(sink->levels, v);
    else
        pixels_set(sink->img, dst, levels_sample(sink->levels, v));
}

static void copy_block(const struct tiff_sink *sink, const struct tiff_layout *l,
                       const struct block *b, const uint8_t *bytes)
{
    struct pixels *img = sink->img;
    unsigned nsamples = b->plane < 0 ? l->samples : 1;
    unsigned first = b->plane < 0 ? 0 : (unsigned)b->plane;

    for (uint32_t y = 0; y < b->height; y++) {
        const uint8_t *row = bytes + y * b->row_bytes;
        size_t dst = ((size_t)(b->y + y) * img->width + b->x) * (size_t)img->channels;
        for (uint32_t x = 0; x < b->width; x++, dst += (size_t)img->channels)
            for (unsigned s = 0; s < nsamples; s++) {
                size_t i = (size_t)x * nsamples + s;
                if (l->wide)
                    copy_wide(sink, dst + first + s, unpack_wide(row, i, l));
                else
                    store_sample(img, l, sink->picture, dst, first + s, unpack(row, i, l->bits));
            }
    }
}

/* Sets the shape of a tile or strip and its decoded size; -1 if any of them is 0. */
static int shape_of_block(TIFF *tif, const struct tiff_layout *l, uint32_t *width, uint32_t *height,
                          tmsize_t *nbytes)
{
    *width = l->width;
    *height = l->height;
    if (l->tiled) {
        if (!TIFFGetField(tif, TIFFTAG_TILEWIDTH, width) ||
            !TIFFGetField(tif, TIFFTAG_TILELENGTH, height))
            return -1;
        *nbytes = TIFFTileSize(tif);
    } else {
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, height);
        if (*height > l->height)
            *height = l->height;
        *nbytes = TIFFStripSize(tif);
    }
    return *width && *height && *nbytes > 0 ? 0 : -1;
}

static tmsize_t read_block(TIFF *tif, const struct tiff_layout *l, struct block *b, uint8_t *dst,
                           tmsize_t nbytes)
{
    uint16_t plane = b->plane < 0 ? 0 : (uint16_t)b->plane;

    if (l->tiled)
        return TIFFReadEncodedTile(tif, TIFFComputeTile(tif, b->x, b->y, 0, plane), dst, nbytes);
    return TIFFReadEncodedStrip(tif, TIFFComputeStrip(tif, b->y, plane), dst, nbytes);
}

static int read_plane(TIFF *tif, const struct tiff_reader *r, const struct tiff_layout *l,
                      const struct tiff_sink *sink, int plane)
{
    uint32_t width, height;
    tmsize_t nbytes, row_bytes = l->tiled ? TIFFTileRowSize(tif) : TIFFScanlineSize(tif);
    tmsize_t most = (tmsize_t)l->width * l->height * l->samples * ((l->bits + 7) / 8);

    if (shape_of_block(tif, l, &width, &height, &nbytes) || row_bytes <= 0 ||
        nbytes / row_bytes < (tmsize_t)height)
        return err_set(r->e, ERR_DATA, "%s: damaged TIFF: strips or tiles of no size", r->name);
    if (nbytes > most + MAX_PADDING)
        return err_set(r->e, ERR_DATA, "%s: damaged TIFF: a strip or tile of %lld bytes for %u x %u pixels",
                       r->name, (long long)nbytes, l->width, l->height);
    uint8_t *bytes = calloc(1, (size_t)nbytes);
    if (!bytes)
        return err_set(r->e, ERR_DATA, "%s: no memory for a strip of %lld bytes", r->name,
                       (long long)nbytes);
    int rc = 0;
    for (uint32_t y = 0; rc == 0 && y < l->height; y += height)
        for (uint32_t x = 0; rc == 0 && x < l->width; x += width) {
            struct block b = {x, y, MIN(width, l->width - x), MIN(height, l->height - y),
                              (size_t)row_bytes, plane};
            tmsize_t got = read_block(tif, l, &b, bytes, nbytes);
            if (r->failed || got < row_bytes * (tmsize_t)b.height)
                rc = r->failed ? -1 : err_set(r->e, ERR_DATA, "%s: damaged TIFF: ends early",
                                              r->name);
            else
                copy_block(sink, l, &b, bytes);
        }
    free(bytes);
    return rc;
}

static int read_planes(TIFF *tif, const struct tiff_reader *r, const struct tiff_layout *l,
                       const struct tiff_sink *sink)
{
    uint32_t n = l->tiled ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif);

    while (n > 0) /* libtiff would read the header of the file as the block's samples */
        if (!TIFFGetStrileOffset(tif, --n))
            return err_set(r->e, ERR_DATA, "%s: has strips or tiles without data (GDAL's "
                           "SPARSE_OK): write it in full, as gdal_translate does", r->name);
    if (l->planar != PLANARCONFIG_SEPARATE || l->samples == 1)
        return read_plane(tif, r, l, sink, -1);
    for (int plane = 0; plane < l->samples; plane++)
        if (read_plane(tif, r, l, sink, plane))
            return -1;
    return 0;
}

static long count_stack(TIFF *tif)
{
    const char *text = NULL, *images;

    if (!TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text) || strncmp(text, "ImageJ=", 7) != 0 ||
        !(images = strstr(text, "\nimages=")))
        return 1;
    return strtol(images + 8, NULL, 10);
}

static void read_flags(TIFF *tif, const struct tiff_layout *l, struct pixels *img)
{
    uint16_t orientation = 1, nextra = 0, *extra = NULL;
    bool even = img->channels == 2 || img->channels == 4;

    TIFFGetField(tif, TIFFTAG_ORIENTATION, &orientation);
    TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &nextra, &extra);
    if (orientation >= 2 && orientation <= 8)
        img->orientation = orientation;
    if (l->photometric == PHOTOMETRIC_MINISWHITE)
        img->flags |= PIXELS_WHITE_ZERO;
    if (even && (nextra == 0 || extra[nextra - 1] == EXTRASAMPLE_UNSPECIFIED))
        img->flags |= PIXELS_BAND;
    if (count_stack(tif) > img->pages)
        img->flags |= PIXELS_STACK;
}

static int read_page(TIFF *tif, const struct tiff_reader *r, enum pixels_mode mode,
                     struct pixels *img)
{
    bool picture = mode == PIXELS_PICTURE;
    struct tiff_layout l;

    if (read_layout(tif, r, &l))
        return -1;
    img->width = l.width;
    img->height = l.height;
    if (mode == PIXELS_SIZE)
        return 0;
    img->source_bits = l.bits;
    if (pixels_allocate(img, r->name, l.palette && picture ? l.samples + 2 : l.samples,
                        l.wide || l.bits > 8 ? 16 : 8, r->e))
        return -1;
    read_flags(tif, &l, img);
    struct levels levels = levels_begin(l.format == SAMPLEFORMAT_IEEEFP);
    struct tiff_sink sink = {img, picture, &levels, l.wide};
    if (l.wide && (read_planes(tif, r, &l, &sink) || levels_choose(&levels, r->name, mode, img,
                                                                  r->e)))
        return -1;
    sink.measure = false;
    return read_planes(tif, r, &l, &sink);
}

static bool is_aside(TIFF *tif)
{
    uint32_t kind = 0;

    TIFFGetField(tif, TIFFTAG_SUBFILETYPE, &kind);
    return (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0;
}

/* Returns the directory of a page, or -1, and sets img->pages to their number. Directories that are
 * aside do not count, unless there are no others. A damaged directory, or more than MAX_PAGES, make
 * the file an error. */
static int find_page(TIFF *tif, const struct tiff_reader *r, int page, struct pixels *img)
{
    int n = 0, pages = 0, found = page == 0 ? 0 : -1;

    do {
        bool counts = !is_aside(tif);
        if (counts && pages == page)
            found = n;
        pages += counts;
        n++;
    } while (n <= MAX_PAGES && TIFFReadDirectory(tif));
    if (r->failed)
        return -1;
    if (n > MAX_PAGES)
        return err_set(r->e, ERR_DATA, "%s: damaged TIFF: more than %d pages", r->name, MAX_PAGES);
    img->pages = pages ? pages : 1;
    if (n > img->pages)
        img->flags |= PIXELS_OVERVIEWS;
    return found >= 0 ? found : err_set(r->e, ERR_DATA, "%s: has no page %d, only %d", r->name,
                                        page + 1, img->pages);
}

int tiff_file_decode(const uint8_t *bytes, size_t nbytes, const char *name, int page,
                     enum pixels_mode mode, struct pixels *img, struct err *e)
{
    struct tiff_reader r = {.bytes = bytes, .nbytes = nbytes, .name = name, .e = e,
                       .warning = img->warning, .warning_size = sizeof img->warning};
    int rc = -1;

    memset(img, 0, sizeof *img);
    TIFF *tif = open_tiff(&r);
    if (!tif)
        return -1;
    int directory = find_page(tif, &r, page, img);
    if (directory >= 0 && TIFFSetDirectory(tif, (tdir_t)directory) && !r.failed)
        rc = read_page(tif, &r, mode, img);
    else if (directory >= 0 && !r.failed)
        err_set(e, ERR_DATA, "%s: damaged TIFF: page %d cannot be read", name, page + 1);
    TIFFClose(tif);
    if (rc)
        pixels_free(img);
    return rc;
}

static int write_scanlines(TIFF *tif, uint32_t height, size_t row, const unsigned char *data)
{
    for (uint32_t y = 0; y < height; y++)
        if (TIFFWriteScanline(tif, (void *)(uintptr_t)(data + y * row), y, 0) < 0)
            return -1;
    return TIFFFlush(tif) == 1 ? 0 : -1;
}

static void set_fields(TIFF *tif, uint32_t width, uint32_t height, int channels, bool floats)
{
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, floats ? 32 : 8);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, floats ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(tif, 0));
    if (channels > 1) {
        uint16_t extra[256] = {0};
        TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, channels - 1, extra);
    }
}

int tiff_file_write(const char *path, uint32_t width, uint32_t height, int channels,
                    const uint8_t *samples, const float *numbers, struct err *e)
{
    size_t row = (size_t)width * (size_t)channels * (numbers ? sizeof *numbers : 1);

    struct atomicfile *a = atomicfile_create(path, 0666, e);
    if (!a)
        return -1;
    int fd = dup(fileno(atomicfile_stream(a)));
    TIFFSetErrorHandler(NULL);
    TIFF *tif = fd < 0 ? NULL : TIFFFdOpen(fd, path, "w");
    errno = EIO;
    if (tif)
        set_fields(tif, width, height, channels, numbers != NULL);
    int rc = tif ? write_scanlines(tif, height, row,
                                   numbers ? (const void *)numbers : (const void *)samples)
                 : -1;
    if (tif)
        TIFFClose(tif);
    else if (fd >= 0)
        close(fd);
    if (rc == 0)
        return atomicfile_commit(a, e);
    err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
    atomicfile_abort(a);
    return -1;
}
