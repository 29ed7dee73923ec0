/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "t/tap.h"
#include "trainer/data/image/test/png_maker.h"

enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGBA = 6 };

static struct err e;
static struct pixels img;

static int decode(const struct png_maker *m, enum pixels_mode mode)
{
    return png_file_decode(m->bytes, m->n, "x.png", mode, &img, &e);
}

static bool samples_are(int channels, int bits, const uint8_t *want, size_t n)
{
    bool same = img.channels == channels && img.bits == bits && img.nbytes == n &&
                memcmp(img.samples, want, n) == 0;
    pixels_free(&img);
    return same;
}

static void test_kinds(void)
{
    struct png_maker m;

    maker_head(&m, 4, 2, 8, GREY, 0);
    maker_pixels(&m, (uint8_t[]){0, 1, 2, 3, 4, 0, 5, 6, 7, 255}, 10);
    ok(decode(&m, PIXELS_RAW) == 0, "8-bit grey");
    ok(img.width == 4 && img.height == 2 && img.source_bits == 8 && !img.warning[0], "its shape");
    ok(samples_are(1, 8, (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 255}, 8), "its samples");

    maker_head(&m, 3, 1, 1, GREY, 0);
    maker_pixels(&m, (uint8_t[]){0, 0xa0}, 2);
    ok(decode(&m, PIXELS_RAW) == 0 && img.source_bits == 1 &&
           samples_are(1, 8, (uint8_t[]){1, 0, 1}, 3), "1 bit, raw: 0 and 1");
    ok(decode(&m, PIXELS_PICTURE) == 0 && samples_are(1, 8, (uint8_t[]){255, 0, 255}, 3),
       "1 bit as a picture: 0 and 255");

    maker_head(&m, 3, 1, 4, GREY, 0);
    maker_pixels(&m, (uint8_t[]){0, 0x1f, 0x80}, 3);
    ok(decode(&m, PIXELS_RAW) == 0 && samples_are(1, 8, (uint8_t[]){1, 15, 8}, 3), "4 bits, raw");
    ok(decode(&m, PIXELS_PICTURE) == 0 && samples_are(1, 8, (uint8_t[]){17, 255, 136}, 3),
       "4 bits as a picture: 15 is 255");

    maker_head(&m, 2, 1, 2, PALETTE, 0);
    maker_chunk(&m, "PLTE", "\x0a\x14\x1e\x28\x32\x3c\x46\x50\x5a", 9);
    maker_pixels(&m, (uint8_t[]){0, 0x60}, 2);
    ok(decode(&m, PIXELS_RAW) == 0 && samples_are(1, 8, (uint8_t[]){1, 2}, 2),
       "a palette, raw: its indices");
    ok(decode(&m, PIXELS_PICTURE) == 0 &&
           samples_are(3, 8, (uint8_t[]){40, 50, 60, 70, 80, 90}, 6),
       "a palette as a picture: its colours");

    maker_head(&m, 1, 2, 16, GREY, 0);
    maker_pixels(&m, (uint8_t[]){0, 0x12, 0x34, 0, 0xff, 0xfe}, 6);
    ok(decode(&m, PIXELS_RAW) == 0 && pixels_sample(&img, 1) == 0xfffe &&
           samples_are(1, 16, (uint8_t[]){0x12, 0x34, 0xff, 0xfe}, 4), "16 bits, big-endian");

    maker_head(&m, 1, 1, 8, GREY_ALPHA, 0);
    maker_pixels(&m, (uint8_t[]){0, 9, 128}, 3);
    ok(decode(&m, PIXELS_PICTURE) == 0 && samples_are(2, 8, (uint8_t[]){9, 128}, 2),
       "grey and alpha");
    maker_head(&m, 1, 1, 8, RGBA, 0);
    maker_pixels(&m, (uint8_t[]){0, 1, 2, 3, 0}, 5);
    ok(decode(&m, PIXELS_PICTURE) == 0 && samples_are(4, 8, (uint8_t[]){1, 2, 3, 0}, 4), "RGBA");

    /* In Adam7's order of 2 x 2 pixels (0,0) is in pass 1, (1,0) in pass 6, the second row in pass
     * 7. */
    maker_head(&m, 2, 2, 8, GREY, 1);
    maker_pixels(&m, (uint8_t[]){0, 11, 0, 22, 0, 33, 44}, 7);
    ok(decode(&m, PIXELS_RAW) == 0 && samples_are(1, 8, (uint8_t[]){11, 22, 33, 44}, 4),
       "interlaced");
}

