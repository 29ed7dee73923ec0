/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/settings/settings.h"
#include "trainer/passes/passes.h"
#include "trainer/run/setup.h"

/* Accepts digits only, while strtol also accepts blanks and signs. */
static const char *parse_side(const char *text, int *side)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    long v = strtol(text, &end, 10);
    if (v < 1 || v > SETTINGS_SIDE_MAX)
        return NULL;
    *side = (int)v;
    return end;
}

int options_size(const char *text, int *height, int *width, struct err *e)
{
    const char *end = parse_side(text, height);

    if (end && *end == 'x')
        end = parse_side(end + 1, width);
    else
        end = NULL;
    if (!end || *end)
        return err_set(e, ERR_USAGE, "--size %s: must be HEIGHTxWIDTH in pixels, as in 768x1024",
                       text);
    return 0;
}

int options_network(const char *verb, const char **dtype, const char *size,
                    struct network_config *c, struct err *e)
{
    if (strcmp(*dtype, "auto") != 0 && precision_parse(*dtype, &c->dtype, &c->tf32, e))
        return err_prefix(e, "%s: --dtype", verb);
    if (size && options_size(size, &c->height, &c->width, e))
        return err_prefix(e, "%s", verb);
    return compute_take(&c->backend, dtype, e) || precision_parse(*dtype, &c->dtype, &c->tf32, e)
               ? -1
               : 0;
}

struct mask_options options_masks(const struct settings *c)
{
    return (struct mask_options){c->data.soft_masks, c->data.classes, c->data.ignore,
                                 c->data.class_file, NULL};
}

enum scale options_scale(const struct settings *c)
{
    return (enum scale)setting_word_index(settings_of_run, "data.scale", c);
}

struct source_folders options_folders(const struct settings *c)
{
    return (struct source_folders){c->data.images, c->data.masks};
}

int options_print(cJSON *root, struct err *e)
{
    char *text = cjson_print(root, "\n", e);

    if (!text)
        return -1;
    fputs(text, stdout);
    free(text);
    return 0;
}
