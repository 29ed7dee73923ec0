/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/json/cjson.h"

#include <math.h>

#include "src/atomicfile.h"

cJSON *cjson_add(cJSON *to, const char *key, cJSON *item)
{
    if (to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item)))
        return item;
    cJSON_Delete(item);
    if (to)
        to->type = cJSON_Invalid; /* cJSON does not print it */
    return NULL;
}

cJSON *cjson_object(cJSON *to, const char *key)
{
    return cjson_add(to, key, cJSON_CreateObject());
}

cJSON *cjson_array(cJSON *to, const char *key)
{
    return cjson_add(to, key, cJSON_CreateArray());
}

/* cJSON's numbers are doubles, and print large whole ones with an exponent. */
static cJSON *create_int(int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    return cJSON_CreateRaw(text);
}

static cJSON *create_text(const char *text)
{
    return text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

void cjson_addf(cJSON *o, const char *fmt, ...)
{
    va_list ap;
    char key[64];
    int n;

    va_start(ap, fmt);
    for (; *fmt; fmt += n + (fmt[n] == ' ')) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(fmt, "="), fmt);
        n = (int)strcspn(fmt, " ");
        bool is_wide = fmt[n - 2] != '%';
        switch (fmt[n - 1]) {
        case 's': cjson_add(o, key, create_text(va_arg(ap, const char *))); break;
        case 'g': cjson_add(o, key, cJSON_CreateNumber(va_arg(ap, double))); break;
        case 'i': cjson_add(o, key, cJSON_CreateBool(va_arg(ap, int))); break;
        case 'd': cjson_add(o, key, create_int(is_wide ? va_arg(ap, int64_t) : va_arg(ap, int)));
            break;
        default: cjson_add(o, key, create_int(is_wide ? (int64_t)va_arg(ap, size_t)
                                                     : va_arg(ap, unsigned)));
        }
    }
    va_end(ap);
}

char *cjson_print(cJSON *root, const char *end, struct err *e)
{
    char *text = cJSON_PrintUnformatted(root), *all = NULL;

    cJSON_Delete(root);
    if (text)
        all = mem_textf(e, "%s%s", text, end);
    else
        mem_fail(e);
    free(text);
    return all;
}

int cjson_write(cJSON *root, const char *path, struct err *e)
{
    char *text = cjson_print(root, "\n", e);
    int rc = text ? atomicfile_write(path, text, strlen(text), 0666, e) : -1;

    free(text);
    return rc;
}

cJSON *cjson_read(const char *path, size_t limit, int code, struct err *e)
{
    size_t n;
    const char *end = NULL;
    char *text = atomicfile_read(path, limit, &n, e);

    if (!text) {
        e->code = code;
        return NULL;
    }
    cJSON *root = cJSON_ParseWithLengthOpts(text, n + 1, &end, true);
    if (!root)
        err_set(e, code, "%s: is not JSON from byte %zu on", path, end ? (size_t)(end - text) : 0);
    free(text);
    if (!root || cJSON_IsObject(root))
        return root;
    err_set(e, code, "%s: is not a JSON object", path);
    cJSON_Delete(root);
    return NULL;
}

const char *cjson_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text ? text : "";
}

double cjson_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? item->valuedouble : 0;
}

int cjson_read_int(const cJSON *object, const char *key, double min, double max, int code,
                   int64_t *dst, struct err *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    double v = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;

    if (!(v >= min && v <= max) || v != floor(v))
        return err_set(e, code, "%s: must be a whole number from %.0f to %.0f", key, min, max);
    *dst = (int64_t)v;
    return 0;
}

int cjson_read_pair(const cJSON *object, const char *key, int code, double dst[2], struct err *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    const cJSON *low = cJSON_GetArrayItem(list, 0), *high = cJSON_GetArrayItem(list, 1);

    if (!list)
        return 0;
    if (cJSON_GetArraySize(list) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high) ||
        !(low->valuedouble < high->valuedouble))
        return err_set(e, code, "%s: must be a list of two numbers, the smaller first", key);
    dst[0] = low->valuedouble;
    dst[1] = high->valuedouble;
    return 0;
}

int cjson_read_texts(const cJSON *list, const char *key, int code, char ***dst, int *n,
                     struct err *e)
{
    const cJSON *item;

    *n = 0;
    *dst = mem_zero((size_t)cJSON_GetArraySize(list), sizeof **dst, e);
    if (!*dst)
        return -1;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item))
            return err_set(e, code, "%s: must be a list of texts", key);
        if (!((*dst)[*n] = mem_text(item->valuestring, e)))
            return -1;
        ++*n;
    }
    return cJSON_IsArray(list) ? 0 : err_set(e, code, "%s: must be a list", key);
}
