/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/plan/look.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/study/plan.h"
#include "src/files.h"

/* ---- unet-train as a program ---- */

#define MAX_ARGS 256

/* The program and its words, NULL-terminated. */
struct words {
    char path[PATH_MAX];
    const char *list[MAX_ARGS + 2];
};

static int make_words(const char *const *argv, struct words *w, struct err *e)
{
    const char *bindir = paths_bindir(e);
    size_t n = 0;

    if (!bindir)
        return -1;
    snprintf(w->path, sizeof w->path, "%s/unet-train", bindir);
    w->list[0] = w->path;
    for (; argv[n]; n++) {
        if (n == MAX_ARGS)
            return err_set(e, ERR_USAGE, "more than %d words for unet-train", MAX_ARGS);
        w->list[n + 1] = argv[n];
    }
    w->list[n + 1] = NULL;
    return 0;
}

int trainer_program_exec(const char *const *argv, struct err *e)
{
    struct words w;

    if (make_words(argv, &w, e))
        return -1;
    execv(w.path, (char *const *)w.list);
    return err_errno(e, ERR_INTERNAL, errno, "%s", w.path);
}

static int set_unstarted(struct err *e)
{
    if (errno == ENOENT || errno == EACCES)
        err_set(e, ERR_INTERNAL, "unet-train cannot be started; it belongs beside unetctl");
    return -1;
}

static int read_program(const char *const *argv, int err, struct child_end *end, struct err *e)
{
    struct words w;
    struct child c = {.argv = w.list, .out = CHILD_READ, .err = err};

    *end = (struct child_end){0};
    return make_words(argv, &w, e) ? -1 : child_run(&c, end, e) ? set_unstarted(e) : 0;
}

int trainer_program_read(const char *const *argv, char **text, struct err *e)
{
    struct child_end end;
    int rc = read_program(argv, CHILD_NULL, &end, e);

    *text = rc ? NULL : buf_steal(&end.out);
    child_destroy(&end);
    return rc;
}

/* Reads the program's messages line by line. Warnings are logged if `loud`. If code is not 0, an
 * error, the last of several, becomes e's text, with this code. */
static void read_messages(char *text, bool loud, int code, struct err *e)
{
    static const char warning[] = "unet-train: warning: ", error[] = "unet-train: error: ";
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (text_begins(line, warning) && loud)
            log_warn("%s", line + strlen(warning));
        else if (text_begins(line, error) && code)
            err_set(e, code, "%s", line + strlen(error));
}

/* The same for words that must succeed: returns -1 with unet-train's own error and exit code if
 * they do not, and nothing to free. Its warnings are logged if `loud`. */
static int trainer_program_ask(const char *const *argv, bool loud, char **text, struct err *e)
{
    struct child_end end;
    int rc = read_program(argv, CHILD_READ, &end, e);

    if (rc == 0 && end.code)
        rc = err_set(e, end.code, "unet-train %s %s failed", argv[0], argv[1] ? argv[1] : "");
    if (end.err.data)
        read_messages(end.err.data, loud, end.code, e);
    *text = rc ? NULL : buf_steal(&end.out);
    child_destroy(&end);
    return rc;
}

int trainer_program_run(const char *const *argv, struct err *e)
{
    struct words w;
    struct child c = {.argv = w.list, .out = STDERR_FILENO};

    if (make_words(argv, &w, e))
        return -1;
    pid_t child = child_start(&c, e);
    if (child < 0)
        return set_unstarted(e);
    int code = child_wait(child);
    if (code > 128)
        return err_set(e, code, "unet-train %s: ended by signal %d", argv[0], code - 128);
    if (code)
        return err_set(e, code, "unet-train %s %s failed (see above); nothing was submitted",
                       argv[0], argv[1] ? argv[1] : "");
    return 0;
}

/* ---- the model ---- */

