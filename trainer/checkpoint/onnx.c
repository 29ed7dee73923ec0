/* SPDX-License-Identifier: BSD-3-Clause */
/* The inference graph of the network, op by op, encoded by hand (src/format/tfrecord.h). */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include "src/atomicfile.h"
#include "src/format/tfrecord.h"
#include "trainer/json/cjson.h"

/* Field numbers of the messages in onnx.proto. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_VERSION = 3, MODEL_DOC = 6, MODEL_GRAPH = 7,
       MODEL_OPSET = 8, MODEL_METADATA = 14 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_INTS = 8,
       ATTRIBUTE_TYPE = 20 };
enum { ATTRIBUTE_IS_FLOAT = 1, ATTRIBUTE_IS_INT = 2, ATTRIBUTE_IS_TEXT = 3, ATTRIBUTE_IS_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW_DATA = 9,
       TENSOR_IS_FLOAT = 1, TENSOR_IS_INT64 = 7 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, VALUE_DOC = 3 };
enum { TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

#define IR_VERSION 7
#define OPSET 13

/* Completes a node with one output. */
static void add_node(struct buf *graph, struct buf *node, const char *type, const char *name,
                     const char *output)
{
    protobuf_add_text(node, NODE_OUTPUT, output);
    protobuf_add_text(node, NODE_NAME, name);
    protobuf_add_text(node, NODE_OP_TYPE, type);
    protobuf_add_message(graph, GRAPH_NODE, node);
}

static void add_float(struct buf *node, const char *name, double v)
{
    struct buf a = {0};

    protobuf_add_text(&a, ATTRIBUTE_NAME, name);
    protobuf_add_float(&a, ATTRIBUTE_F, (float)v);
    protobuf_add_varint(&a, ATTRIBUTE_TYPE, ATTRIBUTE_IS_FLOAT);
    protobuf_add_message(node, NODE_ATTRIBUTE, &a);
}

static void add_int(struct buf *node, const char *name, int64_t v)
{
    struct buf a = {0};

    protobuf_add_text(&a, ATTRIBUTE_NAME, name);
    protobuf_add_varint(&a, ATTRIBUTE_I, v);
    protobuf_add_varint(&a, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INT);
    protobuf_add_message(node, NODE_ATTRIBUTE, &a);
}

static void add_text(struct buf *node, const char *name, const char *v)
{
    struct buf a = {0};

    protobuf_add_text(&a, ATTRIBUTE_NAME, name);
    protobuf_add_text(&a, ATTRIBUTE_S, v);
    protobuf_add_varint(&a, ATTRIBUTE_TYPE, ATTRIBUTE_IS_TEXT);
    protobuf_add_message(node, NODE_ATTRIBUTE, &a);
}

static void add_list(struct buf *node, const char *name, int n, const int64_t *v)
{
    struct buf a = {0};

    protobuf_add_text(&a, ATTRIBUTE_NAME, name);
    for (int i = 0; i < n; i++)
        protobuf_add_varint(&a, ATTRIBUTE_INTS, v[i]);
    protobuf_add_varint(&a, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTS);
    protobuf_add_message(node, NODE_ATTRIBUTE, &a);
}

/* Adds an attribute of n (at most 4) equal numbers: ONNX expects one for each dimension or
 * border. */
static void add_ints(struct buf *node, const char *name, int n, int64_t v)
{
    add_list(node, name, n, (const int64_t[]){v, v, v, v});
}

static const char *name_of(const struct graph *g, const struct tensor *t)
{
    return t == g->input ? "image" : t == g->logits ? "logits" : t->name;
}

