/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas that a user writes: a term, or the largest of several, max(gpus, cores/8, mem/64). A
 * term is a number or a name, multiplied and divided by numbers. */
#pragma once

#include "src/base.h"

struct formula_value {
    const char *name; /* of letters; NULL ends the list */
    double value;
};

/* Computes it: NaN if the value of a name that it has is NaN. Returns false if it is not a
 * formula. */
bool formula_compute(const char *text, const struct formula_value *values, double *dst);
