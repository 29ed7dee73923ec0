/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trip and damaged files. With two operands it compares two checkpoints instead, and prints
 * the root mean square of the differences in the tensor where it is largest. The bias of a
 * convolution before a batch norm is excluded, with the norm's running mean: batch norm subtracts
 * it again, so its exact gradient is 0, and Adam moves it by rounding noise. */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include <math.h>
#include <sys/stat.h>

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
                                               {-100.5, 1e5}, 32, true, true};
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

static double element(const struct weights *w, const struct weights_entry *entry, size_t i)
{
    return (entry->role == WEIGHTS_PARAM ? w->value : w->state)[entry->offset + i];
}

/* Writes the weights of n with other names: each entry's name is changed by rename, which leaves it
 * out by returning NULL. */
static void write_renamed(const struct network_config *config,
                          const char *(*rename)(const struct weights_entry *entry))
{
    struct network *n = create_network(config);
    const struct weights *w = network_weights(n);
    struct safetensors_entry *list = calloc(w->nentries, sizeof *list);
    size_t all = 0;
    struct err e;

    for (size_t i = 0; list && i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const char *name = rename(entry);
        if (!name)
            continue;
        struct safetensors_entry *t = &list[all++];
        *t = (struct safetensors_entry){.ndim = entry->ndim, .count = entry->count};
        snprintf(t->name, sizeof t->name, "%s", name);
        memcpy(t->shape, entry->shape, sizeof t->shape);
        t->data = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
    }
    if (!list || safetensors_write(path, NULL, list, all, &e))
        bail_out("cannot write");
    free(list);
    network_destroy(n);
}

static const char *keep_name(const struct weights_entry *entry)
{
    return entry->name;
}

/* The torch-th of its names in PyTorch, as a wrapper of the module saves it. */
static const char *torch_name(const struct weights_entry *entry, int torch)
{
    static char name[160];
    const char *at = entry->torch, *part = strrchr(entry->name, '.');

    for (; torch > 0; torch--)
        at = strchr(at, ' ') + 1;
    snprintf(name, sizeof name, "module.%.*s%s", (int)strcspn(at, " "), at, part);
    return name;
}

static const char *engine_name(const struct weights_entry *entry)
{
    return torch_name(entry, 0);
}

static const char *hub_name(const struct weights_entry *entry)
{
    bool is_conv = strstr(entry->name, ".conv") && strstr(entry->name, ".bias");

    return is_conv ? NULL : torch_name(entry, 1); /* its convolutions have no bias */
}

static const char *few_name(const struct weights_entry *entry)
{
    return strstr(entry->name, "bn") || strncmp(entry->name, "enc1", 4) == 0 ? entry->name : NULL;
}

static const char *twice_name(const struct weights_entry *entry)
{
    return strcmp(entry->name, "enc1.bn1.bias") == 0 ? "encoders.0.1.bias" :
           strcmp(entry->name, "enc1.bn2.bias") == 0 ? "enc1.bn1.bias" : entry->name;
}

/* Fits the file to a network of this configuration; returns the numbers that are other than those
 * of the network that was written, of parameters and statistics that both have. */
static size_t count_different(const struct network_config *config, cJSON **fit)
{
    struct network_config fresh = *config;
    struct network *a = create_network(&small), *b;
    size_t n = 0;
    struct err e = {0};

    fresh.seed = 77;
    b = create_network(&fresh);
    const struct weights *wa = network_weights(a), *wb = network_weights(b);
    *fit = checkpoint_fit(path, network_weights(b), &e);
    if (!*fit)
        bail_out("%s", e.text);
    for (size_t i = 0; i < wb->nentries; i++)
        for (size_t k = 0; k < wb->entries[i].count; k++) {
            const struct weights_entry *own = weights_find(wa, wb->entries[i].name);
            n += own->count == wb->entries[i].count &&
                 element(wa, own, k) != element(wb, &wb->entries[i], k);
        }
    network_destroy(a);
    network_destroy(b);
    return n;
}

static int count_texts(const cJSON *fit, const char *key)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(fit, key));
}

static void refuse_fit(const struct network_config *config, const char *want)
{
    struct network *n = create_network(config);
    struct err e = {0};

    ok(!checkpoint_fit(path, network_weights(n), &e) && e.code == ERR_CHECKPOINT &&
       strncmp(e.text, path, strlen(path)) == 0 && strstr(e.text, want) && !strchr(e.text, '\n'),
       "refused: %s", e.text);
    network_destroy(n);
}

static void test_fit(void)
{
    struct network_config other = small;
    cJSON *fit;

    write_renamed(&small, keep_name);
    ok(count_different(&small, &fit) == 0 && count_texts(fit, "anew") + count_texts(fit, "left") == 0 &&
       cjson_number(fit, "fitted") == cjson_number(fit, "parameters"), "all of the same network fit");
    cJSON_Delete(fit);
    other.freeze = "enc1.*,*.bn2.weight";
    ok(count_different(&other, &fit) == 0 && cjson_number(fit, "frozen") == 66 + 4 + 2,
       "frozen ones, too");
    cJSON_Delete(fit);
    other = small;
    other.classes = 3;
    other.channels = 4;
    ok(count_different(&other, &fit) == 2 && count_texts(fit, "anew") == 4,
       "head and stem differ: they stay as they are, with their biases");
    cJSON_Delete(fit);
    other = small;
    other.base = 4;
    refuse_fit(&other, "enc1.bn1.weight has shape 2, but enc1.bn1.weight here has 4");
    other = small;
    other.model = "resnet20";
    other.classes = 10;
    refuse_fit(&other, "weights of another network: of ");

    write_renamed(&small, engine_name);
    ok(count_different(&small, &fit) == 0 && count_texts(fit, "anew") + count_texts(fit, "left") == 0,
       "the names of the PyTorch engine");
    cJSON_Delete(fit);
    write_renamed(&small, hub_name);
    size_t biases = 3 * 2 * 2 + 3 * 2 - 6; /* of convolutions of 2, 4 and 2 channels, two each */
    ok(count_different(&small, &fit) == biases + 4 && count_texts(fit, "anew") == 0 &&
       cjson_number(fit, "fitted") == cjson_number(fit, "parameters"),
       "the names of the U-Net on PyTorch Hub: biases that it lacks are 0");
    cJSON_Delete(fit);
    write_renamed(&small, few_name);
    refuse_fit(&small, "weights of another network: of ");
    write_renamed(&small, twice_name);
    refuse_fit(&small, "given twice, also as ");
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
    test_fit();
    unlink(path);
    unlink(model_path);
    rmdir(dir);
    return done_testing();
}
