/* SPDX-License-Identifier: BSD-3-Clause */
/* First half: decoding the YAML document and checking its structure. Second half: building a graph
 * from it, layer by layer. Errors of the document name FILE:LINE, one of too many bytes only
 * FILE. */
#include "src/base.h"
#include "trainer/models/models_internal.h"

#include <math.h>

#include "src/cli.h"

#define MAX_PARAMETERS 32
#define MAX_ARGUMENTS 16 /* of a block */
#define MAX_SAVED 256
#define MAX_NESTED 32
#define MAX_LAYERS 5000
#define MAX_NUMBERS 1e12 /* in a layer's result for one image */

/* ---- the document ---- */

static int check_keys(const struct document_node *mapping, const char *const *known, struct err *e)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct document_node *key = mapping->keys[i];
        char near[CLI_SUGGESTION];
        size_t k = 0;
        while (known[k] && strcmp(known[k], key->text) != 0)
            k++;
        if (!known[k])
            return document_refuse(key, e, "'%s' is not known here%s", key->text,
                                   cli_suggest(key->text, known, near));
    }
    return 0;
}

static int get_typed(const struct document_node *root, const char *key, enum document_kind kind,
                     const struct document_node **dst, struct err *e)
{
    static const char *const names[] = {[DOCUMENT_TEXT] = "a string or number",
                                        [DOCUMENT_LIST] = "a list",
                                        [DOCUMENT_MAPPING] = "a mapping NAME: VALUE"};

    *dst = document_get(root, key);
    if (*dst && (*dst)->kind != kind)
        return document_refuse(*dst, e, "%s: %s is expected", key, names[kind]);
    return 0;
}

