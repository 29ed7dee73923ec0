/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
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

/* Draws the changes to an image with equal sides or not. */
static void draw(const struct settings_augment *config, bool square, uint64_t seed, size_t epoch,
                 size_t index, struct augment_draw *d)
{
    struct augment *a = augment_create(config, N, square ? N : 2 * N, 3, true, &e);

    if (!a)
        bail_out("%s", e.text);
    augment_draw(a, seed, epoch, index, d);
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
        draw(&shift, true, 9, 0, i, &d);
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
        draw(&elastic, true, 9, 0, i, &d);
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

    draw(&all, true, 1, 2, 3, &a);
    draw(&all, true, 1, 2, 4, &b);
    draw(&all, true, 1, 2, 3, &b);
    ok(memcmp(&a, &b, sizeof a) == 0, "a function of seed, epoch and index");
    draw(&all, true, 2, 2, 3, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the seed");
    draw(&all, true, 1, 3, 3, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the epoch");
    draw(&all, true, 1, 2, 4, &b);
    ok(memcmp(&a, &b, sizeof a) != 0, "of the index");
    for (size_t i = 0; i < 1000; i++) {
        draw(&all, true, 7, 0, i, &a);
        turns[a.turns]++;
        flips += a.hflip;
        out_of_range += fabsf(a.brightness) > 0.2f || fabsf(a.contrast - 1) > 0.3f ||
                        a.zoom < 0.6f || a.zoom > 1 || a.top < 0 || a.left < 0 ||
                        a.top + a.zoom > 1.000001f || a.left + a.zoom > 1.000001f;
        draw(&all, false, 7, 0, i, &a);
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
            augment_draw(a, 3, 1, i, &d);
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
    compare_forms(&(struct settings_augment){.preset = "nnunet", .rotate = "0.5:-90..90",
                                             .noise = "0.5:0..1", .blur = "0.5:0.5..3"}, false,
                  "rotated, zoomed, with noise");
}

static const struct settings_augment chances = {.preset = "nnunet"};

/* A quarter turn by an angle is that by the pixels; a window of half the sides shows the middle. */
static void test_rotation(void)
{
    struct augment_draw turned = still, quarter = still, half = still;
    bool same = true;
    int inside = 0;

    quarter.turns = 1;
    turned.applies[AUGMENT_ROTATE] = true;
    turned.value[AUGMENT_ROTATE][0] = 90;
    apply(&exact, &quarter, N, N, image, mask, out, out_mask);
    apply(&chances, &turned, N, N, image, mask, again, again_mask);
    for (int i = 0; i < N * N; i++)
        same = same && fabsf(out[i] - again[i]) < 1e-5f && out_mask[i] == again_mask[i];
    ok(same, "90 degrees are a quarter turn, of the mask too");
    turned.value[AUGMENT_ROTATE][0] = 30;
    apply(&chances, &turned, N, N, image, mask, out, out_mask);
    same = true;
    for (int i = 0; i < N * N; i++) {
        const double middle = (N - 1) / 2.0, y = i / N - middle, x = i % N - middle, c = sqrt(0.75);
        double at_y = middle + c * y + 0.5 * x, at_x = middle - 0.5 * y + c * x;
        int y0 = (int)floor(at_y), x0 = (int)floor(at_x);
        double fy = at_y - y0, fx = at_x - x0;
        if (y0 < 0 || x0 < 0 || y0 + 1 >= N || x0 + 1 >= N)
            continue;
        const float *p = &image[y0 * N + x0];
        double want = (1 - fy) * ((1 - fx) * (double)p[0] + fx * (double)p[1]) +
                      fy * ((1 - fx) * (double)p[N] + fx * (double)p[N + 1]);
        inside++;
        same = same && fabs((double)out[i] - want) < 1e-5 &&
               out_mask[i] == mask[(int)floor(at_y + 0.5) * N + (int)floor(at_x + 0.5)];
    }
    ok(same && inside > N * N / 2, "30 degrees are a rotation of %d pixels within", inside);
    turned.hflip = true;
    apply(&chances, &turned, N, N, image, mask, out, out_mask);
    same = true;
    for (int i = 0; i < N * N; i++)
        same = same && (out_mask[i] == 0 || out_mask[i] == 1 || out_mask[i] == 2) &&
               out[i] >= 0 && out[i] <= 1;
    ok(same, "at any angle masks have whole classes");
    half.applies[AUGMENT_ZOOM] = true;
    half.value[AUGMENT_ZOOM][0] = 0.5f;
    const float row[4] = {0, 1, 2, 3};
    apply(&chances, &half, 1, 4, row, row, out, out_mask);
    ok(memcmp(out, (float[]){0.75f, 1.25f, 1.75f, 2.25f}, sizeof row) == 0,
       "zoom 0.5: the middle half");
    half.value[AUGMENT_ZOOM][0] = 2;
    apply(&chances, &half, 1, 4, row, row, out, out_mask);
    /* samples at -1.5, 0.5, 2.5, 4.5 of 1 0 | 0 1 2 3 | 3 2 */
    ok(memcmp(out, (float[]){0.5f, 0.5f, 2.5f, 2.5f}, sizeof row) == 0, "zoom 2: mirrored outside");
    half.zoom = 0.5f;
    half.left = 0.25f;
    apply(&chances, &half, 1, 4, row, row, out, out_mask);
    ok(memcmp(out, row, sizeof row) == 0, "a crop of that is one map: the image again");
}

static void moments_of(const float *x, int n, int step, double *mean, double *sd)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++)
        sum += x[i * step];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i * step] - *mean) * (x[i * step] - *mean);
    *sd = sqrt(squares / n);
}

