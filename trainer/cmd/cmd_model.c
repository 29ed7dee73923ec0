/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train model: prints the layers of a network, built in or described by a file. */
#include "src/base.h"

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/cmd/cmd.h"
#include "trainer/models/model.h"
#include "trainer/network/network.h"

static struct {
    const char *size, *batch_norm, *init, *freeze;
    long base, depth, channels, classes;
    bool list, print, json;
} given = {.batch_norm = "local"};

static const struct cli_option options[] = {
    {"list", 0, CLI_FLAG, NULL, "print the names of the built-in models", &given.list, 0, 0},
    {"print", 0, CLI_FLAG, NULL, "print the description, to copy and change", &given.print, 0, 0},
    {"size", 's', CLI_STRING, "HxW", "size of the images (256x256; classes: 32x32)", &given.size, 0,
     0},
    {"channels", 0, CLI_INT, "N", "channels of the images (1; classes: 3)", &given.channels, 1, 64},
    {"classes", 0, CLI_INT, "N", "number of classes (1; classes: 10)", &given.classes, 1, 250},
    {"base", 0, CLI_INT, "N", "parameter base (preset of the model)", &given.base, 1, 1024},
    {"depth", 0, CLI_INT, "N", "parameter depth (preset of the model)", &given.depth, 1, 8},
    {"batch-norm", 0, CLI_STRING, "WORD", "local | none (local)", &given.batch_norm, 0, 0},
    {"init", 0, CLI_STRING, "FILE", "say which weights of this .safetensors file fit (model.init)",
     &given.init, 0, 0},
    {"freeze", 0, CLI_STRING, "PATTERNS", "leave out the parameters that would be frozen (model.freeze)",
     &given.freeze, 0, 0},
    OPTIONS_JSON(given.json),
    {0}};

static const char details[] =
    "Builds the network, without running it, and prints its layers with their results and\n"
    "parameters. A FILE.yaml describes a network of your own\n"
    "(PREFIX/share/doc/unetctl/doc/MODELS.md); this checks it before it is trained:\n"
    "\n"
    "  unet-train model unet --print >my.yaml\n"
    "  unet-train model my.yaml --size 96x128\n"
    "  unet-train train --model my.yaml --data DATA --size 96x128 --out RUN\n";

static int configure_model(const struct model *m, struct network_config *c, struct err *e)
{
    *c = (struct network_config){
        .model = m->name, .backend = "ref", .base = (int)given.base, .depth = (int)given.depth,
        .channels = given.channels ? (int)given.channels : m->classifies ? 3 : 1,
        .classes = given.classes ? (int)given.classes : m->classifies ? 10 : 1,
        .height = m->classifies ? 32 : 256, .width = m->classifies ? 32 : 256,
        .batch_norm = BATCH_NORM_LOCAL, .threads = 1, .freeze = given.freeze};
    if (strcmp(given.batch_norm, "none") == 0)
        c->batch_norm = BATCH_NORM_NONE;
    else if (strcmp(given.batch_norm, "local") != 0)
        return err_set(e, ERR_USAGE, "model: --batch-norm %s: must be local or none",
                       given.batch_norm);
    return given.size && options_size(given.size, &c->height, &c->width, e) ? err_prefix(e, "model")
                                                                        : 0;
}

static size_t count_params(const struct op *op)
{
    size_t n = 0;

    for (int i = -1; op_next_in(op, &i);)
        n += op->in[i]->place == TENSOR_VALUE ? tensor_count(op->in[i]) : 0;
    return n;
}

/* Copies the layer's name, which is that of its first parameter without the last part; "" if it has
 * no parameter. */
static void name_layer(const struct op *op, char dst[TENSOR_NAME_SIZE])
{
    *dst = 0;
    for (int i = -1; op_next_in(op, &i);)
        if (!*dst && op->in[i]->place == TENSOR_VALUE)
            snprintf(dst, TENSOR_NAME_SIZE, "%s", op->in[i]->name);
    char *dot = strrchr(dst, '.');
    if (dot)
        *dot = 0;
}

