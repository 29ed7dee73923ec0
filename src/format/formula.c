/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/formula.h"

#include <math.h>

/* Reads a number or a name, then factors. Returns what is behind it, or NULL if neither is. */
static const char *read_term(const char *at, const struct formula_value *values, double *dst)
{
    char name[16], sign[2];
    double factor;
    int n = 0;

    if (sscanf(at, " %15[a-zA-Z]%n", name, &n) == 1) {
        while (values->name && strcmp(values->name, name) != 0)
            values++;
        *dst = values->value;
    }
    if (n ? !values->name : sscanf(at, "%lf%n", dst, &n) != 1 || *dst < 0)
        return NULL;
    for (at += n; sscanf(at, " %1[*/] %lf%n", sign, &factor, &n) == 2 && factor > 0; at += n)
        *dst = *sign == '*' ? *dst * factor : *dst / factor;
    return at + strspn(at, " \t");
}

bool formula_compute(const char *text, const struct formula_value *values, double *dst)
{
    bool most = strncmp(text, "max(", 4) == 0;
    const char *at = read_term(text + (most ? 4 : 0), values, dst);

    for (double next; at && most && *at == ',' && (at = read_term(at + 1, values, &next));)
        *dst = next > *dst || isnan(next) ? next : *dst;
    at = at && most ? *at == ')' ? at + 1 : NULL : at;
    return at && !at[strspn(at, " \t")];
}
