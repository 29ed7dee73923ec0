/* SPDX-License-Identifier: BSD-3-Clause */
/* What several verbs share: options of the data, and a trained network. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include <dirent.h>
#include <sys/stat.h>

#include "src/files.h"
#include "src/settings/settings.h"
#include "trainer/passes/passes.h"
#include "trainer/run/ranks/ranks.h"
#include "trainer/run/setup.h"

int options_size(const char *text, int *height, int *width, struct err *e)
{
    return settings_decode_size(text, height, width)
               ? 0 : err_set(e, ERR_USAGE, "--size %s: must be HEIGHTxWIDTH in pixels, as in "
                             "768x1024", text);
}

int options_network(const char *verb, const char **dtype, const char *size,
                    struct network_config *c, struct err *e)
{
    if (strcmp(*dtype, "auto") != 0 && precision_parse(*dtype, &c->dtype, &c->tf32, e))
        return err_prefix(e, "%s: --dtype", verb);
    if (size && options_size(size, &c->height, &c->width, e))
        return err_prefix(e, "%s", verb);
    return compute_take(&c->backend, dtype, e) || precision_parse(*dtype, &c->dtype, &c->tf32, e)
               ? -1
               : 0;
}

struct mask_options options_masks(const struct settings *c)
{
    return (struct mask_options){c->data.soft_masks, c->data.classes, c->data.ignore,
                                 c->data.class_file, NULL};
}

enum scale options_scale(const struct settings *c)
{
    return (enum scale)setting_word_index(settings_of_run, "data.scale", c);
}

struct source_folders options_folders(const struct settings *c)
{
    return (struct source_folders){c->data.images, c->data.masks};
}

int options_print(cJSON *root, struct err *e)
{
    char *text = cjson_print(root, "\n", e);

    if (!text)
        return -1;
    fputs(text, stdout);
    free(text);
    return 0;
}

#define WEIGHTS "weights.safetensors"

static long attempt_number(const char *name)
{
    char *end;
    long k = strncmp(name, "attempt-", 8) == 0 ? strtol(name + 8, &end, 10) : 0;

    return k > 0 && !*end ? k : 0;
}

/* Returns the number of the newest attempt of a run, or with `done` of the newest that is DONE; 0
 * if there is none. */
static long newest_attempt(const char *run, bool done)
{
    char marker[PATH_MAX];
    const struct dirent *entry;
    long newest = 0;
    DIR *dir = files_list(run);

    while (dir && (entry = readdir(dir))) {
        long k = attempt_number(entry->d_name);
        snprintf(marker, sizeof marker, "%.*s/attempt-%ld/DONE", PATH_MAX - 64, run, k);
        if (k > newest && (!done || access(marker, F_OK) == 0))
            newest = k;
    }
    if (dir)
        closedir(dir);
    return newest;
}

static int find_in_folder(const char *path, char dst[PATH_MAX], struct err *e)
{
    static const char *const places[] = {"", "/checkpoint"};
    long done = newest_attempt(path, true), newest = newest_attempt(path, false);

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(dst, PATH_MAX, "%s%s/" WEIGHTS, path, places[i]);
        if (access(dst, F_OK) == 0)
            return 0;
    }
    snprintf(dst, PATH_MAX, "%s/attempt-%ld/checkpoint/" WEIGHTS, path, done);
    if (done)
        return 0;
    if (newest)
        return err_set(e, ERR_CHECKPOINT,
                       "%s: no attempt of this run is DONE; the newest is attempt-%ld",
                       path, newest);
    return err_set(e, ERR_CHECKPOINT,
                   "%s: has no " WEIGHTS ", checkpoint/" WEIGHTS " or attempt-K: "
                   "name the folder of a run that is DONE (in a study runs/RUN)",
                   path);
}

static int find_weights_file(const char *path, char dst[PATH_MAX], struct err *e)
{
    struct stat st;

    if (stat(path, &st))
        return err_errno(e, ERR_CHECKPOINT, errno, "%s", path);
    if (S_ISDIR(st.st_mode))
        return find_in_folder(path, dst, e);
    snprintf(dst, PATH_MAX, "%s", path);
    return 0;
}

int trained_open(struct trained *t, const char *path, struct err *e)
{
    struct network_config *config = &t->config;
    int height = config->height, width = config->width;
    char sha256[65];

    config->classes = 1; /* old checkpoints do not say */
    config->seed = 1;
    if (find_weights_file(path, t->file, e) ||
        checkpoint_read_model(t->file, config, &t->classes, sha256, e))
        return -1;
    if (scale_decode(t->classes.scale, &t->scale, e))
        return err_set(e, ERR_CHECKPOINT, "%s: model.json: image_scale '%s': this unet-train does "
                       "not have it; use a later version", t->file, t->classes.scale);
    t->levels.bits = t->classes.bits;
    memcpy(t->levels.values, t->classes.levels, sizeof t->levels.values);
    if (height)
        config->height = height;
    if (width)
        config->width = width;
    if (config->threads == 0)
        config->threads = rank_identity_own_cores();
    t->network = network_create(config, e);
    if (!t->network)
        return -1;
    struct weights *w = network_weights(t->network);
    return checkpoint_read_weights(t->file, sha256, w, e) || weights_push(w, e) ? -1 : 0;
}

void trained_close(struct trained *t)
{
    network_destroy(t->network);
    checkpoint_classes_free(&t->classes);
    t->network = NULL;
}

static const char *describe_bits(int bits, char text[32])
{
    snprintf(text, 32, "values of %s%d bits", bits > 8 ? "up to " : "", bits);
    return bits == 32 ? "floats or negative numbers" : text;
}

void trained_compare_bits(const struct trained *t, size_t others, size_t all, int bits)
{
    char shown[32], trained[32], count[48] = "the";

    if ((t->scale != SCALE_FULL && t->scale != SCALE_AUTO) ||
        (!others && !bits_differ(bits, t->levels.bits)))
        return;
    if (others)
        snprintf(count, sizeof count, "%zu of %zu", others, all);
    log_warn("%s images hold %s, and those of the training %s: the network sees them in "
             "another brightness than it learnt (data.scale=%s); convert them to the depth of the "
             "training's images, or train with data.scale=range, percentile or zscore",
             count, describe_bits(bits, shown),
             describe_bits(t->levels.bits, trained), t->classes.scale);
}

const char *trained_class_name(const struct trained *t, int i, char number[16])
{
    snprintf(number, 16, "%d", i);
    return i < t->classes.count ? t->classes.names[i] : number;
}