static void set_value(struct augment_draw *d, enum augment_chance i, float value)
{
    *d = still;
    d->applies[i] = true;
    for (int k = 0; k < AUGMENT_CHANNELS; k++)
        d->value[i][k] = value;
}

static void test_values(void)
{
    const float four[4] = {0, 0.25f, 0.5f, 0.25f}; /* the mean is 1/4 */
    const float point[5] = {0, 0, 1, 0, 0};
    double mean, sd, mean2, sd2, sum = 0;
    struct augment_draw d;

    set_value(&d, AUGMENT_MULTIPLY, 3);
    apply(&chances, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){0, 0.75f, 1.5f, 0.75f}, sizeof four) == 0, "three times, not clipped");
    ok(memcmp(out_mask, four, sizeof four) == 0, "the mask is not touched");
    set_value(&d, AUGMENT_STRETCH, 0.5f);
    apply(&chances, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, (float[]){0.125f, 0.25f, 0.375f, 0.25f}, sizeof four) == 0, "half the contrast");
    set_value(&d, AUGMENT_STRETCH, 2);
    apply(&chances, &d, 2, 2, four, four, out, out_mask);
    ok(memcmp(out, four, sizeof four) == 0, "no farther than the smallest and largest value");

    moments_of(image, N * N, 1, &mean, &sd);
    for (int k = 0; k < 2; k++) {
        enum augment_chance which = k ? AUGMENT_GAMMA_INVERTED : AUGMENT_GAMMA;
        set_value(&d, which, 2);
        apply(&chances, &d, N, N, image, mask, out, out_mask);
        moments_of(out, N * N, 1, &mean2, &sd2);
        ok(fabs(mean - mean2) < 1e-5 && fabs(sd - sd2) < 1e-5, "gamma keeps mean and deviation");
        /* of 0, 1/4, 1/2, 1/4 the middle is 1/4 of the range up, or of the negative down */
        apply(&chances, &d, 2, 2, four, four, out, out_mask);
        ok(fabsf((out[1] - out[0]) / (out[2] - out[0]) - (k ? 0.75f : 0.25f)) < 1e-5f,
           "the square of the values from 0 to 1%s", k ? ", of the negative" : "");
    }
    apply(&chances, &d, 1, 4, (float[]){7, 7, 7, 7}, four, out, out_mask);
    ok(out[0] == 7 && out[3] == 7, "an image of one value stays");

    set_value(&d, AUGMENT_BLUR, 1);
    apply(&chances, &d, 1, 5, point, point, out, out_mask);
    for (int i = 0; i < 5; i++)
        sum += (double)out[i];
    ok(fabs(sum - 1) < 1e-6 && fabsf(out[1] / out[2] - expf(-0.5f)) < 0.03f &&
       fabsf(out[1] - out[3]) < 1e-7f, "a blur keeps the sum, and is a Gaussian");
    set_value(&d, AUGMENT_BLUR, 10);
    apply(&chances, &d, 1, 5, point, point, out, out_mask);
    ok(fabsf(out[0] - 0.2f) < 0.01f && fabsf(out[2] - 0.2f) < 0.01f, "a wide one flattens");
}

