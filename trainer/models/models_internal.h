/* SPDX-License-Identifier: BSD-3-Clause */
/* What a model is read from: its description, and the expressions in it. */
#pragma once

#include "src/format/document.h"
#include "trainer/models/model.h"

/* Integer expressions in the description of a model: names, numbers, ( ), unary - and !, ^ (power),
 * * / %, + -, < <= > >=, == !=, &&, ||, in order of decreasing precedence. Operators of the same
 * precedence, also ^, are applied from left to right. True is 1. */

#define EXPRESSION_NAME 32

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

/* The description of a model: YAML with parameters, blocks and layers (doc/MODELS.md). */

#define DESCRIPTION_MAX 32768 /* bytes */

struct description {
    char *where;
    struct document *document;
    char name[TENSOR_NAME_SIZE];
    bool classifies; /* as model.classifies */
    bool glorot;     /* as layer_args.glorot */
    /* NULL: absent */
    const struct document_node *sides, *parameters, *variants, *blocks, *layers;
};

/* Decodes the text. where: the file's name in error messages. The caller destroys the result.
 * Returns NULL with ERR_CONFIG and FILE:LINE (FILE alone if the text is too long), or if out of
 * memory. The arguments of layers are checked by description_build. */
struct description *description_decode(const char *text, const char *where, struct err *e);
void description_destroy(struct description *d);

/* Returns the name of variant i, a model with other presets, or NULL after the last one. */
const char *description_variant(const struct description *d, size_t i);

/* Returns the preset of a parameter, or 0 if it has none. variant: the name of a variant, or
 * NULL. */
int description_preset(const struct description *d, const char *variant, const char *name);

/* As model_sides. */
int description_sides(const struct description *d, const char *variant,
                      const struct network_config *config, int *multiple, struct err *e);

/* As model_build. */
int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e);
