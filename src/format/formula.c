/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/format/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Skips blanks and, if it comes next, the sign. Returns whether it came. */
static bool takes(const char **at, char sign)
{
    *at += strspn(*at, " \t");
    if (**at != sign)
        return false;
    ++*at;
    return true;
}

/* Reads a number or a name, then factors. Sets *at to NULL if neither is there. */
static double read_term(const char **at, const struct formula_value *values)
{
    char *end;
    size_t n = 0;

    *at += strspn(*at, " \t");
    double value = isdigit((unsigned char)**at) ? strtod(*at, &end) : NAN;
    if (!isdigit((unsigned char)**at)) {
        while (isalpha((unsigned char)(*at)[n]))
            n++;
        while (values->name && (strlen(values->name) != n || strncmp(*at, values->name, n) != 0))
            values++;
        value = values->value;
        end = values->name ? (char *)*at + n : NULL;
    }
    *at = end;
    for (bool times; *at && ((times = takes(at, '*')) || takes(at, '/'));) {
        double factor = strtod(*at, &end);
        value = times ? value * factor : value / factor;
        *at = end > *at && factor > 0 ? end : NULL;
    }
    return value;
}

bool formula_compute(const char *text, const struct formula_value *values, double *dst)
{
    bool most = strncmp(text, "max(", 4) == 0;
    const char *at = text + (most ? 4 : 0);

    *dst = read_term(&at, values);
    while (at && most && takes(&at, ',')) {
        double next = read_term(&at, values);
        *dst = next > *dst || isnan(next) ? next : *dst;
    }
    return at && (!most || takes(&at, ')')) && !at[strspn(at, " \t")];
}
