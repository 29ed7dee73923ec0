/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers, and the table of models. */
#include "src/base.h"
#include "trainer/models/model.h"

#include <math.h>

#include "src/atomicfile.h"
#include "trainer/models/models_internal.h"

/* Each layer checks its arguments and its input, and then appends ops. */

#define LAYER_MAX_CHANNELS (1 << 20)
#define MAX_DILATION 64
#define MAX_WEIGHTS (INT64_C(1) << 31) /* of one layer */

const char *layer_shape(const struct tensor *t, char dst[64])
{
    const int64_t *d = t->shape.dim;

    snprintf(dst, 64, "%" PRId64 "x%" PRId64 "x%" PRId64, d[DIM_H], d[DIM_W], d[DIM_C]);
    return dst;
}

static bool is_point(const struct tensor *t)
{
    return t->shape.dim[DIM_H] == 1 && t->shape.dim[DIM_W] == 1;
}

static int check_number(const char *what, int64_t v, int64_t min, int64_t max, struct err *e)
{
    if (v >= min && v <= max)
        return 0;
    return err_set(e, ERR_CONFIG, "%s is %" PRId64 "; it can be %" PRId64 " to %" PRId64, what, v,
                   min, max);
}

static bool is_param(const struct tensor *t, const char *name, const char *what)
{
    size_t n = strlen(name);

    return strncmp(t->name, name, n) == 0 && t->name[n] == '.' &&
           strcmp(t->name + n + 1, what) == 0;
}

/* Glorot and Bengio, AISTATS 2010, equation (16): uniform in +-sqrt(6 / (fan in + fan out)); biases
 * are 0. */
static void set_glorot(struct graph_param *p)
{
    const int64_t *dim = p->tensor->shape.dim;

    p->low = p->high = 0;
    if (p->tensor->shape.ndim == 4) {
        p->high = sqrt(6 / (double)((dim[0] + dim[1]) * dim[2] * dim[3]));
        p->low = -p->high;
    }
}

/* Sets the L2 penalty of a layer's weights and, if a->glorot, the initial values of its weights and
 * bias. */
static void set_weights(struct graph *g, const struct layer_args *a)
{
    for (size_t i = 0; i < g->nparams; i++) {
        struct graph_param *p = &g->params[i];
        bool weight = is_param(p->tensor, a->name, "weight");

        if (weight)
            p->l2 = a->l2;
        if (a->glorot && (weight || is_param(p->tensor, a->name, "bias")))
            set_glorot(p);
    }
}

/* Limits the number of weights, so that later products of sizes do not overflow. */
static int check_weights(const struct tensor *x, int64_t channels, int64_t window, struct err *e)
{
    if (x->shape.dim[DIM_C] <= MAX_WEIGHTS / channels / window)
        return 0;
    return err_set(e, ERR_CONFIG,
                   "%" PRId64 " input and %" PRId64 " output channels make more "
                   "than 2^31 weights; add pooling before it, or use fewer channels",
                   x->shape.dim[DIM_C], channels);
}

/* The layer's parameters must have names that no other layer uses. */
static int check_name(const struct graph *g, const char *name, struct err *e)
{
    if (strlen(name) > TENSOR_NAME_SIZE - sizeof ".running_mean")
        return err_set(e, ERR_CONFIG, "the name '%s' is too long; up to %zu characters", name,
                       TENSOR_NAME_SIZE - sizeof ".running_mean");
    for (size_t i = 0; i < g->nparams; i++)
        if (is_param(g->params[i].tensor, name, "weight"))
            return err_set(e, ERR_CONFIG, "the name '%s' is used by an earlier layer; in a block "
                           "or `for`, use {name} or the variable in the name", name);
    return 0;
}

static struct tensor *append_conv(struct graph *g, const struct network_config *config,
                                  const struct layer_args *a, struct tensor *x, struct err *e)
{
    if (a->kernel < 1 || a->kernel > 7 || a->kernel % 2 == 0) {
        err_set(e, ERR_CONFIG, "a kernel of %" PRId64 "; it can be 1, 3, 5 or 7", a->kernel);
        return NULL;
    }
    if (check_number("channels", a->channels, 1, LAYER_MAX_CHANNELS, e) ||
        check_number("stride", a->stride, 1, 2, e) ||
        check_number("dilation", a->dilation, 1, MAX_DILATION, e) ||
        check_weights(x, a->channels, a->kernel * a->kernel, e) || check_name(g, a->name, e))
        return NULL;
    x = conv2d_append(g, a->name, x, a->channels, (int)a->kernel, (int)a->stride, (int)a->dilation,
                      a->bias != 0, e);
    set_weights(g, a);
    return x;
}

