/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/dataset.h"

#include "src/atomicfile.h"
#include "t/tap.h"

#define N 20

static struct err e;

static size_t count(const bool *val, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += val[i];
    return sum;
}

static int divide(int64_t seed, double val_fraction, size_t n, const char *const *hash,
                  const int *label, bool *val, struct err *why)
{
    const struct split_config config = {.seed = seed, .val_fraction = val_fraction};

    return split_divide(&config, n, hash, label, val, why);
}

static void test_divide(void)
{
    const char *hash[N];
    char text[N][16];
    bool val[N], again[N];

    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "h%d", i);
        hash[i] = text[i];
    }
    ok(divide(1, 0.2, N, hash, NULL, val, &e) == 0 && count(val, N) == 4, "20 x 0.2 = 4 validate");
    divide(1, 0.2, N, hash, NULL, again, &e);
    ok(memcmp(val, again, sizeof val) == 0, "the same arguments, the same split");
    divide(2, 0.2, N, hash, NULL, again, &e);
    ok(memcmp(val, again, sizeof val) != 0, "another seed, another split");
    ok(divide(1, 0.29, 10, hash, NULL, val, &e) == 0 && count(val, 10) == 2, "rounded down");
    ok(divide(1, 0.001, N, hash, NULL, val, &e) == 0 && count(val, N) == 1,
       "at least one validates");
    ok(divide(1, 0.999, N, hash, NULL, val, &e) == 0 && count(val, N) == N - 1,
       "at least one trains");
    ok(divide(1, 0.2, 2, hash, NULL, val, &e) == 0 && count(val, 2) == 1, "two pairs: one each");
    ok(divide(1, 0.2, 1, hash, NULL, val, &e) == -1 && e.code == ERR_DATA, "one pair: %s", e.text);
}

static void test_equal_pictures(void)
{
    const char *hash[N];
    char text[N][16];
    bool val[N], together = true, both = true;

    /* Groups of 1, 2, 3, 4 and 10 equal images. */
    for (int i = 0, group = 0, left = 1; i < N; i++, left--) {
        if (left == 0)
            left = ++group < 4 ? group + 1 : N;
        snprintf(text[i], sizeof text[i], "g%d", group);
        hash[i] = text[i];
    }
    for (int64_t seed = 0; seed < 200; seed++) {
        divide(seed, 0.2, N, hash, NULL, val, &e);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                together = together && (strcmp(hash[i], hash[k]) != 0 || val[i] == val[k]);
        both = both && count(val, N) >= 1 && count(val, N) < N;
    }
    ok(together, "equal pictures are on one side, whatever the seed");
    ok(both, "and both sides have some");
    for (int i = 0; i < N; i++)
        hash[i] = "same";
    ok(divide(1, 0.2, N, hash, NULL, val, &e) == -1 && e.code == ERR_DATA, "all equal: %s", e.text);
    for (int i = 0; i < N; i++)
        hash[i] = i < 8 ? "a" : "b";
    ok(divide(1, 0.05, N, hash, NULL, val, &e) == 0 && count(val, N) == 8,
       "no group is small enough: the smaller one validates");
}

/* Each class is divided by itself; what is rounded down in one is made up in the next. */
static void test_divide_classes(void)
{
    enum { CLASSES = 12, EACH = 6, ALL = CLASSES * EACH };
    const char *hash[ALL];
    char text[ALL][16];
    int label[ALL], of[CLASSES];
    bool val[ALL], every = true, total = true;

    for (int i = 0; i < ALL; i++) {
        label[i] = i / EACH;
        snprintf(text[i], sizeof text[i], "h%d", i * 31 % 97);
        hash[i] = text[i];
    }
    for (int64_t seed = 0; seed < 50; seed++) {
        divide(seed, 0.2, ALL, hash, label, val, &e);
        memset(of, 0, sizeof of);
        for (int i = 0; i < ALL; i++)
            of[label[i]] += val[i];
        for (int c = 0; c < CLASSES; c++)
            every = every && (of[c] == 1 || of[c] == 2);
        total = total && count(val, ALL) == 14;
    }
    ok(every, "12 classes of 6: each has one or two that validate");
    ok(total, "together a fifth");
    for (int i = 0; i < EACH; i++)
        hash[i] = "same";
    divide(1, 0.2, ALL, hash, label, val, &e);
    ok(count(val, EACH) == 0 && count(val, ALL) > 10, "a class of one group trains");
    for (int i = 0; i < ALL; i++)
        hash[i] = text[label[i]];
    ok(divide(1, 0.2, ALL, hash, label, val, &e) == 0 && count(val, ALL) == 12,
       "one group in each class: two groups validate");
}

