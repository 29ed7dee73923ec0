/* SPDX-License-Identifier: BSD-3-Clause */
/* Trained weights and their description, and snapshots of a training. */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include <dirent.h>
#include <math.h>

#include "src/files.h"
#include "src/format/schema.h"
#include "src/format/sha256.h"
#include "trainer/json/cjson.h"

#define MODEL_LIMIT (4 << 20) /* bytes of model.json, which may include a class file of 1 MiB */

static const char *const batch_norms[] = {
    [BATCH_NORM_NONE] = "none", [BATCH_NORM_LOCAL] = "local", [BATCH_NORM_SYNC] = "sync"};

static struct safetensors_entry *list_weights(const struct weights *w, size_t *n, struct err *e)
{
    struct safetensors_entry *list = mem_zero(w->nentries, sizeof *list, e);

    if (list)
        *n = safetensors_list(w, "", w->value, w->state, list);
    return list;
}

int checkpoint_write_weights(const char *path, const struct weights *w, struct err *e)
{
    size_t n;
    struct safetensors_entry *list = list_weights(w, &n, e);
    int rc = list ? safetensors_write(path, NULL, list, n, e) : -1;

    free(list);
    return rc;
}

static void add_classes(cJSON *o, const struct checkpoint_classes *c)
{
    cJSON *names = cjson_array(o, "class_names");

    for (int i = 0; i < c->count; i++)
        cjson_add(names, NULL, cJSON_CreateString(c->names[i]));
    if (*c->ignore)
        cjson_addf(o, "ignore=%s", c->ignore);
    if (*c->file)
        cjson_addf(o, "class_file=%s", c->file);
    if (*c->scale && strcmp(c->scale, "full") != 0)
        cjson_addf(o, "image_scale=%s", c->scale);
    if (strcmp(c->scale, "auto") == 0)
        cjson_add(o, "image_levels", cJSON_CreateDoubleArray(c->levels, 2));
    if (c->bits)
        cjson_addf(o, "image_bits=%d", c->bits);
    if (c->soft_masks)
        cjson_addf(o, "soft_masks=%i", true);
}

static int write_model(const char *path, const struct network_config *c,
                       const struct checkpoint_classes *classes, const char *sha256, struct err *e)
{
    const struct model *model = model_find(c->model);
    cJSON *o = cJSON_CreateObject();

    cjson_addf(o, "schema=%d name=%s", 1, model ? model->title : c->model);
    if (model && !model->built_in)
        cjson_addf(o, "description=%s", model->text);
    cjson_addf(o, "base=%d depth=%d channels=%d classes=%d batch_norm=%s height=%d width=%d scale=%s",
               c->base, c->depth, c->channels, c->classes ? c->classes : 1,
               batch_norms[c->batch_norm], c->height, c->width,
               classes->native ? "native" : "fit");
    add_classes(o, classes);
    cjson_addf(o, "weights_sha256=%s", sha256);
    return cjson_write(o, path, e);
}

int checkpoint_write(const char *dir, const struct network_config *config,
                     const struct checkpoint_classes *classes, const struct weights *w,
                     char sha256[65], struct err *e)
{
    char path[PATH_MAX];

    if (files_make_folder(dir))
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", dir);
    snprintf(path, sizeof path, "%s/weights.safetensors", dir);
    if (checkpoint_write_weights(path, w, e) || sha256_file(path, sha256, e))
        return -1;
    snprintf(path, sizeof path, "%s/model.json", dir);
    return write_model(path, config, classes, sha256, e);
}

static int read_int(const cJSON *root, const char *name, int min, int max, int *dst,
                    struct err *e)
{
    int64_t v;

    if (cjson_read_int(root, name, min, max, ERR_CHECKPOINT, &v, e))
        return -1;
    *dst = (int)v;
    return 0;
}