static struct tensor *append_conv_transpose(struct graph *g, const struct network_config *config,
                                            const struct layer_args *a, struct tensor *x,
                                            struct err *e)
{
    if (check_number("kernel", a->kernel, 2, 3, e) ||
        check_number("channels", a->channels, 1, LAYER_MAX_CHANNELS, e) ||
        check_weights(x, a->channels, a->kernel * a->kernel, e) || check_name(g, a->name, e))
        return NULL;
    x = conv_transpose2d_append(g, a->name, x, a->channels, (int)a->kernel, e);
    set_weights(g, a);
    return x;
}

static struct tensor *append_batch_norm(struct graph *g, const struct network_config *config,
                                        const struct layer_args *a, struct tensor *x, struct err *e)
{
    if (config->batch_norm == BATCH_NORM_NONE)
        return x;
    if (check_name(g, a->name, e))
        return NULL;
    return batch_norm_append(g, a->name, x, config->batch_norm == BATCH_NORM_SYNC, e);
}

static struct tensor *append_group_norm(struct graph *g, const struct network_config *config,
                                        const struct layer_args *a, struct tensor *x, struct err *e)
{
    int64_t channels = x->shape.dim[DIM_C], groups = a->groups ? a->groups : channels;

    if (check_name(g, a->name, e))
        return NULL;
    if (groups < 1 || channels % groups) {
        err_set(e, ERR_CONFIG, "%" PRId64 " groups of %" PRId64 " channels; the groups must divide "
                "the channels", groups, channels);
        return NULL;
    }
    if (is_point(x) && channels == groups) {
        err_set(e, ERR_CONFIG, "the input is one pixel, whose numbers have no variance: use larger "
                "images, less pooling or fewer groups");
        return NULL;
    }
    return group_norm_append(g, a->name, x, a->groups, e);
}

static struct tensor *append_leaky_relu(struct graph *g, const struct network_config *config,
                                        const struct layer_args *a, struct tensor *x, struct err *e)
{
    if (!(a->rate > 0 && a->rate < 1)) {
        err_set(e, ERR_CONFIG, "a slope of %g; it must be above 0 and below 1 (relu has 0)", a->rate);
        return NULL;
    }
    return relu_append_leaky(g, x, a->rate, e);
}

static int check_halved(const struct tensor *x, struct err *e)
{
    char shape[64];

    if (x->shape.dim[DIM_H] >= 2 && x->shape.dim[DIM_W] >= 2)
        return 0;
    return err_set(e, ERR_CONFIG, "%s is too small to halve: use larger images or less pooling",
                   layer_shape(x, shape));
}

/* The preset of the kernel is 0, which is 2. */
static struct tensor *append_max_pool(struct graph *g, const struct network_config *config,
                                      const struct layer_args *a, struct tensor *x, struct err *e)
{
    if ((a->kernel && check_number("kernel", a->kernel, 2, 3, e)) || check_halved(x, e))
        return NULL;
    return max_pool2d_append(g, x, (int)a->kernel, e);
}

static struct tensor *append_avg_pool(struct graph *g, const struct network_config *config,
                                      const struct layer_args *a, struct tensor *x, struct err *e)
{
    return check_halved(x, e) ? NULL : avg_pool2d_append(g, x, e);
}

static struct tensor *append_subsample(struct graph *g, const struct network_config *config,
                                       const struct layer_args *a, struct tensor *x, struct err *e)
{
    if (check_number("channels", a->channels, x->shape.dim[DIM_C], LAYER_MAX_CHANNELS, e))
        return NULL;
    return subsample_append(g, x, a->channels, e);
}

static struct tensor *append_dense(struct graph *g, const struct network_config *config,
                                   const struct layer_args *a, struct tensor *x, struct err *e)
{
    char shape[64];

    if (!is_point(x)) {
        err_set(e, ERR_CONFIG, "the input is %s, but must be 1x1xC: add `- flatten` or "
                "`- global_avg_pool` before it", layer_shape(x, shape));
        return NULL;
    }
    if (check_number("channels", a->channels, 1, LAYER_MAX_CHANNELS, e) ||
        check_weights(x, a->channels, 1, e) || check_name(g, a->name, e))
        return NULL;
    /* A dense layer is a 1x1 convolution of one pixel. */
    x = conv2d_append(g, a->name, x, a->channels, 1, 1, 1, a->bias != 0, e);
    set_weights(g, a);
    return x;
}

static struct tensor *append_dropout(struct graph *g, const struct network_config *config,
                                     const struct layer_args *a, struct tensor *x, struct err *e)
{
    if (!(a->rate >= 0 && a->rate < 1)) {
        err_set(e, ERR_CONFIG, "a rate of %g; it must be at least 0 and below 1", a->rate);
        return NULL;
    }
    return dropout_append(g, x, a->rate, e);
}

static int check_pair(const struct layer_args *a, const struct tensor *x, bool channels,
                      struct err *e)
{
    const int64_t *p = x->shape.dim, *q = a->with->shape.dim;
    char here[64], there[64];

