/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trip and damaged files. With two operands it compares two checkpoints instead, and prints
 * the root mean square of the differences in the tensor where it is largest. The bias of a
 * convolution before a batch norm is excluded, with the norm's running mean: batch norm subtracts
 * it again, so its exact gradient is 0, and Adam moves it by rounding noise. */
#include "config.h"
#include "trainer/checkpoint/checkpoint.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[64], path[96], model_path[96];
static const struct network_config small = {
    .model = "unet", .backend = "ref", .base = 2, .depth = 1, .channels = 1, .height = 8,
    .width = 8, .threads = 1, .batch_norm = BATCH_NORM_LOCAL, .seed = 5};

static struct network *create_network(const struct network_config *config)
{
    struct err e;
    struct network *n = network_create(config, &e);

    if (!n)
        bail_out("%s", e.text);
    return n;
}

static char *slurp(const char *file, size_t *n)
{
    struct err e;
    char *bytes = atomicfile_read(file, 1 << 24, n, &e);

    if (!bytes)
        bail_out("%s", e.text);
    return bytes;
}

/* Replaces the file by n bytes; reading must fail with `want` in the error. */
static void refuse_bytes(const char *bytes, size_t n, const char *want)
{
    struct err e = {0};
    struct network *net = create_network(&small);

    if (atomicfile_write(path, bytes, n, 0666, &e))
        bail_out("%s", e.text);
    int rc = checkpoint_read_weights(path, "", network_weights(net), &e);
    ok(rc == -1 && e.code == ERR_CHECKPOINT && strstr(e.text, want) && strstr(e.text, path),
       "refused: %s", e.text);
    network_destroy(net);
}

/* The intact file, with one text of the header replaced by another of the same length, must be
 * refused with `want` in the error's text. */
static void refuse_edited(const char *good, size_t n, const char *from, const char *to,
                          const char *want)
{
    char *bytes = malloc(n);
    char *at = bytes ? memcpy(bytes, good, n) : NULL;

    at = at ? memmem(bytes, n, from, strlen(from)) : NULL;
    if (!at || strlen(from) != strlen(to))
        bail_out("the test looks for %s", from);
    memcpy(at, to, strlen(to));
    refuse_bytes(bytes, n, want);
    free(bytes);
}

static void test_round_trip(void)
{
    struct err e = {0};
    char sha256[65], recorded[65], *names[] = {"mark"};
    const struct checkpoint_classes classes = {names, 1, "128", "0 a\n255 \"b\"\n", "auto",
                                               {-100.5, 1e5}, 32, true};
    struct checkpoint_classes got;
    struct network *a = create_network(&small), *b;
    struct network_config other = small, read = {.backend = "ref", .threads = 1};
    struct weights *w = network_weights(a);

    for (size_t i = 0; i < w->nentries; i++)
        for (size_t j = 0; j < w->entries[i].count; j++)
            (w->entries[i].role == WEIGHTS_PARAM ? w->value : w->state)[w->entries[i].offset + j] =
                (float)sin((double)(31 * i + j));
    ok(checkpoint_write(dir, &small, &classes, w, sha256, &e) == 0, "written %s", e.text);
    ok(checkpoint_read_model(path, &read, &got, recorded, &e) == 0 && read.base == 2 &&
       read.depth == 1 && read.channels == 1 && read.height == 8 &&
       read.batch_norm == BATCH_NORM_LOCAL, "the model is read back %s", e.text);
    ok(got.count == 1 && strcmp(got.names[0], "mark") == 0 && strcmp(got.ignore, "128") == 0 &&
       strcmp(got.file, classes.file) == 0 && got.soft_masks &&
           strcmp(got.scale, "auto") == 0 && memcmp(got.levels, classes.levels, 16) == 0 &&
           got.bits == 32, "with its classes and levels");
    checkpoint_classes_free(&got);
    is_str(recorded, sha256, "and the hash of the weights");
    read.seed = 99;
    b = create_network(&read);
    ok(checkpoint_read_weights(path, "", network_weights(b), &e) == 0,
       "the weights are read back %s", e.text);
    ok(memcmp(w->value, network_weights(b)->value, w->nparams * sizeof(float)) == 0 &&
       memcmp(w->state, network_weights(b)->state, w->nstate * sizeof(float)) == 0,
       "bit by bit, state included");
    ok(checkpoint_read_weights(path, sha256, network_weights(b), &e) == 0, "their hash is right");
    sha256[0] ^= 1;
    ok(checkpoint_read_weights(path, sha256, network_weights(b), &e) == -1 &&
       e.code == ERR_CHECKPOINT && strstr(e.text, "damaged or replaced"),
       "another one is refused: %s", e.text);
    network_destroy(b);

    other.base = 3;
    b = create_network(&other);
    ok(checkpoint_read_weights(path, "", network_weights(b), &e) == -1 && e.code == ERR_CHECKPOINT,
       "another model's weights are refused: %s", e.text);
    network_destroy(b);
    network_destroy(a);
}

