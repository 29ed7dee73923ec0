/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/checkpoint/checkpoint.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/sha256.h"

#define FILE_LIMIT ((size_t)1 << 34)
#define MODEL_LIMIT 65536

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are written as they lie in memory: this needs a little-endian machine"
#endif

static const char *const batch_norms[] = {
    [BATCH_NORM_NONE] = "none", [BATCH_NORM_LOCAL] = "local", [BATCH_NORM_SYNC] = "sync"};

static float *entry_data(const struct weights *w, const struct weights_entry *entry)
{
    return (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
}

static void encode_header(const struct weights *w, struct buf *dst)
{
    size_t at = 0;

    buf_add(dst, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        buf_add(dst, ",");
        buf_add_json_string(dst, entry->name);
        buf_add(dst, ":{\"dtype\":\"F32\",\"shape\":[");
        for (int d = 0; d < entry->ndim; d++)
            buf_addf(dst, "%s%" PRId64, d ? "," : "", entry->shape[d]);
        size_t end = at + entry->count * sizeof(float);
        buf_addf(dst, "],\"data_offsets\":[%zu,%zu]}", at, end);
        at = end;
    }
    buf_add(dst, "}");
    while (dst->length % 8) /* so that the data are aligned in a mapped file */
        buf_add(dst, " ");
}

static int write_weights(const char *path, const struct weights *w, struct err *e)
{
    struct buf header = {0};
    unsigned char length[8];

    encode_header(w, &header);
    size_t n = header.length;
    char *text = buf_steal(&header);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for the header of %s", path);
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)((uint64_t)n >> (8 * i));
    struct atomicfile *a = atomicfile_open(path, 0666, e);
    if (a) {
        /* commit reports what a write to the stream could not do */
        FILE *f = atomicfile_stream(a);
        fwrite(length, 1, sizeof length, f);
        fwrite(text, 1, n, f);
        for (size_t i = 0; i < w->nentries; i++)
            fwrite(entry_data(w, &w->entries[i]), sizeof(float), w->entries[i].count, f);
    }
    free(text);
    return a ? atomicfile_commit(a, e) : -1;
}

static int write_model(const char *path, const struct network_config *c, const char *sha256,
                       struct err *e)
{
    struct buf b = {0};

    buf_addf(&b,
             "{\"schema\":1,\"name\":\"%s\",\"base\":%d,\"depth\":%d,\"channels\":%d,"
             "\"batch_norm\":\"%s\",\"height\":%d,\"width\":%d,\"weights_sha256\":\"%s\"}\n",
             c->model, c->base, c->depth, c->channels, batch_norms[c->batch_norm], c->height,
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

static int read_int(const cJSON *root, const char *name, int max, int *dst, struct err *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);

    if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > max ||
        item->valuedouble != floor(item->valuedouble))
        return err_set(e, ERR_CHECKPOINT, "%s: must be a whole number from 1 to %d", name, max);
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
    if (!cJSON_IsString(name) || strcmp(name->valuestring, "unet") != 0)
        return err_set(e, ERR_CHECKPOINT, "name: must be \"unet\", the only model");
    config->model = "unet";
    if (read_int(root, "base", 1024, &config->base, e) ||
        read_int(root, "depth", 8, &config->depth, e) ||
        read_int(root, "channels", 3, &config->channels, e) ||
        read_int(root, "height", 65535, &config->height, e) ||
        read_int(root, "width", 65535, &config->width, e))
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

/* A whole number in 0..max from JSON, or -1. */
static int64_t whole(const cJSON *item, size_t max)
{
    double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

    return v >= 0 && v <= (double)max && v == floor(v) ? (int64_t)v : -1;
}

static int check_shape(const cJSON *shape, const struct weights_entry *entry, struct err *e)
{
    bool same = cJSON_IsArray(shape) && cJSON_GetArraySize(shape) == entry->ndim;

    for (int d = 0; same && d < entry->ndim; d++)
        same = whole(cJSON_GetArrayItem(shape, d), INT_MAX) == entry->shape[d];
    return same ? 0 : err_set(e, ERR_CHECKPOINT, "%s: has another shape than the model's",
                              entry->name);
}

static int read_tensor(const cJSON *item, const struct weights_entry *entry, const char *data,
                       size_t nbytes, float *dst, struct err *e)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");