/* Returns the name of the op's layer in descriptions (doc/MODELS.md), or the op's own name. */
static const char *layer_of(const struct op *op)
{
    const char *name = op->kind->name, *found = name;
    size_t longest = 0;

    if (op->kind == &conv2d_grad_input_kind)
        return "conv_transpose";
    if (op->kind == &reshape_kind)
        return "flatten";
    if (op->kind == &conv2d_kind &&
        op->in[0]->shape.dim[DIM_H] == 1 && op->in[0]->shape.dim[DIM_W] == 1)
        return "dense";
    for (const struct layer_kind *k = layer_kinds; k->name; k++)
        if (strlen(k->name) > longest && strncmp(name, k->name, strlen(k->name)) == 0) {
            found = k->name;
            longest = strlen(found);
        }
    return found;
}

static void print_layers(const struct graph *g)
{
    printf("%-24s %-18s %-16s %12s\n", "layer", "kind", "result HxWxC", "parameters");
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        const int64_t *d = op->out[0]->shape.dim;
        char name[TENSOR_NAME_SIZE], shape[72];

        if (op->kind->is_loss)
            continue;
        name_layer(op, name);
        snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, d[DIM_H], d[DIM_W],
                 d[DIM_C]);
        printf("%-24s %-18s %-16s", *name ? name : "-", layer_of(op), shape);
        if (count_params(op))
            printf(" %12zu", count_params(op));
        putchar('\n');
    }
}

static int print_model(const struct model *m, const struct graph *g, const struct network *n,
                 const struct weights *w, struct err *e)
{
    size_t state = 0;
    char hash[20];

    for (size_t i = 0; i < w->nentries; i++)
        state += w->entries[i].role == WEIGHTS_STATE ? w->entries[i].count : 0;
    if (!given.json) {
        print_layers(g);
        printf("%s: %zu parameters in %zu tensors, %zu running statistics; %s\n", m->title,
               weights_trainable(w), w->nentries, state - weights_frozen(w),
               m->classifies ? "one class for each image" : "a value for each pixel");
        return 0;
    }
    snprintf(hash, sizeof hash, "%016" PRIx64, network_plan_hash(n));
    cJSON *o = cJSON_CreateObject();
    cjson_addf(o,
               "schema=%d name=%s of=%s base=%d depth=%d parameters=%zu state=%zu tensors=%zu plan_hash=%s",
               1, m->title, m->classifies ? "classes" : "masks", m->base, m->depth,
               weights_trainable(w), state, w->nentries, hash);
    if (weights_frozen(w))
        cjson_addf(o, "frozen=%zu", weights_frozen(w));
    return options_print(o, e);
}

static int show(const struct model *m, struct err *e)
{
    struct network_config c;
    struct network *n = NULL;
    struct graph *g = NULL;
    cJSON *fit = NULL;
    int rc = -1;

    if (configure_model(m, &c, e) == 0 && (n = network_create(&c, e)) &&
        (!given.init || (fit = checkpoint_fit(given.init, network_weights(n), e))) &&
        (g = graph_create(true, e)) && model_build(m, g, &c, 1, e) == 0)
        rc = print_model(m, g, n, network_weights(n), e);
    cJSON_Delete(fit);
    graph_destroy(g);
    network_destroy(n);
    return rc;
}

static int run_model(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    const struct model *m;

    if (given.list) {
        for (size_t i = 0; (m = model_builtin(i)); i++)
            puts(m->name);
        return 0;
    }
    if (!noperands)
        return err_set(e, ERR_USAGE, "model: a name of model --list, or a FILE.yaml, is needed");
    m = model_open(operands[0], e);
    if (m && given.print) {
        fputs(m->text, stdout);
        return 0;
    }
    return m ? show(m, e) : -1;
}

const struct cli_command cmd_model = {
    .name = "model",
    .args = "[NAME|FILE.yaml]",
    .summary = "Show the layers of a network, or check a description of your own",
    .details = details,
    .options = options,
    .max_operands = 1,
    .run = run_model,
};
