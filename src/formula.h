/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas that a user writes: numbers, names, + - * /, parentheses, max(...) and min(...). */
#ifndef UNETCTL_SRC_FORMULA_H
#define UNETCTL_SRC_FORMULA_H

struct formula_value {
    const char *name; /* of letters; NULL ends the list */
    double value;
};

/* Returns the value, NaN if that of a name which the formula has is NaN. *wrong becomes NULL, or says
 * what is wrong with the formula. */
double formula_compute(const char *text, const struct formula_value *values, const char **wrong);

#endif
