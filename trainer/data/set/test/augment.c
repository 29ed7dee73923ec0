/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/loader.h"

#include <math.h>

#include "t/tap.h"

#define N 8

static struct err e;
static float image[N * N], mask[N * N], out[N * N], out_mask[N * N], again[N * N],
    again_mask[N * N];

static const struct augment_draw still = {.contrast = 1, .zoom = 1};

static void apply(const struct settings_augment *config, const struct augment_draw *draw,
                  int height, int width, const float *src, const float *src_mask, float *dst,
                  float *dst_mask)
{
    static float from[8 + 2 * N * N], to[8 + 2 * N * N]; /* records */
    size_t n = (size_t)height * (size_t)width;
    struct augment *a = augment_create(config, height, width, 1, true, &e);
    struct record *r = (void *)from;

    if (!a)
        bail_out("%s", e.text);
    *r = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 1, 0};
    memcpy(record_image(r), src, n * sizeof *src);
    memcpy(record_target(r, n), src_mask, n * sizeof *src);
    augment_apply(a, draw, r, (void *)to);
    record_unpack((void *)to, n, n, dst, dst_mask);
    augment_destroy(a);
}

static const struct settings_augment exact = {.hflip = true, .vflip = true, .rot90 = true};

/* Applies turns and flips to 1 2 3 / 4 5 6 / 7 8 9; want: the result, row by row. */
static bool becomes(int turns, bool hflip, bool vflip, const char *want)
{
    static const float nine[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct augment_draw d = still;
    char got[10] = "";

    d.turns = turns;
    d.hflip = hflip;
    d.vflip = vflip;
    apply(&exact, &d, 3, 3, nine, nine, out, out_mask);
    for (int i = 0; i < 9; i++)
        got[i] = (char)('0' + (int)out[i]);
    bool same = strcmp(got, want) == 0 && memcmp(out, out_mask, sizeof nine) == 0;
    if (!same)
        printf("# got %s, want %s\n", got, want);
    return same;
}

static void test_vectors(void)
{
    ok(becomes(0, false, false, "123456789"), "nothing");
    ok(becomes(0, true, false, "321654987"), "left and right");
    ok(becomes(0, false, true, "789456123"), "top and bottom");
    ok(becomes(1, false, false, "369258147"), "a quarter turn, counterclockwise");
    ok(becomes(2, false, false, "987654321"), "a half turn");
    ok(becomes(3, false, false, "741852963"), "three quarters");
    ok(becomes(1, true, false, "963852741"), "turned, then flipped");
    ok(becomes(1, false, true, "147258369"), "a transposition");
    ok(becomes(2, true, true, "123456789"), "a half turn and both flips are nothing");

    const float flat[6] = {1, 2, 3, 4, 5, 6};
    struct augment_draw d = still;
    d.turns = 2;
    apply(&exact, &d, 2, 3, flat, flat, out, out_mask);
    ok(memcmp(out, (float[]){6, 5, 4, 3, 2, 1}, sizeof flat) == 0, "2 x 3: a half turn");
    d = still;
    d.vflip = true;
    apply(&exact, &d, 2, 3, flat, flat, out, out_mask);
    ok(memcmp(out, (float[]){4, 5, 6, 1, 2, 3}, sizeof flat) == 0, "2 x 3: top and bottom");
}

/* Four quarter turns, and two flips, give the image and mask back. */
static void test_group(void)
{
    struct augment_draw quarter = still, flip = still;

    quarter.turns = 1;
    flip.hflip = true;
    memcpy(out, image, sizeof out);
    memcpy(out_mask, mask, sizeof out_mask);
    for (int i = 0; i < 4; i++) {
        apply(&exact, &quarter, N, N, out, out_mask, again, again_mask);
        memcpy(out, again, sizeof out);
        memcpy(out_mask, again_mask, sizeof out_mask);
        if (i == 0)
            ok(memcmp(out, image, sizeof out) != 0, "one quarter turn changes a picture");
    }
    ok(memcmp(out, image, sizeof out) == 0 && memcmp(out_mask, mask, sizeof mask) == 0,
       "four turn it back");
    apply(&exact, &flip, N, N, image, mask, out, out_mask);
    apply(&exact, &flip, N, N, out, out_mask, again, again_mask);
    ok(memcmp(again, image, sizeof again) == 0, "two flips too");
}

static void test_light(void)
{
    const struct settings_augment light = {.brightness = 0.5, .contrast = 0.5};
    const float four[4] = {0, 0.25f, 0.5f, 0.25f}; /* the mean is 1/4 */
    struct augment_draw d = still;

    d.brightness = 0.25f;
    apply(&light, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){0.25f, 0.5f, 0.75f, 0.5f}, sizeof four) == 0, "brighter by 1/4");
    ok(memcmp(out_mask, four, sizeof four) == 0, "the mask is not touched");
    d.brightness = 0.625f;
    apply(&light, &d, 2, 2, four, four, out, out_mask);
    ok(out[2] == 1 && out[0] == 0.625f, "no brighter than 1");
    d.brightness = -0.25f;
    apply(&light, &d, 2, 2, four, four, out, out_mask);
    ok(out[0] == 0 && out[2] == 0.25f, "no darker than 0");
    d = still;
    d.contrast = 0.5f;
    apply(&light, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){0.125f, 0.25f, 0.375f, 0.25f}, sizeof four) == 0,
       "half the contrast, around the mean");
}