int model_look_open(const struct study *study, bool loud, bool init, struct model_look *dst,
                    struct err *e)
{
    char size[48], channels[24], classes[24], base[24], depth[24], *text;
    const char *argv[20] = {"model", study->model.name, "--json", "--size", size, "--channels",
                            channels};
    int n = 7;

    *dst = (struct model_look){0};
    snprintf(size, sizeof size, "%dx%d", study->data.height, study->data.width);
    snprintf(channels, sizeof channels, "%d", study->data.channels);
    snprintf(classes, sizeof classes, "%d", study->data.classes);
    snprintf(base, sizeof base, "%d", study->model.base);
    snprintf(depth, sizeof depth, "%d", study->model.depth);
    /* 1 is the preset: image folders define their own number of classes */
    if (study->data.classes > 1)
        argv[n++] = "--classes", argv[n++] = classes;
    if (study->model.base)
        argv[n++] = "--base", argv[n++] = base;
    if (study->model.depth)
        argv[n++] = "--depth", argv[n++] = depth;
    if (strcmp(study->model.batch_norm, "none") == 0)
        argv[n++] = "--batch-norm=none";
    if (*study->model.freeze)
        argv[n++] = "--freeze", argv[n++] = study->model.freeze;
    if (init && *study->model.init)
        argv[n++] = "--init", argv[n++] = study->model.init;
    argv[n] = NULL;
    if (trainer_program_read(argv, &text, e))
        return -1;
    bool empty = !*text;
    json_t *root = empty ? NULL : jsonio_decode(text, strlen(text), "unet-train model --json", e);
    free(text);
    if (!empty && !root)
        return -1;
    const char *of = json_string_value(json_object_get(root, "of"));
    dst->of_classes = of && strcmp(of, "classes") == 0;
    dst->parameters = json_integer_value(json_object_get(root, "parameters"));
    dst->state = json_integer_value(json_object_get(root, "state"));
    dst->tensors = json_integer_value(json_object_get(root, "tensors"));
    json_decref(root);
    if (of)
        return 0;
    if (loud)
        (void)trainer_program_run(argv, e);
    return err_set(e, ERR_CONFIG, "model.name %s cannot be built for this study%s%s (unet-train "
                   "model %s --size %s)", study->model.name,
                   argv[n - 1] == study->model.init ? " with model.init" : "",
                   loud ? ", as said above" : "",
                   study->model.name, size);
}

/* ---- the data ---- */

#define MAX_SAMPLE 48
#define INIT_MASKS "400" /* masks to examine, spread evenly over the names */
#define PLAN_MASKS "16"

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
    int n = scandir(path, entries, files_are_shown, alphasort);
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
    if (json_is_true(json_object_get(root, "scale_each")))
        dst->image_spread = json_number_value(json_object_get(root, "image_spread"));
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

