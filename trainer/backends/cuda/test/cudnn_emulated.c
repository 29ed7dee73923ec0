/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDNN's graph API on emulated devices (runtime/test/emulate.h). It checks what cuDNN checks:
 * types and numbers of attributes, that descriptors are complete and finalized before others use
 * them, alignment, ids and the workspace. A plan convolves when its turn comes in the queue. The
 * engines differ in their numerical notes, needs and limits; those that a search must never return
 * give NaN. Part of emulated.c. */
#include "src/base.h"

#include <math.h>

#ifndef GPU_EMULATE
#define GPU_EMULATE
#endif
#include "trainer/backends/cuda/runtime/cudnn_library.h"
#include "trainer/backends/cuda/runtime/gpu.h"

#define DNN_MOST_ATTRIBUTES 12
#define DNN_BAD_PARAM 2000
#define DNN_NOT_SUPPORTED 3000
#define DNN_EXECUTION_FAILED 5000

/* ---- engines */

struct dnn_engine {
    int64_t id, workspace;
    int notes[2], nnotes;
    bool refuses; /* finalizing a plan with it fails */
    bool waits;   /* waits for the stream, so that it cannot be recorded */
    bool spoils;  /* a search must not return it: gives NaN */
    int times;    /* repeats its work so often */
};

static const struct dnn_engine dnn_engines[2][6] = {
    {{.id = 7,
      .workspace = 512,
      .notes = {DNN_NUMERICAL_NOTE_NONDETERMINISTIC},
      .nnotes = 1,
      .times = 2},
     {.id = 3, .notes = {DNN_NUMERICAL_NOTE_TENSOR_CORE}, .nnotes = 1, .times = 1},
     {.id = 5,
      .notes = {DNN_NUMERICAL_NOTE_TENSOR_CORE, DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
      .nnotes = 2,
      .spoils = true},
     {.id = 9, .workspace = (int64_t)1 << 40, .spoils = true},
     {.id = 11, .refuses = true, .spoils = true},
     {.id = 2, .waits = true, .times = 1}},
    {{.id = 1, .workspace = 64, .times = 1}, {.id = 0, .times = 1}}};
static const int64_t dnn_nengines[2] = {6, 2};

/* ---- descriptors */

struct dnn_attribute {
    int name, type;
    int64_t count;
    char data[64];
};

struct dnn_descriptor {
    int type;
    bool finalized;
    struct dnn_attribute attributes[DNN_MOST_ATTRIBUTES];
    int n;
    const struct dnn_engine *engine;        /* of engines, configurations and plans */
    struct dnn_descriptor *graph;           /* of configurations and plans */
    bool tf32;
};

/* Attributes that a descriptor must have: n elements of a type; n is 0: at least one. */
static const struct dnn_rule {
    int descriptor, name, type, n;
} dnn_rules[] = {
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, 4},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_BYTE_ALIGNMENT, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE,
     1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, 2},
#define DNN_OPERATION(kind, name)                                                                  \
    {DNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                                        \
     DNN_ATTR_OPERATION_CONVOLUTION_##name##_ALPHA, DNN_TYPE_FLOAT, 1},                            \
        {DNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                                    \
         DNN_ATTR_OPERATION_CONVOLUTION_##name##_BETA, DNN_TYPE_FLOAT, 1},                         \
    {                                                                                              \
        DNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                                     \
            DNN_ATTR_OPERATION_CONVOLUTION_##name##_CONV_DESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1      \
    }
    DNN_OPERATION(FORWARD, FORWARD),
    DNN_OPERATION(BACKWARD_DATA, BWD_DATA),
    DNN_OPERATION(BACKWARD_FILTER, BWD_FILTER),
#define DNN_OPERAND(kind, name)                                            \
    {DNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                \
     DNN_ATTR_OPERATION_CONVOLUTION_##name, DNN_TYPE_BACKEND_DESCRIPTOR, 1}
    DNN_OPERAND(FORWARD, FORWARD_X),
    DNN_OPERAND(FORWARD, FORWARD_W),
    DNN_OPERAND(FORWARD, FORWARD_Y),
    DNN_OPERAND(BACKWARD_DATA, BWD_DATA_DX),
    DNN_OPERAND(BACKWARD_DATA, BWD_DATA_W),
    DNN_OPERAND(BACKWARD_DATA, BWD_DATA_DY),
    DNN_OPERAND(BACKWARD_FILTER, BWD_FILTER_X),
    DNN_OPERAND(BACKWARD_FILTER, BWD_FILTER_DW),
    DNN_OPERAND(BACKWARD_FILTER, BWD_FILTER_DY),
    {DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_BACKEND_POINTWISE_DESCRIPTOR, DNN_ATTR_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, 1},
    {DNN_BACKEND_POINTWISE_DESCRIPTOR, DNN_ATTR_POINTWISE_MATH_PREC, DNN_TYPE_DATA_TYPE, 1},
    {DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, DNN_ATTR_OPERATION_POINTWISE_XDESC,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, DNN_ATTR_OPERATION_POINTWISE_YDESC,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, DNN_ATTR_OPERATIONGRAPH_OPS,
     DNN_TYPE_BACKEND_DESCRIPTOR, 0},
    {DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1},
    {DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, 0},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR,
     0},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1},
};
/* Attributes that a descriptor may have. */
static const struct dnn_rule dnn_more[] = {
    {DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, DNN_ATTR_OPERATION_POINTWISE_BDESC,
     DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOLEAN, 1},
};
#define DNN_NMORE (sizeof dnn_more / sizeof *dnn_more)
#define DNN_NRULES (sizeof dnn_rules / sizeof *dnn_rules)

