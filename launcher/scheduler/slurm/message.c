/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static json_t *refuse(enum cause cause, const char *fmt, va_list ap)
{
    char text[1024];

    vsnprintf(text, sizeof text, fmt, ap);
    return json_pack("{s:b, s:i, s:s}", "ok", 0, "code", (int)cause, "error", text);
}

json_t *message_refuse(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    json_t *refusal = refuse(CAUSE_OTHER, fmt, ap);
    va_end(ap);
    return refusal;
}

json_t *message_refuse_for(enum cause cause, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    json_t *refusal = refuse(cause, fmt, ap);
    va_end(ap);
    return refusal;
}

enum cause message_cause(const json_t *answer)
{
    return (enum cause)message_number(answer, "code");
}

const char *message_text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

long message_number(const json_t *o, const char *key)
{
    return (long)json_integer_value(json_object_get(o, key));
}

bool message_flag(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

json_t *message_string(const char *text)
{
    json_t *s = text ? json_string(text) : NULL;

    return s ? s : json_string("");
}

bool message_has_word(const char *text, const char *word)
{
    size_t length = strlen(word), n;

    for (; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (n == length && strncmp(text, word, n) == 0)
            return true;
    }
    return false;
}

json_t *message_index_ids(const json_t *ids)
{
    json_t *index = json_object();
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        json_object_set_new(index, json_string_value(id), json_true());
    }
    return index;
}

void message_add_ids(struct buf *dst, const json_t *ids)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        buf_addf(dst, "%s%s", dst->length ? "," : "", json_string_value(id));
    }
}