static const char *describe_op(const struct op *op, struct buf *node)
{
    if (op->kind == &conv2d_kind) {
        add_ints(node, "kernel_shape", 2, op->attr.kernel);
        add_ints(node, "pads", 4, op_dilation(op) * (op->attr.kernel / 2));
        add_ints(node, "dilations", 2, op_dilation(op));
        add_ints(node, "strides", 2, op->attr.stride > 1 ? op->attr.stride : 1);
        return "Conv";
    }
    if (op->kind == &conv_transpose2d_kind) {
        add_ints(node, "kernel_shape", 2, 2);
        add_ints(node, "strides", 2, 2);
        return "ConvTranspose";
    }
    if (op->kind == &conv2d_grad_input_kind) {
        add_ints(node, "kernel_shape", 2, op->attr.kernel);
        add_ints(node, "pads", 4, op->attr.kernel / 2);
        add_ints(node, "strides", 2, op->attr.stride);
        add_ints(node, "output_padding", 2, 1);
        return "ConvTranspose";
    }
    if (op->kind == &max_pool2d_kind || op->kind == &avg_pool2d_kind) {
        bool overlaps = op->kind == &max_pool2d_kind && op->attr.kernel == 3;

        add_ints(node, "kernel_shape", 2, overlaps ? 3 : 2);
        add_ints(node, "pads", 4, overlaps);
        add_ints(node, "strides", 2, 2);
        return op->kind == &max_pool2d_kind ? "MaxPool" : "AveragePool";
    }
    if (op->kind == &batch_norm_infer_kind) {
        add_float(node, "epsilon", op->attr.eps);
        return "BatchNormalization";
    }
    if (op->kind == &group_norm_kind && !op->attr.groups) {
        add_float(node, "epsilon", op->attr.eps);
        return "InstanceNormalization";
    }
    if (op->kind == &relu_kind && op->attr.slope > 0) {
        add_float(node, "alpha", op->attr.slope);
        return "LeakyRelu";
    }
    if (op->kind == &concat_kind) {
        add_int(node, "axis", 1);
        return "Concat";
    }
    return op->kind == &relu_kind              ? "Relu"
           : op->kind == &add_kind             ? "Add"
           : op->kind == &global_avg_pool_kind ? "GlobalAveragePool" : NULL;
}

static void add_initializer(struct buf *graph, const char *name, int type, const void *numbers,
                            size_t size, const int64_t *dim, int ndim)
{
    struct buf t = {0};

    for (int d = 0; d < ndim; d++)
        protobuf_add_varint(&t, TENSOR_DIMS, dim[d]);
    protobuf_add_varint(&t, TENSOR_DATA_TYPE, type);
    protobuf_add_text(&t, TENSOR_NAME, name);
    protobuf_add_bytes(&t, TENSOR_RAW_DATA, numbers, size);
    protobuf_add_message(graph, GRAPH_INITIALIZER, &t);
}

/* Adds a max pooling of 1x1 with stride 2, and a Pad, whose second input is a tensor: the numbers
 * of zeros before N, C, H and W, then those after them. */
static void add_subsample(struct buf *graph, const struct graph *g, const struct op *op)
{
    int64_t before = (op->attr.channels - op->in[0]->shape.dim[DIM_C]) / 2;
    int64_t behind = op->attr.channels - op->in[0]->shape.dim[DIM_C] - before;
    const int64_t numbers[8] = {0, before, 0, 0, 0, behind, 0, 0};
    char half[TENSOR_NAME_SIZE + 8], pads[TENSOR_NAME_SIZE + 8];
    struct buf node = {0}, pad = {0};

    snprintf(half, sizeof half, "%s.half", op->out[0]->name);
    snprintf(pads, sizeof pads, "%s.pads", op->out[0]->name);
    add_ints(&node, "kernel_shape", 2, 1);
    add_ints(&node, "strides", 2, 2);
    protobuf_add_text(&node, NODE_INPUT, name_of(g, op->in[0]));
    add_node(graph, &node, "MaxPool", half, half);
    protobuf_add_text(&pad, NODE_INPUT, half);
    protobuf_add_text(&pad, NODE_INPUT, pads);
    add_node(graph, &pad, "Pad", op->out[0]->name, op->out[0]->name);
    add_initializer(graph, pads, TENSOR_IS_INT64, numbers, sizeof numbers, &(int64_t){8}, 1);
}

/* Adds a Resize, whose third input has the scales of N, C, H and W; the second is not used. */
static void add_upsample(struct buf *graph, const struct graph *g, const struct op *op)
{
    static const float scales[4] = {1, 1, 2, 2};
    char name[TENSOR_NAME_SIZE + 8];
    struct buf node = {0};

    snprintf(name, sizeof name, "%s.scales", op->out[0]->name);
    add_text(&node, "mode", op->attr.bilinear ? "linear" : "nearest");
    add_text(&node, "coordinate_transformation_mode",
             op->attr.bilinear ? "half_pixel" : "asymmetric");
    if (!op->attr.bilinear)
        add_text(&node, "nearest_mode", "floor");
    protobuf_add_text(&node, NODE_INPUT, name_of(g, op->in[0]));
    protobuf_add_text(&node, NODE_INPUT, "");
    protobuf_add_text(&node, NODE_INPUT, name);
    add_node(graph, &node, "Resize", name_of(g, op->out[0]), name_of(g, op->out[0]));
    add_initializer(graph, name, TENSOR_IS_FLOAT, scales, sizeof scales, &(int64_t){4}, 1);
}