static int check_name(const struct document_node *node, struct err *e)
{
    size_t n = strlen(node->text);

    if (n == 0 || n >= EXPRESSION_NAME ||
        strspn(node->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
        n)
        return document_refuse(node, e, "'%.64s' is not a name: use 1 to %d letters, digits, _ and -",
                               node->text, EXPRESSION_NAME - 1);
    return 0;
}

static int check_numbers(const struct document_node *mapping, struct err *e)
{
    if (mapping->count > MAX_PARAMETERS)
        return document_refuse(mapping, e, "more than %d parameters", MAX_PARAMETERS);
    for (size_t i = 0; i < mapping->count; i++) {
        const struct document_node *value = mapping->items[i];
        int64_t number;
        struct err why;
        if (check_name(mapping->keys[i], e))
            return -1;
        if (value->kind != DOCUMENT_TEXT ||
            expression_evaluate(value->text, NULL, &number, &why) || number < 0 ||
            number > 1 << 20)
            return document_refuse(value, e, "%s: an integer from 0 to %d is expected",
                                   mapping->keys[i]->text, 1 << 20);
    }
    return 0;
}

static int check_variants(const struct description *d, struct err *e)
{
    for (size_t i = 0; i < d->variants->count; i++) {
        const struct document_node *numbers = d->variants->items[i];
        if (check_name(d->variants->keys[i], e))
            return -1;
        if (numbers->kind != DOCUMENT_MAPPING)
            return document_refuse(numbers, e,
                                   "parameters of the variant are expected: {NAME: NUMBER}");
        if (check_numbers(numbers, e))
            return -1;
        for (size_t k = 0; k < numbers->count; k++) {
            const struct document_node *key = numbers->keys[k];
            if (!document_get(d->parameters, key->text))
                return document_refuse(key, e, "'%s' is not one of the parameters", key->text);
        }
    }
    return 0;
}

static int check_blocks(const struct description *d, struct err *e)
{
    for (size_t i = 0; i < d->blocks->count; i++) {
        const struct document_node *key = d->blocks->keys[i];
        if (check_name(key, e))
            return -1;
        if (layer_find(key->text) || strcmp(key->text, "save") == 0 ||
            strcmp(key->text, "use") == 0 || strcmp(key->text, "for") == 0 ||
            strcmp(key->text, "if") == 0)
            return document_refuse(key, e, "'%s' is the name of a layer; give the block another name",
                                   key->text);
        if (d->blocks->items[i]->kind != DOCUMENT_LIST)
            return document_refuse(key, e, "block %s: a list of layers is expected", key->text);
    }
    return 0;
}

static int read_document(struct description *d, struct err *e)
{
    static const char *const keys[] = {"schema", "model", "of", "init", "sides", "parameters",
                                       "variants", "blocks", "layers", NULL};
    const struct document_node *root = d->document->root, *name, *of, *init;

    if (!root || root->kind != DOCUMENT_MAPPING)
        return err_set(e, ERR_CONFIG, "%s:1: a model is expected: model: NAME, of: masks or "
                       "classes, layers: ...", d->where);
    if (document_check_schema(d->document, e) || check_keys(root, keys, e) ||
        get_typed(root, "model", DOCUMENT_TEXT, &name, e) ||
        get_typed(root, "of", DOCUMENT_TEXT, &of, e) ||
        get_typed(root, "init", DOCUMENT_TEXT, &init, e) ||
        get_typed(root, "sides", DOCUMENT_TEXT, &d->sides, e) ||
        get_typed(root, "parameters", DOCUMENT_MAPPING, &d->parameters, e) ||
        get_typed(root, "variants", DOCUMENT_MAPPING, &d->variants, e) ||
        get_typed(root, "blocks", DOCUMENT_MAPPING, &d->blocks, e) ||
        get_typed(root, "layers", DOCUMENT_LIST, &d->layers, e))
        return -1;
    if (!name || !of || !d->layers)
        return document_refuse(root, e, "%s is missing", !name ? "model: NAME"
                               : !of ? "of: masks (or classes)" : "layers:");
    if (check_name(name, e))
        return -1;
    snprintf(d->name, sizeof d->name, "%s", name->text);
    d->classifies = strcmp(of->text, "classes") == 0;
    if (!d->classifies && strcmp(of->text, "masks") != 0)
        return document_refuse(of, e, "of: '%s' is neither masks (a value for each pixel) nor "
                               "classes (one for each image)", of->text);
    d->glorot = init && strcmp(init->text, "glorot") == 0;
    if (init && !d->glorot && strcmp(init->text, "pytorch") != 0)
        return document_refuse(init, e, "init: '%s' is neither pytorch nor glorot (Keras)",
                               init->text);
    return (d->parameters && check_numbers(d->parameters, e)) ||
                   (d->variants && check_variants(d, e)) || (d->blocks && check_blocks(d, e))
               ? -1
               : 0;
}

static int load_document(struct description *d, const char *text, struct err *e)
{
    size_t n = strlen(text);

    if (n > DESCRIPTION_MAX)
        return err_set(e, ERR_CONFIG, "%s: more than %d bytes", d->where, DESCRIPTION_MAX);
    d->document = document_decode(text, n, d->where, e);
    return d->document ? read_document(d, e) : -1;
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
    document_destroy(d->document);
    free(d->where);
    free(d);
}

const char *description_variant(const struct description *d, size_t i)
{
    return d->variants && i < d->variants->count ? d->variants->keys[i]->text : NULL;
}

static const struct document_node *preset_of(const struct description *d, const char *variant,
                                    const char *name)
{
    const struct document_node *presets = variant ? document_get(d->variants, variant) : NULL;
    const struct document_node *own = document_get(presets, name);

    return own ? own : document_get(d->parameters, name);
}

int description_preset(const struct description *d, const char *variant, const char *name)
{
    const struct document_node *node = preset_of(d, variant, name);
    int64_t number = 0;
    struct err e;

    return node && expression_evaluate(node->text, NULL, &number, &e) == 0 ? (int)number : 0;
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

static void set_globals(struct builder *b, const char *variant)
{
    const struct network_config *c = b->config;
    const struct document_node *parameters = b->d->parameters;
    size_t n = 0;

    set_number(&b->globals[n++], "height", c->height);
    set_number(&b->globals[n++], "width", c->width);
    set_number(&b->globals[n++], "image_channels", c->channels);
    set_number(&b->globals[n++], "classes", c->classes ? c->classes : 1);
    set_number(&b->globals[n++], "batch_norm", c->batch_norm != BATCH_NORM_NONE);
    for (size_t i = 0; parameters && i < parameters->count; i++) {
        const char *name = parameters->keys[i]->text;
        int value = description_preset(b->d, variant, name);
        if (strcmp(name, "base") == 0 && c->base)
            value = c->base;
        if (strcmp(name, "depth") == 0 && c->depth)
            value = c->depth;
        set_number(&b->globals[n++], name, value);
    }
    b->global = (struct scope){NULL, b->globals, n};
}

static int evaluate_node(const struct builder *b, const struct document_node *node,
                         const struct scope *scope, int64_t *dst)
{
    struct err why;

    if (node->kind != DOCUMENT_TEXT)
        return document_refuse(node, b->e, "a number is expected");
    if (expression_evaluate(node->text, scope, dst, &why))
        return document_refuse(node, b->e, "%s", why.text);
    return 0;
}

static int expand_node(const struct builder *b, const struct document_node *node,
                       const struct scope *scope, char dst[TENSOR_NAME_SIZE])
{
    struct err why;

    if (node->kind != DOCUMENT_TEXT)
        return document_refuse(node, b->e, "a name is expected");
    if (expression_expand(node->text, scope, dst, &why))
        return document_refuse(node, b->e, "%s", why.text);
    return 0;
}

static struct saved_result *find_saved(struct builder *b, const char *name)
{
    for (size_t i = 0; i < b->nsaved; i++)
        if (strcmp(b->saved[i].name, name) == 0)
            return &b->saved[i];
    return NULL;
}

static int set_not_saved(struct builder *b, const struct document_node *node, const char *name)
{
    const char *names[MAX_SAVED + 1];
    char near[CLI_SUGGESTION];

    for (size_t i = 0; i < b->nsaved; i++)
        names[i] = b->saved[i].name;
    names[b->nsaved] = NULL;
    cli_suggest(name, names, near);
    return document_refuse(node, b->e, "no result '%s' was saved before%s", name,
                           *near ? near : " (`- save: NAME` saves one)");
}

static int save_result(struct builder *b, const struct document_node *node,
                       const struct scope *scope)
{
    char name[TENSOR_NAME_SIZE];
    struct saved_result *s;

    if (expand_node(b, node, scope, name))
        return -1;
    s = find_saved(b, name);
    if (!s && b->nsaved == MAX_SAVED)
        return document_refuse(node, b->e, "more than %d saved results", MAX_SAVED);
    if (!s) {
        s = &b->saved[b->nsaved++];
        memcpy(s->name, name, sizeof s->name);
    }
    s->tensor = b->x;
    b->g->layers = hash_text(hash_text(b->g->layers, "save"), name);
    return 0;
}

static int use_result(struct builder *b, const struct document_node *node,
                      const struct scope *scope)
{
    char name[TENSOR_NAME_SIZE];
    struct saved_result *s;

    if (expand_node(b, node, scope, name))
        return -1;
    s = find_saved(b, name);
    if (!s)
        return set_not_saved(b, node, name);
    b->x = s->tensor;
    b->g->layers = hash_text(hash_text(b->g->layers, "use"), name);
    return 0;
}

static int get_real(const struct builder *b, const struct document_node *node, double *dst)
{
    char *end = NULL;

    if (node->kind == DOCUMENT_TEXT)
        *dst = strtod(node->text, &end);
    if (!end || end == node->text || *end || !isfinite(*dst) || *dst < 0)
        return document_refuse(node, b->e, "a number such as 0.5 is expected");
    return 0;
}

static int set_argument(struct builder *b, const char *key, const struct document_node *node,
                         const struct scope *scope, struct layer_args *a)
{
    if (strcmp(key, "name") == 0)
        return expand_node(b, node, scope, a->name);
    if (strcmp(key, "torch") == 0)
        return expand_node(b, node, scope, a->torch);
    if (strcmp(key, "rate") == 0 || strcmp(key, "slope") == 0)
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
                                    : strcmp(key, "stride") == 0 ? &a->stride
                                    : strcmp(key, "groups") == 0 ? &a->groups
                                    : strcmp(key, "dilation") == 0 ? &a->dilation : &a->bias);
}

/* Decodes `- conv: {channels: 8, kernel: 1}`, `- conv: 8`, and `- relu` without arguments. */
static int set_arguments(struct builder *b, const struct layer_kind *k,
                         const struct document_node *key, const struct document_node *value,
                         const struct scope *scope, struct layer_args *a)
{
    const char *known[2 + sizeof k->args / sizeof *k->args] = {"name", "torch"};

    for (int i = 0; k->args[i]; i++)
        known[i + 2] = k->args[i];
    if (!value || (value->kind == DOCUMENT_TEXT && !*value->text))
        return k->nneeded ? document_refuse(key, b->e, "%s: %s is missing: `- %s: VALUE`", k->name,
                                            k->args[0], k->name)
                          : 0;
    if (value->kind == DOCUMENT_TEXT)
        return set_argument(b, k->args[0] ? k->args[0] : "name", value, scope, a);
    if (value->kind != DOCUMENT_MAPPING)
        return document_refuse(value, b->e, "%s: a value or {NAME: VALUE} is expected", k->name);
    if (check_keys(value, known, b->e))
        return -1;
    for (int i = 0; i < k->nneeded; i++)
        if (!document_get(value, k->args[i]))
            return document_refuse(value, b->e, "%s: %s is missing", k->name, k->args[i]);
    for (size_t i = 0; i < value->count; i++) {
        if (set_argument(b, value->keys[i]->text, value->items[i], scope, a))
            return -1;
    }
    return 0;
}

static uint64_t hash_layer(uint64_t hash, const struct layer_kind *k, const struct layer_args *a)
{
    const int64_t numbers[] = {a->channels, a->kernel, a->stride, a->bias};

    hash = hash_text(hash, k->name);
    hash = hash_text(hash, a->name);
    hash = hash_text(hash, a->with_name);
    hash = hash_bytes(hash, numbers, sizeof numbers);
    if (a->dilation > 1)
        hash = hash_bytes(hash, &a->dilation, sizeof a->dilation);
    if (a->groups)
        hash = hash_bytes(hash, &a->groups, sizeof a->groups);
    return hash_bytes(hash, &a->rate, sizeof a->rate);
}

static int append_layer(struct builder *b, const struct layer_kind *k,
                        const struct document_node *key, const struct document_node *value,
                        const struct scope *scope)
{
    struct layer_args a = {.kernel = k->kernel, .stride = 1, .dilation = 1, .bias = 1,
                           .glorot = b->d->glorot};
    struct err why = {0};
    char label[2 * TENSOR_NAME_SIZE];
    size_t nparams = b->g->nparams;

    if (set_arguments(b, k, key, value, scope, &a))
        return -1;
    if (!*a.name)
        snprintf(a.name, sizeof a.name, "%s%d", k->name, ++b->count[k - layer_kinds]);
    struct tensor *y = k->append ? k->append(b->g, b->config, &a, b->x, &why)
                                 : k->append_plain(b->g, b->x, &why);
    if (y) {
        const int64_t *d = y->shape.dim;
        char shape[64];
        b->x = y;
        b->g->layers = hash_layer(b->g->layers, k, &a);
        for (; nparams < b->g->nparams; nparams++)
            memcpy(b->g->params[nparams].torch, a.torch, sizeof a.torch);
        return (double)d[DIM_H] * (double)d[DIM_W] * (double)d[DIM_C] <= MAX_NUMBERS
                   ? 0
                   : document_refuse(key, b->e, "%s: a result of %s is too large", k->name,
                                     layer_shape(y, shape));
    }
    snprintf(label, sizeof label, "%s (%s)", k->name, a.name);
    if (why.code != ERR_CONFIG) {
        *b->e = why;
        return err_prefix(b->e, "%s:%zu: %s", b->d->where, key->line, label);
    }
    return document_refuse(key, b->e, "%s: %s", label, why.text);
}

static int build_list(struct builder *b, const struct document_node *list,
                      const struct scope *scope);

/* Builds a block. Of its arguments, `name` and quoted values are strings, others are numbers. */
static int build_block(struct builder *b, const struct document_node *layers,
                       const struct document_node *key, const struct document_node *value,
                       const struct scope *scope)
{
    struct variable arguments[MAX_ARGUMENTS];
    struct scope inner = {&b->global, arguments, 0};

    if (value && value->kind == DOCUMENT_TEXT && *value->text) {
        set_number(&arguments[inner.count++], "name", 0);
        arguments[0].is_text = true;
        if (expand_node(b, value, scope, arguments[0].text))
            return -1;
    } else if (value && value->kind == DOCUMENT_MAPPING) {
        if (value->count > MAX_ARGUMENTS)
            return document_refuse(value, b->e, "more than %d arguments", MAX_ARGUMENTS);
        for (size_t i = 0; i < value->count; i++) {
            const struct document_node *name = value->keys[i], *what = value->items[i];
            struct variable *v = &arguments[inner.count++];
            set_number(v, name->text, 0);
            v->is_text = strcmp(name->text, "name") == 0 ||
                         (what->kind == DOCUMENT_TEXT && what->is_quoted);
            if (check_name(name, b->e) ||
                (v->is_text ? expand_node(b, what, scope, v->text) : evaluate_node(b, what, scope,
                                                                         &v->number)))
                return -1;
        }
    } else if (value && value->kind == DOCUMENT_LIST) {
        return document_refuse(value, b->e, "block %s: {NAME: VALUE} is expected", key->text);
    }
    if (build_list(b, layers, &inner) == 0)
        return 0;
    char used[128];
    snprintf(used, sizeof used, " (block %s, used in line %zu)", key->text, key->line);
    size_t n = strlen(b->e->text);
    if (!strstr(b->e->text, used))
        snprintf(b->e->text + n, sizeof b->e->text - n, "%s", used);
    return -1;
}

/* Builds `for: i = 1..n` or `for: i = n downto 1` with its `do:`. */
static int build_for(struct builder *b, const struct document_node *item, const struct scope *scope)
{
    static const char *const keys[] = {"for", "do", NULL};
    const struct document_node *head = document_get(item, "for"), *body = document_get(item, "do");
    char name[EXPRESSION_NAME], first[256], last[256];
    int64_t from, to, step = 1;
    struct variable v;
    struct scope inner = {scope, &v, 1};
    struct err why;

    if (check_keys(item, keys, b->e))
        return -1;
    if (head->kind != DOCUMENT_TEXT || !body || body->kind != DOCUMENT_LIST)
        return document_refuse(item, b->e, "for: i = FIRST..LAST needs `do:` and a list of layers");
    if (sscanf(head->text, " %31[A-Za-z_] = %255[^\n]", name, first) != 2)
        return document_refuse(head, b->e, "'%.80s' is not i = FIRST..LAST or i = FIRST downto LAST",
                               head->text);
    char *dots = strstr(first, ".."), *down = strstr(first, " downto ");
    if (!dots && !down)
        return document_refuse(head, b->e, "'%.80s' is not i = FIRST..LAST or i = FIRST downto LAST",
                               head->text);
    snprintf(last, sizeof last, "%s", down ? down + strlen(" downto ") : dots + 2);
    *(down ? down : dots) = 0;
    step = down ? -1 : 1;
    if (expression_evaluate(first, scope, &from, &why) ||
        expression_evaluate(last, scope, &to, &why))
        return document_refuse(head, b->e, "%s", why.text);
    for (; step > 0 ? from <= to : from >= to; from += step) {
        set_number(&v, name, from);
        if (++b->nlayers > MAX_LAYERS)
            return document_refuse(item, b->e, "more than %d layers", MAX_LAYERS);
        if (build_list(b, body, &inner))
            return -1;
    }
    return 0;
}

static int build_if(struct builder *b, const struct document_node *item, const struct scope *scope)
{
    static const char *const keys[] = {"if", "do", "else", NULL};
    const struct document_node *body = document_get(item, "do");
    const struct document_node *other = document_get(item, "else");
    int64_t holds;

    if (check_keys(item, keys, b->e) ||
        evaluate_node(b, document_get(item, "if"), scope, &holds))
        return -1;
    if (!body || body->kind != DOCUMENT_LIST || (other && other->kind != DOCUMENT_LIST))
        return document_refuse(item, b->e, "if: CONDITION needs `do:` (and `else:`) with a list of layers");
    return holds ? build_list(b, body, scope) : other ? build_list(b, other, scope) : 0;
}

static int set_unknown(const struct builder *b, const struct document_node *key)
{
    const char *names[64] = {"for", "if", "save", "use"};
    size_t n = 4;
    char all[512] = "", near[CLI_SUGGESTION];

    for (const struct layer_kind *k = layer_kinds; k->name; k++) {
        snprintf(all + strlen(all), sizeof all - strlen(all), ", %s", k->name);
        names[n++] = k->name;
    }
    for (size_t i = 0; b->d->blocks && i < b->d->blocks->count && n < 63; i++)
        names[n++] = b->d->blocks->keys[i]->text;
    return document_refuse(key, b->e, "there is no layer or block '%.64s'%s (layers: for, if, save, use%s)",
                           key->text, cli_suggest(key->text, names, near), all);
}

static int build_item(struct builder *b, const struct document_node *item,
                      const struct scope *scope)
{
    const struct document_node *key = item, *value = NULL, *block;

    if (++b->nlayers > MAX_LAYERS)
        return document_refuse(item, b->e, "more than %d layers", MAX_LAYERS);
    if (document_get(item, "for"))
        return build_for(b, item, scope);
    if (document_get(item, "if"))
        return build_if(b, item, scope);
    if (item->kind == DOCUMENT_MAPPING && item->count == 1) {
        key = item->keys[0];
        value = item->items[0];
    }
    if (key->kind != DOCUMENT_TEXT)
        return document_refuse(item, b->e, "one layer is expected: `- relu`, `- conv: 16`, "
                               "`- conv: {channels: 16, kernel: 1}`");
    if (strcmp(key->text, "save") == 0 && value)
        return save_result(b, value, scope);
    if (strcmp(key->text, "use") == 0 && value)
        return use_result(b, value, scope);
    block = document_get(b->d->blocks, key->text);
    if (block)
        return build_block(b, block, key, value, scope);
    const struct layer_kind *k = layer_find(key->text);
    return k ? append_layer(b, k, key, value, scope) : set_unknown(b, key);
}

static int build_list(struct builder *b, const struct document_node *list,
                      const struct scope *scope)
{
    int rc = 0;

    if (++b->nested > MAX_NESTED)
        return document_refuse(list, b->e, "nested more than %d levels; does a block use itself?",
                               MAX_NESTED);
    for (size_t i = 0; i < list->count && rc == 0; i++)
        rc = build_item(b, list->items[i], scope);
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
    return document_refuse(
        b->d->layers, b->e, "the last layer gives %s for images of %dx%dx%d, but a model of %s must "
        "end with %dx%dx%d; end with `- conv: {channels: classes, kernel: 1}`%s",
        layer_shape(b->x, shape), c->height, c->width, c->channels,
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
        return document_refuse(d->sides, e, "sides: %" PRId64 " is not from 1 to 65536", value);
    *multiple = (int)value;
    return 0;
}

int description_build(const struct description *d, const char *variant, struct graph *g,
                      const struct network_config *config, int batch, struct err *e)
{
    struct builder b = {.d = d, .g = g, .config = config, .e = e};
    int side_h = d->classifies ? 1 : config->height, side_w = d->classifies ? 1 : config->width;

    set_globals(&b, variant);
    g->layers = HASH_BEGIN;
    g->input = b.x = graph_input(g, "input", shape_nhwc(batch, config->height, config->width,
                                                        config->channels), e);
    g->target = b.x ? graph_input(g, "target", shape_nhwc(batch, side_h, side_w, 1), e) : NULL;
    if (!g->target || build_list(&b, d->layers, &b.global) || check_result(&b))
        return -1;
    g->logits = b.x;
    return 0;
}