    if (p[DIM_H] == q[DIM_H] && p[DIM_W] == q[DIM_W] && (!channels || p[DIM_C] == q[DIM_C]))
        return 0;
    return err_set(e, ERR_CONFIG, "the input is %s, but '%s' is %s: %s must be equal",
                   layer_shape(x, here), a->with_name, layer_shape(a->with, there),
                   channels ? "height, width and channels" : "height and width");
}

static struct tensor *append_concat(struct graph *g, const struct network_config *config,
                                    const struct layer_args *a, struct tensor *x, struct err *e)
{
    return check_pair(a, x, false, e) ? NULL : concat_append(g, x, a->with, e);
}

static struct tensor *append_add(struct graph *g, const struct network_config *config,
                                 const struct layer_args *a, struct tensor *x, struct err *e)
{
    return check_pair(a, x, true, e) ? NULL : add_append(g, x, a->with, e);
}

static struct tensor *append_nearest(struct graph *g, struct tensor *x, struct err *e)
{
    return upsample2d_append(g, x, false, e);
}

static struct tensor *append_bilinear(struct graph *g, struct tensor *x, struct err *e)
{
    return upsample2d_append(g, x, true, e);
}

const struct layer_kind layer_kinds[] = {
    {"conv", {"channels", "kernel", "stride", "dilation", "bias", "l2"}, 1, 3, append_conv, NULL},
    {"conv_transpose", {"channels", "kernel", "l2"}, 1, 2, append_conv_transpose, NULL},
    {"batch_norm", {NULL}, 0, 0, append_batch_norm, NULL},
    {"instance_norm", {NULL}, 0, 0, append_group_norm, NULL},
    {"group_norm", {"groups"}, 1, 0, append_group_norm, NULL},
    {"relu", {NULL}, 0, 0, NULL, relu_append},
    {"leaky_relu", {"slope"}, 1, 0, append_leaky_relu, NULL},
    {"max_pool", {"kernel"}, 0, 0, append_max_pool, NULL},
    {"avg_pool", {NULL}, 0, 0, append_avg_pool, NULL},
    {"upsample_nearest", {NULL}, 0, 0, NULL, append_nearest},
    {"upsample_bilinear", {NULL}, 0, 0, NULL, append_bilinear},
    {"global_avg_pool", {NULL}, 0, 0, NULL, global_avg_pool_append},
    {"subsample", {"channels"}, 1, 0, append_subsample, NULL},
    {"flatten", {NULL}, 0, 0, NULL, reshape_append_flat},
    {"dense", {"channels", "bias", "l2"}, 1, 0, append_dense, NULL},
    {"dropout", {"rate"}, 1, 0, append_dropout, NULL},
    {"concat", {"with"}, 1, 0, append_concat, NULL},
    {"add", {"with"}, 1, 0, append_add, NULL},
    {NULL, {NULL}, 0, 0, NULL, NULL},
};

