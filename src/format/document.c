/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/document.h"

#include <yaml.h>

#include "src/format/schema.h"

#define MAX_DEPTH 32
#define MAX_KEYS 1000

/* What document_decode returns, with what its nodes point to. */
struct loaded {
    struct document document;
    yaml_document_t yaml;
    struct document_node *nodes;   /* one for each of yaml's, which are counted from 1 on */
    struct document_node **places; /* the keys and items of all */
};

static int step_of(yaml_event_type_t type)
{
    if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
        return 1;
    return type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT ? -1 : 0;
}

/* Limits the nesting, because libyaml takes time quadratic in the depth, and refuses a second
 * document, which would not be read. A text that is not YAML passes this check. */
static int check_stream(yaml_parser_t *parser, const char *name, struct err *e)
{
    yaml_event_t event;
    size_t line = 0;
    int depth = 0, ndocuments = 0;
    bool more = true;

    while (more && depth <= MAX_DEPTH && ndocuments < 2 && yaml_parser_parse(parser, &event)) {
        depth += step_of(event.type);
        ndocuments += event.type == YAML_DOCUMENT_START_EVENT;
        line = event.start_mark.line + 1;
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    if (ndocuments > 1)
        return err_set(e, ERR_CONFIG, "%s:%zu: a second document begins here ('---'); one file has "
                       "one: remove the line", name, line);
    if (depth <= MAX_DEPTH)
        return 0;
    return err_set(e, ERR_CONFIG, "%s:%zu: lists and mappings are nested more than %d deep", name,
                   line, MAX_DEPTH);
}

/* Returns whether this line of the text contains a tab. libyaml's error does not name tabs. */
static bool has_tab(const char *text, size_t n, size_t line)
{
    const char *end = text + n, *next;

    for (; line > 0 && (next = memchr(text, '\n', (size_t)(end - text))); line--)
        text = next + 1;
    next = memchr(text, '\n', (size_t)(end - text));
    return line == 0 && memchr(text, '\t', (size_t)((next ? next : end) - text));
}

static int syntax_error(const yaml_parser_t *p, const char *name, const char *text, size_t n,
                        struct err *e)
{
    size_t line = p->problem_mark.line;

    if (p->error == YAML_READER_ERROR)
        return err_set(e, ERR_CONFIG, "%s: not UTF-8 text: %s (byte %zu)", name, p->problem,
                       p->problem_offset);
    if (has_tab(text, n, line))
        return err_set(e, ERR_CONFIG, "%s:%zu: the line has a tab; indent YAML with blanks", name,
                       line + 1);
    return err_set(e, ERR_CONFIG, "%s:%zu: not YAML: %s%s%s", name, line + 1,
                   p->context ? p->context : "", p->context ? ", " : "",
                   p->problem ? p->problem : "unknown problem");
}

/* Runs the parser over the text: checks the stream, or loads yaml. */
static int parse(const char *text, size_t n, const char *name, yaml_document_t *yaml, struct err *e)
{
    yaml_parser_t parser;
    int rc = 0;

    if (!yaml_parser_initialize(&parser))
        return mem_fail(e);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml)
        rc = check_stream(&parser, name, e);
    else if (!yaml_parser_load(&parser, yaml))
        rc = syntax_error(&parser, name, text, n, e);
    yaml_parser_delete(&parser);
    return rc;
}

static int check_keys(const struct document_node *node, struct err *e)
{
    if (node->count > MAX_KEYS)
        return document_refuse(node, e, "a mapping has more than %d keys", MAX_KEYS);
    for (size_t i = 0; i < node->count; i++) {
        if (node->keys[i]->kind != DOCUMENT_TEXT)
            return document_refuse(node->keys[i], e, "a name is expected");
        for (size_t k = 0; k < i; k++)
            if (strcmp(node->keys[i]->text, node->keys[k]->text) == 0)
                return document_refuse(node->keys[i], e, "%s is given twice, first in line %zu",
                                       node->keys[i]->text, node->keys[k]->line);
    }
    return 0;
}

