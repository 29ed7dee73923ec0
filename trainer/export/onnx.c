/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/export/onnx.h"

#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/protobuf.h"
#include "trainer/core/graph.h"
#include "trainer/core/model.h"

/* Fields of the messages in onnx.proto. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { ATTRIBUTE_IS_FLOAT = 1, ATTRIBUTE_IS_INT = 2, ATTRIBUTE_IS_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW_DATA = 9,
       TENSOR_IS_FLOAT = 1, TENSOR_IS_INT64 = 7 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

#define IR_VERSION 7
#define OPSET 13

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

/* n times v: ONNX wants one number per side and end. */
static void add_ints(struct buf *node, const char *name, int n, int64_t v)
{
    struct buf a = {0};

    protobuf_add_text(&a, ATTRIBUTE_NAME, name);
    for (int i = 0; i < n; i++)
        protobuf_add_varint(&a, ATTRIBUTE_INTS, v);
    protobuf_add_varint(&a, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTS);
    protobuf_add_message(node, NODE_ATTRIBUTE, &a);
}

static const char *name_of(const struct graph *g, const struct tensor *t)
{
    return t == g->input ? "image" : t == g->logits ? "logits" : t->name;
}

/* What ONNX calls an op of ours, and its attributes; NULL: it does not know it. */
static const char *describe(const struct op *op, struct buf *node)
{
    if (op->kind == &conv2d_kind || op->kind == &conv2d_nobias_kind) {
        add_ints(node, "kernel_shape", 2, op->attr.kernel);
        add_ints(node, "pads", 4, op->attr.kernel / 2);
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
        add_ints(node, "kernel_shape", 2, 2);
        add_ints(node, "strides", 2, 2);
        return op->kind == &max_pool2d_kind ? "MaxPool" : "AveragePool";
    }
    if (op->kind == &batch_norm_infer_kind) {
        add_float(node, "epsilon", op->attr.eps);
        return "BatchNormalization";
    }
    if (op->kind == &concat_kind) {
        add_int(node, "axis", 1);
        return "Concat";
    }
    return op->kind == &relu_kind              ? "Relu"
           : op->kind == &add_kind             ? "Add"
           : op->kind == &global_avg_pool_kind ? "GlobalAveragePool" : NULL;
}

static void add_numbers(struct buf *graph, const char *name, const int64_t *numbers, size_t n)
{
    struct buf t = {0};

    protobuf_add_varint(&t, TENSOR_DIMS, (int64_t)n);
    protobuf_add_varint(&t, TENSOR_DATA_TYPE, TENSOR_IS_INT64);
    protobuf_add_text(&t, TENSOR_NAME, name);
    protobuf_add_bytes(&t, TENSOR_RAW_DATA, numbers, n * sizeof *numbers);
    protobuf_add_message(graph, GRAPH_INITIALIZER, &t);
}

/* Every second place is a pooling over one; Pad has its numbers as a tensor: zeros before and
 * behind N, C, H and W. */
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
    protobuf_add_text(&node, NODE_OUTPUT, half);
    protobuf_add_text(&node, NODE_NAME, half);
    protobuf_add_text(&node, NODE_OP_TYPE, "MaxPool");
    protobuf_add_message(graph, GRAPH_NODE, &node);
    protobuf_add_text(&pad, NODE_INPUT, half);
    protobuf_add_text(&pad, NODE_INPUT, pads);
    protobuf_add_text(&pad, NODE_OUTPUT, op->out[0]->name);
    protobuf_add_text(&pad, NODE_NAME, op->out[0]->name);
    protobuf_add_text(&pad, NODE_OP_TYPE, "Pad");
    protobuf_add_message(graph, GRAPH_NODE, &pad);
    add_numbers(graph, pads, numbers, 8);
}

/* All numbers of an image in our order, which is that of H, W, C, as channels of one place. */
static void add_flatten(struct buf *graph, const struct graph *g, const struct op *op)
{
    const int64_t shape[4] = {0, op->attr.channels, 1, 1}, order[4] = {0, 2, 3, 1};
    char turned[TENSOR_NAME_SIZE + 8], name[TENSOR_NAME_SIZE + 8];
    struct buf transpose = {0}, reshape = {0}, attribute = {0};

    snprintf(turned, sizeof turned, "%s.turned", op->out[0]->name);
    snprintf(name, sizeof name, "%s.shape", op->out[0]->name);
    protobuf_add_text(&attribute, ATTRIBUTE_NAME, "perm");
    for (int i = 0; i < 4; i++)
        protobuf_add_varint(&attribute, ATTRIBUTE_INTS, order[i]);
    protobuf_add_varint(&attribute, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTS);
    protobuf_add_text(&transpose, NODE_INPUT, name_of(g, op->in[0]));
    protobuf_add_text(&transpose, NODE_OUTPUT, turned);
    protobuf_add_text(&transpose, NODE_NAME, turned);
    protobuf_add_text(&transpose, NODE_OP_TYPE, "Transpose");
    protobuf_add_message(&transpose, NODE_ATTRIBUTE, &attribute);
    protobuf_add_message(graph, GRAPH_NODE, &transpose);
    protobuf_add_text(&reshape, NODE_INPUT, turned);
    protobuf_add_text(&reshape, NODE_INPUT, name);
    protobuf_add_text(&reshape, NODE_OUTPUT, name_of(g, op->out[0]));
    protobuf_add_text(&reshape, NODE_NAME, op->out[0]->name);
    protobuf_add_text(&reshape, NODE_OP_TYPE, "Reshape");
    protobuf_add_message(graph, GRAPH_NODE, &reshape);
    add_numbers(graph, name, shape, 4);
}