    if (!cJSON_IsString(dtype) || strcmp(dtype->valuestring, "F32") != 0)
        return err_set(e, ERR_CHECKPOINT, "%s: dtype must be F32", entry->name);
    if (check_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), entry, e))
        return -1;
    int64_t begin = whole(cJSON_GetArrayItem(offsets, 0), nbytes);
    int64_t end = whole(cJSON_GetArrayItem(offsets, 1), nbytes);
    if (cJSON_GetArraySize(offsets) != 2 || begin < 0 || end < begin ||
        (size_t)(end - begin) != entry->count * sizeof(float))
        return err_set(e, ERR_CHECKPOINT,
                       "%s: data_offsets are not %zu bytes within the %zu bytes of data that the "
                       "file has", entry->name, entry->count * sizeof(float), nbytes);
    memcpy(dst, data + begin, entry->count * sizeof(float));
    for (size_t i = 0; i < entry->count; i++)
        if (!isfinite(dst[i]))
            return err_set(e, ERR_CHECKPOINT, "%s: element %zu is not a finite number", entry->name,
                           i);
    return 0;
}

static int read_tensors(const cJSON *root, const char *data, size_t nbytes, struct weights *w,
                        bool *seen, struct err *e)
{
    const cJSON *item;
    size_t total = 0;

    cJSON_ArrayForEach(item, root) {
        if (strcmp(item->string, "__metadata__") == 0)
            continue;
        const struct weights_entry *entry = weights_find(w, item->string);
        if (!entry)
            return err_set(e, ERR_CHECKPOINT, "%s: the model has no such tensor", item->string);
        if (seen[entry - w->entries])
            return err_set(e, ERR_CHECKPOINT, "%s: given twice", entry->name);
        seen[entry - w->entries] = true;
        if (read_tensor(item, entry, data, nbytes, entry_data(w, entry), e))
            return -1;
        total += entry->count * sizeof(float);
    }
    for (size_t i = 0; i < w->nentries; i++)
        if (!seen[i])
            return err_set(e, ERR_CHECKPOINT, "%s: missing", w->entries[i].name);
    if (total != nbytes)
        return err_set(e, ERR_CHECKPOINT, "%zu bytes of data for tensors of %zu", nbytes, total);
    return 0;
}

static int decode_weights(const char *bytes, size_t n, struct weights *w, struct err *e)
{
    uint64_t length = 0;
    int rc = -1;

    for (size_t i = 0; n >= 8 && i < 8; i++)
        length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    if (n < 8 || length > n - 8)
        return err_set(e, ERR_CHECKPOINT,
                       "a header of %" PRIu64 " bytes does not fit in a file of %zu", length, n);
    cJSON *root = cJSON_ParseWithLength(bytes + 8, length);
    bool *seen = calloc(w->nentries ? w->nentries : 1, sizeof *seen);
    if (!cJSON_IsObject(root))
        err_set(e, ERR_CHECKPOINT, "the header is no JSON object");
    else if (!seen)
        err_set(e, ERR_INTERNAL, "out of memory");
    else
        rc = read_tensors(root, bytes + 8 + length, n - 8 - length, w, seen, e);
    free(seen);
    cJSON_Delete(root);
    return rc;
}

int checkpoint_read_weights(const char *file, struct weights *w, struct err *e)
{
    size_t n;
    char *bytes = atomicfile_read(file, FILE_LIMIT, &n, e);

    if (!bytes) {
        e->code = ERR_CHECKPOINT;
        return -1;
    }
    int rc = decode_weights(bytes, n, w, e);
    free(bytes);
    return rc ? err_prefix(e, "%s", file) : 0;
}
