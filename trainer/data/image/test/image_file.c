/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <math.h>

#include "src/atomicfile.h"
#include "t/tap.h"

#ifdef HAVE_TIFF
#include <tiffio.h>
#endif
#ifdef HAVE_JPEG
#include <jpeglib.h>
#endif

static struct err e;
static struct pixels img;

static void test_sniffing(void)
{
    static const struct {
        const char *bytes, *word;
        size_t n;
    } cases[] = {{"GIF89a", "GIF is not read: convert it to PNG", 6},
                 {"RIFF\1\2\3\4WEBPVP8 ", "WebP is not read", 16},
                 {"\0\0\0\x0cjP  \r\n", "JPEG 2000 is not read", 10},
                 {"\xff\x4f\xff\x51", "JPEG 2000 is not read", 4}, {"", "empty", 0},
                 {"\xff\xd8\xff\xe0", "JPEG", 4}, {"II*\0\x08", "TIFF", 5},
                 {"MM\0*", "TIFF", 4}, {"BM....", "BMP", 6}, {"\x1f\x8b\x08", "gzip", 3},
                 {"version https://git-lfs.github.com/spec/v1\n", "git-LFS", 43},
                 {"\x89PNG\r\n\x1a\n", "PNG", 8},
                 {"\0\0\0\0\0\0\0\0\0\0", "NUL", 10}, {"hello", "not an image", 5}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok(image_file_decode((const uint8_t *)cases[i].bytes, cases[i].n, "dir/x.png", 0,
                             PIXELS_RAW, &img, &e) == -1 &&
               e.code == ERR_DATA && strstr(e.text, cases[i].word) && strstr(e.text, "dir/x.png"),
           "%s", e.text);
}

/* Decodes every prefix of a file, and the file with each bit inverted in turn: each gives an error
 * that names the file, or a picture of consistent size. Exactly `most` prefixes, which contain all
 * of the first picture, are accepted. */
static __attribute__((unused)) void damage(const char *path, size_t most)
{
    size_t n, cut = 0, strange = 0;
    uint8_t *bytes = (uint8_t *)atomicfile_read(path, 1 << 20, &n, &e);

    if (!bytes)
        bail_out("%s", e.text);
    for (size_t k = 0; k < n; k++) {
        cut += image_file_decode(bytes, k, path, 0, PIXELS_PICTURE, &img, &e) == 0;
        pixels_free(&img);
    }
    is_int(cut, most, "%s cut at any of %zu bytes: refused", path, n);
    for (size_t i = 0; i < n * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        if (image_file_decode(bytes, n, path, 0, i % 2 ? PIXELS_RAW : PIXELS_PICTURE, &img, &e))
            strange += e.code != ERR_DATA || !strstr(e.text, path);
        else
            strange += img.nbytes != (size_t)img.width * img.height * (size_t)img.channels *
                                         (size_t)(img.bits / 8);
        pixels_free(&img);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    is_int(strange, 0, "%s with any bit turned: an error that names it, or a picture", path);
    free(bytes);
}

static __attribute__((unused)) bool samples_are(const char *path, enum pixels_mode mode,
                                                int channels, int bits, const uint8_t *want)
{
    if (image_file_read(path, mode, &img, &e)) {
        printf("# %s\n", e.text);
        return false;
    }
    bool same = img.channels == channels && img.bits == bits &&
                memcmp(img.samples, want, img.nbytes) == 0;
    pixels_free(&img);
    return same;
}

#ifdef HAVE_TIFF
/* Sets the fields of a picture of w x h with strips of two rows; the caller may set others. */
static TIFF *tiff_begin(TIFF *tif, uint32_t w, uint32_t h, int bits, int samples, int photometric,
                        int compression)
{
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, w);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, h);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, photometric);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, compression);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 2);
    return tif;
}

static void tiff_rows(TIFF *tif, const void *rows, uint32_t h, size_t stride)
{
    for (uint32_t y = 0; y < h; y++)
        TIFFWriteScanline(tif, (void *)(uintptr_t)((const char *)rows + y * stride), y, 0);
}

