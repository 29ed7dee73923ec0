/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces libyaml on machines without it, for the plain build: the part of its interface, and of
 * YAML, that the built-in models need (trainer/models/description.c): block and flow mappings and
 * lists, plain scalars, double quoted ones without escapes, and comments. Anything else is an error
 * with its line. t/exhaustive/t3170-plain.t compares it with libyaml. */
#ifndef UNETCTL_BENCH_GPU_PLAIN_YAML_H
#define UNETCTL_BENCH_GPU_PLAIN_YAML_H

#include <stdlib.h>
#include <string.h>


typedef enum { YAML_NO_NODE, YAML_SCALAR_NODE, YAML_SEQUENCE_NODE, YAML_MAPPING_NODE } yaml_node_type_t;
typedef enum { YAML_ANY_SCALAR_STYLE, YAML_PLAIN_SCALAR_STYLE, YAML_DOUBLE_QUOTED_SCALAR_STYLE }
    yaml_scalar_style_t;
typedef int yaml_node_item_t;
typedef struct {
    int key, value;
} yaml_node_pair_t;
typedef struct {
    size_t line;
} yaml_mark_t;

typedef struct {
    yaml_node_type_t type;
    yaml_mark_t start_mark;
    struct {
        struct {
            unsigned char *value;
            yaml_scalar_style_t style;
        } scalar;
        struct {
            struct {
                yaml_node_item_t *start, *top;
            } items;
        } sequence;
        struct {
            struct {
                yaml_node_pair_t *start, *top;
            } pairs;
        } mapping;
    } data;
} yaml_node_t;

#define PLAIN_YAML_NODES 1024

typedef struct {
    yaml_node_t *nodes;
    int n;
} yaml_document_t;

typedef struct {
    const char *at;
    size_t line, column; /* of at */
    const char *problem;
    yaml_mark_t problem_mark;
    yaml_document_t *document;
} yaml_parser_t;

static inline int yaml_parser_initialize(yaml_parser_t *p)
{
    memset(p, 0, sizeof *p);
    return 1;
}

static inline void yaml_parser_set_input_string(yaml_parser_t *p, const unsigned char *text,
                                                size_t size)
{
    (void)size;
    p->at = (const char *)text;
}

static inline void yaml_parser_delete(yaml_parser_t *p)
{
    (void)p;
}

static inline yaml_node_t *yaml_document_get_node(const yaml_document_t *d, int index)
{
    return index > 0 && index <= d->n ? &d->nodes[index - 1] : NULL;
}

static inline yaml_node_t *yaml_document_get_root_node(const yaml_document_t *d)
{
    return yaml_document_get_node(d, 1);
}

static inline void yaml_document_delete(yaml_document_t *d)
{
    for (int i = 0; i < d->n; i++) {
        free(d->nodes[i].data.scalar.value);
        free(d->nodes[i].data.sequence.items.start);
        free(d->nodes[i].data.mapping.pairs.start);
    }
    free(d->nodes);
    memset(d, 0, sizeof *d);
}

/* ---- what is behind it; a node is its number, 0 after a problem */

static inline int plain_fail(yaml_parser_t *p, const char *problem)
{
    if (!p->problem) {
        p->problem = problem;
        p->problem_mark.line = p->line;
    }
    return 0;
}

static inline void plain_next(yaml_parser_t *p)
{
    if (*p->at == '\n') {
        p->line++;
        p->column = 0;
    } else {
        p->column++;
    }
    p->at++;
}

/* To what comes next, over lines and comments. */
static inline void plain_skip(yaml_parser_t *p)
{
    for (;;) {
        while (*p->at == ' ' || *p->at == '\n')
            plain_next(p);
        if (*p->at != '#')
            return;
        while (*p->at && *p->at != '\n')
            plain_next(p);
    }
}

static inline int plain_node(yaml_parser_t *p, yaml_node_type_t type)
{
    yaml_document_t *d = p->document;

    if (d->n == PLAIN_YAML_NODES)
        return plain_fail(p, "too many nodes");
    d->nodes[d->n].type = type;
    d->nodes[d->n].start_mark.line = p->line;
    return ++d->n;
}