static size_t dnn_size_of(int type)
{
    switch (type) {
    case DNN_TYPE_HANDLE:
    case DNN_TYPE_VOID_PTR:
    case DNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    case DNN_TYPE_INT64: return sizeof(int64_t);
    case DNN_TYPE_BOOLEAN: return sizeof(bool);
    default: return sizeof(int);
    }
}

static struct dnn_attribute *dnn_find(struct dnn_descriptor *d, int name)
{
    for (int i = 0; i < d->n; i++)
        if (d->attributes[i].name == name)
            return &d->attributes[i];
    return NULL;
}

static const int64_t *dnn_numbers(struct dnn_descriptor *d, int name)
{
    return (const int64_t *)(const void *)dnn_find(d, name)->data;
}

static int dnn_word(struct dnn_descriptor *d, int name)
{
    int word;

    memcpy(&word, dnn_find(d, name)->data, sizeof word);
    return word;
}

static struct dnn_descriptor *dnn_other(struct dnn_descriptor *d, int name)
{
    struct dnn_descriptor *other;

    memcpy(&other, dnn_find(d, name)->data, sizeof other);
    return other;
}

static int dnn_create_descriptor(int type, void **descriptor)
{
    struct dnn_descriptor *d;

    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    d = calloc(1, sizeof *d);
    d->type = type;
    *descriptor = d;
    return DNN_STATUS_SUCCESS;
}

static int dnn_destroy_descriptor(void *descriptor)
{
    free(descriptor);
    return DNN_STATUS_SUCCESS;
}

/* Descriptors as attributes must be finalized; their kinds are checked when they are used. */
static int dnn_set(void *descriptor, int name, int type, int64_t count, const void *elements)
{
    struct dnn_descriptor *d = descriptor;
    const struct dnn_rule *rule = NULL;

    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    for (size_t i = 0; i < DNN_NRULES; i++)
        if (dnn_rules[i].descriptor == d->type && dnn_rules[i].name == name)
            rule = &dnn_rules[i];
    for (size_t i = 0; i < DNN_NMORE; i++)
        if (dnn_more[i].descriptor == d->type && dnn_more[i].name == name)
            rule = &dnn_more[i];
    if (!rule || d->finalized || rule->type != type || !elements || count < 1 ||
        (rule->n && rule->n != count) ||
        (size_t)count * dnn_size_of(type) > sizeof d->attributes->data)
        return DNN_BAD_PARAM;
    for (int64_t i = 0; i < count && type == DNN_TYPE_BACKEND_DESCRIPTOR; i++) {
        const struct dnn_descriptor *other = ((struct dnn_descriptor *const *)elements)[i];
        if (!other || !other->finalized)
            return DNN_BAD_PARAM;
    }
    if (type == DNN_TYPE_HANDLE && !*(void *const *)elements)
        return DNN_BAD_PARAM;
    struct dnn_attribute *a = dnn_find(d, name);
    if (!a && d->n == DNN_MOST_ATTRIBUTES)
        return DNN_BAD_PARAM;
    if (!a)
        a = &d->attributes[d->n++];
    *a = (struct dnn_attribute){.name = name, .type = type, .count = count};
    memcpy(a->data, elements, (size_t)count * dnn_size_of(type));
    return DNN_STATUS_SUCCESS;
}