static void test_tiff_kinds(void)
{
    const uint8_t rgb[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    uint16_t deep[4] = {0x1234, 0xfffe, 0, 0x00ff};
    uint16_t map[3][4] = {{0, 0x1234, 0xffff, 0}, {0, 0x5678, 0, 0}, {0, 0x9abc, 0, 0xffff}};

    TIFF *t = tiff_begin(TIFFOpen("rgb.tif", "w"), 2, 2, 8, 3, PHOTOMETRIC_RGB, COMPRESSION_LZW);
    tiff_rows(t, rgb, 2, 6);
    TIFFClose(t);
    ok(samples_are("rgb.tif", PIXELS_RAW, 3, 8, rgb), "RGB, LZW");

    t = tiff_begin(TIFFOpen("planes.tif", "w"), 2, 2, 8, 3, PHOTOMETRIC_RGB,
                   COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
    for (uint16_t plane = 0; plane < 3; plane++)
        for (uint32_t y = 0; y < 2; y++)
            TIFFWriteScanline(t, (uint8_t[]){rgb[6 * y + plane], rgb[6 * y + 3 + plane]}, y, plane);
    TIFFClose(t);
    ok(samples_are("planes.tif", PIXELS_RAW, 3, 8, rgb), "separate planes, deflate");

    t = tiff_begin(TIFFOpen("deep.tif", "wb"), 2, 2, 16, 1, PHOTOMETRIC_MINISBLACK,
                   COMPRESSION_NONE);
    tiff_rows(t, deep, 2, 4);
    TIFFClose(t);
    ok(samples_are("deep.tif", PIXELS_PICTURE, 1, 16,
                   (uint8_t[]){0x12, 0x34, 0xff, 0xfe, 0, 0, 0, 0xff}),
                   "16 bits in a big-endian file");

    t = tiff_begin(TIFFOpen("palette.tif", "w"), 3, 1, 2, 1, PHOTOMETRIC_PALETTE, COMPRESSION_NONE);
    TIFFSetField(t, TIFFTAG_COLORMAP, map[0], map[1], map[2]);
    tiff_rows(t, (uint8_t[]){0x6c}, 1, 1); /* three indices of 2 bits: 1, 2, 3 */
    TIFFClose(t);
    ok(samples_are("palette.tif", PIXELS_RAW, 1, 8, (uint8_t[]){1, 2, 3}), "a palette's indices");
    ok(samples_are("palette.tif", PIXELS_PICTURE, 3, 8,
                   (uint8_t[]){0x12, 0x56, 0x9a, 255, 0, 0, 0, 0, 255}), "and its colours");

    t = tiff_begin(TIFFOpen("white.tif", "w"), 9, 1, 1, 1, PHOTOMETRIC_MINISWHITE,
                   COMPRESSION_PACKBITS);
    tiff_rows(t, (uint8_t[]){0xa0, 0x80}, 1, 2);
    TIFFClose(t);
    ok(samples_are("white.tif", PIXELS_RAW, 1, 8, (uint8_t[]){0, 1, 0, 1, 1, 1, 1, 1, 0}),
       "1 bit, white is zero");
    ok(samples_are("white.tif", PIXELS_PICTURE, 1, 8,
                   (uint8_t[]){0, 255, 0, 255, 255, 255, 255, 255, 0}), "as a picture: 0 and 255");

    t = tiff_begin(TIFFOpen("alpha.tif", "w"), 2, 1, 8, 2, PHOTOMETRIC_MINISBLACK,
                   COMPRESSION_NONE);
    TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, (uint16_t[]){EXTRASAMPLE_UNASSALPHA});
    tiff_rows(t, rgb, 1, 4);
    TIFFClose(t);
    ok(samples_are("alpha.tif", PIXELS_RAW, 2, 8, rgb), "grey and alpha");
}

static void test_tiff_layouts(void)
{
    static uint8_t tile[16 * 16], want[20 * 18];
    uint32_t width = 0, height = 0;

    TIFF *t = tiff_begin(TIFFOpen("tiles.tif", "w"), 20, 18, 8, 1, PHOTOMETRIC_MINISBLACK,
                         COMPRESSION_LZW);
    TIFFSetField(t, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
    for (uint32_t i = 0; i < 20 * 18; i++)
        want[i] = (uint8_t)(i * 7 % 251);
    for (uint32_t y = 0; y < 18; y += 16)
        for (uint32_t x = 0; x < 20; x += 16) {
            for (uint32_t i = 0; i < 256; i++)
                tile[i] = x + i % 16 < 20 && y + i / 16 < 18
                              ? want[(y + i / 16) * 20 + x + i % 16] : 99;
            TIFFWriteTile(t, tile, x, y, 0, 0);
        }
    TIFFClose(t);
    ok(samples_are("tiles.tif", PIXELS_RAW, 1, 8, want), "tiles, those at the edge cut");
    ok(image_file_size("tiles.tif", &width, &height, &e) == 0 && width == 20 && height == 18,
       "the size alone");
    t = tiff_begin(TIFFOpen("sparse.tif", "w"), 20, 18, 8, 1, PHOTOMETRIC_MINISBLACK,
                   COMPRESSION_NONE);
    tiff_rows(t, want, 16, 20);
    TIFFClose(t);
    ok(image_file_read("sparse.tif", PIXELS_PICTURE, &img, &e) == -1 &&
           strstr(e.text, "has strips or tiles without data"),
           "the last strip left out: %s", e.text);

    t = TIFFOpen("pages.tif", "w");
    for (uint8_t page = 0; page < 3; page++) {
        tiff_begin(t, 2, 1, 8, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_NONE);
        tiff_rows(t, (uint8_t[]){page, 7}, 1, 2);
        TIFFWriteDirectory(t);
    }
    TIFFClose(t);
    ok(image_file_read("pages.tif", PIXELS_RAW, &img, &e) == 0 && img.pages == 3 &&
           img.samples[0] == 0 && strstr(img.warning, "3 pages"), "pages: %s", img.warning);
    pixels_free(&img);
    size_t n;
    uint8_t *bytes = (uint8_t *)atomicfile_read("pages.tif", 1 << 20, &n, &e);
    ok(image_file_decode(bytes, n, "pages.tif", 2, PIXELS_RAW, &img, &e) == 0 &&
           img.samples[0] == 2, "the third of them");
    pixels_free(&img);
    ok(image_file_decode(bytes, n, "pages.tif", 3, PIXELS_RAW, &img, &e) == -1, "%s", e.text);
    free(bytes);

}

/* Writes a row of n samples of a type, and decodes it. Returns its samples, or "" with e set. */
static const char *decode_row(int bits, int format, const void *row, uint32_t n,
                              enum pixels_mode mode, const char *open)
{
    static char text[256];

    TIFF *t = tiff_begin(TIFFOpen("row.tif", open), n, 1, bits, 1, PHOTOMETRIC_MINISBLACK,
                         COMPRESSION_LZW);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, format);
    tiff_rows(t, row, 1, 0);
    TIFFClose(t);
    text[0] = 0;
    if (image_file_read("row.tif", mode, &img, &e))
        return text;
    snprintf(text, sizeof text, "%d:", img.bits);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %u", pixels_sample(&img, i));
    pixels_free(&img);
    return text;
}

static void test_tiff_types(void)
{
    enum { UINT = SAMPLEFORMAT_UINT, INT = SAMPLEFORMAT_INT, REAL = SAMPLEFORMAT_IEEEFP };
    const uint8_t twelve[] = {0x12, 0x3f, 0xff}, three[] = {0x2f};
    const float share[] = {0, 0.5f, 1}, wide[] = {-1, 0, 3}, labels[] = {0, 1, 255};
    const float nan[] = {0, NAN, 1};
    const double deep[] = {0, 300, 65535}, half[] = {0, 0.5, 1};
    const int32_t whole[] = {0, 7, 65535}, negative[] = {-5, 0, 5};
    const uint32_t big[] = {0, 70000, 140000};
    const int16_t ct[] = {-1000, 0, 1000};
    const int8_t small[] = {-1, 0, 1};
    static const struct {
        int bits, format;
        enum pixels_mode mode;
        const char *want;
        size_t row;
    } cases[] = {
        {12, UINT, PIXELS_RAW, "16: 291 4095", 0},
        {12, UINT, PIXELS_PICTURE, "16: 4657 65535", 0},
        {3, UINT, PIXELS_PICTURE, "8: 36 109", 1},
        {32, REAL, PIXELS_PICTURE, "16: 0 32768 65535", 2},
        {32, REAL, PIXELS_PICTURE, "16: 0 16384 65535", 3},
        {32, REAL, PIXELS_RAW, "8: 0 1 255", 4},
        {64, REAL, PIXELS_RAW, "16: 0 300 65535", 5},
        {32, INT, PIXELS_PICTURE, "16: 0 7 65535", 6},
        {32, INT, PIXELS_PICTURE, "16: 0 32768 65535", 7},
        {32, UINT, PIXELS_PICTURE, "16: 0 32768 65535", 8},
        {16, INT, PIXELS_PICTURE, "16: 0 32768 65535", 9},
        {8, INT, PIXELS_PICTURE, "16: 0 32768 65535", 10},
        {32, UINT, PIXELS_RAW, "", 8},
        {64, REAL, PIXELS_RAW, "", 11},
        {32, INT, PIXELS_RAW, "", 7},
        {32, REAL, PIXELS_PICTURE, "", 12}};
    const void *rows[] = {twelve, three, share, wide, labels, deep, whole, negative, big, ct, small,
                          half, nan};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int big_endian = 0; big_endian < 2; big_endian++) {
            const char *got = decode_row(cases[i].bits, cases[i].format, rows[cases[i].row],
                                         cases[i].row < 2 ? 2 : 3, cases[i].mode,
                                         big_endian ? "wb8" : "wl");
            is_str(got, cases[i].want, "type %d of %d bits%s%s", cases[i].format, cases[i].bits,
                   big_endian ? ", BigTIFF, big-endian" : "", *got ? "" : e.text);
        }
    TIFF *t = tiff_begin(TIFFOpen("huge.tif", "w"), 16384, 16384, 64, 1, PHOTOMETRIC_MINISBLACK,
                         COMPRESSION_LZW);
    static const double zeros[16384];
    tiff_rows(t, zeros, 2, 0);
    TIFFClose(t);
    ok(image_file_read("huge.tif", PIXELS_PICTURE, &img, &e) == -1 &&
           strstr(e.text, "need 2147483648 bytes, more than the limit of 1073741824"), "%s",
       e.text);
    decode_row(32, UINT, big, 3, PIXELS_RAW, "w");
    ok(strstr(e.text, "row.tif: holds 140000; masks hold whole numbers from 0 to 65535: renumber"),
       "%s", e.text);
    decode_row(16, REAL, big, 3, PIXELS_RAW, "w");
    ok(strstr(e.text, "bits per sample: 16"), "half floats: %s", e.text);
}