/* What adds a bias to a transposed convolution is part of that in ONNX. */
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
    type = describe(op, &node);
    if (!type) {
        buf_destroy(&node);
        return err_set(e, ERR_INTERNAL, "ONNX: no operator for %s", op->kind->name);
    }
    for (int i = 0; i < op->kind->nin; i++)
        protobuf_add_text(&node, NODE_INPUT, name_of(g, op->in[i]));
    if (bias)
        protobuf_add_text(&node, NODE_INPUT, name_of(g, bias->in[1]));
    protobuf_add_text(&node, NODE_OUTPUT, name_of(g, bias ? bias->out[0] : op->out[0]));
    protobuf_add_text(&node, NODE_NAME, op->out[0]->name);
    protobuf_add_text(&node, NODE_OP_TYPE, type);
    protobuf_add_message(graph, GRAPH_NODE, &node);
    return 0;
}

static void add_probabilities(struct buf *graph, int classes)
{
    struct buf node = {0};

    protobuf_add_text(&node, NODE_INPUT, "logits");
    protobuf_add_text(&node, NODE_OUTPUT, "probabilities");
    protobuf_add_text(&node, NODE_NAME, "probabilities");
    protobuf_add_text(&node, NODE_OP_TYPE, classes == 1 ? "Sigmoid" : "Softmax");
    if (classes > 1)
        add_int(&node, "axis", 1);
    protobuf_add_message(graph, GRAPH_NODE, &node);
}

static void add_weights(struct buf *graph, const struct weights *w)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const float *data = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
        struct buf t = {0};

        for (int d = 0; d < entry->ndim; d++)
            protobuf_add_varint(&t, TENSOR_DIMS, entry->shape[d]);
        protobuf_add_varint(&t, TENSOR_DATA_TYPE, TENSOR_IS_FLOAT);
        protobuf_add_text(&t, TENSOR_NAME, entry->name);
        protobuf_add_bytes(&t, TENSOR_RAW_DATA, data, entry->count * sizeof *data);
        protobuf_add_message(graph, GRAPH_INITIALIZER, &t);
    }
}

/* whole: one value per channel and image. */
static void add_value(struct buf *graph, int field, const char *name, int channels, bool whole)
{
    const char *const free_dims[] = {"batch", NULL, whole ? NULL : "height",
                                     whole ? NULL : "width"};
    struct buf value = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};

    for (int d = 0; d < 4; d++) {
        if (free_dims[d])
            protobuf_add_text(&dim, DIM_PARAM, free_dims[d]);
        else
            protobuf_add_varint(&dim, DIM_VALUE, d == 1 ? channels : 1);
        protobuf_add_message(&shape, SHAPE_DIM, &dim);
    }
    protobuf_add_varint(&tensor, TYPE_ELEMENT, TENSOR_IS_FLOAT);
    protobuf_add_message(&tensor, TYPE_SHAPE, &shape);
    protobuf_add_message(&type, TYPE_TENSOR, &tensor);
    protobuf_add_text(&value, VALUE_NAME, name);
    protobuf_add_message(&value, VALUE_TYPE, &type);
    protobuf_add_message(graph, field, &value);
}

static int encode_graph(const struct graph *g, const struct network_config *config,
                        const struct weights *w, struct buf *dst, struct err *e)
{
    int classes = config->classes ? config->classes : 1;
    bool whole = g->logits->shape.dim[DIM_H] != g->input->shape.dim[DIM_H];

    for (size_t i = 0; i < g->nops; i++)
        if (add_op(dst, g, g->ops[i], e))
            return -1;
    add_probabilities(dst, classes);
    protobuf_add_text(dst, GRAPH_NAME, model_find(config->model)->title);
    add_weights(dst, w);
    add_value(dst, GRAPH_INPUT, "image", config->channels, false);
    add_value(dst, GRAPH_OUTPUT, "logits", classes, whole);
    add_value(dst, GRAPH_OUTPUT, "probabilities", classes, whole);
    return 0;
}

static void encode_model(struct buf *graph, struct buf *dst)
{
    struct buf opset = {0};

    protobuf_add_varint(&opset, OPSET_VERSION, OPSET);
    protobuf_add_varint(dst, MODEL_IR_VERSION, IR_VERSION);
    protobuf_add_text(dst, MODEL_PRODUCER, "unetctl");
    protobuf_add_text(dst, MODEL_VERSION, PACKAGE_VERSION);
    protobuf_add_message(dst, MODEL_GRAPH, graph);
    protobuf_add_message(dst, MODEL_OPSET, &opset);
}

int onnx_write(const char *path, const struct network_config *config, const struct weights *w,
               struct err *e)
{
    const struct model *model = model_open(config->model, e);
    struct graph *g = model ? graph_create(false, e) : NULL;
    struct buf graph = {0}, file = {0};
    int rc = -1;

    if (!model)
        return -1;
    if (g && model_build(model, g, config, 1, e) == 0)
        rc = encode_graph(g, config, w, &graph, e);
    if (rc == 0) {
        encode_model(&graph, &file);
        rc = file.failed ? err_set(e, ERR_INTERNAL, "out of memory for %s", path)
                         : atomicfile_write_new(path, file.data, file.length, 0666, e);
    }
    buf_destroy(&graph);
    buf_destroy(&file);
    graph_destroy(g);
    return rc;
}