/* ---- a convolution */

struct dnn_tensor {
    int64_t dims[4], strides[4];
    int type;
};

struct dnn_convolution {
    int direction; /* type of the operation's descriptor */
    struct dnn_tensor x, y, w, result; /* result: what the last operation writes */
    int64_t stride[2], pad[2], dilation[2];
    void *px, *py, *pw, *pb, *workspace;
    bool relu; /* after the bias pb */
    struct dnn_engine engine;
};

static struct dnn_tensor dnn_tensor_of(struct dnn_descriptor *d)
{
    struct dnn_tensor t = {.type = dnn_word(d, DNN_ATTR_TENSOR_DATA_TYPE)};

    memcpy(t.dims, dnn_numbers(d, DNN_ATTR_TENSOR_DIMENSIONS), sizeof t.dims);
    memcpy(t.strides, dnn_numbers(d, DNN_ATTR_TENSOR_STRIDES), sizeof t.strides);
    return t;
}

/* A virtual tensor is only between operations of a graph and has no memory. */
static bool dnn_is_virtual(struct dnn_descriptor *tensor)
{
    return dnn_find(tensor, DNN_ATTR_TENSOR_IS_VIRTUAL) != NULL;
}

struct dnn_names {
    int x, y, w, convolution;
};

static struct dnn_names dnn_names_of(int type)
{
    switch (type) {
    case DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return (struct dnn_names){DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                  DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                  DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                  DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC};
    case DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return (struct dnn_names){DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC};
    default:
        return (struct dnn_names){DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                  DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC};
    }
}

/* Returns whether the shapes fit together. */
static bool dnn_fits(struct dnn_descriptor *operation, struct dnn_convolution *c)
{
    struct dnn_names names = dnn_names_of(operation->type);
    struct dnn_descriptor *convolution = dnn_other(operation, names.convolution);
    struct dnn_descriptor *tensors[] = {dnn_other(operation, names.x),
                                        dnn_other(operation, names.y),
                                        dnn_other(operation, names.w)};

    if (convolution->type != DNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        return false;
    for (int i = 0; i < 3; i++)
        if (tensors[i]->type != DNN_BACKEND_TENSOR_DESCRIPTOR)
            return false;
    *c = (struct dnn_convolution){.direction = operation->type, .x = dnn_tensor_of(tensors[0]),
                                  .y = dnn_tensor_of(tensors[1]), .w = dnn_tensor_of(tensors[2])};
    memcpy(c->stride, dnn_numbers(convolution, DNN_ATTR_CONVOLUTION_FILTER_STRIDES),
           sizeof c->stride);
    memcpy(c->pad, dnn_numbers(convolution, DNN_ATTR_CONVOLUTION_PRE_PADDINGS), sizeof c->pad);
    memcpy(c->dilation, dnn_numbers(convolution, DNN_ATTR_CONVOLUTION_DILATIONS),
           sizeof c->dilation);
    for (int i = 0; i < 2; i++)
        if (c->y.dims[2 + i] != (c->x.dims[2 + i] + 2 * c->pad[i] -
                                 c->dilation[i] * (c->w.dims[2 + i] - 1) - 1) / c->stride[i] + 1)
            return false;
    return c->x.dims[0] == c->y.dims[0] && c->x.dims[1] == c->w.dims[1] &&
           c->y.dims[1] == c->w.dims[0] && (c->x.type == c->y.type || dnn_is_virtual(tensors[1])) &&
           c->x.type == c->w.type &&
           dnn_word(convolution, DNN_ATTR_CONVOLUTION_CONV_MODE) == DNN_CROSS_CORRELATION &&
           dnn_word(convolution, DNN_ATTR_CONVOLUTION_COMP_TYPE) == DNN_DATA_FLOAT;
}

static size_t dnn_index(const struct dnn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (size_t)(a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3]);
}

static unsigned dnn_type(const struct dnn_tensor *t)
{
    return t->type == DNN_DATA_BFLOAT16 ? DTYPE_BF16
           : t->type == DNN_DATA_HALF   ? DTYPE_F16
                                        : DTYPE_F32;
}

