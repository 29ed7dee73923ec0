/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a YAML document, as people write it, into a tree. */
#pragma once

#include "src/base.h"

enum document_kind { DOCUMENT_TEXT, DOCUMENT_LIST, DOCUMENT_MAPPING };

struct document_node {
    enum document_kind kind;
    const char *text; /* "" if it is not a text */
    bool is_quoted;
    const char *file; /* as document.name */
    size_t line;      /* from 1 on */
    size_t count;     /* of items */
    struct document_node **keys, **items; /* keys: distinct texts; NULL for a list */
};

struct document {
    const char *name;           /* for errors; of the caller */
    struct document_node *root; /* NULL: the text has only comments */
};

/* Decodes the n bytes of a file of this name. Lists and mappings may be nested 32 deep, and a
 * mapping may have 1000 keys. The caller destroys the result. Returns NULL with ERR_CONFIG and
 * NAME:LINE, or if memory ran out. */
struct document *document_decode(const char *text, size_t n, const char *name, struct err *e);
void document_destroy(struct document *d);

/* Returns the value of a key, or NULL if node is NULL, not a mapping, or without the key. */
const struct document_node *document_get(const struct document_node *node, const char *key);

/* Checks the number that the document has as "schema", if it has one, before anything else: a later
 * version may have other keys. */
int document_check_schema(const struct document *d, struct err *e);

/* Sets an error with NAME:LINE, and returns -1. */
#define document_refuse(node, e, ...) \
    (err_set(e, ERR_CONFIG, __VA_ARGS__), err_prefix(e, "%s:%zu", (node)->file, (node)->line))
