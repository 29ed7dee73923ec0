/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include <stdatomic.h>

#include "t/tap.h"
#include "trainer/data/prepare/prepare.h"
#include "trainer/data/set/dataset.h"

#define SIDE 32
#define PIXELS (SIDE * SIDE)
#define BATCH 3
#define EPOCHS 4

static struct err e;
static struct dataset *ds;
static size_t nimages; /* for training */
static float images[3 * BATCH * PIXELS], targets[3 * BATCH * PIXELS];

/* Counts allocations: data.inc wraps the allocating functions. */
static atomic_int allocations;
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

static struct dataset *open_set(void)
{
    struct split_config config = {.dir = "set", .seed = 1, .val_fraction = 0.2};
    struct split *s = split_create(&config, &e);
    struct dataset_config data = {.split_file = "split.json", .height = SIDE, .width = SIDE,
                                  .channels = 1};

    if (!s || split_write(s, "split.json", &e))
        bail_out("%s", e.text);
    split_destroy(s);
    return dataset_open(&data, &e);
}

static struct loader_config config_of(int parts, int part, int threads, bool augment)
{
    struct loader_config c = {.dataset = ds, .part = part, .repeat = 2, .batch = BATCH,
                              .epochs = EPOCHS, .seed = 5, .threads = threads};

    if (augment)
        c.augment = (struct settings_augment){.hflip = true, .vflip = true, .rot90 = true,
                                              .brightness = 0.1, .contrast = 0.1, .shift = 1,
                                              .crop = 0.2, .elastic = 2};
    if (shard_plan(dataset_count(ds, DATASET_TRAIN), 2, parts, (size_t)parts * BATCH, SHARD_KEEP,
                   &c.plan, &e))
        bail_out("%s", e.text);
    return c;
}

/* Loads the next step's share as floats. */
static int load_next(struct loader *l)
{
    struct record_batch b;

    if (loader_next(l, &b, &e))
        return -1;
    for (size_t i = 0; i < b.count; i++)
        record_unpack(record_at(&b, i), PIXELS, PIXELS, images + i * PIXELS, targets + i * PIXELS);
    return 0;
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    while (n--)
        h = (h ^ *p++) * UINT64_C(1099511628211);
    return h;
}

/* Returns a hash of everything that a loader yields from a step of an epoch on. */
static uint64_t run_from(const struct loader_config *c, size_t epoch, size_t step)
{
    struct loader *l = loader_create(c, &e);
    uint64_t h = 0;

    if (!l)
        bail_out("%s", e.text);
    for (; epoch < c->epochs; epoch++, step = 0) {
        loader_seek(l, epoch, NULL, step);
        for (; step < c->plan.steps; step++) {
            struct shard_range r = shard_train(&c->plan, step, c->part);
            size_t n = r.end - r.begin;
            if (load_next(l))
                bail_out("%s", e.text);
            h = mix(h, images, n * PIXELS * sizeof *images);
            h = mix(h, targets, n * PIXELS * sizeof *targets);
        }
    }
    loader_destroy(l);
    return h;
}

static void test_plain(void)
{
    struct loader_config c = config_of(1, 0, 2, false);
    struct loader *l = loader_create(&c, &e);
    static float want[PIXELS], want_mask[PIXELS];
    size_t order[64], position = 0;
    bool same = l != NULL;

    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        shard_order(5, epoch, nimages, 2, order);
        position = 0;
        for (size_t step = 0; step < c.plan.steps; step++) {
            struct shard_range r = shard_train(&c.plan, step, 0);
            same = same && load_next(l) == 0;
            for (size_t i = 0; i < r.end - r.begin; i++) {
                dataset_get(ds, DATASET_TRAIN, order[position++] % nimages, want, want_mask, &e);
                same = same && memcmp(images + i * PIXELS, want, sizeof want) == 0 &&
                       memcmp(targets + i * PIXELS, want_mask, sizeof want_mask) == 0;
            }
        }
    }
    ok(same, "the pictures of %d epochs in the order of data/set/loader.h, without a seek", EPOCHS);
    loader_destroy(l);
}

static void test_threads(void)
{
    for (int augment = 0; augment < 2; augment++)
        for (int part = 0; part < 3; part += 2) {
            struct loader_config none = config_of(3, part, 0, augment);
            uint64_t want = run_from(&none, 0, 0), late = run_from(&none, 2, 1);
            for (int threads = 1; threads <= 5; threads += 2) {
                struct loader_config c = config_of(3, part, threads, augment);
                ok(run_from(&c, 0, 0) == want && run_from(&c, 2, 1) == late,
                   "part %d of 3, %d threads, %s: as without threads, also from the middle", part,
                   threads, augment ? "augmented" : "plain");
            }
        }
    struct loader_config plain = config_of(1, 0, 2, false);
    struct loader_config moved = config_of(1, 0, 2, true);
    ok(run_from(&plain, 0, 0) != run_from(&moved, 0, 0), "augmented ones are others");
    ok(run_from(&moved, 0, 0) == run_from(&moved, 0, 0), "and the same again");
}