static void test_tiff_bands(void)
{
    uint8_t rows[64] = {0};

    for (int n = 1; n <= 65; n++) {
        uint16_t extra[64] = {0};
        TIFF *t = tiff_begin(TIFFOpen("bands.tif", "w"), 1, 1, 8, n, PHOTOMETRIC_MINISBLACK,
                             COMPRESSION_NONE);
        if (n > 1)
            TIFFSetField(t, TIFFTAG_EXTRASAMPLES, n - 1, extra);
        for (int i = 0; i < n && i < 64; i++)
            rows[i] = (uint8_t)i;
        tiff_rows(t, rows, 1, 0);
        TIFFClose(t);
        int rc = image_file_read("bands.tif", PIXELS_PICTURE, &img, &e);
        if (n <= 64 ? rc || img.channels != n || memcmp(img.samples, rows, (size_t)n) != 0 ||
                          !(img.flags & PIXELS_BAND) != (n != 2 && n != 4)
                    : rc == 0)
            ok(false, "%d bands: %s", n, rc ? e.text : "other samples");
        if (rc == 0)
            pixels_free(&img);
    }
    ok(strstr(e.text, "samples per pixel: 65"), "1 to 64 bands; %s", e.text);
}

/* Reads a TIFF of n pages, of which page i has the kind kinds[i] and the sample i, and returns the
 * flags. */