static int read_model_document(const cJSON *root, struct network_config *config, struct err *e)
{
    const char *norm = cjson_text(root, "batch_norm");

    if (schema_check(cjson_number(root, "schema"), ERR_CHECKPOINT, e))
        return -1;
    /* The description of a user's model is included, as its file may not be available later. */
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(root, "description");
    const struct model *model = text ? NULL : model_find(cjson_text(root, "name"));
    if (cJSON_IsString(text) && !(model = model_decode(text->valuestring, "its description", e)))
        return -1;
    if (!model)
        return err_set(e, ERR_CHECKPOINT, "name: this unet-train does not have this model");
    config->model = model->name;
    if (read_int(root, "base", model->base ? 1 : 0, 1024, &config->base, e) ||
        read_int(root, "depth", model->depth ? 1 : 0, 8, &config->depth, e) ||
        read_int(root, "channels", 1, 64, &config->channels, e) ||
        (cJSON_GetObjectItemCaseSensitive(root, "classes") &&
         read_int(root, "classes", 1, 250, &config->classes, e)) ||
        read_int(root, "height", 1, 65535, &config->height, e) ||
        read_int(root, "width", 1, 65535, &config->width, e))
        return -1;
    for (size_t i = 0; i < sizeof batch_norms / sizeof *batch_norms; i++)
        if (strcmp(norm, batch_norms[i]) == 0) {
            config->batch_norm = (enum batch_norm_mode)i;
            return 0;
        }
    return err_set(e, ERR_CHECKPOINT, "batch_norm: must be none, local or sync");
}

/* Reads what model.json says about classes. Files of earlier versions do not have these keys. */
static int read_classes(const cJSON *root, int count, struct checkpoint_classes *c, struct err *e)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(root, "class_names");
    const char *scale = cjson_text(root, "image_scale");

    snprintf(c->scale, sizeof c->scale, "%s", *scale ? scale : "full");
    c->bits = (int)fmin(cjson_number(root, "image_bits"), 32);
    c->native = strcmp(cjson_text(root, "scale"), "native") == 0;
    c->soft_masks = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "soft_masks"));
    c->ignore = mem_text(cjson_text(root, "ignore"), e);
    c->file = mem_text(cjson_text(root, "class_file"), e);
    if (!c->ignore || !c->file ||
        cjson_read_pair(root, "image_levels", ERR_CHECKPOINT, c->levels, e))
        return -1;
    if (names && cJSON_GetArraySize(names) != count)
        return err_set(e, ERR_CHECKPOINT, "class_names: must be a list of %d names", count);
    return !names ? 0 : cjson_read_texts(names, "class_names", ERR_CHECKPOINT, &c->names,
                                         &c->count, e);
}

void checkpoint_classes_free(struct checkpoint_classes *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->names[i]);
    free(c->names);
    free(c->ignore);
    free(c->file);
    *c = (struct checkpoint_classes){0};
}

int checkpoint_read_model(const char *file, struct network_config *config,
                          struct checkpoint_classes *classes, char sha256[65], struct err *e)
{
    char path[PATH_MAX];
    const char *slash = strrchr(file, '/');

    *classes = (struct checkpoint_classes){0};
    snprintf(path, sizeof path, "%.*smodel.json", slash ? (int)(slash - file + 1) : 0, file);
    cJSON *root = cjson_read(path, MODEL_LIMIT, ERR_CHECKPOINT, e);
    if (!root)
        return -1;
    snprintf(sha256, 65, "%s", cjson_text(root, "weights_sha256"));
    int rc = read_model_document(root, config, e) ||
             read_classes(root, config->classes ? config->classes : 1, classes, e);
    cJSON_Delete(root);
    return rc ? err_prefix(e, "%s", path) : 0;
}

static int check_hash(const struct safetensors *s, const char *file, const char *want,
                      struct err *e)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    char hex[65];

    safetensors_hash(s, hex);
    if (!*want || strcmp(hex, want) == 0)
        return 0;
    if (strncmp(name, "state-", strlen("state-")) == 0)
        return err_set(e, ERR_CHECKPOINT, "%s: is a state from which a run continues, not weights: "
                       "name %.*sweights.safetensors, or the folder", file, (int)(name - file),
                       file);
    return err_set(e, ERR_CHECKPOINT, "%s: is not the file that was written with the model.json "
                   "beside it (SHA-256 %.16s..., recorded %.16s...): it was damaged or replaced; restore it",
                   file, hex, want);
}

