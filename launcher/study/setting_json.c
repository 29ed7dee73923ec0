/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/setting_json.h"

#include <stdlib.h>
#include <string.h>

json_t *setting_json_encode(const struct setting *s, const void *src)
{
    const void *at = (const char *)src + s->offset;
    const struct setting_lines *list = at;
    const char *text;
    json_t *items;

    switch (s->type) {
    case SETTING_INT: return json_integer(*(const int *)at);
    case SETTING_REAL: return json_real(*(const double *)at);
    case SETTING_SWITCH: return json_boolean(*(const bool *)at);
    case SETTING_LINES:
    case SETTING_PAIRS:
    case SETTING_VARIANTS:
        items = json_array();
        for (size_t i = 0; i < list->count; i++)
            json_array_append_new(items, json_string(list->lines[i]));
        return items;
    default:
        text = *(const char *const *)at;
        return json_string(text ? text : "");
    }
}

bool setting_json_is_preset(const struct setting *s, const json_t *value)
{
    const char *text = json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                              : json_string_value(value);

    const char *preset = setting_absent(s);

    if (!preset)
        return false;
    if (json_is_number(value))
        return strtod(preset, NULL) == json_number_value(value);
    return text ? strcmp(preset, text) == 0 : json_array_size(value) == 0 && !*preset;
}