static void add_flatten(struct buf *graph, const struct graph *g, const struct op *op)
{
    const int64_t shape[4] = {0, op->attr.channels, 1, 1}, order[4] = {0, 2, 3, 1};
    char turned[TENSOR_NAME_SIZE + 8], name[TENSOR_NAME_SIZE + 8];
    struct buf transpose = {0}, reshape = {0};

    snprintf(turned, sizeof turned, "%s.turned", op->out[0]->name);
    snprintf(name, sizeof name, "%s.shape", op->out[0]->name);
    add_list(&transpose, "perm", 4, order);
    protobuf_add_text(&transpose, NODE_INPUT, name_of(g, op->in[0]));
    add_node(graph, &transpose, "Transpose", turned, turned);
    protobuf_add_text(&reshape, NODE_INPUT, turned);
    protobuf_add_text(&reshape, NODE_INPUT, name);
    add_node(graph, &reshape, "Reshape", op->out[0]->name, name_of(g, op->out[0]));
    add_initializer(graph, name, TENSOR_IS_INT64, shape, sizeof shape, &(int64_t){4}, 1);
}

/* Returns the op that adds the bias of a transposed convolution, or NULL. In ONNX the bias is an
 * input of the convolution. */
static const struct op *bias_of(const struct graph *g, const struct op *op)
{
    for (size_t i = 0; i < g->nops && op->kind == &conv2d_grad_input_kind; i++)
        if (g->ops[i]->kind == &bias_kind && g->ops[i]->in[0] == op->out[0])
            return g->ops[i];
    return NULL;
}

static int add_op(struct buf *graph, const struct graph *g, const struct op *op, struct err *e)
{
    const struct op *bias = bias_of(g, op);
    struct buf node = {0};
    const char *type;

    if (op->kind == &bias_kind)
        return 0;
    if (op->kind == &reshape_kind) {
        add_flatten(graph, g, op);
        return 0;
    }
    if (op->kind == &subsample_kind) {
        add_subsample(graph, g, op);
        return 0;
    }
    if (op->kind == &upsample2d_kind) {
        add_upsample(graph, g, op);
        return 0;
    }
    type = describe_op(op, &node);
    if (!type) {
        buf_destroy(&node);
        return err_set(e, ERR_CONFIG, "export: ONNX of version %d has no operator for %s; export "
                       "--safetensors has the weights", OPSET, op->kind->name);
    }
    for (int i = -1; op_next_in(op, &i);)
        protobuf_add_text(&node, NODE_INPUT, name_of(g, op->in[i]));
    if (bias)
        protobuf_add_text(&node, NODE_INPUT, name_of(g, bias->in[1]));
    add_node(graph, &node, type, op->out[0]->name, name_of(g, bias ? bias->out[0] : op->out[0]));
    return 0;
}

static void add_probabilities(struct buf *graph, int classes)
{
    struct buf node = {0};

    protobuf_add_text(&node, NODE_INPUT, "logits");
    if (classes > 1)
        add_int(&node, "axis", 1);
    add_node(graph, &node, classes == 1 ? "Sigmoid" : "Softmax", "probabilities", "probabilities");
}

static void add_weights(struct buf *graph, const struct weights *w)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const float *data = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
        add_initializer(graph, entry->name, TENSOR_IS_FLOAT, data, entry->count * sizeof *data,
                        entry->shape, entry->ndim);
    }
}

/* Facts about an exported network. */
struct onnx_facts {
    const struct network_config *config;
    const struct checkpoint_classes *classes;
    int multiple; /* that height and width must be multiples of; 0: only the size of training */
    char sizes[64];
};

