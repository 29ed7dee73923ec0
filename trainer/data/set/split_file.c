/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes split.json. An error names the file, and the key if a value is wrong. */
#include "config.h"
#include "trainer/data/set/split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/format/schema.h"
#include "src/map.h"
#include "src/mem.h"
#include "trainer/json/cjson.h"

#define MAX_BYTES ((size_t)256 << 20)

static void encode_part(const struct split_part *part, cJSON *list)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct split_item *item = &part->items[i];
        cJSON *o = cjson_object(list, NULL);
        cjson_addf(o, "stem=%s image=%s", item->stem, item->image);
        if (item->mask)
            cjson_addf(o, "mask=%s", item->mask);
        else
            cjson_addf(o, "class=%d", item->label);
        cjson_addf(o, "width=%d height=%d", item->width, item->height);
        if (item->orientation > 1)
            cjson_addf(o, "orientation=%d", item->orientation);
        if (item->mask_orientation > 1)
            cjson_addf(o, "mask_orientation=%d", item->mask_orientation);
        cjson_addf(o, "image_sha256=%s", item->image_sha256);
        if (item->mask)
            cjson_addf(o, "mask_sha256=%s", item->mask_sha256);
    }
}

char *split_encode(const struct split *s, struct err *e)
{
    cJSON *o = cJSON_CreateObject();
    char fraction[32];

    snprintf(fraction, sizeof fraction, "%.10g", s->val_fraction);
    cjson_addf(o, "schema=%d data=%s seed=%" PRId64, SCHEMA, s->dir, s->seed);
    cjson_add(o, "val_fraction", cJSON_CreateRaw(fraction));
    cjson_addf(o, "mask_max=%d", (int)s->mask_scale);
    if (s->format != SOURCE_PAIRS)
        cjson_addf(o, "format=%s", source_format_encode(s->format));
    if (s->nclasses)
        cjson_add(o, "classes",
                  cJSON_CreateStringArray((const char *const *)s->class_names, s->nclasses));
    encode_part(&s->train, cjson_array(o, "train"));
    encode_part(&s->val, cjson_array(o, "val"));
    return cjson_print(o, "\n", e);
}

int split_write(const struct split *s, const char *path, struct err *e)
{
    char *text = split_encode(s, e);
    int rc = text ? atomicfile_write(path, text, strlen(text), 0666, e) : -1;

    free(text);
    return rc;
}

static char *get_string(const cJSON *object, const char *key, struct err *e)
{
    const char *text = cjson_text(object, key);

    if (*text)
        return mem_text(text, e);
    err_set(e, ERR_DATA, "\"%s\" is missing or not a string", key);
    return NULL;
}

static int get_int(const cJSON *object, const char *key, double min, double max, int64_t *dst,
                   struct err *e)
{
    return cjson_read_int(object, key, min, max, ERR_DATA, dst, e);
}

static int get_hash(const cJSON *object, const char *key, char dst[65], struct err *e)
{
    const char *hex = cjson_text(object, key);

    if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
        return err_set(e, ERR_DATA, "\"%s\" is missing or not a SHA-256", key);
    memcpy(dst, hex, 65);
    return 0;
}

static int get_orientation(const cJSON *object, const char *key, int *dst, struct err *e)
{
    int64_t v = 1;

    if (cJSON_GetObjectItemCaseSensitive(object, key) && get_int(object, key, 1, 8, &v, e))
        return -1;
    *dst = (int)v;
    return 0;
}

/* nclasses: 0 for a split with masks. */
static int decode_item(const cJSON *object, int nclasses, struct split_item *item, struct err *e)
{
    int64_t width, height, label = 0;

    if (!(item->stem = get_string(object, "stem", e)) ||
        !(item->image = get_string(object, "image", e)) ||
        (nclasses ? get_int(object, "class", 0, nclasses - 1, &label, e)
                  : !(item->mask = get_string(object, "mask", e))) ||
        get_int(object, "width", 1, PIXELS_MAX_SIDE, &width, e) ||
        get_int(object, "height", 1, PIXELS_MAX_SIDE, &height, e) ||
        get_orientation(object, "orientation", &item->orientation, e) ||
        get_orientation(object, "mask_orientation", &item->mask_orientation, e) ||
        get_hash(object, "image_sha256", item->image_sha256, e) ||
        (!nclasses && get_hash(object, "mask_sha256", item->mask_sha256, e)))
        return -1;
    item->label = (int)label;
    item->width = (uint32_t)width;
    item->height = (uint32_t)height;
    return 0;
}