static inline int plain_add_item(yaml_parser_t *p, int list, int item)
{
    yaml_node_t *n = yaml_document_get_node(p->document, list);
    size_t count = (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
    int *items = item ? realloc(n->data.sequence.items.start, (count + 1) * sizeof *items) : NULL;

    if (!items)
        return plain_fail(p, "no item");
    items[count] = item;
    n->data.sequence.items.start = items;
    n->data.sequence.items.top = items + count + 1;
    return 1;
}

static inline int plain_add_pair(yaml_parser_t *p, int mapping, int key, int value)
{
    yaml_node_t *n = yaml_document_get_node(p->document, mapping);
    size_t count = (size_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
    yaml_node_pair_t *pairs =
        key && value ? realloc(n->data.mapping.pairs.start, (count + 1) * sizeof *pairs) : NULL;

    if (!pairs)
        return plain_fail(p, "no pair");
    pairs[count].key = key;
    pairs[count].value = value;
    n->data.mapping.pairs.start = pairs;
    n->data.mapping.pairs.top = pairs + count + 1;
    return 1;
}

static inline int plain_text(yaml_parser_t *p, const char *begin, size_t length,
                             yaml_scalar_style_t style)
{
    int i = plain_node(p, YAML_SCALAR_NODE);
    unsigned char *text = i ? malloc(length + 1) : NULL;

    if (!text)
        return plain_fail(p, "out of memory");
    memcpy(text, begin, length);
    text[length] = 0;
    p->document->nodes[i - 1].data.scalar.value = text;
    p->document->nodes[i - 1].data.scalar.style = style;
    return i;
}

static inline int plain_ends(const yaml_parser_t *p, int flow)
{
    char c = *p->at, after = c ? p->at[1] : 0;

    return c == 0 || c == '\n' || (c == ' ' && after == '#') ||
           (c == ':' && (after == ' ' || after == '\n' || after == 0)) ||
           (flow && (c == ',' || c == '}' || c == ']'));
}

static inline int plain_scalar(yaml_parser_t *p, int flow)
{
    const char *begin = p->at;
    int quoted = *begin == '"';

    if (strchr("'&*!|>%@`?", *begin))
        return plain_fail(p, "this build reads simple YAML only");
    if (quoted) {
        plain_next(p);
        while (*p->at && *p->at != '"' && *p->at != '\\' && *p->at != '\n')
            plain_next(p);
        if (*p->at != '"')
            return plain_fail(p, "this build reads simple quoted texts only");
        plain_next(p);
        return plain_text(p, begin + 1, (size_t)(p->at - begin) - 2,
                          YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    }
    while (!plain_ends(p, flow))
        plain_next(p);
    size_t length = (size_t)(p->at - begin);
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    return plain_text(p, begin, length, YAML_PLAIN_SCALAR_STYLE);
}

static inline int plain_flow(yaml_parser_t *p)
{
    int is_list = *p->at == '[', key, value;

    if (*p->at != '{' && !is_list)
        return plain_scalar(p, 1);
    int self = plain_node(p, is_list ? YAML_SEQUENCE_NODE : YAML_MAPPING_NODE);
    char end = is_list ? ']' : '}';
    plain_next(p);
    plain_skip(p);
    while (self && *p->at != end) {
        key = plain_flow(p);
        plain_skip(p);
        if (!is_list) {
            if (!key || *p->at != ':')
                return plain_fail(p, "':' is expected");
            plain_next(p);
            plain_skip(p);
            value = plain_flow(p);
            plain_skip(p);
        }
        if (!(is_list ? plain_add_item(p, self, key) : plain_add_pair(p, self, key, value)))
            return 0;
        if (*p->at == ',')
            plain_next(p);
        else if (*p->at != end)
            return plain_fail(p, "',' is expected");
        plain_skip(p);
    }
    plain_next(p);
    return self;
}

static inline int plain_is_item(const yaml_parser_t *p)
{
    return *p->at == '-' && (p->at[1] == ' ' || p->at[1] == '\n');
}

static inline int plain_block(yaml_parser_t *p, size_t indent);

/* What stands behind a key or a dash: on the same line, or further to the right below. */
static inline int plain_value(yaml_parser_t *p, size_t indent, int behind_key)
{
    size_t line = p->line;

    plain_skip(p);
    if (p->line == line && behind_key)
        return *p->at == '{' || *p->at == '[' ? plain_flow(p) : plain_scalar(p, 0);
    if (*p->at && (p->column > indent || (behind_key && p->column == indent && plain_is_item(p))))
        return plain_block(p, p->column);
    return plain_text(p, "", 0, YAML_PLAIN_SCALAR_STYLE);
}

static inline int plain_list(yaml_parser_t *p, size_t indent)
{
    int self = plain_node(p, YAML_SEQUENCE_NODE);

    while (self && *p->at && p->column == indent && plain_is_item(p)) {
        plain_next(p);
        if (!plain_add_item(p, self, plain_value(p, indent, 0)))
            return 0;
        plain_skip(p);
    }
    return self;
}

/* A list, a flow collection, a mapping or only a scalar: for the last two, a colon behind the first
 * text decides. */
static inline int plain_block(yaml_parser_t *p, size_t indent)
{
    if (plain_is_item(p))
        return plain_list(p, indent);
    if (*p->at == '{' || *p->at == '[')
        return plain_flow(p);
    yaml_parser_t ahead = *p;
    while (!plain_ends(&ahead, 0) && *ahead.at != '"')
        plain_next(&ahead);
    if (*ahead.at != ':')
        return plain_scalar(p, 0);
    int self = plain_node(p, YAML_MAPPING_NODE);
    while (self && *p->at && p->column == indent && !plain_is_item(p)) {
        int key = plain_scalar(p, 0);
        if (!key || *p->at != ':')
            return plain_fail(p, "':' is expected");
        plain_next(p);
        if (!plain_add_pair(p, self, key, plain_value(p, indent, 1)))
            return 0;
        plain_skip(p);
    }
    return self;
}

static inline int yaml_parser_load(yaml_parser_t *p, yaml_document_t *d)
{
    memset(d, 0, sizeof *d);
    d->nodes = calloc(PLAIN_YAML_NODES, sizeof *d->nodes);
    p->document = d;
    plain_skip(p);
    int ok = d->nodes && plain_block(p, p->column);
    if (ok && *p->at)
        ok = plain_fail(p, "this is not simple YAML");
    if (!ok || p->problem) {
        yaml_document_delete(d);
        return 0;
    }
    return 1;
}

#endif
