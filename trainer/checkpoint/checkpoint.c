/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/checkpoint/checkpoint.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trainer/core/model.h"
#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/sha256.h"
#include "trainer/checkpoint/safetensors.h"

#define MODEL_LIMIT 262144

static const char *const batch_norms[] = {
    [BATCH_NORM_NONE] = "none", [BATCH_NORM_LOCAL] = "local", [BATCH_NORM_SYNC] = "sync"};

/* All of w under its own names, in an array to free; NULL with the error set. */
static struct safetensors_entry *list_weights(const struct weights *w, size_t *n, struct err *e)
{
    struct safetensors_entry *list = calloc(w->nentries ? w->nentries : 1, sizeof *list);

    if (list)
        *n = safetensors_list(w, "", w->value, w->state, list);
    else
        err_set(e, ERR_INTERNAL, "out of memory");
    return list;
}

static int write_weights(const char *path, const struct weights *w, struct err *e)
{
    size_t n;
    struct safetensors_entry *list = list_weights(w, &n, e);
    int rc = list ? safetensors_write(path, NULL, list, n, e) : -1;

    free(list);
    return rc;
}

static int write_model(const char *path, const struct network_config *c, const char *sha256,
                       struct err *e)
{
    struct buf b = {0};

    const struct model *model = model_find(c->model);

    buf_add(&b, "{\"schema\":1,\"name\":");
    buf_add_json_string(&b, model ? model->title : c->model);
    if (model && model->text) {
        buf_add(&b, ",\"description\":");
        buf_add_json_string(&b, model->text);
    }
    buf_addf(&b,
             ",\"base\":%d,\"depth\":%d,\"channels\":%d,"
             "\"classes\":%d,"
             "\"batch_norm\":\"%s\",\"height\":%d,\"width\":%d,\"weights_sha256\":\"%s\"}\n",
             c->base, c->depth, c->channels, c->classes ? c->classes : 1,
             batch_norms[c->batch_norm], c->height,
             c->width, sha256);
    size_t n = b.length;
    char *text = buf_steal(&b);
    int rc = text ? atomicfile_write(path, text, n, 0666, e)
                  : err_set(e, ERR_INTERNAL, "out of memory for %s", path);
    free(text);
    return rc;
}

int checkpoint_write(const char *dir, const struct network_config *config, const struct weights *w,
                     char sha256[65], struct err *e)
{
    char path[PATH_MAX];

    if (mkdir(dir, 0777) && errno != EEXIST)
        return err_errno(e, ERR_INTERNAL, errno, "cannot make the folder %s", dir);
    snprintf(path, sizeof path, "%s/weights.safetensors", dir);
    if (write_weights(path, w, e) || sha256_file(path, sha256, e))
        return -1;
    snprintf(path, sizeof path, "%s/model.json", dir);
    return write_model(path, config, sha256, e);
}

static int read_int(const cJSON *root, const char *name, int min, int max, int *dst,
                    struct err *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);

    if (!cJSON_IsNumber(item) || item->valuedouble < min || item->valuedouble > max ||
        item->valuedouble != floor(item->valuedouble))
        return err_set(e, ERR_CHECKPOINT, "%s: must be a whole number from %d to %d", name, min,
                       max);
    *dst = (int)item->valuedouble;
    return 0;
}

static int read_model_document(const cJSON *root, struct network_config *config, struct err *e)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "name");
    const cJSON *norm = cJSON_GetObjectItemCaseSensitive(root, "batch_norm");

    if (!cJSON_IsNumber(schema) || schema->valuedouble != 1)
        return err_set(e, ERR_CHECKPOINT, "schema: must be 1, the only one this unet-train knows");
    /* A model of the user's has its description with it: its file need not be here. */
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(root, "description");
    const struct model *model = cJSON_IsString(name) && !text ? model_find(name->valuestring) : NULL;
    if (cJSON_IsString(text) && !(model = model_decode(text->valuestring, "its description", e)))
        return -1;
    if (!model)
        return err_set(e, ERR_CHECKPOINT, "name: is no model that this unet-train knows");
    config->model = model->name;
    if (read_int(root, "base", model->base ? 1 : 0, 1024, &config->base, e) ||
        read_int(root, "depth", model->depth ? 1 : 0, 8, &config->depth, e) ||
        read_int(root, "channels", 1, 64, &config->channels, e) ||
        (cJSON_GetObjectItemCaseSensitive(root, "classes") &&
         read_int(root, "classes", 1, 250, &config->classes, e)) ||
        read_int(root, "height", 1, 65535, &config->height, e) ||
        read_int(root, "width", 1, 65535, &config->width, e))
        return -1;
    for (size_t i = 0; cJSON_IsString(norm) && i < sizeof batch_norms / sizeof *batch_norms; i++)
        if (strcmp(norm->valuestring, batch_norms[i]) == 0) {
            config->batch_norm = (enum batch_norm_mode)i;
            return 0;
        }
    return err_set(e, ERR_CHECKPOINT, "batch_norm: must be none, local or sync");
}

int checkpoint_read_model(const char *file, struct network_config *config, struct err *e)
{
    char path[PATH_MAX];
    const char *slash = strrchr(file, '/');
    size_t n;

    snprintf(path, sizeof path, "%.*smodel.json", slash ? (int)(slash - file + 1) : 0, file);
    char *text = atomicfile_read(path, MODEL_LIMIT, &n, e);
    if (!text) {
        e->code = ERR_CHECKPOINT;
        return -1;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, n + 1, NULL, true);
    int rc = cJSON_IsObject(root) ? read_model_document(root, config, e)
                                  : err_set(e, ERR_CHECKPOINT, "is no JSON object");
    cJSON_Delete(root);
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

int checkpoint_read_weights(const char *file, struct weights *w, struct err *e)
{
    struct safetensors *s = safetensors_open(file, e);
    size_t n;
    struct safetensors_entry *list = s ? list_weights(w, &n, e) : NULL;
    int rc = list ? safetensors_read(s, list, n, e) : -1;

    free(list);
    safetensors_close(s);
    return rc;
}