int data_look_open(const struct data_place *place, bool with_sample, struct data_look *dst,
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

    return data_look_open(&place, false, dst, e);
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

/* ---- the devices ---- */

/* Returns the output of `unet-train devices --backend BACKEND` on this host, or NULL with the
 * problem in dst. */
static json_t *ask_devices(const char *backend, struct compute_look *dst)
{
    const char *const argv[] = {"devices", "--json", "--backend", backend, NULL};
    json_t *devices = NULL;
    char *text = NULL;
    struct err e;

    if (trainer_program_read(argv, &text, &e) == 0)
        devices = jsonio_decode(text, strlen(text), "unet-train devices --json", &e);
    free(text);
    if (!devices) {
        snprintf(dst->problem, sizeof dst->problem, "unet-train does not report its device: %.300s",
                 e.text);
        dst->remedy = "unet-train devices";
    }
    return devices;
}

static bool has_backend(const json_t *devices, const char *name)
{
    const json_t *backend;
    size_t i;

    json_array_foreach(json_object_get(devices, "backends"), i, backend) {
        if (strcmp(json_string_value(backend), name) == 0)
            return true;
    }
    return false;
}

/* Fills dst with what this host computes on, and why. */
static void set_host(struct compute_look *dst, const json_t *devices, const struct study *study,
                     const char *why)
{
    const json_t *compute = json_object_get(devices, "compute");

    snprintf(dst->problem, sizeof dst->problem, "%s", jsonio_text(compute, "error"));
    dst->fatal = *dst->problem;
    if (dst->fatal)
        return;
    snprintf(dst->backend, sizeof dst->backend, "%s", jsonio_text(compute, "backend"));
    bool gpus = strcmp(dst->backend, "cuda") == 0;
    bool slower = !gpus && strcmp(study->train.dtype, "bf16") == 0;
    snprintf(dst->text, sizeof dst->text, "%s (backend %s)%s%s%s", gpus ? "GPUs" : "the CPU",
             dst->backend, *why ? ": " : "", why,
             slower ? "; bf16 is slower there than f32" : "");
}

static void add_dtype(struct compute_look *dst, const struct study *study, const struct site *site)
{
    const char *dtype = plan_dtype(study, site);
    bool automatic = strcmp(dtype, "auto") == 0;
    size_t n = strlen(dst->text);

    snprintf(dst->text + n, sizeof dst->text - n, "; train.dtype is %s%s", dtype,
             automatic ? ", tf32 on GPUs that have it, else f32" : "");
}

/* Fills dst for a cluster with GPUs, which this host cannot examine. */
static void set_gpus(struct compute_look *dst, const json_t *devices, const struct site *site,
                     const char *word)
{
    if (site_has_foreign_gpus(site)) {
        snprintf(dst->problem, sizeof dst->problem, "the GPUs of site %s are not NVIDIA's, and a "
                 "run that computes on them ends at once with exit code 5", site->name);
        dst->remedy = "set train.backend: cpu";
        dst->fatal = true;
        return;
    }
    snprintf(dst->backend, sizeof dst->backend, "cuda");
    snprintf(dst->text, sizeof dst->text, "GPUs (backend cuda): train.backend is %s", word);
    if (has_backend(devices, "cuda"))
        return;
    snprintf(dst->problem, sizeof dst->problem, "unet-train was built without CUDA, and a run that "
             "has GPUs ends at once with exit code 5");
    dst->remedy = "build it with ./configure --with-cuda=DIR, or set train.backend: cpu";
    dst->fatal = true;
}

bool compute_look_applies(const struct study *study, const struct site *site)
{
    return strcmp(study->engine, "embedded") == 0 && !*site->trainer;
}

void compute_look_open(const struct study *study, const struct site *site,
                       struct compute_look *dst)
{
    const char *word = study->train.backend;
    bool automatic = strcmp(word, "auto") == 0, fake = automatic && site_has_fake_gpus(site);
    bool on_gpus = (automatic && !fake) || strcmp(word, "cuda") == 0;
    bool local = strcmp(site->scheduler, "local") == 0;
    json_t *devices = NULL;
    char why[64];

    *dst = (struct compute_look){.remedy = ""};
    if (compute_look_applies(study, site))
        devices = ask_devices(fake ? "cpu" : word, dst);
    if (!devices)
        return;
    snprintf(why, sizeof why, "train.backend is %s", word);
    if (on_gpus && !local)
        set_gpus(dst, devices, site, word);
    else if (fake)
        set_host(dst, devices, study, "the site's GPUs are fake");
    else if (on_gpus)
        set_host(dst, devices, study, jsonio_text(json_object_get(devices, "compute"), "why_cpu"));
    else
        set_host(dst, devices, study, why);
    if (strcmp(dst->backend, "cuda") == 0)
        add_dtype(dst, study, site);
    if (!on_gpus && !fake && !local && !site_has_fake_gpus(site) && !site_has_foreign_gpus(site)) {
        snprintf(dst->problem, sizeof dst->problem,
                 "runs take GPUs and compute on the CPU (train.backend is %s)", word);
        dst->remedy = "set train.backend: auto to compute on the GPUs";
    }
    json_decref(devices);
}
