/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/dataset.h"

#include <pthread.h>
#include <sys/stat.h>

#include "t/tap.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/pixels.h"
#include "trainer/data/prepare/prepare.h"

#define H 32
#define W 48
#define NTHREADS 8

static struct err e;
static float image[4 * 3 * H * W], mask[4 * H * W];

static void make_split(const char *dir, bool soft, const char *file)
{
    struct split_config config = {.dir = dir, .seed = 1, .val_fraction = 0.25,
                                  .masks = {.soft = soft}};
    struct split *s = split_create(&config, &e);

    if (!s || split_write(s, file, &e))
        bail_out("%s", e.text);
    split_destroy(s);
}

static struct dataset *open_set(const char *file, int height, int width, int channels, bool soft)
{
    struct dataset_config config = {.split_file = file, .height = height, .width = width,
                                    .channels = channels, .masks = {.soft = soft}};
    return dataset_open(&config, &e);
}

static void test_native(void)
{
    struct dataset *ds = open_set("synth.json", H, W, 1, false);
    uint8_t want_image[H * W], want_mask[H * W];
    bool same = true;

    if (!ds)
        bail_out("%s", e.text);
    is_int(dataset_count(ds, DATASET_TRAIN), 6, "6 train");
    is_int(dataset_count(ds, DATASET_VAL), 2, "2 validate");
    for (int part = DATASET_TRAIN; part <= DATASET_VAL; part++)
        for (size_t i = 0; i < dataset_count(ds, part); i++) {
            int number = atoi(dataset_name(ds, part, i));
            synth_draw(5, (uint64_t)number, H, W, want_image, want_mask, &e);
            same = same && dataset_get(ds, part, i, image, mask, &e) == 0;
            for (int k = 0; k < H * W; k++)
                same = same && image[k] == (float)want_image[k] / 255.0f &&
                       mask[k] == (want_mask[k] ? 1.0f : 0.0f);
        }
    ok(same, "every sample is its picture, 0..1");
    dataset_close(ds);
}

static void test_resized(void)
{
    struct dataset *small = open_set("synth.json", H, W, 1, false);
    struct dataset *big = open_set("synth.json", 2 * H, 2 * W, 3, false);
    static float native[H * W], native_mask[H * W], want[4 * H * W], want_mask[4 * H * W];
    bool same = true;

    if (!small || !big || dataset_get(small, DATASET_VAL, 1, native, native_mask, &e) ||
        dataset_get(big, DATASET_VAL, 1, image, mask, &e))
        bail_out("%s", e.text);
    resize_pad(native, H, W, want, 2 * H, 2 * W, 1);
    resize_pad(native_mask, H, W, want_mask, 2 * H, 2 * W, 1);
    for (int k = 0; k < 4 * H * W; k++)
        same = same && image[3 * k] == want[k] && image[3 * k + 2] == want[k] &&
               mask[k] == want_mask[k];
    ok(same, "another size: resized; 3 channels: grey repeated");
    dataset_get(big, DATASET_VAL, 1, image, mask, &e);
    ok(memcmp(mask, want_mask, sizeof want_mask) == 0,
       "the second call gives the same from memory");
    dataset_close(small);
    dataset_close(big);
}

static struct dataset *shared;
static float sums[NTHREADS];

static void *sum_all(void *arg)
{
    float *pixels = malloc(2 * H * W * sizeof *pixels), *sum = arg;
    struct err te;

    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < dataset_count(shared, DATASET_TRAIN); i++) {
            if (dataset_get(shared, DATASET_TRAIN, i, pixels, pixels + H * W, &te))
                return NULL;
            for (int k = 0; k < 2 * H * W; k++)
                *sum += pixels[k];
        }
    free(pixels);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[NTHREADS];
    bool equal = true;

    shared = open_set("synth.json", H, W, 1, false);
    for (int i = 0; i < NTHREADS; i++)
        pthread_create(&threads[i], NULL, sum_all, &sums[i]);
    for (int i = 0; i < NTHREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < NTHREADS; i++)
        equal = equal && sums[i] > 0 && sums[i] == sums[0];
    ok(equal, "%d threads at once see the same samples", NTHREADS);
    dataset_close(shared);
}

static void write_pair(const char *name, const uint8_t *samples, uint32_t width, uint32_t height)
{
    char path[64];

    snprintf(path, sizeof path, "hand/images/%s.png", name);
    unlink(path);
    if (png_file_write(path, width, height, 1, samples, &e))
        bail_out("%s", e.text);
    snprintf(path, sizeof path, "hand/masks/%s.png", name);
    unlink(path);
    if (png_file_write(path, width, height, 1, samples, &e))
        bail_out("%s", e.text);
}