static size_t dnn_count(const struct dnn_tensor *t)
{
    return (size_t)(t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]);
}

static float *dnn_alloc(size_t n) /* zeroed */
{
    float *p = calloc(n, sizeof *p);

    if (!p)
        abort();
    return p;
}

/* Returns a tensor as floats, with the strides of t. */
static float *dnn_read(const struct dnn_tensor *t, const void *src)
{
    size_t n = dnn_count(t);
    float *dst = dnn_alloc(n);

    for (size_t i = 0; i < n; i++)
        dst[i] = gpu_load(src, i, dnn_type(t));
    return dst;
}

static float dnn_dot(float sum, int64_t n, const float *a, int64_t a_stride, const float *b,
                     int64_t b_stride)
{
    for (int64_t i = 0; i < n; i++)
        sum += a[i * a_stride] * b[i * b_stride];
    return sum;
}

static void dnn_add(int64_t n, float *restrict sums, int64_t sums_stride, float factor,
                    const float *restrict src, int64_t src_stride)
{
    for (int64_t i = 0; i < n; i++)
        sums[i * sums_stride] += factor * src[i * src_stride];
}

/* Adds each product to its sum: two of x, y and w are sources, the third holds the sums. */
static void dnn_convolve(const struct dnn_convolution *v, float *x, float *y, float *w)
{
    const struct dnn_tensor *tx = &v->x, *ty = &v->y, *tw = &v->w;
    bool forward = v->direction == DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool data = v->direction == DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;

    for (int64_t n = 0; n < ty->dims[0]; n++)
        for (int64_t i = 0; i < ty->dims[2] * ty->dims[3]; i++)
            for (int64_t t = 0; t < tw->dims[2] * tw->dims[3]; t++) {
                int64_t oy = i / ty->dims[3], ox = i % ty->dims[3], r = t / tw->dims[3],
                        s = t % tw->dims[3];
                int64_t iy = oy * v->stride[0] + r * v->dilation[0] - v->pad[0],
                        ix = ox * v->stride[1] + s * v->dilation[1] - v->pad[1];
                if (iy < 0 || ix < 0 || iy >= tx->dims[2] || ix >= tx->dims[3])
                    continue;
                float *px = x + dnn_index(tx, n, 0, iy, ix), *py = y + dnn_index(ty, n, 0, oy, ox);
                for (int64_t k = 0; k < tw->dims[0]; k++, py += ty->strides[1]) {
                    float *pw = w + dnn_index(tw, k, 0, r, s);
                    if (forward)
                        *py = dnn_dot(*py, tw->dims[1], px, tx->strides[1], pw, tw->strides[1]);
                    else if (data)
                        dnn_add(tw->dims[1], px, tx->strides[1], *py, pw, tw->strides[1]);
                    else
                        dnn_add(tw->dims[1], pw, tw->strides[1], *py, px, tx->strides[1]);
                }
            }
}

/* Returns whether an operation behind a graph's convolution, the bias or the ReLU behind that, has
 * the mode, in floats, and takes `from`, the virtual result of the operation before. */
static bool dnn_follows(struct dnn_descriptor *operation, struct dnn_descriptor *from, int mode)
{
    struct dnn_descriptor *pw = dnn_other(operation, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);

    return dnn_is_virtual(from) &&
           dnn_other(operation, DNN_ATTR_OPERATION_POINTWISE_XDESC) == from &&
           dnn_word(pw, DNN_ATTR_POINTWISE_MODE) == mode &&
           dnn_word(pw, DNN_ATTR_POINTWISE_MATH_PREC) == DNN_DATA_FLOAT;
}

static struct dnn_descriptor *dnn_operation(struct dnn_descriptor *graph, int i)
{
    struct dnn_descriptor *operations[8];

    memcpy(operations, dnn_find(graph, DNN_ATTR_OPERATIONGRAPH_OPS)->data, sizeof operations);
    return operations[i];
}

/* $EMULATE_CUDNN: missing emulates a machine without cuDNN; none has no engines, floats none for 16
 * bits, alone none that fuses anything with a convolution; with zeros convolutions are 0, where
 * only what happens around them counts. A number is cuDNN's version. */