static int decode_part(const cJSON *root, const char *name, int nclasses, struct split_part *part,
                       struct err *e)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, name), *object;
    int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;

    if (n == 0)
        return err_set(e, ERR_DATA, "\"%s\" is missing or empty", name);
    if (!(part->items = mem_zero((size_t)n, sizeof *part->items, e)))
        return -1;
    cJSON_ArrayForEach(object, array)
    {
        if (decode_item(object, nclasses, &part->items[part->count++], e))
            return err_prefix(e, "%s[%zu]", name, part->count - 1);
    }
    return 0;
}

static int decode_format(const cJSON *root, struct split *s, struct err *e)
{
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes");

    if (cJSON_HasObjectItem(root, "format") &&
        source_format_decode(cjson_text(root, "format"), &s->format, e))
        return -1;
    return !cJSON_IsArray(classes) ? 0 : cjson_read_texts(classes, "classes", ERR_DATA,
                                                          &s->class_names, &s->nclasses, e);
}

/* Refuses an image that is in both parts, as a file that was edited may have it. */
static int check_disjoint(const struct split *s, struct err *e)
{
    struct map val = {0};
    int rc = 0;
    size_t k;

    for (size_t i = 0; rc == 0 && i < s->val.count; i++)
        if (map_set(&val, s->val.items[i].image_sha256, i))
            rc = mem_fail(e);
    for (size_t i = 0; rc == 0 && i < s->train.count; i++)
        if (map_get(&val, s->train.items[i].image_sha256, &k))
            rc = err_set(e, ERR_DATA, "%s and %s are the same image, but one is in \"train\" and one "
                         "in \"val\"; `unet-train data split` creates a file without such pairs",
                         s->train.items[i].image, s->val.items[k].image);
    map_destroy(&val);
    return rc;
}

static int decode_split(const cJSON *root, struct split *s, struct err *e)
{
    const cJSON *fraction = cJSON_GetObjectItemCaseSensitive(root, "val_fraction");
    int64_t schema, mask_max;

    if (get_int(root, "schema", 1, 1e6, &schema, e))
        return -1;
    if (schema_check((double)schema, ERR_DATA, e) || !(s->dir = get_string(root, "data", e)) ||
        get_int(root, "seed", -0x1p53, 0x1p53, &s->seed, e) ||
        get_int(root, "mask_max", MASK_CLASS, MASK_FULL, &mask_max, e))
        return -1;
    if (mask_max != MASK_CLASS && mask_max != MASK_UNIT && mask_max != MASK_FULL)
        return err_set(e, ERR_DATA, "\"mask_max\" must be 1 or 255, or 0 for classes");
    if (!cJSON_IsNumber(fraction))
        return err_set(e, ERR_DATA, "\"val_fraction\" is missing or not a number");
    s->mask_scale = (enum mask_scale)mask_max;
    s->val_fraction = fraction->valuedouble;
    if (decode_format(root, s, e) || decode_part(root, "train", s->nclasses, &s->train, e))
        return -1;
    return decode_part(root, "val", s->nclasses, &s->val, e) || check_disjoint(s, e) ? -1 : 0;
}

struct split *split_read(const char *path, struct err *e)
{
    cJSON *root = cjson_read(path, MAX_BYTES, ERR_DATA, e);
    struct split *s = root ? mem_zero(1, sizeof *s, e) : NULL;

    if (!root && access(path, F_OK) != 0 && errno == ENOENT)
        err_set(e, ERR_DATA,
                "%s: no such file; `unetctl generate` or `unet-train data split` creates it", path);
    if (s && decode_split(root, s, e)) {
        err_prefix(e, "%s", path);
        split_destroy(s);
        s = NULL;
    }
    cJSON_Delete(root);
    return s;
}