const struct layer_kind *layer_find(const char *name)
{
    for (const struct layer_kind *k = layer_kinds; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

#define MAX_BASE 1024
#define MAX_DEPTH 8
#define MODEL_MAX_CHANNELS 64
#define MAX_CLASSES 250
#define MAX_SIDE 65536

/* The files of templates/models/. */
static const char *const builtin[] = {
#include "trainer/models/builtin.inc"
};
#define NBUILTIN (sizeof builtin / sizeof *builtin)

static struct model *first, **end = &first; /* models are never removed */
static bool loaded;

/* Appends a model, which owns name and keeps d and text. Returns NULL if out of memory, with name
 * freed. */
static struct model *add_model(char *name, struct description *d, const char *variant,
                               const char *text, bool built_in)
{
    struct model *new = calloc(1, sizeof *new);

    if (!new || !name) {
        free(new);
        free(name);
        return NULL;
    }
    *new = (struct model){name, variant ? variant : d->name, d->classifies,
                          description_preset(d, variant, "base"),
                          description_preset(d, variant, "depth"), text, built_in, d, variant,
                          NULL};
    *end = new;
    end = &new->next;
    return new;
}

/* Errors are ignored, as tests decode all built-in descriptions. */
static void load_builtin(void)
{
    for (size_t i = 0; i < NBUILTIN && !loaded; i++) {
        struct err e;
        struct description *d = description_decode(builtin[i], "built in", &e);
        const char *variant = d ? description_variant(d, 0) : NULL;

        if (d && !variant)
            add_model(strdup(d->name), d, NULL, builtin[i], true);
        for (size_t k = 0; d && (variant = description_variant(d, k)); k++)
            add_model(strdup(variant), d, variant, builtin[i], true);
    }
    loaded = true;
}

const struct model *model_find(const char *name)
{
    load_builtin();
    for (const struct model *m = first; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

const struct model *model_builtin(size_t i)
{
    const struct model *m;

    load_builtin();
    for (m = first; m && (!m->built_in || i > 0); m = m->next)
        i -= m->built_in;
    return m;
}

/* name NULL: the model is named after its title and the hash of the text. */
static const struct model *decode_model(const char *name, const char *text, const char *where,
                                        struct err *e)
{
    struct description *d = description_decode(text, where, e);
    char *copy = d ? strdup(text) : NULL, *key = NULL;
    uint64_t hash = hash_bytes(HASH_BEGIN, text, strlen(text));

    if (!d)
        return NULL;
    if (name)
        key = strdup(name);
    else if (asprintf(&key, "%s@%016" PRIx64, d->name, hash) < 0)
        key = NULL;
    const struct model *m = key && !name ? model_find(key) : NULL;
    if (m)
        free(key);
    else if (copy && (m = add_model(key, d, NULL, copy, false)))
        return m;
    else
        mem_fail(e);
    free(copy);
    description_destroy(d);
    return m;
}

const struct model *model_decode(const char *text, const char *where, struct err *e)
{
    return decode_model(NULL, text, where, e);
}

static const struct model *read_model(const char *path, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, DESCRIPTION_MAX, &n, e);
    const struct model *m = NULL;

    if (!text) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    if (strlen(text) != n)
        err_set(e, ERR_CONFIG, "%s: this file is binary, but a model is YAML (unet-train model "
                "--print unet shows one)", path);
    else
        m = decode_model(path, text, path, e);
    free(text);
    return m;
}

static void set_unknown(const char *name, struct err *e)
{
    char list[1024] = "";

    for (const struct model *m = first; m; m = m->next)
        if (m->built_in)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     m->name);
    err_set(e, ERR_CONFIG, "there is no model \"%s\"; models are %s; name your own file *.yaml",
            name, list);
}

const struct model *model_open(const char *name, struct err *e)
{
    const char *dot = strrchr(name, '.');
    const struct model *m = model_find(name);

    if (!m && (strchr(name, '/') || (dot && strcmp(dot, ".yaml") == 0)))
        return read_model(name, e);
    if (!m)
        set_unknown(name, e);
    return m;
}

static int check_range(const struct model *m, const char *what, int value, int min, int max,
                       struct err *e)
{
    if (value < min || value > max)
        return err_set(e, ERR_CONFIG, "%s: %s is %d, but must be from %d to %d", m->title, what,
                       value, min, max);
    return 0;
}

static int check_side(const struct model *m, const char *what, int value, int step, struct err *e)
{
    int below = value / step * step;

    if (value < 1 || value > MAX_SIDE || value % step != 0)
        return err_set(e, ERR_CONFIG, "%s: the %s is %d, but must be a multiple of %d, for example %d",
                       m->title, what, value, step, below < step ? step : below);
    return 0;
}

int model_sides(const struct model *model, const struct network_config *config, int *multiple,
                struct err *e)
{
    return description_sides(model->description, model->variant, config, multiple, e);
}

int model_check(const struct model *m, const struct network_config *c, struct err *e)
{
    int step, least = m->classifies ? 2 : 1;

    if (check_range(m, "base", c->base, 0, MAX_BASE, e) ||
        check_range(m, "depth", c->depth, 0, MAX_DEPTH, e) ||
        check_range(m, "channels", c->channels, 1, MODEL_MAX_CHANNELS, e) ||
        check_range(m, "the number of classes", c->classes ? c->classes : 1, least, MAX_CLASSES,
                    e) ||
        model_sides(m, c, &step, e) || check_side(m, "height", c->height, step, e) ||
        check_side(m, "width", c->width, step, e))
        return -1;
    if (m->classifies && c->loss != LOSS_CE)
        return err_set(e, ERR_CONFIG, "%s: Dice is a loss for masks; use train.loss: ce", m->title);
    return 0;
}

struct loss_terms model_loss(const struct network_config *c)
{
    bool is_dice = c->tversky[0] + c->tversky[1] <= 0;

    return (struct loss_terms){
        .loss = c->loss, .ce_weights = c->class_weights, .gamma = c->focal_gamma,
        .dice_weights = c->weighs_dice && c->classes > 1 ? c->class_weights : NULL,
        .alpha = is_dice ? 0.5 : c->tversky[0], .beta = is_dice ? 0.5 : c->tversky[1]};
}

int model_build(const struct model *model, struct graph *g, const struct network_config *config,
                int batch, struct err *e)
{
    if (description_build(model->description, model->variant, g, config, batch, e) < 0)
        return -1;
    if (g->training || g->measures) {
        struct loss_terms terms = model_loss(config);
        return loss_append(g, &terms, g->logits, g->target, e);
    }
    g->logits->pinned = true;
    return 0;
}