static void test_limits(void)
{
    struct png_maker m;

    maker_head(&m, 100000, 100000, 8, RGB, 0);
    maker_pixels(&m, "", 1);
    ok(decode(&m, PIXELS_RAW) == -1 && e.code == ERR_DATA, "%s", e.text);
    maker_head(&m, 60000, 60000, 8, RGB, 0);
    maker_pixels(&m, "", 1);
    ok(decode(&m, PIXELS_RAW) == -1 && strstr(e.text, "more than its"),
       "a claim that the bytes can't hold: %s", e.text);
    maker_head(&m, 0, 5, 8, GREY, 0);
    maker_pixels(&m, "", 1);
    ok(decode(&m, PIXELS_RAW) == -1, "%s", e.text);
    maker_head(&m, 5, 5, 3, GREY, 0);
    maker_pixels(&m, "", 1);
    ok(decode(&m, PIXELS_RAW) == -1, "3 bits: %s", e.text);
    maker_head(&m, 4, 4, 8, GREY, 0);
    maker_pixels(&m, (uint8_t[]){0, 1, 2, 3, 4}, 5);
    ok(decode(&m, PIXELS_RAW) == -1, "rows missing: %s", e.text);
}

/* Decodes every prefix and every single-bit change of a file: each gives an error, or a whole
 * picture. Sanitizers check for leaks and overruns. */
static void test_damage(void)
{
    struct png_maker m, broken;
    uint8_t raw[8 * 9];
    int accepted = 0, strange = 0;

    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = i % 9 ? (uint8_t)(i * 7) : 4; /* the filter byte of a row: Paeth */
    maker_head(&m, 8, 8, 8, GREY, 0);
    maker_pixels(&m, raw, sizeof raw);
    for (size_t n = 0; n < m.n; n++) {
        accepted += png_file_decode(m.bytes, n, "x.png", PIXELS_RAW, &img, &e) == 0;
        pixels_free(&img);
    }
    is_int(accepted, 0, "cut at any of %zu bytes: refused", m.n);
    for (size_t i = 0; i < m.n * 8; i++) {
        broken = m;
        broken.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        if (decode(&broken, PIXELS_PICTURE) == 0)
            strange += img.width != 8 || img.height != 8;
        else
            strange += e.code != ERR_DATA || !strstr(e.text, "x.png");
        pixels_free(&img);
    }
    is_int(strange, 0, "any bit turned: an error that names the file, or a picture of its size");
}

static void test_files(void)
{
    const uint8_t rgb[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    char dir[] = "/tmp/unetctl-png.XXXXXX";
    uint32_t width = 0, height = 0;

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    ok(png_file_write("rgb.png", 2, 2, 3, rgb, &e) == 0 &&
           image_file_read("rgb.png", PIXELS_PICTURE, &img, &e) == 0 && samples_are(3, 8, rgb, 12),
       "RGB written and read");
    ok(png_file_write("grey.png", 3, 4, 1, rgb, &e) == 0 &&
           image_file_size("grey.png", &width, &height, &e) == 0 && width == 3 && height == 4,
       "the size from the header alone");
    struct pixels deep = {.width = 2, .height = 1, .channels = 3, .bits = 16,
                          .samples = (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    ok(png_file_write_pixels("rgb.png", &deep, &e) == -1 && e.code == ERR_CONFIG,
       "what exists is kept: %s", e.text);
    ok(png_file_write_pixels("deep.png", &deep, &e) == 0 &&
           image_file_read("deep.png", PIXELS_RAW, &img, &e) == 0 && samples_are(3, 16, rgb, 12),
       "16-bit RGB written and read");
    ok(png_file_write("no/such.png", 2, 2, 3, rgb, &e) == -1, "can't be written: %s", e.text);
    ok(image_file_read("missing.png", PIXELS_RAW, &img, &e) == -1 && e.code == ERR_DATA, "%s",
       e.text);
    ok(image_file_read(".", PIXELS_RAW, &img, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    mkfifo("fifo.png", 0600);
    alarm(20); /* opening a FIFO without O_NONBLOCK would wait for its writer */
    ok(image_file_read("fifo.png", PIXELS_RAW, &img, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    ok(image_file_size("fifo.png", &width, &height, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    alarm(0);
    ok(image_file_size("missing.png", &width, &height, &e) == -1 && e.code == ERR_DATA, "%s",
       e.text);
    close(open("empty.png", O_CREAT | O_WRONLY, 0600));
    ok(image_file_size("empty.png", &width, &height, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    unlink("rgb.png"), unlink("grey.png"), unlink("deep.png"), unlink("fifo.png"),
        unlink("empty.png");
    rmdir(dir);
}

int main(void)
{
    test_kinds();
    test_limits();
    test_damage();
    test_files();
    return done_testing();
}