/* Converts a node; its keys and items begin at places. Returns the place behind them. */
static struct document_node **convert(struct loaded *l, const yaml_node_t *from,
                                      struct document_node *to, struct document_node **places)
{
    *to = (struct document_node){.text = "", .file = l->document.name,
                                 .line = from->start_mark.line + 1};
    if (from->type == YAML_SCALAR_NODE) {
        to->text = (const char *)from->data.scalar.value;
        to->is_quoted = from->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    } else if (from->type == YAML_SEQUENCE_NODE) {
        const yaml_node_item_t *item = from->data.sequence.items.start;
        to->kind = DOCUMENT_LIST;
        to->count = (size_t)(from->data.sequence.items.top - item);
        to->items = places;
        for (size_t i = 0; i < to->count; i++)
            to->items[i] = &l->nodes[item[i] - 1];
    } else {
        const yaml_node_pair_t *pair = from->data.mapping.pairs.start;
        to->kind = DOCUMENT_MAPPING;
        to->count = (size_t)(from->data.mapping.pairs.top - pair);
        to->items = places;
        to->keys = places + to->count;
        for (size_t i = 0; i < to->count; i++) {
            to->items[i] = &l->nodes[pair[i].value - 1];
            to->keys[i] = &l->nodes[pair[i].key - 1];
        }
    }
    return places + (to->keys ? 2 : 1) * to->count;
}

static int build_tree(struct loaded *l, struct err *e)
{
    const yaml_node_t *from = l->yaml.nodes.start;
    size_t n = (size_t)(l->yaml.nodes.top - from), nplaces = 0;

    for (size_t i = 0; i < n; i++)
        if (from[i].type == YAML_SEQUENCE_NODE)
            nplaces += (size_t)(from[i].data.sequence.items.top -
                                from[i].data.sequence.items.start);
        else if (from[i].type == YAML_MAPPING_NODE)
            nplaces += 2 * (size_t)(from[i].data.mapping.pairs.top -
                                    from[i].data.mapping.pairs.start);
    l->nodes = mem_zero(n + 1, sizeof *l->nodes, e);
    l->places = mem_zero(nplaces + 1, sizeof *l->places, e);
    if (!l->nodes || !l->places)
        return -1;
    struct document_node **places = l->places;
    for (size_t i = 0; i < n; i++) {
        places = convert(l, &from[i], &l->nodes[i], places);
        if (from[i].type == YAML_SCALAR_NODE &&
            strlen(l->nodes[i].text) != from[i].data.scalar.length)
            return document_refuse(&l->nodes[i], e,
                                   "control characters and newlines are not allowed");
    }
    for (size_t i = 0; i < n; i++)
        if (l->nodes[i].keys && check_keys(&l->nodes[i], e))
            return -1;
    l->document.root = n ? l->nodes : NULL;
    return 0;
}

struct document *document_decode(const char *text, size_t n, const char *name, struct err *e)
{
    struct loaded *l = parse(text, n, name, NULL, e) ? NULL : mem_zero(1, sizeof *l, e);

    if (!l)
        return NULL;
    l->document.name = name;
    if (parse(text, n, name, &l->yaml, e)) {
        free(l);
        return NULL;
    }
    if (build_tree(l, e)) {
        document_destroy(&l->document);
        return NULL;
    }
    return &l->document;
}

void document_destroy(struct document *d)
{
    struct loaded *l = (struct loaded *)d;

    if (!l)
        return;
    yaml_document_delete(&l->yaml);
    free(l->nodes);
    free(l->places);
    free(l);
}

const struct document_node *document_get(const struct document_node *node, const char *key)
{
    for (size_t i = 0; node && node->keys && i < node->count; i++)
        if (strcmp(node->keys[i]->text, key) == 0)
            return node->items[i];
    return NULL;
}

int document_check_schema(const struct document *d, struct err *e)
{
    const struct document_node *schema = document_get(d->root, "schema");

    return schema && schema_check(strtod(schema->text, NULL), ERR_CONFIG, e)
               ? err_prefix(e, "%s:%zu", d->name, schema->line)
               : 0;
}
