/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/slurm/message.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdarg.h>
#include <stdio.h>

/* An answer that refuses. code: Slurm's errno, or 0 for a refusal of our own. */
static json_t *refuse(int code, const char *text)
{
    return json_pack("{s:b, s:i, s:s}", "ok", 0, "code", code, "error", text);
}

json_t *message_refuse_slurm(int code)
{
    return refuse(code, slurm_strerror(code));
}

json_t *message_refuse(const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return refuse(0, text);
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
