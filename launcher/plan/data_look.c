/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/data_look.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/host/jsonio.h"
#include "launcher/plan/trainer_program.h"
#include "src/mem.h"
#include "src/text.h"

#define MAX_SAMPLE 48
#define INIT_MASKS "400" /* masks to examine, spread evenly over the names */
#define PLAN_MASKS "16"

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* Keeps the image files among the n entries, counts the others in dst, and returns how many were
 * kept. */
static int set_strangers_aside(const char *folder, struct dirent **entries, int n,
                               struct data_look *dst)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        if (filename_is_image(entries[i]->d_name)) {
            entries[kept++] = entries[i];
            continue;
        }
        if (dst->strange++ == 0)
            snprintf(dst->stranger, sizeof dst->stranger, "%s/%.200s", folder, entries[i]->d_name);
        free(entries[i]);
    }
    return kept;
}

static bool has_folder(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int list_folder(const char *dir, const char *name, struct dirent ***entries,
                       struct data_look *dst, struct err *e)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    int n = scandir(path, entries, is_visible, alphasort);
    return n < 0 ? err_errno(e, ERR_DATA, errno, "%s", path) : set_strangers_aside(name, *entries,
                                                                                   n, dst);
}

static void free_list(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
}

static int compare_stems(const char *a, const char *b)
{
    size_t na = filename_stem(a), nb = filename_stem(b);
    int c = strncmp(a, b, na < nb ? na : nb);

    return c ? c : (na > nb) - (na < nb);
}

static int by_stem(const void *a, const void *b)
{
    return compare_stems((*(struct dirent *const *)a)->d_name,
                         (*(struct dirent *const *)b)->d_name);
}

static void note_odd(struct data_look *dst, const char *folder, const char *name)
{
    if (dst->unpaired++ == 0)
        snprintf(dst->odd, sizeof dst->odd, "%s/%.200s", folder, name);
}

/* Counts files without a partner. Both lists are sorted by stem, so one walk over them suffices. */
static void count_unpaired(struct dirent **images, int nimages, struct dirent **masks, int nmasks,
                           struct data_look *dst)
{
    int i = 0, m = 0;

    while (i < nimages || m < nmasks) {
        int c = i == nimages  ? 1
                : m == nmasks ? -1
                              : compare_stems(images[i]->d_name, masks[m]->d_name);
        if (c < 0)
            note_odd(dst, "images", images[i]->d_name);
        else if (c > 0)
            note_odd(dst, "masks", masks[m]->d_name);
        i += c <= 0;
        m += c >= 0;
    }
}

static int compare_longs(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

/* The sizes of the images in the sample. */
struct sizes {
    long widths[MAX_SAMPLE], heights[MAX_SAMPLE];
    size_t n;
};

static void add_size(struct sizes *s, long width, long height, int channels, int bits,
                     struct data_look *dst)
{
    if (s->n == MAX_SAMPLE)
        return;
    s->widths[s->n] = width;
    s->heights[s->n++] = height;
    dst->channels = channels > dst->channels ? channels : dst->channels;
    dst->grey += channels < 3;
    dst->colour += channels >= 3;
    dst->deep += bits == 16;
}

static void take_sizes(struct sizes *s, struct data_look *dst)
{
    size_t n = s->n;

    if (n == 0)
        return;
    qsort(s->widths, n, sizeof *s->widths, compare_longs);
    qsort(s->heights, n, sizeof *s->heights, compare_longs);
    dst->width = s->widths[n / 2];
    dst->height = s->heights[n / 2];
    dst->min_width = s->widths[0];
    dst->max_width = s->widths[n - 1];
    dst->min_height = s->heights[0];
    dst->max_height = s->heights[n - 1];
}

/* Decodes the output of `unet-train data check`: lines of path, width, height, channels, bits
 * and hash, separated by tabs. */
static void decode_check(char *text, struct data_look *dst)
{
    struct sizes sizes = {.n = 0};
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *tab = strchr(line, '\t');
        long width, height;
        int channels, bits;
        if (tab && sscanf(tab, "%ld %ld %d %d", &width, &height, &channels, &bits) == 4)
            add_size(&sizes, width, height, channels, bits, dst);
    }
    dst->unreadable = dst->sampled - sizes.n;
    take_sizes(&sizes, dst);
}

static int sample_images(const char *dir, struct dirent **images, int n, struct data_look *dst,
                         struct err *e)
{
    const char *argv[MAX_SAMPLE + 3] = {"data", "check"};
    char *paths[MAX_SAMPLE] = {NULL}, *text = NULL;
    int take = n < MAX_SAMPLE ? n : MAX_SAMPLE, rc = 0;

    for (int i = 0; rc == 0 && i < take; i++) {
        const char *name = images[(long)i * n / take]->d_name;
        paths[i] = mem_textf(e, "%s/images/%s", dir, name);
        rc = paths[i] ? 0 : -1;
        argv[i + 2] = paths[i];
    }
    dst->sampled = (size_t)take;
    if (rc == 0 && take)
        rc = trainer_program_read(argv, &text, e);
    if (text)
        decode_check(text, dst);
    free(text);
    for (int i = 0; i < take; i++)
        free(paths[i]);
    return rc;
}

static void sort_by_stem(struct dirent **list, int n)
{
    if (n > 0) /* scandir may leave the list NULL if n is 0 */
        qsort(list, (size_t)n, sizeof(struct dirent *), by_stem);
}