/* Returns whether both graphs have the same operators, with weights of the same sizes. */
static bool is_same(const struct graph *a, const struct graph *b)
{
    bool same = a->nops == b->nops && a->nparams == b->nparams;

    for (size_t i = 0; same && i < a->nops; i++)
        same = a->ops[i]->kind == b->ops[i]->kind &&
               a->ops[i]->attr.channels == b->ops[i]->attr.channels;
    for (size_t i = 0; same && i < a->nparams; i++)
        same = tensor_count(a->params[i].tensor) == tensor_count(b->params[i].tensor);
    return same;
}

/* Returns whether the graph is the same for images with so many more rows and columns. */
static bool fits_larger(const struct model *model, const struct graph *g,
                   const struct network_config *config, int height, int width)
{
    struct network_config larger = *config;
    struct err why;
    struct graph *other = graph_create(false, &why);

    larger.height += height;
    larger.width += width;
    bool same = other && model_build(model, other, &larger, 1, &why) == 0 && is_same(g, other);
    graph_destroy(other);
    return same;
}

/* Sets d->multiple to the model's multiple of sides if the network has the same layers for images
 * larger by it and for images twice as large (poolings may round a small difference away), else to
 * 0; and d->sizes to that as text. */
static int find_sizes(struct onnx_facts *d, const struct model *model, const struct graph *g,
                      struct err *e)
{
    const struct network_config *c = d->config;

    if (model_sides(model, c, &d->multiple, e))
        return -1;
    if (!fits_larger(model, g, c, d->multiple, d->multiple) ||
        !fits_larger(model, g, c, c->height, c->width))
        d->multiple = 0;
    if (!d->multiple)
        snprintf(d->sizes, sizeof d->sizes, "exactly %dx%d", d->config->height, d->config->width);
    else if (d->multiple == 1)
        snprintf(d->sizes, sizeof d->sizes, "any");
    else
        snprintf(d->sizes, sizeof d->sizes, "multiples of %d", d->multiple);
    return 0;
}

static void add_dim(struct buf *shape, const char *name, int multiple, int value)
{
    struct buf dim = {0}, param = {0};

    buf_addf(&param, multiple > 1 ? "%s_multiple_of_%d" : "%s", name, multiple);
    if (multiple)
        protobuf_add_bytes(&dim, DIM_PARAM, param.data, param.length);
    else
        protobuf_add_varint(&dim, DIM_VALUE, (uint64_t)value);
    buf_destroy(&param);
    protobuf_add_message(shape, SHAPE_DIM, &dim);
}

/* t: a tensor of the graph for the size of training. A side of 1 is 1 for every size. */
static void add_value(struct buf *graph, int field, const char *name, const struct onnx_facts *d,
                      const struct tensor *t, const char *doc)
{
    struct buf value = {0}, type = {0}, tensor = {0}, shape = {0};
    const int64_t *dim = t->shape.dim;

    add_dim(&shape, "batch", 1, 0);
    add_dim(&shape, "channels", 0, (int)dim[DIM_C]);
    add_dim(&shape, "height", dim[DIM_H] > 1 ? d->multiple : 0, (int)dim[DIM_H]);
    add_dim(&shape, "width", dim[DIM_W] > 1 ? d->multiple : 0, (int)dim[DIM_W]);
    protobuf_add_varint(&tensor, TYPE_ELEMENT, TENSOR_IS_FLOAT);
    protobuf_add_message(&tensor, TYPE_SHAPE, &shape);
    protobuf_add_message(&type, TYPE_TENSOR, &tensor);
    protobuf_add_text(&value, VALUE_NAME, name);
    protobuf_add_message(&value, VALUE_TYPE, &type);
    protobuf_add_text(&value, VALUE_DOC, doc);
    protobuf_add_message(graph, (uint32_t)field, &value);
}

static const char *name_channels(const struct network_config *c)
{
    return c->channels == 1 ? "grey" : c->channels == 3 ? "R, G, B" : "as in the image files";
}

static void add_values(struct buf *dst, const struct graph *g, const struct onnx_facts *d)
{
    int classes = d->config->classes ? d->config->classes : 1;
    char doc[512];

    snprintf(doc, sizeof doc, "Samples from 0 to 1 (of 8 bits: value / 255), channels %s; height "
             "and width: %s. Trained on %s %dx%d%s.", name_channels(d->config), d->sizes,
             d->classes->native ? "patches of images at their own scale, of" : "images resized to",
             d->config->height, d->config->width,
             d->classes->native ? "" : " with the aspect kept (bilinear, half-pixel centres) and "
             "centred in zeros");
    add_value(dst, GRAPH_INPUT, "image", d, g->input, doc);
    add_value(dst, GRAPH_OUTPUT, "logits", d, g->logits, "Before sigmoid or softmax.");
    add_value(dst, GRAPH_OUTPUT, "probabilities", d, g->logits,
              classes == 1 ? "Sigmoid: of the foreground." : "Softmax: of each class.");
}