/* The shares of three ranks, one after the other, are the steps of one. */
static void test_parts(void)
{
    static float whole[sizeof images / sizeof *images];
    struct loader *l[4] = {NULL};
    struct loader_config c;
    bool same = true;

    for (int i = 0; i < 4; i++) {
        c = config_of(i < 3 ? 3 : 1, i % 3, 0, false);
        c.augment = (struct settings_augment){.preset = "nnunet", .noise = "0.5:0..1"};
        c.batch = i < 3 ? BATCH : 3 * BATCH;
        if (i == 3 && shard_plan(nimages, 2, 1, 3 * BATCH, SHARD_KEEP, &c.plan, &e))
            bail_out("%s", e.text);
        l[i] = loader_create(&c, &e);
    }
    for (size_t step = 0; same && step < EPOCHS * c.plan.steps; step++) {
        size_t at = 0;
        same = load_next(l[3]) == 0;
        memcpy(whole, images, sizeof whole);
        for (int i = 0; same && i < 3; i++) {
            struct record_batch b;
            same = loader_next(l[i], &b, &e) == 0;
            for (size_t k = 0; same && k < b.count; k++, at++) {
                record_unpack(record_at(&b, k), PIXELS, PIXELS, images, targets);
                same = memcmp(images, whole + at * PIXELS, PIXELS * sizeof *images) == 0;
            }
        }
    }
    ok(same, "by nnU-Net's chances three ranks have the images of one");
    for (int i = 0; i < 4; i++)
        loader_destroy(l[i]);
}

/* Seeks backward and forward, also to the rest of an epoch that is divided otherwise. */
static void test_seek(void)
{
    struct loader_config c = config_of(1, 0, 3, false);
    struct loader *l = loader_create(&c, &e);
    struct shard_plan rest = c.plan;
    size_t order[64];
    static float want[PIXELS], want_mask[PIXELS];

    if (!l || load_next(l))
        bail_out("%s", e.text);
    shard_continue(&rest, 5, BATCH);
    loader_seek(l, 1, &rest, 0);
    shard_order(5, 1, nimages, 2, order);
    dataset_get(ds, DATASET_TRAIN, order[5] % nimages, want, want_mask, &e);
    ok(load_next(l) == 0 && memcmp(images, want, sizeof want) == 0,
       "from the sixth picture of the second epoch on");
    for (size_t step = 1; step < rest.steps; step++)
        load_next(l);
    shard_order(5, 2, nimages, 2, order);
    dataset_get(ds, DATASET_TRAIN, order[0] % nimages, want, want_mask, &e);
    loader_seek(l, 2, NULL, 0);
    ok(load_next(l) == 0 && memcmp(images, want, sizeof want) == 0,
       "the third epoch follows, whole");
    loader_seek(l, 0, NULL, 0);
    shard_order(5, 0, nimages, 2, order);
    dataset_get(ds, DATASET_TRAIN, order[0] % nimages, want, want_mask, &e);
    ok(load_next(l) == 0 && memcmp(images, want, sizeof want) == 0,
       "and back to the first");
    loader_destroy(l);
}

static void test_allocations(void)
{
    struct loader_config c = config_of(1, 0, 3, true);
    struct loader *l = loader_create(&c, &e);
    int before = 0;

    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        for (size_t step = 0; step < c.plan.steps; step++)
            if (load_next(l))
                bail_out("%s", e.text);
        if (epoch == 0)
            before = allocations;
    }
    is_int(allocations - before, 0, "nothing is allocated after the first epoch");
    loader_destroy(l);
}

static void test_error(void)
{
    char name[64];
    struct dataset *good = ds;

    ds = open_set();
    snprintf(name, sizeof name, "set/images/%s.png", dataset_name(ds, DATASET_TRAIN, 3));
    truncate(name, 60);
    struct loader_config c = config_of(1, 0, 3, false);
    struct loader *l = loader_create(&c, &e);
    int rc = 0;
    for (size_t step = 0; rc == 0 && step < c.plan.steps; step++)
        rc = load_next(l);
    ok(rc == -1 && e.code == ERR_DATA && strstr(e.text, name), "a damaged picture: %s", e.text);
    loader_destroy(l);
    dataset_close(ds);
    ds = good;
}

int main(void)
{
    char dir[] = "/tmp/unetctl-loader.XXXXXX", command[64];

    log_set_level(LOG_WARN);
    if (!mkdtemp(dir) || chdir(dir) || synth_create("set", 10, SIDE, SIDE, 5, &e))
        bail_out("no set in a temporary folder");
    ds = open_set();
    if (!ds)
        bail_out("%s", e.text);
    nimages = dataset_count(ds, DATASET_TRAIN);
    test_plain();
    test_threads();
    test_parts();
    test_seek();
    test_allocations();
    test_error();
    dataset_close(ds);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return done_testing() + (system(command) != 0);
}
