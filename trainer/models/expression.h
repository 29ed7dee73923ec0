/* SPDX-License-Identifier: BSD-3-Clause */
/* Integer expressions in the description of a model: names, numbers, ( ), unary - and !, ^ (power),
 * * / %, + -, < <= > >=, == !=, &&, ||, in order of decreasing precedence. Operators of the same
 * precedence, also ^, are applied from left to right. True is 1. */
#ifndef UNETCTL_TRAINER_MODELS_EXPRESSION_H
#define UNETCTL_TRAINER_MODELS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/kernel.h"

#define EXPRESSION_NAME 32
#define EXPRESSION_LIMIT (INT64_C(1) << 40) /* largest magnitude of every intermediate value */

struct variable {
    char name[EXPRESSION_NAME];
    bool is_text;
    int64_t number;
    char text[TENSOR_NAME_SIZE];
};

/* The variables of a scope, which hide those of the same name in outer ones. */
struct scope {
    const struct scope *outer;
    const struct variable *variables;
    size_t count;
};

/* Sets *dst to the value of the expression; scope may be NULL. -1 with ERR_CONFIG and a message
 * that does not name the file and line, which the caller adds. */
int expression_evaluate(const char *text, const struct scope *scope, int64_t *dst, struct err *e);

/* Copies text to dst with each {EXPRESSION} replaced by its value; {NAME} may be a string variable.
 * Errors as above. */
int expression_expand(const char *text, const struct scope *scope, char dst[TENSOR_NAME_SIZE],
                      struct err *e);

#endif