static unsigned flags_of(const uint32_t *kinds, uint8_t n, const char *description, int orientation)
{
    TIFF *t = TIFFOpen("flags.tif", "w");

    for (uint8_t i = 0; i < n; i++) {
        tiff_begin(t, 1, 1, 8, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_NONE);
        if (kinds[i])
            TIFFSetField(t, TIFFTAG_SUBFILETYPE, kinds[i]);
        if (description)
            TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, description);
        if (orientation)
            TIFFSetField(t, TIFFTAG_ORIENTATION, orientation);
        tiff_rows(t, &i, 1, 1);
        TIFFWriteDirectory(t);
    }
    TIFFClose(t);
    if (image_file_read("flags.tif", PIXELS_RAW, &img, &e))
        bail_out("%s", e.text);
    uint8_t sample = img.samples[0];
    pixels_free(&img);
    img.samples = NULL;
    img.source_bits = sample; /* the caller compares it */
    return img.flags;
}

static void test_flags(void)
{
    size_t n;

    is_int(flags_of((uint32_t[]){0, FILETYPE_REDUCEDIMAGE, FILETYPE_REDUCEDIMAGE}, 3, NULL, 0),
           PIXELS_OVERVIEWS, "overviews are flagged");
    ok(img.pages == 1 && img.source_bits == 0, "and are not pages");
    is_int(flags_of((uint32_t[]){FILETYPE_REDUCEDIMAGE, 0, FILETYPE_MASK, 0}, 4, NULL, 0),
           PIXELS_OVERVIEWS, "also before the picture");
    ok(img.pages == 2 && img.source_bits == 1, "the first picture is the first page");
    uint8_t *bytes = (uint8_t *)atomicfile_read("flags.tif", 1 << 20, &n, &e);
    ok(image_file_decode(bytes, n, "flags.tif", 1, PIXELS_RAW, &img, &e) == 0 &&
           img.samples[0] == 3, "the second is the second");
    pixels_free(&img);
    ok(image_file_decode(bytes, n, "flags.tif", 2, PIXELS_RAW, &img, &e) == -1 &&
           strstr(e.text, "has no page 3, only 2"), "%s", e.text);
    free(bytes);
    is_int(flags_of((uint32_t[]){FILETYPE_REDUCEDIMAGE}, 1, NULL, 0), 0,
           "a reduced copy alone is a picture");
    is_int(flags_of((uint32_t[]){0}, 1, "ImageJ=1.53\nimages=30\nslices=30\n", 0), PIXELS_STACK,
           "a stack of ImageJ in one directory");
    is_int(flags_of((uint32_t[]){0, 0}, 2, "ImageJ=1.53\nimages=2\n", 0), 0,
           "a stack of ImageJ with a directory for each picture");
    is_int(flags_of((uint32_t[]){0}, 1, NULL, 6), PIXELS_ORIENTED, "an orientation");
    is_int(img.orientation, 6, "has its number");
    ok(image_file_read("white.tif", PIXELS_RAW, &img, &e) == 0 && img.flags == PIXELS_WHITE_ZERO,
       "white is zero");
    pixels_free(&img);
    ok(image_file_read("alpha.tif", PIXELS_RAW, &img, &e) == 0 && img.flags == PIXELS_ALPHA,
       "alpha that is not the same everywhere");
    pixels_free(&img);
}