static bool dnn_is(const char *what)
{
    const char *word = getenv("EMULATE_CUDNN");

    return word && strcmp(word, what) == 0;
}

/* Returns whether the operations behind a graph's convolution are as dnn_follows says. If there are
 * any, the number of channels must be a multiple of 8, as some of cuDNN's engines demand. Sets
 * *bias to the bias' tensor, or NULL, and *result to that of the last operation. */
static bool dnn_has_tail(struct dnn_descriptor *graph, struct dnn_descriptor **bias,
                         struct dnn_descriptor **result)
{
    int64_t n = dnn_find(graph, DNN_ATTR_OPERATIONGRAPH_OPS)->count;
    struct dnn_descriptor *last = dnn_operation(graph, 0);

    *bias = NULL;
    *result = dnn_other(last, dnn_names_of(last->type).y);
    bool vectors = dnn_numbers(*result, DNN_ATTR_TENSOR_DIMENSIONS)[1] % 8 == 0;
    for (int i = 1; i < n; i++) {
        last = dnn_operation(graph, i);
        if (i > 2 || !vectors || dnn_is("alone") ||
            dnn_operation(graph, 0)->type != DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
            last->type != DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
            !dnn_follows(last, *result, i == 1 ? DNN_POINTWISE_ADD : DNN_POINTWISE_RELU_FWD))
            return false;
        if (i == 1)
            *bias = dnn_other(last, DNN_ATTR_OPERATION_POINTWISE_BDESC);
        *result = dnn_other(last, DNN_ATTR_OPERATION_POINTWISE_YDESC);
    }
    return !dnn_is_virtual(*result);
}

/* The try function of a struct emulate_work; args are larger than the pointer. */
static bool dnn_run(void *args, size_t *state)
{
    const struct dnn_convolution *v = args;
    bool forward = v->direction == DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool data = v->direction == DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const struct dnn_tensor *out = forward ? &v->y : data ? &v->x : &v->w;
    void *dst = forward ? v->py : data ? v->px : v->pw;
    size_t n = dnn_count(out);
    float *sums = dnn_alloc(n), *x = out == &v->x ? sums : dnn_read(&v->x, v->px);
    float *y = out == &v->y ? sums : dnn_read(&v->y, v->py),
          *w = out == &v->w ? sums : dnn_read(&v->w, v->pw);

    (void)state;
    (void)emulate_fails(__func__); /* counts it */
    for (int i = 0; i < v->engine.times && !dnn_is("zeros"); i++) {
        memset(sums, 0, n * sizeof *sums);
        dnn_convolve(v, x, y, w);
    }
    for (size_t i = 0; i < n && v->pb; i++) {
        sums[i] += ((const float *)v->pb)[i % (size_t)out->dims[1]];
        if (v->relu && !(sums[i] > 0))
            sums[i] = 0;
    }
    for (size_t i = 0; i < n; i++)
        gpu_store(dst, i, dnn_type(forward ? &v->result : out), v->engine.spoils ? NAN : sums[i]);
    if (v->engine.workspace > 0)
        memset(v->workspace, 0xff, (size_t)v->engine.workspace);
    free(x);
    free(y);
    free(w);
    return true;
}

/* ---- finalizing */

