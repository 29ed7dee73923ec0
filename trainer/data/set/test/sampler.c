/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches: where they lie, that they are what the image has there, how often each image is used,
 * how many are centred in foreground, and that ranks share one list. */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include <math.h>
#include <sys/stat.h>

#include "t/tap.h"
#include "trainer/data/image/image_file.h"

#define SIDE 16
#define PIXELS (SIDE * SIDE)
#define IMAGES 3

static struct err e;
static const int heights[IMAGES] = {60, 16, 30}, widths[IMAGES] = {100, 40, 16};

/* Foreground of image k: one rectangle, of which pixels at two edges have class 2 (of classes). */
static int class_of(int k, int y, int x)
{
    bool inside = y >= 18 && y < 22 && x >= 10 && x < 22;

    return k == 1 || !inside ? 0 : y == 18 || x == 10 ? 2 : 1;
}

/* An image's colours say where a pixel is: red the row, green the column, blue the image. */
static void draw_set(const char *dir, bool binary)
{
    static uint8_t image[60 * 100 * 3], mask[60 * 100];
    char path[128];

    snprintf(path, sizeof path, "%s", dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/images", dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/masks", dir);
    mkdir(path, 0777);
    for (int k = 0; k < IMAGES; k++) {
        for (int i = 0; i < heights[k] * widths[k]; i++) {
            int y = i / widths[k], x = i % widths[k], class = class_of(k, y, x);
            image[3 * i] = (uint8_t)y;
            image[3 * i + 1] = (uint8_t)x;
            image[3 * i + 2] = (uint8_t)k;
            mask[i] = (uint8_t)(binary ? class ? 255 : 0 : class);
        }
        snprintf(path, sizeof path, "%s/images/%d.png", dir, k);
        if (png_file_write(path, (uint32_t)widths[k], (uint32_t)heights[k], 3, image, &e))
            bail_out("%s", e.text);
        snprintf(path, sizeof path, "%s/masks/%d.png", dir, k);
        if (png_file_write(path, (uint32_t)widths[k], (uint32_t)heights[k], 1, mask, &e))
            bail_out("%s", e.text);
    }
}

static struct dataset *open_set(const char *dir, int side, int classes, const char *cache)
{
    struct dataset_config c = {.dir = dir, .height = side, .width = side, .native = true,
                               .channels = 3, .masks = {.classes = classes}, .cache = cache};
    struct dataset *ds = dataset_open(&c, &e);

    if (!ds && side == SIDE)
        bail_out("%s", e.text);
    return ds;
}

struct seen {
    int image, y, x;
    bool is_right; /* all pixels are those of the image there */
    float middle;  /* the target in the middle */
};

static struct seen look(const struct record *r, int classes)
{
    static float image[PIXELS * 3], mask[PIXELS];
    struct seen s;

    record_unpack(r, PIXELS * 3, PIXELS, image, mask);
    s.y = (int)(image[0] * 255 + 0.5F);
    s.x = (int)(image[1] * 255 + 0.5F);
    s.image = (int)(image[2] * 255 + 0.5F);
    s.middle = mask[SIDE / 2 * SIDE + SIDE / 2];
    s.is_right = s.image < IMAGES;
    for (int i = 0; s.is_right && i < PIXELS; i++) {
        int y = s.y + i / SIDE, x = s.x + i % SIDE, class = class_of(s.image, y, x);
        s.is_right = y < heights[s.image] && x < widths[s.image] &&
                     (int)(image[3 * i] * 255 + 0.5F) == y &&
                     (int)(image[3 * i + 1] * 255 + 0.5F) == x &&
                     mask[i] == (float)(classes == 1 ? class > 0 : class);
    }
    return s;
}

static struct record *room(void)
{
    static float bytes[8 + PIXELS * 4 + 8];

    return (void *)bytes;
}

static const struct record *take(const struct sampler *s, size_t epoch, size_t position, size_t i)
{
    const struct record *r = sampler_take(s, 7, epoch, position, i, room(), &e);

    if (!r)
        bail_out("%s", e.text);
    return r;
}

static struct sampler *create(struct dataset *ds, size_t patches, double foreground)
{
    struct sampler *s = sampler_create(ds, DATASET_VAL, patches, foreground, &e);

    if (!s)
        bail_out("%s", e.text);
    return s;
}

/* 60 x 100 are 23.4 patches, 16 x 40 are 2.5, 30 x 16 are 1.9. */
static void test_images(struct dataset *ds)
{
    static const size_t want[IMAGES] = {23, 3, 2};
    size_t n = sampler_size(ds, DATASET_VAL, 0), used[IMAGES] = {0}, wrong = 0, few[IMAGES] = {0};
    struct sampler *s = create(ds, 0, 0), *some = create(ds, 5, 0);
    int top = 0, bottom = 60;

    is_int((long long)n, 28, "an epoch has the pixels of all images");
    for (size_t epoch = 0; epoch < 40; epoch++)
        for (size_t i = 0; i < n; i++) {
            struct seen p = look(take(s, epoch, n - 1 - i, i), 1);
            wrong += !p.is_right;
            used[p.image] += 1;
            top = p.image == 0 && p.y > top ? p.y : top;
            bottom = p.image == 0 && p.y < bottom ? p.y : bottom;
        }
    is_int((long long)wrong, 0, "a patch has the pixels and the mask of its place");
    ok(used[0] == 40 * want[0] && used[1] == 40 * want[1] && used[2] == 40 * want[2],
       "each image has its part of every epoch");
    ok(top == 60 - SIDE && bottom == 0, "patches reach both edges: %d to %d", bottom, top);
    is_int((long long)sampler_size(ds, DATASET_VAL, 5), 5, "a number of patches may be given");
    for (size_t epoch = 0; epoch < 560; epoch++)
        for (size_t i = 0; i < 5; i++)
            few[look(take(some, epoch, i, i), 1).image]++;
    ok(few[0] > 2200 && few[0] < 2400 && few[1] > 250 && few[1] < 350 && few[2] > 150 &&
           few[2] < 250,
       "over many epochs of few patches each image has its part: %zu %zu %zu of 2800", few[0],
       few[1], few[2]);
    sampler_destroy(some);
    sampler_destroy(s);
}