/* A tile of 64 MiB for a picture of one pixel: LZW makes it short. */
static void test_tiff_tile_bomb(void)
{
    TIFF *t = tiff_begin(TIFFOpen("tile.tif", "w"), 1, 1, 8, 1, PHOTOMETRIC_MINISBLACK,
                         COMPRESSION_LZW);
    uint8_t *tile = calloc(8192, 8192);

    TIFFSetField(t, TIFFTAG_TILEWIDTH, 8192);
    TIFFSetField(t, TIFFTAG_TILELENGTH, 8192);
    if (!tile || TIFFWriteEncodedTile(t, 0, tile, 8192 * 8192) < 0)
        bail_out("no tile");
    TIFFClose(t);
    free(tile);
    ok(image_file_read("tile.tif", PIXELS_RAW, &img, &e) == -1 &&
           strstr(e.text, "a strip or tile of 67108864 bytes for 1 x 1 pixels"),
       "%s", e.text);
}

/* Tiles without compression that all point at the same bytes of the file claim a picture far larger
 * than the file. */
static void test_tiff_bomb(void)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/t/fuzz/corpus/image/tiff-tiles-share-bytes",
             getenv("srcdir") ? getenv("srcdir") : ".");
    ok(image_file_read(path, PIXELS_RAW, &img, &e) == -1 &&
           strstr(e.text, "claims 65535 x 46 pixels, more than its 402 bytes can hold"),
       "%s", e.text);
}
#endif

