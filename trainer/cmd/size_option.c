/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/size_option.h"

#include <ctype.h>
#include <stdlib.h>

#include "src/settings/settings.h"

/* Digits only: strtol alone would take blanks and signs too. */
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

int size_option_parse(const char *text, int *height, int *width, struct err *e)
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
