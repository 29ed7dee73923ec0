/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/json/cjson.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

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