/* Each image is in one of the folds, groups whole, sizes and classes balanced. */
static int divide_folds(int64_t seed, int folds, int fold, size_t n, const char *const *hash,
                        const int *label, bool *val, struct err *why)
{
    const struct split_config config = {.seed = seed, .folds = folds, .fold = fold};

    return split_divide(&config, n, hash, label, val, why);
}

static void test_folds(void)
{
    enum { ALL = 33, FOLDS = 5 };
    const char *hash[ALL];
    char text[ALL][16];
    int label[ALL], of[2], seen[ALL];
    bool val[ALL], again[ALL], even = true, once = true, together = true;

    for (int i = 0; i < ALL; i++) {
        label[i] = i % 3 == 0;
        snprintf(text[i], sizeof text[i], "h%d", i * 31 % 97);
        hash[i] = text[i];
    }
    for (int64_t seed = 0; seed < 50; seed++) {
        memset(seen, 0, sizeof seen);
        for (int fold = 1; fold <= FOLDS; fold++) {
            once = divide_folds(seed, FOLDS, fold, ALL, hash, label, val, &e) == 0 && once;
            memset(of, 0, sizeof of);
            for (int i = 0; i < ALL; i++) {
                seen[i] += val[i];
                of[label[i]] += val[i];
            }
            even = even && (count(val, ALL) == 6 || count(val, ALL) == 7) &&
                   (of[0] == 4 || of[0] == 5) && (of[1] == 2 || of[1] == 3);
        }
        for (int i = 0; i < ALL; i++)
            once = once && seen[i] == 1;
    }
    ok(once, "each image validates in one fold of 5, whatever the seed");
    ok(even, "folds of 33 images have 6 or 7, and 2 or 3 of a class of 11");
    divide_folds(1, FOLDS, 2, ALL, hash, label, val, &e);
    divide_folds(2, FOLDS, 2, ALL, hash, label, again, &e);
    ok(memcmp(val, again, sizeof val) != 0, "another seed, other folds");
    for (int i = 0; i < ALL; i++)
        hash[i] = text[i / 3];
    divide_folds(1, FOLDS, 2, ALL, hash, NULL, val, &e);
    for (int i = 0; i < ALL; i++)
        together = together && val[i] == val[i / 3 * 3];
    ok(together && count(val, ALL) > 0, "groups stay together");
    ok(divide_folds(1, 12, 1, ALL, hash, NULL, val, &e) == -1 && e.code == ERR_DATA, "%s",
       e.text);
}

static struct split *read_text(const char *text)
{
    if (atomicfile_write("s.json", text, strlen(text), 0600, &e))
        bail_out("%s", e.text);
    return split_read("s.json", &e);
}