static void test_shift(void)
{
    const struct settings_augment shift = {.shift = 2};
    const float four[4] = {1, 2, 3, 4}; /* a 2x2 image */
    struct augment_draw d = still;
    int seen[5][5] = {{0}}, all = 0;

    d.down = 1;
    apply(&shift, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){1, 2, 1, 2}, sizeof four) == 0, "one down: the edge comes in");
    ok(memcmp(out_mask, out, sizeof four) == 0, "the mask moves with it");
    d.right = -1;
    d.hflip = true;
    apply(&shift, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){1, 1, 1, 1}, sizeof four) == 0, "flipped, then shifted");
    for (size_t i = 0; i < 500; i++) {
        augment_draw(&shift, true, 9, 0, i, &d);
        seen[d.down + 2][d.right + 2]++;
    }
    for (int i = 0; i < 25; i++)
        all += seen[i / 5][i % 5] > 5;
    ok(all == 25, "each of the 25 places comes, none is farther");
}

static void test_crop(void)
{
    const struct settings_augment crop = {.crop = 0.5};
    const float row[4] = {0, 1, 2, 3};
    struct augment_draw d = still;

    apply(&crop, &d, 1, 4, row, row, out, out_mask);
    ok(memcmp(out, row, sizeof row) == 0, "the whole of a picture is the picture");
    d.zoom = 0.5f;
    d.left = 0.5f;
    apply(&crop, &d, 1, 4, row, row, out, out_mask);
    /* The right half, enlarged: samples at 1.75, 2.25, 2.75 and 3.25 (clamped to 3) of 0..3. */
    ok(memcmp(out, (float[]){1.75f, 2.25f, 2.75f, 3}, sizeof row) == 0, "the right half, blown up");
    ok(memcmp(out_mask, (float[]){2, 2, 3, 3}, sizeof row) == 0, "the mask by the nearest pixel");
}

static void test_elastic(void)
{
    const struct settings_augment elastic = {.elastic = 3};
    struct augment_draw d = still;
    bool shifted = true;

    for (int i = 0; i < AUGMENT_POINTS; i++)
        for (int k = 0; k < AUGMENT_POINTS; k++)
            d.dx[i][k] = 2;
    apply(&elastic, &d, N, N, image, mask, out, out_mask);
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N - 2; x++)
            shifted = shifted && fabsf(out[y * N + x] - image[y * N + x + 2]) < 1e-5f &&
                      out_mask[y * N + x] == mask[y * N + x + 2];
    ok(shifted, "equal control points move the whole picture");
    for (size_t i = 0; i < 50; i++) {
        augment_draw(&elastic, true, 9, 0, i, &d);
        for (int k = 0; k < AUGMENT_POINTS * AUGMENT_POINTS; k++)
            shifted = shifted && fabsf(d.dx[k / AUGMENT_POINTS][k % AUGMENT_POINTS]) <= 3 &&
                      fabsf(d.dy[k / AUGMENT_POINTS][k % AUGMENT_POINTS]) <= 3;
    }
    ok(shifted, "and none moves farther than asked");
}

