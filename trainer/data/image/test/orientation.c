/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/pixels.h"

#include "t/tap.h"

static struct err e;

static struct pixels picture(uint32_t width, uint32_t height, int orientation)
{
    struct pixels img = {.width = width, .height = height, .orientation = orientation,
                         .flags = orientation > 1 ? PIXELS_ORIENTED : 0};

    if (pixels_allocate(&img, "it", 1, 8, &e))
        bail_out("%s", e.text);
    for (size_t i = 0; i < img.nbytes; i++)
        img.samples[i] = (uint8_t)('a' + i);
    return img;
}

/* The picture is abc over def as stored; EXIF 2.32, table of orientation, says where the first row
 * and column of the stored picture lie when it is upright. */
static void test_turns(void)
{
    static const char *const want[] = {"abcdef", "abcdef", "cbafed", "fedcba", "defabc",
                                       "adbecf", "daebfc", "fcebda", "cfbead"};

    for (int o = 0; o <= 8; o++) {
        struct pixels img = picture(3, 2, o);
        int rc = orientation_turn(&img, o, "it", &e);
        ok(rc == 0 && memcmp(img.samples, want[o], 6) == 0 && img.width == (o < 5 ? 3 : 2) &&
               img.height == (o < 5 ? 2 : 3),
           "orientation %d: %.6s of %u x %u", o, (const char *)img.samples, img.width, img.height);
        pixels_free(&img);
    }
    struct pixels deep = picture(2, 1, 3);
    deep.width = 1, deep.bits = 16;
    deep.height = 1;
    ok(orientation_turn(&deep, 6, "it", &e) == 0 && memcmp(deep.samples, "ab", 2) == 0,
       "the bytes of a sample stay together");
    pixels_free(&deep);
}

static void test_fits(void)
{
    static const struct {
        uint32_t w, h, mask_w, mask_h;
        int image, mask, applied, mask_applied;
        const char *what;
    } cases[] = {
        {3, 2, 2, 3, 6, 1, 6, 1, "the image fits when turned"},
        {3, 2, 3, 2, 6, 1, 1, 1, "the mask is as stored: neither is turned"},
        {3, 2, 3, 2, 6, 6, 6, 6, "both are turned alike"},
        {2, 2, 2, 2, 6, 1, 6, 1, "sizes do not tell: turned"},
        {3, 2, 3, 2, 3, 1, 3, 1, "half a turn"},
        {3, 2, 2, 3, 1, 8, 1, 8, "the mask alone"},
        {3, 2, 3, 2, 1, 1, 1, 1, "none"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pixels img = picture(cases[i].w, cases[i].h, cases[i].image);
        struct pixels mask = picture(cases[i].mask_w, cases[i].mask_h, cases[i].mask);
        int rc = orientation_apply(&img, &mask, "it", &e);
        ok(rc == 0 && img.orientation == cases[i].applied &&
               mask.orientation == cases[i].mask_applied && img.width == mask.width,
           "%s", cases[i].what);
        is_int(img.flags, cases[i].applied > 1 ? PIXELS_TURNED
                          : cases[i].image > 1 ? PIXELS_ORIENTED : 0, "and flagged so");
        pixels_free(&img);
        pixels_free(&mask);
    }
}

static void test_exif(void)
{
    static const uint8_t little[] = "II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x01\0\0\0x\0\0\0"
                                    "\x12\x01\x03\0\x01\0\0\0\x08\0\0\0";
    static const uint8_t big[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0";
    int wrong = 0;

    is_int(orientation_of_exif(little, sizeof little - 1), 8, "little-endian, the second entry");
    is_int(orientation_of_exif(big, sizeof big - 1), 3, "big-endian");
    for (size_t n = 0; n < sizeof little - 1; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* so that a sanitizer sees reading past the end */
        memcpy(cut, little, n);
        wrong += orientation_of_exif(cut, n) != 1;
        free(cut);
    }
    is_int(wrong, 0, "cut anywhere: as stored");
}

int main(void)
{
    test_turns();
    test_fits();
    test_exif();
    return done_testing();
}