static bool dnn_is_sound(struct dnn_descriptor *d)
{
    struct dnn_descriptor *bias, *result;
    struct dnn_convolution c;
    const int64_t *dims;

    switch (d->type) {
    case DNN_BACKEND_TENSOR_DESCRIPTOR:
        dims = dnn_numbers(d, DNN_ATTR_TENSOR_DIMENSIONS);
        for (int i = 0; i < 4; i++)
            if (dims[i] < 1 || dnn_numbers(d, DNN_ATTR_TENSOR_STRIDES)[i] < 1)
                return false;
        return *dnn_numbers(d, DNN_ATTR_TENSOR_BYTE_ALIGNMENT) == 16;
    case DNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return *dnn_numbers(d, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2;
    case DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return dnn_fits(d, &c);
    case DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return dnn_has_tail(d, &bias, &result) &&
               (!bias || (dnn_word(bias, DNN_ATTR_TENSOR_DATA_TYPE) == DNN_DATA_FLOAT &&
                          dnn_numbers(bias, DNN_ATTR_TENSOR_DIMENSIONS)[1] ==
                              dnn_numbers(result, DNN_ATTR_TENSOR_DIMENSIONS)[1]));
    case DNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return dnn_other(d, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->type ==
               DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
    case DNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return dnn_find(d, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->count ==
               dnn_find(d, DNN_ATTR_VARIANT_PACK_DATA_POINTERS)->count;
    default:
        return true;
    }
}

static int dnn_finalize(void *descriptor)
{
    struct dnn_descriptor *d = descriptor;

    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    if (d->finalized)
        return DNN_BAD_PARAM;
    for (size_t i = 0; i < DNN_NRULES; i++)
        if (dnn_rules[i].descriptor == d->type && !dnn_find(d, dnn_rules[i].name))
            return DNN_BAD_PARAM;
    if (!dnn_is_sound(d))
        return DNN_BAD_PARAM;
    if (d->type == DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        struct dnn_descriptor *config = dnn_other(d, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
        if (config->type != DNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return DNN_BAD_PARAM;
        if (config->engine->refuses)
            return DNN_NOT_SUPPORTED;
        d->engine = config->engine;
        d->graph = config->graph;
    }
    d->finalized = true;
    return DNN_STATUS_SUCCESS;
}

/* ---- reading attributes */

static int dnn_get_engines(struct dnn_descriptor *d, int64_t room, int64_t *count, void *elements)
{
    int mode = dnn_word(d, DNN_ATTR_ENGINEHEUR_MODE) == DNN_HEUR_MODE_A ? 0 : 1;
    struct dnn_descriptor **configs = elements;
    struct dnn_descriptor *operation =
        dnn_operation(dnn_other(d, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), 0);
    int type = dnn_word(dnn_other(operation, dnn_names_of(operation->type).x),
                        DNN_ATTR_TENSOR_DATA_TYPE);

    *count = 0;
    if (dnn_is("none") || (dnn_is("floats") && type != DNN_DATA_FLOAT))
        return DNN_STATUS_SUCCESS;
    *count = room && room < dnn_nengines[mode] ? room : dnn_nengines[mode];
    for (int64_t i = 0; elements && i < *count; i++) {
        if (configs[i]->type != DNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return DNN_BAD_PARAM;
        configs[i]->engine = &dnn_engines[mode][i];
        configs[i]->graph = dnn_other(d, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        configs[i]->finalized = true;
    }
    return DNN_STATUS_SUCCESS;
}

static int dnn_get(void *descriptor, int name, int type, int64_t room, int64_t *count,
                   void *elements)
{
    struct dnn_descriptor *d = descriptor;

    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    if (!d->finalized)
        return DNN_BAD_PARAM;
    if (name == DNN_ATTR_ENGINEHEUR_RESULTS && d->type == DNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
        type == DNN_TYPE_BACKEND_DESCRIPTOR)
        return dnn_get_engines(d, room, count, elements);
    if (name == DNN_ATTR_ENGINECFG_ENGINE && d->type == DNN_BACKEND_ENGINECFG_DESCRIPTOR &&
        type == DNN_TYPE_BACKEND_DESCRIPTOR && room == 1) {
        struct dnn_descriptor *engine = *(struct dnn_descriptor **)elements;
        engine->engine = d->engine;
        engine->finalized = engine->type == DNN_BACKEND_ENGINE_DESCRIPTOR;
        return engine->finalized ? DNN_STATUS_SUCCESS : DNN_BAD_PARAM;
    }
    if (name == DNN_ATTR_ENGINE_GLOBAL_INDEX && d->type == DNN_BACKEND_ENGINE_DESCRIPTOR &&
        type == DNN_TYPE_INT64 && room == 1) {
        *(int64_t *)elements = d->engine->id;
        return DNN_STATUS_SUCCESS;
    }
    if (name == DNN_ATTR_ENGINE_NUMERICAL_NOTE && d->type == DNN_BACKEND_ENGINE_DESCRIPTOR &&
        type == DNN_TYPE_NUMERICAL_NOTE && room >= d->engine->nnotes) {
        *count = d->engine->nnotes;
        memcpy(elements, d->engine->notes, (size_t)*count * sizeof(int));
        return DNN_STATUS_SUCCESS;
    }
    if (name == DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
        d->type == DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && type == DNN_TYPE_INT64 && room == 1) {
        *(int64_t *)elements = d->engine->workspace;
        return DNN_STATUS_SUCCESS;
    }
    return DNN_BAD_PARAM;
}

/* ---- runs */

struct dnn_handle {
    cudaStream_t stream;
};

/* Returns the pointer of a tensor in a variant pack; NULL: it is missing or misaligned. */
static void *dnn_pointer(struct dnn_descriptor *pack, struct dnn_descriptor *tensor)
{
    const struct dnn_attribute *ids = dnn_find(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    void *const *pointers =
        (void *const *)(void *)dnn_find(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS)->data;

    for (int64_t i = 0; i < ids->count; i++)
        if (((const int64_t *)(const void *)ids->data)[i] ==
            *dnn_numbers(tensor, DNN_ATTR_TENSOR_UNIQUE_ID))
            return (uintptr_t)pointers[i] % 16 ? NULL : pointers[i];
    return NULL;
}

static int dnn_execute(void *handle, void *plan, void *pack)
{
    struct dnn_descriptor *p = plan, *v = pack;
    struct dnn_handle *h = handle;
    struct dnn_convolution c;

    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    if (!p->finalized || p->type != DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || !v->finalized ||
        v->type != DNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return DNN_BAD_PARAM;
    struct dnn_descriptor *operation = dnn_operation(p->graph, 0), *bias, *result;
    struct dnn_names names = dnn_names_of(operation->type);
    if (!dnn_fits(operation, &c) || !dnn_has_tail(p->graph, &bias, &result))
        return DNN_BAD_PARAM;
    c.result = dnn_tensor_of(result);
    c.relu = dnn_find(p->graph, DNN_ATTR_OPERATIONGRAPH_OPS)->count > 2;
    c.px = dnn_pointer(v, dnn_other(operation, names.x));
    c.py = dnn_pointer(v, result);
    c.pb = bias ? dnn_pointer(v, bias) : NULL;
    c.pw = dnn_pointer(v, dnn_other(operation, names.w));
    memcpy(&c.workspace, dnn_find(v, DNN_ATTR_VARIANT_PACK_WORKSPACE)->data, sizeof c.workspace);
    c.engine = *p->engine;
    if (!c.px || !c.py || !c.pw || (bias && !c.pb) ||
        (c.engine.workspace && (!c.workspace || (uintptr_t)c.workspace % 16)))
        return DNN_BAD_PARAM;
    if (c.engine.waits && cudaStreamSynchronize(h->stream) != cudaSuccess)
        return DNN_EXECUTION_FAILED;
    emulate_add(h->stream, (struct emulate_work){.try = dnn_run, .nargs = sizeof c,
                                                 .args = emulate_copy_args(&c, sizeof c)});
    return DNN_STATUS_SUCCESS;
}

static size_t dnn_version(void)
{
    const char *word = getenv("EMULATE_CUDNN");

    return word && atoi(word) > 0 ? (size_t)atoi(word) : 90000;
}

static const char *dnn_error_string(int status)
{
    return status == DNN_BAD_PARAM ? "bad parameter" : "not supported";
}

static int dnn_create(void **handle)
{
    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    *handle = calloc(1, sizeof(struct dnn_handle));
    return DNN_STATUS_SUCCESS;
}

static int dnn_destroy(void *handle)
{
    free(handle);
    return DNN_STATUS_SUCCESS;
}

static int dnn_set_stream(void *handle, void *stream)
{
    if (emulate_fails(__func__))
        return DNN_EXECUTION_FAILED;
    ((struct dnn_handle *)handle)->stream = stream;
    return DNN_STATUS_SUCCESS;
}

static const struct cudnn_calls cudnn_emulated = {
    .get_version = dnn_version,
    .get_error_string = dnn_error_string,
    .create = dnn_create,
    .destroy = dnn_destroy,
    .set_stream = dnn_set_stream,
    .create_descriptor = dnn_create_descriptor,
    .destroy_descriptor = dnn_destroy_descriptor,
    .finalize = dnn_finalize,
    .set = dnn_set,
    .get = dnn_get,
    .execute = dnn_execute,
};

const struct cudnn_calls *cudnn_library_open(struct err *e)
{
    if (!dnn_is("missing"))
        return &cudnn_emulated;
    err_set(e, ERR_CONFIG, "libcudnn.so.9 is not there");
    return NULL;
}