static void test_damage(void)
{
    size_t n;
    char *good = slurp(path, &n), *bad = malloc(n + 4);

    if (!bad)
        bail_out("no memory");
    refuse_bytes(good, 0, "does not fit");
    refuse_bytes(good, 7, "does not fit");
    refuse_bytes(good, 100, "does not fit");
    refuse_bytes(good, n - 1, "bytes of data");
    memcpy(bad, good, n);
    memset(bad + n, 0, 4);
    refuse_bytes(bad, n + 4, "bytes of data for tensors of");
    memset(bad, 0xff, 8);
    refuse_bytes(bad, n, "does not fit");
    memcpy(bad, good, n);
    bad[8] = '[';
    refuse_bytes(bad, n, "not a JSON object");
    memcpy(bad, good, n);
    memset(bad + n - 4, 0xff, 4); /* a NaN */
    refuse_bytes(bad, n, "is not a finite number");
    refuse_edited(good, n, "\"F32\"", "\"F16\"", "dtype must be F32");
    refuse_edited(good, n, "head.bias", "head.bogs", "head.bogs: the model has no such tensor");
    refuse_edited(good, n, "\"head.bias\":{", "\"head.bias\":[", "not a JSON object");
    refuse_edited(good, n, "\"data_offsets\":[0,", "\"data_offsets\":[1,", "data_offsets");
    refuse_edited(good, n, "\"shape\":[1]", "\"shape\":[2]", "head.bias: has another shape");
    free(bad);
    free(good);
}

static void test_model(void)
{
    struct checkpoint_classes classes;
    struct network_config c = {0};
    struct err e = {0};
    char sha256[65];

    static const char *const texts[] = {
        "", "[]", "{\"schema\":2}", "{\"schema\":1,\"name\":\"vgg\"}",
        "{\"schema\":1,\"name\":\"unet\",\"base\":0,\"depth\":1,\"channels\":1,\"height\":8,"
        "\"width\":8,\"batch_norm\":\"none\"}",
        "{\"schema\":1,\"name\":\"unet\",\"base\":2,\"depth\":1,\"channels\":1,\"height\":8,"
        "\"width\":8,\"batch_norm\":\"group\"}",
        "{\"schema\":1,\"name\":\"unet\",\"base\":2,\"depth\":1,\"channels\":1,\"height\":8,"
        "\"width\":8,\"batch_norm\":\"none\",\"class_names\":[\"a\",\"b\"]}"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (atomicfile_write(model_path, texts[i], strlen(texts[i]), 0666, &e))
            bail_out("%s", e.text);
        ok(checkpoint_read_model(path, &c, &classes, sha256, &e) == -1 &&
           e.code == ERR_CHECKPOINT, "refused: %s", e.text);
        checkpoint_classes_free(&classes);
    }
    unlink(model_path);
    ok(checkpoint_read_model(path, &c, &classes, sha256, &e) == -1 && e.code == ERR_CHECKPOINT,
       "no model.json: %s", e.text);
}

static struct network *load_network(const char *file)
{
    struct network_config config = {.backend = "ref", .threads = 1, .seed = 1};
    struct checkpoint_classes classes;
    char sha256[65];
    struct err e;

    if (checkpoint_read_model(file, &config, &classes, sha256, &e))
        bail_out("%s", e.text);
    checkpoint_classes_free(&classes);
    struct network *n = create_network(&config);
    if (checkpoint_read_weights(file, sha256, network_weights(n), &e))
        bail_out("%s", e.text);
    return n;
}

/* Returns whether name is X.convI.bias or X.bnI.running_mean, and w has the other of the two,
 * too. */
static bool is_cancelled(const struct weights *w, const char *name)
{
    const char *conv = strstr(name, ".conv"), *bn = strstr(name, ".bn");
    char other[80];

    if (conv && strcmp(conv + 6, ".bias") == 0)
        snprintf(other, sizeof other, "%.*s.bn%c.running_mean", (int)(conv - name), name, conv[5]);
    else if (bn && strcmp(bn + 4, ".running_mean") == 0)
        snprintf(other, sizeof other, "%.*s.conv%c.bias", (int)(bn - name), name, bn[3]);
    else
        return false;
    return weights_find(w, other) != NULL;
}

static double element(const struct weights *w, const struct weights_entry *entry, size_t i)
{
    return (entry->role == WEIGHTS_PARAM ? w->value : w->state)[entry->offset + i];
}

static int compare_files(const char *file_a, const char *file_b)
{
    struct network *net_a = load_network(file_a), *net_b = load_network(file_b);
    const struct weights *a = network_weights(net_a), *b = network_weights(net_b);
    double most = 0; /* mean square */
    const char *where = "nowhere";

    for (size_t i = 0; i < a->nentries; i++) {
        const struct weights_entry *entry = &a->entries[i];
        double sum = 0;
        for (size_t j = 0; j < entry->count && !is_cancelled(a, entry->name); j++) {
            double d = element(a, entry, j) - element(b, entry, j);
            sum += d * d / (double)entry->count;
        }
        if (sum > most) {
            most = sum;
            where = entry->name;
        }
    }
    printf("%.3g %s\n", sqrt(most), where);
    network_destroy(net_a);
    network_destroy(net_b);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return compare_files(argv[1], argv[2]);
    snprintf(dir, sizeof dir, "/tmp/checkpoint-test.%d", (int)getpid());
    snprintf(path, sizeof path, "%s/weights.safetensors", dir);
    snprintf(model_path, sizeof model_path, "%s/model.json", dir);
    test_round_trip();
    test_damage();
    test_model();
    unlink(path);
    unlink(model_path);
    rmdir(dir);
    return done_testing();
}