/* Decodes the sizes of `unet-train data stats --json`, each with its number of images. */
static void decode_shapes(const json_t *shapes, struct data_look *dst)
{
    struct sizes sizes = {.n = 0};
    const json_t *shape;
    size_t i;

    json_array_foreach(shapes, i, shape)
        for (json_int_t k = jsonio_integer(shape, "count"); k > 0; k--)
            add_size(&sizes, (long)jsonio_integer(shape, "width"),
                     (long)jsonio_integer(shape, "height"),
                     (int)jsonio_integer(shape, "channels"),
                     (int)jsonio_integer(shape, "bits"), dst);
    dst->sampled = sizes.n;
    take_sizes(&sizes, dst);
}

static void add_masks(const json_t *masks, struct data_look *dst)
{
    static const char *const words[] = {"foreground", "one class", "classes", "unsure"};
    const char *meaning = jsonio_text(masks, "meaning");

    dst->looked = *meaning;
    for (int i = 0; i < 4; i++)
        if (strcmp(meaning, words[i]) == 0)
            dst->meaning = (enum data_meaning)i;
    dst->mask_classes = (long)jsonio_integer(masks, "classes");
    snprintf(dst->ignore, sizeof dst->ignore, "%s", jsonio_text(masks, "ignore"));
    snprintf(dst->class_file, sizeof dst->class_file, "%s", jsonio_text(masks, "class_file"));
    snprintf(dst->masks_text, sizeof dst->masks_text, "%s", jsonio_text(masks, "text"));
}

/* Fills dst from `unet-train data stats` on a sample, which reads the data exactly as a training
 * does. */
static int ask_stats(const struct data_place *place, bool with_sample, struct data_look *dst,
                     struct err *e)
{
    const char *argv[] = {"data", "stats", "--data", place->dir, "--image-folder", place->images,
                          "--mask-folder", place->masks, "--json", "--sample",
                          with_sample ? INIT_MASKS : PLAN_MASKS, NULL};
    char *text = NULL;

    if (trainer_program_ask(argv, with_sample, &text, e))
        return -1;
    json_t *root = jsonio_decode(text, strlen(text), "unet-train data stats --json", e);
    free(text);
    if (!root)
        return err_prefix(e, "%s", place->dir);
    dst->train = (size_t)jsonio_integer(root, "train");
    dst->val = (size_t)jsonio_integer(root, "val");
    dst->images = (size_t)jsonio_integer(root, "images");
    if (!dst->images) /* the images have masks */
        dst->masks = dst->images = (size_t)jsonio_integer(root, "pairs");
    dst->classes = (long)json_array_size(json_object_get(root, "classes"));
    decode_shapes(json_object_get(root, "shapes"), dst);
    add_masks(json_object_get(root, "masks"), dst);
    json_decref(root);
    return 0;
}

/* Counts the files of images/ and masks/ that unet-train cannot read, and what is wrong with
 * them. */
static int look_at_faults(const char *dir, bool with_sample, struct data_look *dst, struct err *e)
{
    struct dirent **images = NULL, **masks = NULL;
    int nimages = list_folder(dir, "images", &images, dst, e), nmasks = -1, rc = -1;

    if (nimages >= 0)
        nmasks = list_folder(dir, "masks", &masks, dst, e);
    if (nmasks >= 0) {
        dst->images = (size_t)nimages;
        dst->masks = (size_t)nmasks;
        sort_by_stem(images, nimages);
        sort_by_stem(masks, nmasks);
        count_unpaired(images, nimages, masks, nmasks, dst);
        rc = with_sample ? sample_images(dir, images, nimages, dst, e) : 0;
    }
    free_list(masks, nmasks);
    free_list(images, nimages);
    return rc;
}

static int look_at_data(const struct data_place *place, bool with_sample, struct data_look *dst,
                        struct err *e)
{
    const char *dir = place->dir;

    *dst = (struct data_look){0};
    if (ask_stats(place, with_sample, dst, e) == 0)
        return 0;
    if (e->code == ERR_CONFIG || !has_folder(dir, "images") || !has_folder(dir, "masks"))
        return -1;
    snprintf(dst->trouble, sizeof dst->trouble, "%s", e->text);
    return look_at_faults(dir, with_sample, dst, e);
}

int data_look_count(const struct study *s, struct data_look *dst, struct err *e)
{
    const struct data_place place = {s->data.dir, s->data.images, s->data.masks};

    return look_at_data(&place, false, dst, e);
}

int data_look_sample(const struct data_place *place, struct data_look *dst, struct err *e)
{
    return look_at_data(place, true, dst, e);
}

/* Returns whether the study's settings would interpret values of the masks differently from what
 * they seem to mean. */
static bool reads_otherwise(const struct data_look *look, const struct study *s)
{
    bool ignores = *s->data.ignore != '\0';

    if (*s->data.class_file)
        return false;
    /* with soft masks, values that would need a class file may be fractions of foreground */
    if (s->data.soft_masks)
        return look->meaning == DATA_CLASSES && !*look->class_file;
    if (look->meaning == DATA_CLASSES)
        return s->data.classes + ignores < look->mask_classes;
    return s->data.classes == 1 && !ignores && look->meaning != DATA_FOREGROUND;
}

const char *data_look_complaint(const struct data_look *look, const struct study *s)
{
    if ((look->train > 0) != (look->val > 0))
        return look->train ? "the set is divided, and none of its images validates"
                           : "the set is divided, and none of its images trains";
    if (look->looked && (look->meaning == DATA_ONE_CLASS || reads_otherwise(look, s)))
        return look->masks_text;
    return NULL;
}