static void test_foreground(struct dataset *ds, int classes)
{
    struct sampler *anywhere = create(ds, 0, 0), *third = create(ds, 0, 1.0 / 3),
                   *all = create(ds, 0, 1);
    size_t n = sampler_size(ds, DATASET_VAL, 0), total = 0, moved = 0, wrong = 0, of[3] = {0};

    for (size_t epoch = 0; epoch < 60; epoch++)
        for (size_t i = 0; i < n; i++) {
            struct seen a = look(take(anywhere, epoch, i, i), classes);
            struct seen t = look(take(third, epoch, i, i), classes);
            struct seen f = look(take(all, epoch, i, i), classes);
            if (a.image == 1) { /* it has no foreground */
                wrong += f.y != a.y || f.x != a.x;
                continue;
            }
            total++;
            moved += t.y != a.y || t.x != a.x;
            wrong += !f.is_right || f.y < 10 || f.y > 13;
            of[(int)f.middle] += f.image == 0; /* a patch of image 2 has its whole width */
        }
    is_int((long long)wrong, 0, "%d class%s: patches are centred in foreground, where there is some",
           classes, classes > 1 ? "es" : "");
    double share = (double)moved / (double)total;
    ok(fabs(share - 1.0 / 3) < 0.05, "a third of them, where a third is asked for: %.3f", share);
    is_int((long long)of[0], 0, "none has the background in its middle");
    double second = (double)of[2] / (double)(of[1] + of[2]);
    ok(classes == 1 || fabs(second - 0.5) < 0.05, "the smaller of two classes as often as the larger: "
       "%.3f", second);
    sampler_destroy(all);
    sampler_destroy(third);
    sampler_destroy(anywhere);
}

/* Returns a hash of the patches of an epoch in the order of its steps, as `parts` ranks have
 * them. */
static uint64_t hash_epoch(struct dataset *ds, int parts, size_t from)
{
    uint64_t h = 0;
    size_t steps = 0;

    for (size_t step = from; step == from || step < steps; step++)
        for (int part = 0; part < parts; part++) {
            struct loader_config c = {
                .dataset = ds, .images = DATASET_VAL, .part = part, .repeat = 2, .batch = 6,
                .epochs = 3, .seed = 5, .foreground = 0.5, .threads = part,
                .augment = {.hflip = true, .brightness = 0.1}};
            struct record_batch b;

            if (shard_plan(sampler_size(ds, DATASET_VAL, 0), 2, parts, 6, SHARD_KEEP, &c.plan, &e))
                bail_out("%s", e.text);
            steps = c.plan.steps;
            struct loader *l = loader_create(&c, &e);
            loader_seek(l, 1, NULL, step);
            if (loader_next(l, &b, &e))
                bail_out("%s", e.text);
            for (size_t i = 0; i < b.count; i++) {
                const unsigned char *at = (const void *)record_at(&b, i);
                size_t nbytes = record_nbytes(record_at(&b, i), PIXELS * 3, PIXELS);
                for (size_t k = 0; k < nbytes; k++)
                    h = (h ^ at[k]) * UINT64_C(1099511628211);
            }
            loader_destroy(l);
        }
    return h;
}

static void test_bad(void)
{
    struct dataset *ds = open_set("two", 20, 1, NULL);

    ok(!ds && e.code == ERR_DATA && strstr(e.text, "1.png: is 16x40 pixels") &&
           strstr(e.text, "data.patch: 20x20; set data.patch to a size within"),
       "a patch larger than an image: %s", e.text);
    ds = open_set("none", SIDE, 1, NULL);
    ok(!sampler_create(ds, DATASET_VAL, 0, 0.33, &e) && e.code == ERR_DATA &&
           strstr(e.text, "none of the 1 training masks has foreground") &&
           strstr(e.text, "set data.patch_foreground=0"), "no foreground: %s", e.text);
    struct sampler *s = create(ds, 0, 0);
    ok(look(take(s, 0, 0, 0), 1).is_right, "without a share, patches are cut");
    sampler_destroy(s);
    dataset_close(ds);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-sampler.XXXXXX", command[64];

    log_set_level(LOG_QUIET);
    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    draw_set("two", true);
    draw_set("many", false);
    mkdir("none", 0777);
    mkdir("none/images", 0777);
    mkdir("none/masks", 0777);
    if (link("two/images/1.png", "none/images/1.png") || link("two/masks/1.png", "none/masks/1.png"))
        bail_out("link");
    struct dataset *two = open_set("two", SIDE, 1, NULL), *many = open_set("many", SIDE, 3, NULL);
    struct dataset *kept = open_set("two", SIDE, 1, "kept");

    test_images(two);
    test_foreground(two, 1);
    test_foreground(many, 3);
    uint64_t one = hash_epoch(two, 1, 0);
    ok(one == hash_epoch(two, 2, 0) && one == hash_epoch(two, 3, 0),
       "1, 2 and 3 ranks have the same patches in every step");
    ok(one == hash_epoch(kept, 2, 0), "also from a cache file");
    ok(hash_epoch(two, 1, 4) == hash_epoch(two, 3, 4), "also after a resume in a step");
    dataset_close(kept);
    dataset_close(many);
    dataset_close(two);
    test_bad();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return done_testing() + (system(command) != 0);
}
