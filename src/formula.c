/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct formula {
    const char *at, *wrong; /* the rest of the text, and what is wrong with it, or NULL */
    const struct formula_value *values;
    int depth;
};

#define DEPTH_MAX 16

static double read_sum(struct formula *f);

static bool takes(struct formula *f, char c)
{
    f->at += strspn(f->at, " \t");
    if (*f->at != c || f->wrong)
        return false;
    f->at++;
    return true;
}

/* Reads (A, B ...) behind max or min. */
static double read_extreme(struct formula *f, bool most)
{
    double value = 0;
    bool first = true;

    if (!takes(f, '('))
        f->wrong = "max and min need parentheses, as in max(gpus, cores/8)";
    do {
        double next = read_sum(f);
        value = first || isnan(next) || (most ? next > value : next < value) ? next : value;
        first = false;
    } while (!isnan(value) && takes(f, ','));
    while (takes(f, ',')) /* behind a value that is unknown */
        read_sum(f);
    if (!takes(f, ')') && !f->wrong)
        f->wrong = "a ) is missing";
    return value;
}

static double read_name(struct formula *f)
{
    const char *name = f->at;
    size_t n = 0;

    while (isalpha((unsigned char)name[n]))
        n++;
    f->at += n;
    if (n == 3 && (strncmp(name, "max", n) == 0 || strncmp(name, "min", n) == 0))
        return read_extreme(f, name[1] == 'a');
    for (const struct formula_value *v = f->values; v->name; v++)
        if (strlen(v->name) == n && strncmp(name, v->name, n) == 0)
            return v->value;
    f->wrong = "a name or number is missing or not known";
    return NAN;
}

static double read_factor(struct formula *f)
{
    double value = NAN;
    char *end;

    if (f->wrong || ++f->depth > DEPTH_MAX) {
        f->wrong = f->wrong ? f->wrong : "it is nested too deep";
    } else if (takes(f, '(')) {
        value = read_sum(f);
        if (!takes(f, ')') && !f->wrong)
            f->wrong = "a ) is missing";
    } else if (isdigit((unsigned char)*f->at) || *f->at == '.') {
        value = strtod(f->at, &end);
        f->wrong = end == f->at ? "a number is missing" : NULL;
        f->at = end;
    } else
        value = read_name(f);
    f->depth--;
    return value;
}

static double read_product(struct formula *f)
{
    double value = read_factor(f);

    for (bool times; (times = takes(f, '*')) || takes(f, '/');) {
        double next = read_factor(f);
        value = times ? value * next : value / next;
    }
    return value;
}

static double read_sum(struct formula *f)
{
    double value = read_product(f);

    for (bool plus; (plus = takes(f, '+')) || takes(f, '-');) {
        double next = read_product(f);
        value = plus ? value + next : value - next;
    }
    return value;
}

double formula_compute(const char *text, const struct formula_value *values, const char **wrong)
{
    struct formula f = {.at = text, .values = values};
    double value = read_sum(&f);

    f.at += strspn(f.at, " \t");
    *wrong = f.wrong ? f.wrong : *f.at ? "an operator is missing" : NULL;
    return *wrong ? NAN : value;
}
