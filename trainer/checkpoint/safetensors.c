/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is read into memory completely; its header is decoded with cJSON. */
#include "src/base.h"
#include "trainer/checkpoint/safetensors.h"

#include <math.h>

#include "src/atomicfile.h"
#include "src/format/sha256.h"
#include "trainer/json/cjson.h"

#define FILE_LIMIT ((size_t)1 << 36)
#define METADATA "__metadata__"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are written as they lie in memory: this needs a little-endian machine"
#endif

struct safetensors {
    char *path, *bytes;
    cJSON *header;
    const char *data;
    size_t nbytes; /* size of data */
};

size_t safetensors_list(const struct weights *w, const char *prefix, float *value, float *state,
                        struct safetensors_entry *list)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        float *base = entry->role == WEIGHTS_PARAM ? value : state;
        struct safetensors_entry *dst = &list[n];
        if (!base)
            continue;
        snprintf(dst->name, sizeof dst->name, "%s%s", prefix, entry->name);
        dst->ndim = entry->ndim;
        memcpy(dst->shape, entry->shape, sizeof dst->shape);
        dst->count = entry->count;
        dst->data = base + entry->offset;
        n++;
    }
    return n;
}

static char *encode_header(const char *const *metadata, const struct safetensors_entry *list,
                           size_t n, struct err *e)
{
    cJSON *o = cJSON_CreateObject(), *about = cjson_object(o, METADATA);
    double at = 0;

    cjson_addf(about, "format=%s", "pt");
    for (; metadata && *metadata; metadata += 2)
        cjson_add(about, metadata[0], cJSON_CreateString(metadata[1]));
    for (size_t i = 0; i < n; i++) {
        double end = at + (double)(list[i].count * sizeof(float));
        cJSON *entry = cjson_object(o, list[i].name), *shape = cjson_array(entry, "shape");
        cjson_addf(entry, "dtype=%s", "F32");
        for (int d = 0; d < list[i].ndim; d++)
            cjson_add(shape, NULL, cJSON_CreateNumber((double)list[i].shape[d]));
        cjson_add(entry, "data_offsets", cJSON_CreateDoubleArray((double[]){at, end}, 2));
        at = end;
    }
    return cjson_print(o, "       ", e);
}

static void fill_hash(char *header, size_t nbytes, const struct safetensors_entry *list, size_t n)
{
    char *at = memmem(header, nbytes, SAFETENSORS_HASH, strlen(SAFETENSORS_HASH)), hex[65];
    struct sha256_ctx h;

    if (!at)
        return;
    sha256_init(&h);
    sha256_add(&h, header, nbytes);
    for (size_t i = 0; i < n; i++)
        sha256_add(&h, list[i].data, list[i].count * sizeof(float));
    sha256_finish(&h, hex);
    memcpy(at, hex, strlen(hex));
}

int safetensors_write(const char *path, const char *const *metadata,
                      const struct safetensors_entry *list, size_t n, struct err *e)
{
    char *text = encode_header(metadata, list, n, e);
    unsigned char length[8];

    if (!text)
        return -1;
    size_t nbytes = strlen(text) / 8 * 8; /* with spaces: aligns the data in a mapped file */
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)((uint64_t)nbytes >> (8 * i));
    fill_hash(text, nbytes, list, n);
    struct atomicfile *a = atomicfile_open(path, 0666, e);
    if (a) {
        /* commit reports errors of the stream */
        FILE *f = atomicfile_stream(a);
        fwrite(length, 1, sizeof length, f);
        fwrite(text, 1, nbytes, f);
        for (size_t i = 0; i < n; i++)
            fwrite(list[i].data, sizeof(float), list[i].count, f);
    }
    free(text);
    return a ? atomicfile_commit(a, e) : -1;
}

static int decode_header(struct safetensors *s, size_t n, struct err *e)
{
    uint64_t length = 0;

    for (size_t i = 0; n >= 8 && i < 8; i++)
        length |= (uint64_t)(unsigned char)s->bytes[i] << (8 * i);
    if (n < 8 || length > n - 8)
        return err_set(e, ERR_CHECKPOINT,
                       "a header of %" PRIu64 " bytes does not fit in a file of %zu", length, n);
    s->header = cJSON_ParseWithLength(s->bytes + 8, length);
    s->data = s->bytes + 8 + length;
    s->nbytes = n - 8 - length;
    return cJSON_IsObject(s->header)
               ? 0
               : err_set(e, ERR_CHECKPOINT, "the header is not a JSON object");
}

struct safetensors *safetensors_open(const char *path, struct err *e)
{
    struct safetensors *s = mem_zero(1, sizeof *s, e);
    size_t n;

    if (!s || !(s->path = mem_text(path, e)))
        goto fail;
    s->bytes = atomicfile_read(path, FILE_LIMIT, &n, e);
    if (!s->bytes) {
        e->code = ERR_CHECKPOINT;
        goto fail;
    }
    if (decode_header(s, n, e) == 0)
        return s;
    err_prefix(e, "%s", path);
fail:
    safetensors_close(s);
    return NULL;
}

void safetensors_close(struct safetensors *s)
{
    if (!s)
        return;
    cJSON_Delete(s->header);
    free(s->bytes);
    free(s->path);
    free(s);
}

const char *safetensors_metadata(const struct safetensors *s, const char *key)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(s->header, METADATA);

    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, key));
}

void safetensors_hash(const struct safetensors *s, char hex[65])
{
    sha256_bytes(s->bytes, (size_t)(s->data - s->bytes) + s->nbytes, hex);
}