/* Noise has its deviation, in units of each channel's, and is the same of each channel. */
static void test_noise(void)
{
    enum { SIDE = 64, PIXELS = SIDE * SIDE };
    static float from[8 + 4 * PIXELS], to[8 + 4 * PIXELS];
    struct augment *a = augment_create(&chances, SIDE, SIDE, 2, true, &e);
    struct record *r = (void *)from;
    struct augment_draw d;
    double mean, sd[2], mean2, sd2[2];
    bool same = true;

    if (!a)
        bail_out("%s", e.text);
    *r = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 1, 0};
    float *x = record_image(r), *y = record_image((void *)to);
    for (int i = 0; i < PIXELS; i++) {
        x[2 * i] = (float)(i % 2);
        x[2 * i + 1] = 10 * x[2 * i];
    }
    set_value(&d, AUGMENT_NOISE, 0.1f);
    memcpy(d.noise, (uint64_t[]){1, 2, 3}, sizeof d.noise);
    augment_apply(a, &d, r, (void *)to);
    for (int i = 0; i < 2 * PIXELS; i++)
        y[i] -= x[i];
    for (int c = 0; c < 2; c++) {
        moments_of(x + c, PIXELS, 2, &mean, &sd[c]);
        moments_of(y + c, PIXELS, 2, &mean2, &sd2[c]);
    }
    ok(fabs(sd2[0] / sd[0] - 0.1) < 0.005 && fabs(mean2) < 0.1, "a tenth of the deviation: %g",
       sd2[0] / sd[0]);
    for (int i = 0; i < PIXELS; i++)
        same = same && fabsf(y[2 * i + 1] - 10 * y[2 * i]) < 1e-4f;
    ok(same, "and ten times as much in a channel of ten times the values");
    augment_destroy(a);
}

/* The shares and ranges of nnU-Net, and settings in their place. */
static void test_chances(void)
{
    static const double share[AUGMENT_CHANCES] = {0.2, 0.2, 0.1, 0.1, 0.15, 0.15, 0.1, 0.3};
    static const float range[AUGMENT_CHANCES][2] = {
        {-180, 180}, {0.7f, 1.4f}, {0, 0.1f}, {0.5f, 1}, {0.75f, 1.25f}, {0.75f, 1.25f},
        {0.7f, 1.5f}, {0.7f, 1.5f}};
    enum { DRAWS = 20000 };
    int applied[AUGMENT_CHANCES] = {0}, below = 0, flips = 0, outside = 0, apart = 0, wide = 0;
    struct augment *a = augment_create(&chances, N, N, 3, true, &e);
    struct augment_draw d;

    for (size_t i = 0; a && i < DRAWS; i++) {
        augment_draw(a, 5, 1, i, &d);
        flips += d.hflip + d.vflip;
        for (int k = 0; k < AUGMENT_CHANCES; k++) {
            applied[k] += d.applies[k];
            for (int c = 0; d.applies[k] && c < 3; c++)
                outside += d.value[k][c] < range[k][0] || d.value[k][c] > range[k][1];
        }
        below += d.applies[AUGMENT_GAMMA] && d.value[AUGMENT_GAMMA][0] < 1;
        apart += d.applies[AUGMENT_GAMMA] && d.value[AUGMENT_GAMMA][0] != d.value[AUGMENT_GAMMA][1];
        wide += d.applies[AUGMENT_ROTATE] && fabsf(d.value[AUGMENT_ROTATE][0]) > 90;
    }
    for (int k = 0; k < AUGMENT_CHANCES; k++)
        ok(fabs(applied[k] / (double)DRAWS - share[k]) < 0.012, "chance %d is %g: %g", k, share[k],
           applied[k] / (double)DRAWS);
    is_int(outside, 0, "all values are within their ranges");
    ok(abs(2 * below - applied[AUGMENT_GAMMA]) < 300, "half of the gammas are below 1");
    ok(apart == applied[AUGMENT_GAMMA], "each channel has its own");
    ok(abs(2 * wide - applied[AUGMENT_ROTATE]) < 300, "half of the angles are beyond 90 degrees");
    ok(abs(flips - DRAWS) < 400, "half are flipped, either way");
    augment_destroy(a);
    for (size_t i = 0; i < 500; i++) {
        draw(&chances, false, 5, 1, i, &d);
        outside += fabsf(d.value[AUGMENT_ROTATE][0]) > 15;
    }
    is_int(outside, 0, "an image twice as wide as high is turned by 15 degrees at most");
    const struct settings_augment own = {.preset = "nnunet-no-mirroring", .zoom = "1:2..2",
                                         .gamma = "0:1..1"};
    flips = applied[0] = 0;
    for (size_t i = 0; i < 200; i++) {
        draw(&own, true, 5, 1, i, &d);
        flips += d.hflip || d.vflip || d.applies[AUGMENT_GAMMA] ||
                 d.value[AUGMENT_ZOOM][0] != 2;
        applied[0] += d.applies[AUGMENT_ROTATE];
    }
    ok(flips == 0 && applied[0] > 10, "a setting replaces its part of the preset");
    ok(!augment_create(&(struct settings_augment){.zoom = "half"}, N, N, 1, true, &e) &&
       e.code == ERR_CONFIG, "%s", e.text);
    ok(augment_is_active(&chances) &&
       augment_is_active(&(struct settings_augment){.blur = "1:1..1"}) &&
       !augment_is_active(&(struct settings_augment){.preset = "none", .blur = ""}), "active or not");
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
    test_rotation();
    test_values();
    test_noise();
    test_chances();
    return done_testing();
}
