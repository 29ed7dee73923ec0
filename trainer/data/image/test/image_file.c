/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/image_file.h"

#include <unistd.h>

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
    } cases[] = {{"", "empty", 0}, {"\xff\xd8\xff\xe0", "JPEG", 4}, {"II*\0\x08", "TIFF", 5},
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

    t = tiff_begin(TIFFOpen("float.tif", "w"), 1, 1, 32, 1, PHOTOMETRIC_MINISBLACK,
                   COMPRESSION_NONE);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    tiff_rows(t, (float[]){1}, 1, 4);
    TIFFClose(t);
    ok(image_file_read("float.tif", PIXELS_RAW, &img, &e) == -1 && e.code == ERR_DATA, "%s",
       e.text);
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
static void write_jpeg(const char *path, int components, J_COLOR_SPACE space, bool progressive)
{
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
    write_jpeg("grey.jpg", 1, JCS_GRAYSCALE, false);
    write_jpeg("rgb.jpg", 3, JCS_RGB, true);
    write_jpeg("cmyk.jpg", 4, JCS_CMYK, false);
    ok(samples_are("grey.jpg", PIXELS_PICTURE, 1, 8, want), "grey JPEG");
    ok(samples_are("rgb.jpg", PIXELS_PICTURE, 3, 8, want), "progressive RGB JPEG");
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