int safetensors_check_hash(const struct safetensors *s, const char *key, struct err *e)
{
    const char *want = safetensors_metadata(s, key);
    size_t nheader = (size_t)(s->data - s->bytes) - 8;
    char *header = mem_alloc(nheader, 1, e), *at = NULL, hex[65] = "";
    struct sha256_ctx h;

    if (!header)
        return -1;
    memcpy(header, s->bytes + 8, nheader);
    if (want && strlen(want) == strlen(SAFETENSORS_HASH))
        at = memmem(header, nheader, want, strlen(want));
    if (at) {
        memcpy(at, SAFETENSORS_HASH, strlen(SAFETENSORS_HASH));
        sha256_init(&h);
        sha256_add(&h, header, nheader);
        sha256_add(&h, s->data, s->nbytes);
        sha256_finish(&h, hex);
    }
    free(header);
    return at && strcmp(hex, want) == 0
               ? 0
               : err_set(e, ERR_CHECKPOINT, "%s: is damaged: its hash is not the recorded one",
                         s->path);
}

static int64_t get_whole(const cJSON *item, size_t max)
{
    double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

    return v >= 0 && v <= (double)max && v == floor(v) ? (int64_t)v : -1;
}

static int read_shape(const cJSON *item, struct safetensors_entry *dst)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape"), *dim;

    cJSON_ArrayForEach(dim, shape) {
        int64_t n = get_whole(dim, INT_MAX);
        if (n < 0)
            return -1;
        if (dst->ndim < 4)
            dst->shape[dst->ndim] = n;
        dst->ndim += dst->ndim < 5;
    }
    return cJSON_IsArray(shape) ? 0 : -1;
}

static int read_tensor(const struct safetensors *s, const cJSON *item,
                       const struct safetensors_entry *entry, struct err *e)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    size_t nbytes = entry->count * sizeof(float);
    struct safetensors_entry found = {.ndim = 0};

    if (!cJSON_IsString(dtype) || strcmp(dtype->valuestring, "F32") != 0)
        return err_set(e, ERR_CHECKPOINT, "%s: dtype must be F32, but is %s", entry->name,
                       cJSON_IsString(dtype) ? dtype->valuestring : "none");
    if (read_shape(item, &found) || found.ndim != entry->ndim ||
        memcmp(found.shape, entry->shape, sizeof found.shape) != 0)
        return err_set(e, ERR_CHECKPOINT, "%s: has another shape than the model's", entry->name);
    int64_t begin = get_whole(cJSON_GetArrayItem(offsets, 0), s->nbytes);
    int64_t end = get_whole(cJSON_GetArrayItem(offsets, 1), s->nbytes);
    if (cJSON_GetArraySize(offsets) != 2 || begin < 0 || end < begin ||
        (size_t)(end - begin) != nbytes)
        return err_set(e, ERR_CHECKPOINT,
                       "%s: data_offsets must be a range of %zu bytes within the %zu bytes of data",
                       entry->name, nbytes, s->nbytes);
    memcpy(entry->data, s->data + begin, nbytes);
    for (size_t i = 0; i < entry->count; i++)
        if (!isfinite(entry->data[i]))
            return err_set(e, ERR_CHECKPOINT, "%s: element %zu is not a finite number", entry->name,
                           i);
    return 0;
}

int safetensors_each(const struct safetensors *s,
                     int (*visit)(void *arg, const struct safetensors_entry *found, struct err *e),
                     void *arg, struct err *e)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, s->header) {
        struct safetensors_entry found = {.ndim = 0};
        if (strcmp(item->string, METADATA) == 0)
            continue;
        snprintf(found.name, sizeof found.name, "%s", item->string);
        if (read_shape(item, &found))
            return err_set(e, ERR_CHECKPOINT, "%s: its shape is not a list of sizes", found.name);
        if (visit(arg, &found, e))
            return -1;
    }
    return 0;
}

int safetensors_read_one(const struct safetensors *s, const struct safetensors_entry *entry,
                         struct err *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(s->header, entry->name);

    return read_tensor(s, item, entry, e);
}

static const struct safetensors_entry *find_entry(const struct safetensors_entry *list, size_t n,
                                            const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static int read_tensors(const struct safetensors *s, const struct safetensors_entry *list, size_t n,
                        bool *seen, struct err *e)
{
    const cJSON *item;
    size_t total = 0;

    cJSON_ArrayForEach(item, s->header) {
        if (strcmp(item->string, METADATA) == 0)
            continue;
        const struct safetensors_entry *entry = find_entry(list, n, item->string);
        if (!entry)
            return err_set(e, ERR_CHECKPOINT, "%s: the model has no such tensor", item->string);
        if (seen[entry - list])
            return err_set(e, ERR_CHECKPOINT, "%s: given twice", entry->name);
        seen[entry - list] = true;
        if (read_tensor(s, item, entry, e))
            return -1;
        total += entry->count * sizeof(float);
    }
    for (size_t i = 0; i < n; i++)
        if (!seen[i])
            return err_set(e, ERR_CHECKPOINT, "%s: missing", list[i].name);
    if (total != s->nbytes)
        return err_set(e, ERR_CHECKPOINT, "%zu bytes of data for tensors of %zu", s->nbytes, total);
    return 0;
}

int safetensors_read(const struct safetensors *s, const struct safetensors_entry *list, size_t n,
                     struct err *e)
{
    bool *seen = mem_zero(n, sizeof *seen, e);
    int rc = seen ? read_tensors(s, list, n, seen, e) : -1;

    free(seen);
    return rc ? err_prefix(e, "%s", s->path) : 0;
}