static void add_entry(struct buf *model, const char *key, const char *value)
{
    struct buf entry = {0};

    protobuf_add_text(&entry, ENTRY_KEY, key);
    protobuf_add_text(&entry, ENTRY_VALUE, value);
    protobuf_add_message(model, MODEL_METADATA, &entry);
}

static void add_metadata(struct buf *model, const struct onnx_facts *d)
{
    const struct network_config *c = d->config;
    cJSON *names = cJSON_CreateArray();
    struct err ignored;
    char size[32], levels[64];

    snprintf(size, sizeof size, "%dx%d", c->height, c->width);
    add_entry(model, "image_layout", "NCHW");
    add_entry(model, "image_channels", name_channels(c));
    add_entry(model, "image_range",
              strcmp(d->classes->scale, "zscore") == 0 ? "mean 0, deviation 1" : "0..1");
    add_entry(model, "image_scale", d->classes->scale);
    if (strcmp(d->classes->scale, "auto") == 0) {
        snprintf(levels, sizeof levels, "%.9g %.9g", d->classes->levels[0], d->classes->levels[1]);
        add_entry(model, "image_levels", levels);
    }
    add_entry(model, "image_sizes", d->sizes);
    add_entry(model, "trained_size", size);
    add_entry(model, "scale", d->classes->native ? "native" : "fit");
    for (int i = 0; i < d->classes->count; i++)
        cjson_add(names, NULL, cJSON_CreateString(d->classes->names[i]));
    char *text = cjson_print(names, "", &ignored);
    if (text && d->classes->count)
        add_entry(model, "class_names", text);
    model->failed |= !text;
    free(text);
    if (*d->classes->ignore)
        add_entry(model, "ignore", d->classes->ignore);
}

static int encode_graph(const struct graph *g, const struct onnx_facts *d, const struct weights *w,
                        struct buf *dst, struct err *e)
{
    for (size_t i = 0; i < g->nops; i++)
        if (add_op(dst, g, g->ops[i], e))
            return -1;
    add_probabilities(dst, d->config->classes ? d->config->classes : 1);
    protobuf_add_text(dst, GRAPH_NAME, model_find(d->config->model)->title);
    add_weights(dst, w);
    add_values(dst, g, d);
    return 0;
}

static void encode_model(struct buf *graph, const struct onnx_facts *d, struct buf *dst)
{
    struct buf opset = {0};

    protobuf_add_varint(&opset, OPSET_VERSION, OPSET);
    protobuf_add_varint(dst, MODEL_IR_VERSION, IR_VERSION);
    protobuf_add_text(dst, MODEL_PRODUCER, "unetctl");
    protobuf_add_text(dst, MODEL_VERSION, PACKAGE_VERSION);
    protobuf_add_text(dst, MODEL_DOC,
                      "Trained by unet-train; metadata_props have the preparation of "
                      "images and the names of the classes.");
    protobuf_add_message(dst, MODEL_GRAPH, graph);
    protobuf_add_message(dst, MODEL_OPSET, &opset);
    add_metadata(dst, d);
}

int onnx_write(const char *path, const struct network_config *config,
               const struct checkpoint_classes *classes, const struct weights *w, struct err *e)
{
    struct onnx_facts d = {.config = config, .classes = classes};
    const struct model *model = model_open(config->model, e);
    struct graph *g = model ? graph_create(false, e) : NULL;
    struct buf graph = {0}, file = {0};
    int rc = -1;

    if (!model)
        return -1;
    if (g && model_build(model, g, config, 1, e) == 0 && find_sizes(&d, model, g, e) == 0)
        rc = encode_graph(g, &d, w, &graph, e);
    if (rc == 0) {
        encode_model(&graph, &d, &file);
        rc = file.failed ? mem_fail(e)
                         : atomicfile_write_new(path, file.data, file.length, 0666, e);
    }
    buf_destroy(&graph);
    buf_destroy(&file);
    graph_destroy(g);
    return rc;
}
