/* SPDX-License-Identifier: BSD-3-Clause */
/* First half: decoding the YAML document and checking its structure. Second half: building a graph
 * from it, layer by layer. Errors of the document name FILE:LINE, one of too many bytes only
 * FILE. */
#include "config.h"
#include "trainer/models/description.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "src/cli.h"
#include "src/format/schema.h"
#include "src/mem.h"
#include "trainer/models/expression.h"
#include "trainer/models/layer.h"

#define MAX_PARAMETERS 32
#define MAX_ARGUMENTS 16 /* of a block */
#define MAX_SAVED 256
#define MAX_NESTED 32
#define MAX_LAYERS 5000
#define MAX_NUMBERS 1e12 /* in a layer's result for one image */

struct description {
    char *where;
    yaml_document_t document;
    char name[TENSOR_NAME_SIZE];
    bool classifies, glorot;
    yaml_node_t *sides, *parameters, *variants, *blocks, *layers; /* NULL: absent */
};

/* ---- the document ---- */

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

__attribute__((format(printf, 4, 5))) static int wrong(const struct description *d,
                                                       const yaml_node_t *node, struct err *e,
                                                       const char *fmt, ...)
{
    char text[sizeof e->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(e, ERR_CONFIG, "%s:%zu: %s", d->where, line_of(node), text);
}

static yaml_node_t *node_at(const struct description *d, int index)
{
    return yaml_document_get_node((yaml_document_t *)(uintptr_t)&d->document, index);
}

static size_t count_pairs(const yaml_node_t *mapping)
{
    return (size_t)(mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start);
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* The keys of a mapping must be distinct strings. */
static int check_mapping(const struct description *d, const yaml_node_t *mapping, struct err *e)
{
    const yaml_node_pair_t *pairs = mapping->data.mapping.pairs.start;

    for (size_t i = 0; i < count_pairs(mapping); i++) {
        const yaml_node_t *key = node_at(d, pairs[i].key);
        if (key->type != YAML_SCALAR_NODE)
            return wrong(d, key, e, "a name is expected");
        for (size_t k = 0; k < i; k++)
            if (strcmp(text_of(key), text_of(node_at(d, pairs[k].key))) == 0)
                return wrong(d, key, e, "%s is given twice", text_of(key));
    }
    return 0;
}

/* Returns the value of a key, or NULL if mapping is NULL, not a mapping, or without the key. */
static yaml_node_t *get_value(const struct description *d, const yaml_node_t *mapping,
                              const char *key)
{
    const yaml_node_pair_t *pairs;

    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return NULL;
    pairs = mapping->data.mapping.pairs.start;
    for (size_t i = 0; i < count_pairs(mapping); i++)
        if (strcmp(text_of(node_at(d, pairs[i].key)), key) == 0)
            return node_at(d, pairs[i].value);
    return NULL;
}

static int check_keys(const struct description *d, const yaml_node_t *mapping,
                      const char *const *known, struct err *e)
{
    if (check_mapping(d, mapping, e))
        return -1;
    for (size_t i = 0; i < count_pairs(mapping); i++) {
        const yaml_node_t *key = node_at(d, mapping->data.mapping.pairs.start[i].key);
        char near[CLI_SUGGESTION];
        size_t k = 0;
        while (known[k] && strcmp(known[k], text_of(key)) != 0)
            k++;
        if (!known[k])
            return wrong(d, key, e, "'%s' is not known here%s", text_of(key),
                         cli_suggest(text_of(key), known, near));
    }
    return 0;
}

/* Sets *dst to the value of a key, which must have this type, or to NULL if it is absent. */
static int get_typed(const struct description *d, const yaml_node_t *root, const char *key,
                yaml_node_type_t type, yaml_node_t **dst, struct err *e)
{
    static const char *const names[] = {[YAML_SCALAR_NODE] = "a string or number",
                                        [YAML_SEQUENCE_NODE] = "a list",
                                        [YAML_MAPPING_NODE] = "a mapping NAME: VALUE"};

    *dst = get_value(d, root, key);
    if (*dst && (*dst)->type != type)
        return wrong(d, *dst, e, "%s: %s is expected", key, names[type]);
    return 0;
}

static int check_name(const struct description *d, const yaml_node_t *node, struct err *e)
{
    size_t n = strlen(text_of(node));

    if (n == 0 || n >= EXPRESSION_NAME ||
        strspn(text_of(node), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
        n)
        return wrong(d, node, e, "'%.64s' is not a name: use 1 to %d letters, digits, _ and -",
                     text_of(node), EXPRESSION_NAME - 1);
    return 0;
}

/* Checks the parameters of the model or of a variant: names and integers. */
static int check_numbers(const struct description *d, const yaml_node_t *mapping, struct err *e)
{
    if (check_mapping(d, mapping, e))
        return -1;
    if (count_pairs(mapping) > MAX_PARAMETERS)
        return wrong(d, mapping, e, "more than %d parameters", MAX_PARAMETERS);
    for (size_t i = 0; i < count_pairs(mapping); i++) {
        const yaml_node_pair_t *pair = &mapping->data.mapping.pairs.start[i];
        const yaml_node_t *value = node_at(d, pair->value);
        int64_t number;
        struct err why;
        if (check_name(d, node_at(d, pair->key), e))
            return -1;
        if (value->type != YAML_SCALAR_NODE ||
            expression_evaluate(text_of(value), NULL, &number, &why) || number < 0 ||
            number > 1 << 20)
            return wrong(d, value, e, "%s: an integer from 0 to %d is expected",
                         text_of(node_at(d, pair->key)), 1 << 20);
    }
    return 0;
}

static int check_variants(const struct description *d, struct err *e)
{
    if (check_mapping(d, d->variants, e))
        return -1;
    for (size_t i = 0; i < count_pairs(d->variants); i++) {
        const yaml_node_pair_t *pair = &d->variants->data.mapping.pairs.start[i];
        const yaml_node_t *numbers = node_at(d, pair->value);
        if (check_name(d, node_at(d, pair->key), e))
            return -1;
        if (numbers->type != YAML_MAPPING_NODE)
            return wrong(d, numbers, e, "parameters of the variant are expected: {NAME: NUMBER}");
        if (check_numbers(d, numbers, e))
            return -1;
        for (size_t k = 0; k < count_pairs(numbers); k++) {
            const yaml_node_t *key = node_at(d, numbers->data.mapping.pairs.start[k].key);
            if (!get_value(d, d->parameters, text_of(key)))
                return wrong(d, key, e, "'%s' is not one of the parameters", text_of(key));
        }
    }
    return 0;
}

static int check_blocks(const struct description *d, struct err *e)
{
    if (check_mapping(d, d->blocks, e))
        return -1;
    for (size_t i = 0; i < count_pairs(d->blocks); i++) {
        const yaml_node_pair_t *pair = &d->blocks->data.mapping.pairs.start[i];
        const yaml_node_t *key = node_at(d, pair->key);
        if (check_name(d, key, e))
            return -1;
        if (layer_find(text_of(key)) || strcmp(text_of(key), "save") == 0 ||
            strcmp(text_of(key), "use") == 0 || strcmp(text_of(key), "for") == 0 ||
            strcmp(text_of(key), "if") == 0)
            return wrong(d, key, e, "'%s' is the name of a layer; give the block another name",
                         text_of(key));
        if (node_at(d, pair->value)->type != YAML_SEQUENCE_NODE)
            return wrong(d, key, e, "block %s: a list of layers is expected", text_of(key));
    }
    return 0;
}

static int read_document(struct description *d, struct err *e)
{
    static const char *const keys[] = {"schema", "model", "of", "init", "sides", "parameters",
                                       "variants", "blocks", "layers", NULL};
    yaml_node_t *root = yaml_document_get_root_node(&d->document), *schema, *name, *of, *init;

    if (!root || root->type != YAML_MAPPING_NODE)
        return err_set(e, ERR_CONFIG, "%s:1: a model is expected: model: NAME, of: masks or "
                       "classes, layers: ...", d->where);
    if (check_mapping(d, root, e))
        return -1;
    schema = get_value(d, root, "schema"); /* first: a later version may have other keys */
    if (schema && schema_check(schema->type == YAML_SCALAR_NODE ? strtod(text_of(schema), NULL) : 0,
                               ERR_CONFIG, e))
        return err_prefix(e, "%s:%zu", d->where, line_of(schema));
    if (check_keys(d, root, keys, e) || get_typed(d, root, "model", YAML_SCALAR_NODE, &name, e) ||
        get_typed(d, root, "of", YAML_SCALAR_NODE, &of, e) ||
        get_typed(d, root, "init", YAML_SCALAR_NODE, &init, e) ||
        get_typed(d, root, "sides", YAML_SCALAR_NODE, &d->sides, e) ||
        get_typed(d, root, "parameters", YAML_MAPPING_NODE, &d->parameters, e) ||
        get_typed(d, root, "variants", YAML_MAPPING_NODE, &d->variants, e) ||
        get_typed(d, root, "blocks", YAML_MAPPING_NODE, &d->blocks, e) ||
        get_typed(d, root, "layers", YAML_SEQUENCE_NODE, &d->layers, e))
        return -1;
    if (!name || !of || !d->layers)
        return wrong(d, root, e, "%s is missing", !name ? "model: NAME"
                                                  : !of ? "of: masks (or classes)" : "layers:");
    if (check_name(d, name, e))
        return -1;
    snprintf(d->name, sizeof d->name, "%s", text_of(name));
    d->classifies = strcmp(text_of(of), "classes") == 0;
    if (!d->classifies && strcmp(text_of(of), "masks") != 0)
        return wrong(d, of, e, "of: '%s' is neither masks (a value for each pixel) nor classes "
                     "(one for each image)", text_of(of));
    d->glorot = init && strcmp(text_of(init), "glorot") == 0;
    if (init && !d->glorot && strcmp(text_of(init), "pytorch") != 0)
        return wrong(d, init, e, "init: '%s' is neither pytorch nor glorot (Keras)", text_of(init));
    return (d->parameters && check_numbers(d, d->parameters, e)) ||
                   (d->variants && check_variants(d, e)) || (d->blocks && check_blocks(d, e))
               ? -1
               : 0;
}

static int load_document(struct description *d, const char *text, struct err *e)
{
    yaml_parser_t parser;

    if (strlen(text) > DESCRIPTION_MAX)
        return err_set(e, ERR_CONFIG, "%s: more than %d bytes", d->where, DESCRIPTION_MAX);
    if (!yaml_parser_initialize(&parser))
        return mem_fail(e);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    int loaded = yaml_parser_load(&parser, &d->document);
    if (!loaded) {
        err_set(e, ERR_CONFIG, "%s:%zu: %s", d->where, parser.problem_mark.line + 1,
                parser.problem ? parser.problem : "not YAML");
        memset(&d->document, 0, sizeof d->document);
    }
    yaml_parser_delete(&parser);
    return loaded ? read_document(d, e) : -1;
}

struct description *description_decode(const char *text, const char *where, struct err *e)
{
    struct description *d = mem_zero(1, sizeof *d, e);

    if (d && (!(d->where = mem_text(where, e)) || load_document(d, text, e))) {
        description_destroy(d);
        return NULL;
    }
    return d;
}

void description_destroy(struct description *d)
{
    if (!d)
        return;
    yaml_document_delete(&d->document);
    free(d->where);
    free(d);
}

const char *description_name(const struct description *d)
{
    return d->name;
}

bool description_classifies(const struct description *d)
{
    return d->classifies;
}

const char *description_variant(const struct description *d, size_t i)
{
    return d->variants && i < count_pairs(d->variants)
               ? text_of(node_at(d, d->variants->data.mapping.pairs.start[i].key))
               : NULL;
}

static const yaml_node_t *preset_of(const struct description *d, const char *variant,
                                    const char *name)
{
    const yaml_node_t *presets = variant ? get_value(d, d->variants, variant) : NULL;
    const yaml_node_t *own = get_value(d, presets, name);

    return own ? own : get_value(d, d->parameters, name);
}

int description_preset(const struct description *d, const char *variant, const char *name)
{
    const yaml_node_t *node = preset_of(d, variant, name);
    int64_t number = 0;
    struct err e;

    return node && expression_evaluate(text_of(node), NULL, &number, &e) == 0 ? (int)number : 0;
}

/* ---- building ---- */

/* A result that `- save: NAME` saved. */
struct saved_result {
    char name[TENSOR_NAME_SIZE];
    struct tensor *tensor;
};

struct builder {
    const struct description *d;
    struct graph *g;
    const struct network_config *config;
    struct variable globals[MAX_PARAMETERS + 8];
    struct scope global;
    struct saved_result saved[MAX_SAVED];
    size_t nsaved;
    struct tensor *x; /* the result of the last layer */
    int nested, nlayers;
    int count[32]; /* unnamed layers of each kind: they are named relu1, relu2, ... */
    struct err *e;
};

static void set_number(struct variable *v, const char *name, int64_t number)
{
    *v = (struct variable){.number = number};
    snprintf(v->name, sizeof v->name, "%s", name);
}

/* Sets the variables that all expressions may use. */
static void set_globals(struct builder *b, const char *variant)
{
    const struct network_config *c = b->config;
    const yaml_node_t *parameters = b->d->parameters;
    size_t n = 0;

    set_number(&b->globals[n++], "height", c->height);
    set_number(&b->globals[n++], "width", c->width);
    set_number(&b->globals[n++], "image_channels", c->channels);
    set_number(&b->globals[n++], "classes", c->classes ? c->classes : 1);
    set_number(&b->globals[n++], "batch_norm", c->batch_norm != BATCH_NORM_NONE);
    for (size_t i = 0; parameters && i < count_pairs(parameters); i++) {
        const char *name = text_of(node_at(b->d, parameters->data.mapping.pairs.start[i].key));
        int value = description_preset(b->d, variant, name);
        if (strcmp(name, "base") == 0 && c->base)
            value = c->base;
        if (strcmp(name, "depth") == 0 && c->depth)
            value = c->depth;
        set_number(&b->globals[n++], name, value);
    }
    b->global = (struct scope){NULL, b->globals, n};
}

static int evaluate_node(const struct builder *b, const yaml_node_t *node,
                         const struct scope *scope, int64_t *dst)
{
    struct err why;

    if (node->type != YAML_SCALAR_NODE)
        return wrong(b->d, node, b->e, "a number is expected");
    if (expression_evaluate(text_of(node), scope, dst, &why))
        return wrong(b->d, node, b->e, "%s", why.text);
    return 0;
}

static int expand_node(const struct builder *b, const yaml_node_t *node, const struct scope *scope,
                  char dst[TENSOR_NAME_SIZE])
{
    struct err why;

    if (node->type != YAML_SCALAR_NODE)
        return wrong(b->d, node, b->e, "a name is expected");
    if (expression_expand(text_of(node), scope, dst, &why))
        return wrong(b->d, node, b->e, "%s", why.text);
    return 0;
}

static struct saved_result *find_saved(struct builder *b, const char *name)
{
    for (size_t i = 0; i < b->nsaved; i++)
        if (strcmp(b->saved[i].name, name) == 0)
            return &b->saved[i];
    return NULL;
}

static int set_not_saved(struct builder *b, const yaml_node_t *node, const char *name)
{
    const char *names[MAX_SAVED + 1];
    char near[CLI_SUGGESTION];

    for (size_t i = 0; i < b->nsaved; i++)
        names[i] = b->saved[i].name;
    names[b->nsaved] = NULL;
    cli_suggest(name, names, near);
    return wrong(b->d, node, b->e, "no result '%s' was saved before%s", name,
                 *near ? near : " (`- save: NAME` saves one)");
}

static int save_result(struct builder *b, const yaml_node_t *node, const struct scope *scope)
{
    char name[TENSOR_NAME_SIZE];
    struct saved_result *s;

    if (expand_node(b, node, scope, name))
        return -1;
    s = find_saved(b, name);
    if (!s && b->nsaved == MAX_SAVED)
        return wrong(b->d, node, b->e, "more than %d saved results", MAX_SAVED);
    if (!s) {
        s = &b->saved[b->nsaved++];
        memcpy(s->name, name, sizeof s->name);
    }
    s->tensor = b->x;
    return 0;
}

static int use_result(struct builder *b, const yaml_node_t *node, const struct scope *scope)
{
    char name[TENSOR_NAME_SIZE];
    struct saved_result *s;

    if (expand_node(b, node, scope, name))
        return -1;
    s = find_saved(b, name);
    if (!s)
        return set_not_saved(b, node, name);
    b->x = s->tensor;
    return 0;
}

static int get_real(const struct builder *b, const yaml_node_t *node, double *dst)
{
    char *end = NULL;

    if (node->type == YAML_SCALAR_NODE)
        *dst = strtod(text_of(node), &end);
    if (!end || end == text_of(node) || *end || !isfinite(*dst) || *dst < 0)
        return wrong(b->d, node, b->e, "a number such as 0.5 is expected");
    return 0;
}

static int set_argument(struct builder *b, const char *key, const yaml_node_t *node,
                         const struct scope *scope, struct layer_args *a)
{
    if (strcmp(key, "name") == 0)
        return expand_node(b, node, scope, a->name);
    if (strcmp(key, "rate") == 0)
        return get_real(b, node, &a->rate);
    if (strcmp(key, "l2") == 0)
        return get_real(b, node, &a->l2);
    if (strcmp(key, "with") == 0) {
        if (expand_node(b, node, scope, a->with_name))
            return -1;
        struct saved_result *s = find_saved(b, a->with_name);
        a->with = s ? s->tensor : NULL;
        return s ? 0 : set_not_saved(b, node, a->with_name);
    }
    return evaluate_node(b, node, scope, strcmp(key, "channels") == 0 ? &a->channels
                                    : strcmp(key, "kernel") == 0 ? &a->kernel
                                    : strcmp(key, "stride") == 0 ? &a->stride : &a->bias);
}

/* Decodes `- conv: {channels: 8, kernel: 1}`, `- conv: 8`, and `- relu` without arguments. */
static int set_arguments(struct builder *b, const struct layer_kind *k, const yaml_node_t *key,
                          const yaml_node_t *value, const struct scope *scope, struct layer_args *a)
{
    const char *known[8] = {"name"};

    for (int i = 0; k->args[i]; i++)
        known[i + 1] = k->args[i];
    if (!value || (value->type == YAML_SCALAR_NODE && !*text_of(value)))
        return k->nneeded ? wrong(b->d, key, b->e, "%s: %s is missing: `- %s: VALUE`", k->name,
                                  k->args[0], k->name)
                          : 0;
    if (value->type == YAML_SCALAR_NODE)
        return set_argument(b, k->args[0] ? k->args[0] : "name", value, scope, a);
    if (value->type != YAML_MAPPING_NODE)
        return wrong(b->d, value, b->e, "%s: a value or {NAME: VALUE} is expected", k->name);
    if (check_keys(b->d, value, known, b->e))
        return -1;
    for (int i = 0; i < k->nneeded; i++)
        if (!get_value(b->d, value, k->args[i]))
            return wrong(b->d, value, b->e, "%s: %s is missing", k->name, k->args[i]);
    for (size_t i = 0; i < count_pairs(value); i++) {
        const yaml_node_pair_t *pair = &value->data.mapping.pairs.start[i];
        if (set_argument(b, text_of(node_at(b->d, pair->key)), node_at(b->d, pair->value), scope,
                          a))
            return -1;
    }
    return 0;
}

static int append_layer(struct builder *b, const struct layer_kind *k, const yaml_node_t *key,
                        const yaml_node_t *value, const struct scope *scope)
{
    struct layer_args a = {.kernel = k->kernel, .stride = 1, .bias = 1, .glorot = b->d->glorot};
    struct err why = {0};
    char label[2 * TENSOR_NAME_SIZE];

    if (set_arguments(b, k, key, value, scope, &a))
        return -1;
    if (!*a.name)
        snprintf(a.name, sizeof a.name, "%s%d", k->name, ++b->count[k - layer_kinds]);
    struct tensor *y = layer_append(k, b->g, b->config, &a, b->x, &why);
    if (y) {
        const int64_t *d = y->shape.dim;
        char shape[64];
        b->x = y;
        return (double)d[DIM_H] * (double)d[DIM_W] * (double)d[DIM_C] <= MAX_NUMBERS
                   ? 0
                   : wrong(b->d, key, b->e, "%s: a result of %s is too large", k->name,
                           layer_shape(y, shape));
    }
    snprintf(label, sizeof label, "%s (%s)", k->name, a.name);
    if (why.code != ERR_CONFIG) {
        *b->e = why;
        return err_prefix(b->e, "%s:%zu: %s", b->d->where, line_of(key), label);
    }
    return wrong(b->d, key, b->e, "%s: %s", label, why.text);
}

static int build_list(struct builder *b, const yaml_node_t *list, const struct scope *scope);

/* Builds a block. Of its arguments, `name` and quoted values are strings, others are numbers. */
static int build_block(struct builder *b, const yaml_node_t *layers, const yaml_node_t *key,
                       const yaml_node_t *value, const struct scope *scope)
{
    struct variable arguments[MAX_ARGUMENTS];
    struct scope inner = {&b->global, arguments, 0};

    if (value && value->type == YAML_SCALAR_NODE && *text_of(value)) {
        set_number(&arguments[inner.count++], "name", 0);
        arguments[0].is_text = true;
        if (expand_node(b, value, scope, arguments[0].text))
            return -1;
    } else if (value && value->type == YAML_MAPPING_NODE) {
        if (check_mapping(b->d, value, b->e))
            return -1;
        if (count_pairs(value) > MAX_ARGUMENTS)
            return wrong(b->d, value, b->e, "more than %d arguments", MAX_ARGUMENTS);
        for (size_t i = 0; i < count_pairs(value); i++) {
            const yaml_node_pair_t *pair = &value->data.mapping.pairs.start[i];
            const yaml_node_t *name = node_at(b->d, pair->key), *what = node_at(b->d, pair->value);
            struct variable *v = &arguments[inner.count++];
            set_number(v, text_of(name), 0);
            v->is_text = strcmp(text_of(name), "name") == 0 ||
                         (what->type == YAML_SCALAR_NODE &&
                          what->data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
            if (check_name(b->d, name, b->e) ||
                (v->is_text ? expand_node(b, what, scope, v->text) : evaluate_node(b, what, scope,
                                                                         &v->number)))
                return -1;
        }
    } else if (value && value->type == YAML_SEQUENCE_NODE) {
        return wrong(b->d, value, b->e, "block %s: {NAME: VALUE} is expected", text_of(key));
    }
    if (build_list(b, layers, &inner) == 0)
        return 0;
    char used[128];
    snprintf(used, sizeof used, " (block %s, used in line %zu)", text_of(key), line_of(key));
    size_t n = strlen(b->e->text);
    if (!strstr(b->e->text, used))
        snprintf(b->e->text + n, sizeof b->e->text - n, "%s", used);
    return -1;
}

/* Builds `for: i = 1..n` or `for: i = n downto 1` with its `do:`. */
static int build_for(struct builder *b, const yaml_node_t *item, const struct scope *scope)
{
    static const char *const keys[] = {"for", "do", NULL};
    const yaml_node_t *head = get_value(b->d, item, "for"), *body = get_value(b->d, item, "do");
    char name[EXPRESSION_NAME], first[256], last[256];
    int64_t from, to, step = 1;
    struct variable v;
    struct scope inner = {scope, &v, 1};
    struct err why;

    if (check_keys(b->d, item, keys, b->e))
        return -1;
    if (head->type != YAML_SCALAR_NODE || !body || body->type != YAML_SEQUENCE_NODE)
        return wrong(b->d, item, b->e, "for: i = FIRST..LAST needs `do:` and a list of layers");
    if (sscanf(text_of(head), " %31[A-Za-z_] = %255[^\n]", name, first) != 2)
        return wrong(b->d, head, b->e, "'%.80s' is not i = FIRST..LAST or i = FIRST downto LAST",
                     text_of(head));
    char *dots = strstr(first, ".."), *down = strstr(first, " downto ");
    if (!dots && !down)
        return wrong(b->d, head, b->e, "'%.80s' is not i = FIRST..LAST or i = FIRST downto LAST",
                     text_of(head));
    snprintf(last, sizeof last, "%s", down ? down + strlen(" downto ") : dots + 2);
    *(down ? down : dots) = 0;
    step = down ? -1 : 1;
    if (expression_evaluate(first, scope, &from, &why) ||
        expression_evaluate(last, scope, &to, &why))
        return wrong(b->d, head, b->e, "%s", why.text);
    for (; step > 0 ? from <= to : from >= to; from += step) {
        set_number(&v, name, from);
        if (++b->nlayers > MAX_LAYERS)
            return wrong(b->d, item, b->e, "more than %d layers", MAX_LAYERS);
        if (build_list(b, body, &inner))
            return -1;
    }
    return 0;
}

static int build_if(struct builder *b, const yaml_node_t *item, const struct scope *scope)
{
    static const char *const keys[] = {"if", "do", "else", NULL};
    const yaml_node_t *body = get_value(b->d, item, "do"), *other = get_value(b->d, item, "else");
    int64_t holds;

    if (check_keys(b->d, item, keys, b->e) ||
        evaluate_node(b, get_value(b->d, item, "if"), scope, &holds))
        return -1;
    if (!body || body->type != YAML_SEQUENCE_NODE || (other && other->type != YAML_SEQUENCE_NODE))
        return wrong(b->d, item, b->e, "if: CONDITION needs `do:` (and `else:`) with a list of "
                     "layers");
    return holds ? build_list(b, body, scope) : other ? build_list(b, other, scope) : 0;
}

static int set_unknown(const struct builder *b, const yaml_node_t *key)
{
    const char *names[64] = {"for", "if", "save", "use"};
    size_t n = 4;
    char all[512] = "", near[CLI_SUGGESTION];

    for (const struct layer_kind *k = layer_kinds; k->name; k++) {
        snprintf(all + strlen(all), sizeof all - strlen(all), ", %s", k->name);
        names[n++] = k->name;
    }
    for (size_t i = 0; b->d->blocks && i < count_pairs(b->d->blocks) && n < 63; i++)
        names[n++] = text_of(node_at(b->d, b->d->blocks->data.mapping.pairs.start[i].key));
    return wrong(b->d, key, b->e, "there is no layer or block '%.64s'%s (layers: for, if, save, "
                 "use%s)", text_of(key), cli_suggest(text_of(key), names, near), all);
}

static int build_item(struct builder *b, const yaml_node_t *item, const struct scope *scope)
{
    const yaml_node_t *key = item, *value = NULL, *block;

    if (++b->nlayers > MAX_LAYERS)
        return wrong(b->d, item, b->e, "more than %d layers", MAX_LAYERS);
    if (item->type == YAML_MAPPING_NODE && check_mapping(b->d, item, b->e))
        return -1;
    if (get_value(b->d, item, "for"))
        return build_for(b, item, scope);
    if (get_value(b->d, item, "if"))
        return build_if(b, item, scope);
    if (item->type == YAML_MAPPING_NODE && count_pairs(item) == 1) {
        key = node_at(b->d, item->data.mapping.pairs.start->key);
        value = node_at(b->d, item->data.mapping.pairs.start->value);
    }
    if (key->type != YAML_SCALAR_NODE)
        return wrong(b->d, item, b->e, "one layer is expected: `- relu`, `- conv: 16`, "
                     "`- conv: {channels: 16, kernel: 1}`");
    if (strcmp(text_of(key), "save") == 0 && value)
        return save_result(b, value, scope);
    if (strcmp(text_of(key), "use") == 0 && value)
        return use_result(b, value, scope);
    block = get_value(b->d, b->d->blocks, text_of(key));
    if (block)
        return build_block(b, block, key, value, scope);
    const struct layer_kind *k = layer_find(text_of(key));
    return k ? append_layer(b, k, key, value, scope) : set_unknown(b, key);
}

static int build_list(struct builder *b, const yaml_node_t *list, const struct scope *scope)
{
    const yaml_node_item_t *items = list->data.sequence.items.start;
    size_t n = (size_t)(list->data.sequence.items.top - items);
    int rc = 0;

    if (++b->nested > MAX_NESTED)
        return wrong(b->d, list, b->e, "nested more than %d levels; does a block use itself?",
                     MAX_NESTED);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = build_item(b, node_at(b->d, items[i]), scope);
    b->nested--;
    return rc;
}

/* The result of the last layer must have logits for each pixel, or for each image. */
static int check_result(const struct builder *b)
{
    const struct network_config *c = b->config;
    const int64_t *dim = b->x->shape.dim;
    int classes = c->classes ? c->classes : 1;
    int height = b->d->classifies ? 1 : c->height, width = b->d->classifies ? 1 : c->width;
    char shape[64];

    if (b->x != b->g->input && dim[DIM_H] == height && dim[DIM_W] == width && dim[DIM_C] == classes)
        return 0;
    return wrong(b->d, b->d->layers, b->e, "the last layer gives %s for images of %dx%dx%d, but a "
                 "model of %s must end with %dx%dx%d; end with `- conv: {channels: classes, "
                 "kernel: 1}`%s", layer_shape(b->x, shape), c->height, c->width, c->channels,
                 b->d->classifies ? "classes" : "masks", height, width, classes,
                 b->d->classifies ? " or `- dense: classes`" : " at the size of the images");
}

int description_sides(const struct description *d, const char *variant,
                      const struct network_config *config, int *multiple, struct err *e)
{
    struct builder b = {.d = d, .config = config, .e = e};
    int64_t value = 1;

    *multiple = 1;
    if (!d->sides)
        return 0;
    set_globals(&b, variant);
    if (evaluate_node(&b, d->sides, &b.global, &value))
        return -1;
    if (value < 1 || value > 65536)
        return wrong(d, d->sides, e, "sides: %" PRId64 " is not from 1 to 65536", value);
    *multiple = (int)value;
    return 0;
}

int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e)
{
    struct builder b = {.d = d, .g = g, .config = config, .e = e};
    int side_h = d->classifies ? 1 : config->height, side_w = d->classifies ? 1 : config->width;

    set_globals(&b, variant);
    g->input = b.x = graph_input(g, "input", shape_nhwc(batch, config->height, config->width,
                                                        config->channels), e);
    g->target = b.x ? graph_input(g, "target", shape_nhwc(batch, side_h, side_w, 1), e) : NULL;
    if (!g->target || build_list(&b, d->layers, &b.global) || check_result(&b))
        return -1;
    g->logits = b.x;
    return 0;
}