static void test_draws(void)
{
    const struct settings_augment all = {.hflip = true, .vflip = true, .rot90 = true,
                                         .brightness = 0.2,
                                       .contrast = 0.3, .shift = 2, .crop = 0.4, .elastic = 5};
    struct augment_draw a, b;
    int turns[4] = {0}, flips = 0, odd = 0, out_of_range = 0;

    augment_draw(&all, true, 1, 2, 3, &a);
    augment_draw(&all, true, 1, 2, 4, &b);
    augment_draw(&all, true, 1, 2, 3, &b);
    ok(memcmp(&a, &b, sizeof a) == 0, "a function of seed, epoch and index");
    augment_draw(&all, true, 2, 2, 3, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the seed");
    augment_draw(&all, true, 1, 3, 3, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the epoch");
    augment_draw(&all, true, 1, 2, 4, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the index");
    for (size_t i = 0; i < 1000; i++) {
        augment_draw(&all, true, 7, 0, i, &a);
        turns[a.turns]++;
        flips += a.hflip;
        out_of_range += fabsf(a.brightness) > 0.2f || fabsf(a.contrast - 1) > 0.3f ||
                        a.zoom < 0.6f || a.zoom > 1 || a.top < 0 || a.left < 0 ||
                        a.top + a.zoom > 1.000001f || a.left + a.zoom > 1.000001f;
        augment_draw(&all, false, 7, 0, i, &a);
        odd += a.turns % 2;
    }
    ok(turns[0] > 200 && turns[1] > 200 && turns[2] > 200 && turns[3] > 200,
       "each turn in about a quarter of 1000: %d %d %d %d", turns[0], turns[1], turns[2], turns[3]);
    ok(flips > 420 && flips < 580, "about one half is flipped: %d", flips);
    is_int(out_of_range, 0, "all within what was asked");
    is_int(odd, 0, "no quarter turns of what is not square");
    ok(!augment_is_active(&(struct settings_augment){0}) && augment_is_active(&all),
       "active or not");
}

/* Augments the same sample of bytes and labels, and of floats, with 1 to 4 channels. */
static void compare_forms(const struct settings_augment *config, bool stay_bytes, const char *what)
{
    static float from[2][4 + 5 * N * N], to[2][4 + 5 * N * N], out3[2][5 * N * N];
    struct augment_draw d;
    bool same = true;

    for (int channels = 1; channels <= 4; channels++) {
        size_t n = N * N, values = n * (size_t)channels;
        struct augment *a = augment_create(config, N, N, channels, true, &e);
        struct record *bytes = (void *)from[0], *floats = (void *)from[1], *moved = (void *)to[0];

        if (!a)
            bail_out("%s", e.text);
        *bytes = (struct record){RECORD_BYTES, RECORD_LABELS, 0, 0};
        *floats = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 0, 0};
        for (size_t i = 0; i < values; i++)
            ((uint8_t *)record_image(bytes))[i] = (uint8_t)(i * 37);
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)record_target(bytes, values))[i] = i % 5 ? (uint8_t)(i % 3) : RECORD_IGNORE;
        record_unpack(bytes, values, n, record_image(floats), record_target(floats, values));
        for (size_t i = 0; i < 20; i++) {
            augment_draw(config, true, 3, 1, i, &d);
            for (int k = 0; k < 2; k++) {
                augment_apply(a, &d, (void *)from[k], (void *)to[k]);
                record_unpack((void *)to[k], values, n, out3[k], out3[k] + values);
            }
            same = same && memcmp(out3[0], out3[1], (values + n) * sizeof(float)) == 0 &&
                   (moved->image_kind == RECORD_BYTES) == stay_bytes &&
                   moved->target_kind == RECORD_LABELS;
        }
        augment_destroy(a);
    }
    ok(same, "bytes become the same numbers as floats: %s", what);
}

static void test_forms(void)
{
    compare_forms(&(struct settings_augment){.hflip = true, .vflip = true, .rot90 = true,
                                             .shift = 2}, true, "turned, flipped, shifted");
    compare_forms(&(struct settings_augment){.hflip = true, .brightness = 0.2, .contrast = 0.3},
                  false, "contrast and brightness");
    compare_forms(&(struct settings_augment){.rot90 = true, .crop = 0.4, .elastic = 2,
                                             .contrast = 0.3}, false, "cropped and deformed");
}

/* The six copies of the reference article: unchanged, two mirrored, three rotated. */
static void test_six(void)
{
    static const struct augment_draw want[6] = {{.turns = 0}, {.vflip = true}, {.hflip = true},
                                                {.turns = 1}, {.turns = 2}, {.turns = 3}};
    bool right = true;

    for (size_t copy = 0; copy < 12; copy++) {
        struct augment_draw d = {.turns = 2, .hflip = true, .zoom = 0.5f};
        augment_six(copy, &d);
        const struct augment_draw *w = &want[copy % 6];
        right = right && d.turns == w->turns && d.hflip == w->hflip && d.vflip == w->vflip &&
                d.zoom == 0.5f;
    }
    ok(right, "six: itself, flipped, flipped, turned, turned, turned");
}

int main(void)
{
    test_six();
    for (int i = 0; i < N * N; i++) {
        image[i] = (float)(i * 37 % 64) / 64;
        mask[i] = (float)(i % 3);
    }
    test_vectors();
    test_group();
    test_light();
    test_shift();
    test_crop();
    test_elastic();
    test_draws();
    test_forms();
    return done_testing();
}