static void test_file(void)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct split_item train = {"a\n\"b", "images/a.png", "masks/a.png", 0, 640, 480, "", "", 6, 0};
    struct split_item val = {"µ", "images/µ.png", "masks/µ.png", 0, 1, 65535, "", "", 0, 8};
    struct split s = {.dir = "/data", .seed = 1244, .val_fraction = 0.2, .mask_scale = MASK_FULL,
                      .train = {&train, 1}, .val = {&val, 1}};
    char *text;

    strcpy(train.image_sha256, hex), strcpy(train.mask_sha256, hex);
    strcpy(val.image_sha256, hex), strcpy(val.mask_sha256, hex);
    val.image_sha256[0] = 'f';
    text = split_encode(&s, &e);
    struct split *r = read_text(text);
    ok(r && strcmp(r->dir, "/data") == 0 && r->seed == 1244 && r->val_fraction == 0.2 &&
           r->mask_scale == MASK_FULL && r->train.count == 1 && r->val.count == 1,
       "written and read: the whole");
    ok(r && strcmp(r->train.items[0].stem, train.stem) == 0 && r->train.items[0].width == 640 &&
           r->val.items[0].height == 65535 && strcmp(r->val.items[0].image, val.image) == 0 &&
           strcmp(r->val.items[0].mask_sha256, hex) == 0 && r->train.items[0].orientation == 6 &&
           r->val.items[0].mask_orientation == 8, "written and read: the items");
    split_destroy(r);

    /* If any one of these pieces of the text is spoilt, the file is refused, and the error names
     * the file. */
    static const char *const pieces[] = {
        "schema", "data", "seed", "val_fraction", "mask_max", "train", "val\"", "stem", "image\"",
        "mask\"", "width", "height", "image_sha256", "mask_sha256"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char *copy = strdup(text), *at = strstr(copy, pieces[i]);
        *at = 'X';
        r = read_text(copy);
        ok(!r && e.code == ERR_DATA && strstr(e.text, "s.json"), "%s", e.text);
        split_destroy(r);
        free(copy);
    }
    char *hash = strstr(strstr(text, "\"val\""), hex + 1);
    hash[-1] = hex[0];
    ok(!read_text(text) && e.code == ERR_DATA &&
           strstr(e.text, "images/a.png and images/µ.png are the same image"), "%s", e.text);
    memcpy(strstr(text, ":1,"), ":2,", 3);
    ok(!read_text(text) && strstr(e.text, "schema 2"), "%s", e.text);
    ok(!read_text("{\"schema\":1") && e.code == ERR_DATA, "%s", e.text);
    ok(!read_text("[]") && e.code == ERR_DATA, "%s", e.text);
    ok(!split_read("none.json", &e) && e.code == ERR_DATA, "%s", e.text);
    free(text);
}

/* Splits of images with classes: they have class names and no masks. */
static void test_classes(void)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char *names[] = {"cat", "dog \"x\""};
    struct split_item train = {"a", "b.bin#0", NULL, 1, 32, 32, "", "", 0, 0};
    struct split_item val = {"c", "b.bin#1", NULL, 0, 32, 32, "", "", 0, 0};
    struct split s = {.dir = "/data", .format = SOURCE_CIFAR, .class_names = names, .nclasses = 2,
                      .train = {&train, 1}, .val = {&val, 1}};
    char *text;

    strcpy(train.image_sha256, hex), strcpy(val.image_sha256, hex);
    val.image_sha256[0] = 'f';
    text = split_encode(&s, &e);
    struct split *r = read_text(text);
    ok(r && r->format == SOURCE_CIFAR && r->nclasses == 2 && r->train.items[0].label == 1 &&
           !r->train.items[0].mask && strcmp(r->class_names[1], names[1]) == 0,
       "classes: written and read");
    split_destroy(r);
    char *at = strstr(text, "\"class\":1");
    at[8] = '2';
    ok(!read_text(text) && strstr(e.text, "class: must be"), "a class too high: %s", e.text);
    free(text);
}

/* Two workers share two of three files; items of the kept files stay in order. */
static void test_keep_files(void)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static char *locators[] = {"10.records#0", "1.records#0", "2.records#1", "10.records#1",
                               "2.records#0", "1.records#1"};
    static const char *const kept[] = {"1.records#0", "2.records#1", "2.records#0", "1.records#1"};
    struct split_item train[6], val = {"v", "v.records#0", "v.records#0", 0, 1, 1, "", "", 0, 0};
    struct split s = {.dir = "/data", .format = SOURCE_TFRECORD, .train = {train, 6},
                      .val = {&val, 1}};
    char *text;

    for (int i = 0; i < 6; i++) {
        train[i] = (struct split_item){locators[i], locators[i], locators[i], 0, 1, 1, "", "",
                                       0, 0};
        strcpy(train[i].image_sha256, hex), strcpy(train[i].mask_sha256, hex);
    }
    strcpy(val.image_sha256, hex), strcpy(val.mask_sha256, hex);
    val.image_sha256[0] = 'f';
    text = split_encode(&s, &e);
    struct split *r = read_text(text);
    ok(r && split_keep_files(r, 2, &e) == 0 && r->train.count == 4, "two of three files are kept");
    for (size_t i = 0; r && i < r->train.count; i++)
        is_str(r->train.items[i].image, kept[i], "kept item %zu", i);
    split_destroy(r);
    free(text);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-split.XXXXXX";

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    test_divide();
    test_equal_pictures();
    test_divide_classes();
    test_folds();
    test_file();
    test_classes();
    test_keep_files();
    unlink("s.json");
    rmdir(dir);
    return done_testing();
}