#ifdef HAVE_JPEG
/* orientation: in EXIF, or 0 for none. */
static void write_jpeg(const char *path, int components, J_COLOR_SPACE space, bool progressive,
                       uint8_t orientation)
{
    uint8_t exif[] = "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0";

    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    static uint8_t row[4 * 16];
    JSAMPROW rows = row;
    FILE *f = fopen(path, "wb");

    memset(row, 100, sizeof row);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = c.image_height = 16;
    c.input_components = components;
    c.in_color_space = space;
    jpeg_set_defaults(&c);
    if (progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    exif[sizeof exif - 4] = orientation;
    if (orientation)
        jpeg_write_marker(&c, JPEG_APP0 + 1, exif, sizeof exif - 1);
    while (c.next_scanline < 16)
        jpeg_write_scanlines(&c, &rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    fclose(f);
}

static void test_jpeg(void)
{
    static uint8_t want[16 * 16 * 3];
    uint32_t width = 0, height = 0;

    memset(want, 100, sizeof want);
    write_jpeg("grey.jpg", 1, JCS_GRAYSCALE, false, 0);
    write_jpeg("rgb.jpg", 3, JCS_RGB, true, 8);
    write_jpeg("cmyk.jpg", 4, JCS_CMYK, false, 0);
    ok(samples_are("grey.jpg", PIXELS_PICTURE, 1, 8, want), "grey JPEG");
    ok(samples_are("rgb.jpg", PIXELS_PICTURE, 3, 8, want), "progressive RGB JPEG");
    ok(image_file_read("rgb.jpg", PIXELS_RAW, &img, &e) == 0 && img.orientation == 8 &&
           img.flags == PIXELS_ORIENTED, "a JPEG's orientation");
    pixels_free(&img);
    ok(image_file_size("rgb.jpg", &width, &height, &e) == 0 && width == 16 && height == 16,
       "the size alone");
    ok(image_file_read("cmyk.jpg", PIXELS_PICTURE, &img, &e) == -1 && strstr(e.text, "CMYK"), "%s",
       e.text);
}
#endif

int main(void)
{
    char dir[] = "/tmp/unetctl-image.XXXXXX", command[64];

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    test_sniffing();
#ifdef HAVE_TIFF
    TIFFSetWarningHandler(NULL);
    test_tiff_kinds();
    test_tiff_layouts();
    test_tiff_types();
    test_tiff_bands();
    test_flags();
    test_tiff_tile_bomb();
    test_tiff_bomb();
    damage("rgb.tif", 0);
    damage("tiles.tif", 0);
    damage("pages.tif", 12); /* libtiff takes a truncated link to the next page for the last one */
#else
    tap_skip(1, "built without libtiff");
#endif
#ifdef HAVE_JPEG
    test_jpeg();
    damage("grey.jpg", 0);
    damage("rgb.jpg", 0);
#else
    tap_skip(1, "built without libjpeg");
#endif
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return done_testing() + (system(command) != 0);
}