static void test_soft_and_changed(void)
{
    mkdir("hand", 0700), mkdir("hand/images", 0700), mkdir("hand/masks", 0700);
    write_pair("a", (uint8_t[]){0, 51, 102, 255}, 2, 2);
    write_pair("b", (uint8_t[]){255, 204, 0, 0}, 2, 2);
    make_split("hand", true, "hand.json");

    struct dataset *ds = open_set("hand.json", 2, 2, 1, true);
    bool a_trains = ds && strcmp(dataset_name(ds, DATASET_TRAIN, 0), "a") == 0;
    enum dataset_part part = a_trains ? DATASET_TRAIN : DATASET_VAL;
    ok(ds && dataset_get(ds, part, 0, image, mask, &e) == 0 && mask[1] == 51 / 255.0f &&
           mask[2] == 102 / 255.0f && mask[3] == 1, "soft masks are value / 255");
    dataset_close(ds);
    ds = open_set("hand.json", 2, 2, 1, false);
    ok(ds && dataset_get(ds, part, 0, image, mask, &e) == -1 && e.code == ERR_DATA &&
           strstr(e.text, "masks/a.png"), "without soft_masks they are refused: %s", e.text);
    dataset_close(ds);

    ds = open_set("hand.json", 2, 2, 1, true);
    write_pair("a", (uint8_t[]){0, 51, 102, 254}, 2, 2);
    ok(ds && dataset_get(ds, part, 0, image, mask, &e) == -1 && e.code == ERR_DATA &&
           strstr(e.text, "images/a.png"), "a file that changed: %s", e.text);
    dataset_close(ds);
    write_pair("a", (uint8_t[]){0, 51, 102, 254}, 4, 1);
    ok(!open_set("hand.json", 2, 2, 1, true) && e.code == ERR_DATA && strstr(e.text, "4 x 1"),
       "a file of another size, at once: %s", e.text);
    unlink("hand/masks/b.png");
    write_pair("a", (uint8_t[]){0, 51, 102, 255}, 2, 2);
    ok(!open_set("hand.json", 2, 2, 1, true) && e.code == ERR_DATA && strstr(e.text, "masks/b.png"),
       "a file that is gone, at once: %s", e.text);
    ok(!open_set("none.json", 2, 2, 1, true) && e.code == ERR_DATA, "%s", e.text);
}

/* Opens a data set whose masks are 2 x 2, from write_pair. Without a split file every pair is for
 * validation. */
static struct dataset *open_classes(const char *dir, int height, int width, int classes,
                                    const char *ignore)
{
    struct dataset_config config = {.dir = dir, .height = height, .width = width, .channels = 1,
                                    .masks = {.classes = classes, .ignore = ignore}};
    return dataset_open(&config, &e);
}

/* Returns whether the first sample's labels are those of want: the class, 1 above one half, or
 * RECORD_IGNORE. */
static bool labels_are(struct dataset *ds, const char *want, size_t n)
{
    bool same = ds && dataset_get(ds, DATASET_VAL, 0, image, mask, &e) == 0;

    for (size_t i = 0; same && i < n; i++)
        same = (mask[i] < 0 ? RECORD_IGNORE : (uint8_t)(mask[i] + 0.5f)) == (uint8_t)want[i];
    return same;
}

static void test_classes(void)
{

    if (system("rm -rf hand/* && mkdir hand/images hand/masks"))
        bail_out("no hand/");
    write_pair("c", (uint8_t[]){0, 1, 2, 11}, 2, 2);

    struct dataset *ds = open_classes("hand", 2, 2, 3, "11");
    ok(ds && dataset_classes(ds) == 3 && strcmp(dataset_class_name(ds, 2), "2") == 0, "3 classes");
    ok(labels_are(ds, "\0\1\2\377", 4) && image[3] == 11 / 255.0f, "a label per pixel");
    ok(ds && dataset_get(ds, DATASET_VAL, 0, image, mask, &e) == 0 && mask[2] == 2 && mask[3] == -1,
       "as numbers: the class, -1 where a pixel does not count");
    dataset_close(ds);

    ds = open_classes("hand", 2, 4, 3, "11");
    ok(labels_are(ds, "\377\0\1\377\377\2\377\377", 8),
       "padding does not count");
    dataset_close(ds);
    ds = open_classes("hand", 4, 4, 3, "11");
    ok(labels_are(ds, "\0\0\1\1\0\0\1\1\2\2\377\377", 12),
       "resized by the nearest pixel: no class between two");
    dataset_close(ds);
    ok(!open_classes("hand", 2, 2, 3, NULL) && e.code == ERR_DATA && strstr(e.text, "value 11"),
       "%s", e.text);

    write_pair("c", (uint8_t[]){0, 255, 7, 0}, 2, 2);
    ds = open_classes("hand", 2, 2, 1, "7");
    ok(labels_are(ds, "\0\1\377\0", 4) && dataset_classes(ds) == 1,
       "a value that does not count beside foreground and background");
    dataset_close(ds);
    write_pair("c", (uint8_t[]){0, 255, 255, 0}, 2, 2);
    ds = open_classes("hand", 2, 2, 1, NULL);
    ok(labels_are(ds, "\0\1\1\0", 4), "labels of foreground and background");
    dataset_close(ds);
    make_split("synth", false, "again.json");
    struct dataset_config config = {.split_file = "again.json", .height = H, .width = W,
                                    .channels = 1, .masks = {.classes = 2}};
    ok(!dataset_open(&config, &e) && strstr(e.text, "again.json") && strstr(e.text, "data.classes"),
       "a split for other masks: %s", e.text);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-dataset.XXXXXX", command[64];

    log_set_level(LOG_WARN);
    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    if (synth_create("synth", 8, H, W, 5, &e))
        bail_out("%s", e.text);
    make_split("synth", false, "synth.json");
    test_native();
    test_resized();
    test_threads();
    test_soft_and_changed();
    test_classes();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return done_testing() + (system(command) != 0);
}
