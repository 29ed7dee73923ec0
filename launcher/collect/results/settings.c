/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/settings.h"

#include <string.h>

void settings_add(struct buf *dst, const char *key, const char *value)
{
    buf_addf(dst, "%s%s=", dst->length ? "; " : "", key);
    for (; *value; value++)
        buf_addf(dst, "%s%c", strchr(";\\", *value) ? "\\" : "",
                 (unsigned char)*value < ' ' ? ' ' : *value);
}

bool settings_next(const char **text, struct setting_text *dst)
{
    const char *p = *text + strspn(*text, "; ");

    *dst = (struct setting_text){.key = p, .nkey = strcspn(p, "=;")};
    if (dst->nkey == 0 || p[dst->nkey] != '=')
        return false;
    dst->value = p += dst->nkey + 1;
    while (*p && *p != ';')
        p += *p == '\\' && p[1] ? 2 : 1;
    dst->nvalue = (size_t)(p - dst->value);
    *text = p;
    return true;
}

void settings_add_value(struct buf *dst, const struct setting_text *s)
{
    buf_add(dst, "");
    for (size_t i = 0; i < s->nvalue; i++) {
        i += s->value[i] == '\\' && i + 1 < s->nvalue;
        buf_add_bytes(dst, s->value + i, 1);
    }
}

bool settings_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_setting(const char *text, const struct setting_text *wanted)
{
    struct setting_text s;

    while (text && settings_next(&text, &s))
        if (s.nkey == wanted->nkey && memcmp(s.key, wanted->key, s.nkey) == 0)
            return s.nvalue == wanted->nvalue && memcmp(s.value, wanted->value, s.nvalue) == 0;
    return false;
}

void settings_tell_apart(const char *const *texts, size_t n, size_t i, struct buf *dst)
{
    const char *text = texts[i];
    struct setting_text s;

    while (text && settings_next(&text, &s)) {
        bool everywhere = true;
        for (size_t k = 0; k < n; k++)
            everywhere &= has_setting(texts[k], &s);
        if (everywhere)
            continue;
        buf_addf(dst, ", %.*s ", (int)s.nkey, s.key);
        settings_add_value(dst, &s);
    }
    for (size_t k = 0; k < n && !texts[i]; k++)
        if (texts[k]) {
            buf_add(dst, ", settings not known");
            break;
        }
}

static bool is_key(const struct setting_text *s, const char *key)
{
    return s->nkey == strlen(key) && memcmp(s->key, key, s->nkey) == 0;
}

char *settings_common(const char *text, bool one_gpu)
{
    struct buf b = {0};
    struct setting_text s;

    if (!text)
        return NULL;
    for (buf_add(&b, ""); settings_next(&text, &s);) {
        if (is_key(&s, SETTINGS_STRATEGY))
            continue;
        buf_add(&b, b.length ? "; " : "");
        if (one_gpu && is_key(&s, SETTINGS_BATCH_PER_GPU))
            buf_add(&b, SETTINGS_GLOBAL_BATCH);
        else
            buf_add_bytes(&b, s.key, s.nkey);
        buf_add(&b, "=");
        buf_add_bytes(&b, s.value, s.nvalue);
    }
    return buf_steal(&b);
}