int checkpoint_read_weights(const char *file, const char *sha256, struct weights *w, struct err *e)
{
    struct safetensors *s = safetensors_open(file, e);
    size_t n;
    struct safetensors_entry *list =
        s && check_hash(s, file, sha256, e) == 0 ? list_weights(w, &n, e) : NULL;
    int rc = list ? safetensors_read(s, list, n, e) : -1;

    free(list);
    safetensors_close(s);
    return rc;
}

/* The names of files give their order; the hash in the metadata shows whether one is intact. */

#define PREFIX "state-"
#define SUFFIX ".safetensors"
#define KEPT 2

static bool has_prefix(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

static int is_complete(const struct dirent *d)
{
    size_t n = strlen(d->d_name), suffix = strlen(SUFFIX);

    return has_prefix(d->d_name) && n > suffix && strcmp(d->d_name + n - suffix, SUFFIX) == 0;
}

static int is_temporary(const struct dirent *d)
{
    return strstr(d->d_name, ".tmp-") != NULL;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

static void free_names(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
}

static void remove_files(const char *dir, int (*choose)(const struct dirent *d), int kept)
{
    struct dirent **names;
    char path[PATH_MAX];
    int n = files_scan(dir, &names, choose, newest_first);

    for (int i = kept; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        files_unlink(path);
    }
    free_names(names, n);
}

int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e)
{
    char path[PATH_MAX];
    const char *metadata[] = {"state", state, "sha256", SAFETENSORS_HASH, NULL};

    if (files_make_folder(dir))
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", dir);
    snprintf(path, sizeof path, "%s/" PREFIX "%07d-%010zu" SUFFIX, dir, epoch, items);
    if (safetensors_write(path, metadata, list, n, e))
        return -1;
    remove_files(dir, is_complete, KEPT);
    return 0;
}

static int open_one(const char *dir, const char *name, struct snapshot *s, struct err *e)
{
    *s = (struct snapshot){.path = mem_textf(e, "%s/%s", dir, name)};
    if (!s->path)
        return -1;
    s->file = safetensors_open(s->path, e);
    s->state = s->file ? safetensors_metadata(s->file, "state") : NULL;
    if (s->file && !s->state)
        err_set(e, ERR_CHECKPOINT, "%s: is not a training state", s->path);
    else if (s->file && safetensors_check_hash(s->file, "sha256", e) == 0)
        return 0;
    snapshot_close(s);
    return -1;
}

int snapshot_open(const char *dir, struct snapshot *s, struct err *e)
{
    struct dirent **names;
    struct err damage;
    int found = 0, n = files_scan(dir, &names, is_complete, newest_first);

    *s = (struct snapshot){0};
    if (n < 0 && errno == ENOENT)
        return 0;
    if (n < 0)
        return files_error(e, ERR_CHECKPOINT, errno, "cannot read the checkpoints in", dir);
    for (int i = 0; i < n && !found; i++) {
        found = open_one(dir, names[i]->d_name, s, &damage) == 0;
        if (!found)
            log_warn("%s; this checkpoint is not used", damage.text);
    }
    free_names(names, n);
    return found;
}

void snapshot_close(struct snapshot *s)
{
    safetensors_close(s->file);
    free(s->path);
    *s = (struct snapshot){0};
}

bool snapshot_exists(const char *dir)
{
    struct dirent **names;
    int n = files_scan(dir, &names, is_complete, NULL);

    free_names(names, n);
    return n > 0;
}

void snapshot_clean(const char *dir, bool older)
{
    remove_files(dir, is_temporary, 0);
    if (older)
        remove_files(dir, is_complete, 1);
}
