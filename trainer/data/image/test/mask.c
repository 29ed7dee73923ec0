/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/classes.h"

#include "t/tap.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/test/png_maker.h"

static struct err e;

static int decode(const struct png_maker *m, struct pixels *p)
{
    if (png_file_decode(m->bytes, m->n, "m.png", PIXELS_RAW, p, &e))
        return -1;
    return mask_flatten(p, "m.png", &e);
}

/* A mask of one row and two pixels. */
static struct pixels pair(int bits, unsigned a, unsigned b)
{
    static uint8_t samples[4];
    struct pixels p = {.width = 2, .height = 1, .channels = 1, .bits = bits > 8 ? 16 : 8,
                           .source_bits = bits, .samples = samples};

    if (bits > 8) {
        samples[0] = (uint8_t)(a >> 8), samples[1] = (uint8_t)a;
        samples[2] = (uint8_t)(b >> 8), samples[3] = (uint8_t)b;
    } else
        samples[0] = (uint8_t)a, samples[1] = (uint8_t)b;
    return p;
}

static bool passes(int bits, unsigned a, unsigned b, enum mask_scale scale, bool soft)
{
    struct pixels p = pair(bits, a, b);
    return mask_check(&p, "m.png", scale, -1, soft, &e) == 0;
}

static void test_check(void)
{
    ok(passes(8, 0, 255, MASK_FULL, false), "0 and 255 in a 0/255 set");
    ok(passes(8, 0, 1, MASK_UNIT, false), "0 and 1 in a 0/1 set");
    ok(passes(16, 0, 65535, MASK_FULL, false), "65535 is full in 16 bits");
    ok(passes(1, 0, 1, MASK_FULL, false) && passes(1, 1, 1, MASK_UNIT, false), "1 bit fits both");
    ok(passes(8, 0, 0, MASK_FULL, false), "nothing but background");
    ok(!passes(8, 0, 7, MASK_FULL, false) && e.code == ERR_DATA && strstr(e.text, "value 7") &&
           strstr(e.text, "m.png") && strstr(e.text, "soft_masks: true"), "%s", e.text);
    ok(!passes(8, 255, 1, MASK_FULL, false) && strstr(e.text, "value 1"), "%s", e.text);
    ok(!passes(8, 255, 1, MASK_UNIT, false) && strstr(e.text, "value 255"), "%s", e.text);
    ok(!passes(16, 0, 255, MASK_FULL, false), "255 of 65535: %s", e.text);
    ok(passes(8, 7, 130, MASK_FULL, true), "soft masks may hold anything");
}

static void test_divisor(void)
{
    struct pixels p = pair(8, 0, 255);
    is_int(mask_divisor(&p, MASK_FULL), 255, "8 bits of a 0/255 set");
    is_int(mask_divisor(&p, MASK_UNIT), 1, "0/1 set");
    p = pair(16, 0, 65535);
    is_int(mask_divisor(&p, MASK_FULL), 65535, "16 bits");
    p = pair(1, 0, 1);
    is_int(mask_divisor(&p, MASK_FULL), 1, "1 bit beside 0/255");
}

static void test_decode(void)
{
    struct png_maker m;
    struct pixels p;

    maker_head(&m, 2, 1, 8, 2, 0);
    maker_pixels(&m, (uint8_t[]){0, 0, 0, 0, 255, 255, 255}, 7);
    ok(decode(&m, &p) == 0 && p.channels == 1 && p.nbytes == 2 &&
           p.samples[0] == 0 && p.samples[1] == 255, "RGB with R = G = B is grey");
    pixels_free(&p);

    maker_head(&m, 2, 1, 8, 6, 0);
    maker_pixels(&m, (uint8_t[]){0, 1, 1, 1, 0, 0, 0, 0, 255}, 9);
    ok(decode(&m, &p) == 0 && p.channels == 1 && p.samples[0] == 1 &&
           p.samples[1] == 0, "alpha is dropped");
    pixels_free(&p);

    maker_head(&m, 2, 1, 16, 2, 0);
    maker_pixels(&m, (uint8_t[]){0, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}, 13);
    ok(decode(&m, &p) == 0 && p.nbytes == 4 &&
           pixels_sample(&p, 1) == 0x0304, "16-bit RGB");
    pixels_free(&p);

    maker_head(&m, 2, 1, 8, 2, 0);
    maker_pixels(&m, (uint8_t[]){0, 0, 0, 0, 255, 0, 0}, 7);
    ok(decode(&m, &p) == -1 && e.code == ERR_DATA &&
           strstr(e.text, "colours"), "%s", e.text);
    pixels_free(&p);
}

static void test_summary(void)
{
    struct mask_summary s;
    struct pixels p = pair(8, 1, 255);

    mask_summarize(&p, -1, &s);
    ok(s.has_one && s.has_full && !s.has_other && s.max == 255, "1 and 255 are seen");
    p = pair(8, 9, 3);
    mask_summarize(&p, -1, &s);
    ok(!s.has_one && !s.has_full && s.has_other && s.other == 9 && s.max == 9,
       "the first other value is kept");
    p = pair(1, 1, 1);
    mask_summarize(&p, -1, &s);
    ok(!s.has_one && !s.has_full && !s.has_other && s.max == 1, "1 bit says nothing about a scale");
}

int main(void)
{
    test_check();
    test_divisor();
    test_decode();
    test_summary();
    return done_testing();
}
