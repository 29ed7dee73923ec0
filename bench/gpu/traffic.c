/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts operations and bytes of a training step in bfloat16 by layer, in the graphs that the CUDA
 * backend would run. No GPU is needed, and nothing is computed. Three variants are counted:
 *
 *   unfused   each op reads its inputs and writes its results; batch norm reads twice, for its sums
 *             and to apply them
 *   now       after fuse_graph for the backend, as it runs today
 *   fused     with everything that mma_tile.h can do in a convolution's prologue and epilogue: norms
 *             and ReLUs need no pass of their own, and both gradients of a convolution share one
 *
 *     make bench/gpu/traffic && bench/gpu/traffic [BASE HEIGHT WIDTH BATCH [GB/s TFLOP/s]]
 *
 * The preset is 8 768 1024 16 4300 790: the reference network, and the copy rate and bfloat16
 * matrix rate of an H200.
 *
 *     bench/gpu/traffic BASE HEIGHT WIDTH BATCH f32|bf16
 *
 * prints the convolutions of that type that are left to cuDNN for bench/gpu/predict.py, a line
 * each: direction, channels of source and result of the forward convolution, operations and bytes,
 * separated by tabs. */
#include "config.h"

#include "trainer/backends/cuda/test/emulated.c"

#include "trainer/backends/backends.h"
#include "trainer/models/model.h"
#include "trainer/network/profile.h"
#include "trainer/passes/fuse.h"
#include "trainer/passes/precision.h"

#define MAX_LAYERS 64

enum way { UNFUSED, NOW, FUSED, NWAYS, CUDNN };

struct layer {
    char name[TENSOR_NAME_SIZE];
    int64_t height, width, in, out; /* of a convolution */
    double flop, bytes[NWAYS];
};

static struct layer layers[MAX_LAYERS];
static size_t nlayers;

static bool is_conv(const struct op_kind *kind)
{
    return strstr(kind->name, "conv") != NULL;
}

static bool is_norm(const struct op_kind *kind)
{
    return strncmp(kind->name, "batch_norm", strlen("batch_norm")) == 0;
}

static bool is_norm_grad(const struct op_kind *kind)
{
    return kind == &batch_norm_grad_kind;
}

/* Returns the name of a parameter of the op, or of a parameter whose gradient it computes, weights
 * first. The layer's name precedes the last point. */
static const char *parameter_of(const struct op *op)
{
    const struct tensor *found = NULL;

    for (int i = 0; i < op->kind->nin + op->kind->nout; i++) {
        const struct tensor *t = i < op->kind->nin ? op->in[i] : op->out[i - op->kind->nin];

        if (t && (t->place == TENSOR_VALUE || t->place == TENSOR_GRAD) &&
            (!found || (found->shape.ndim < 4 && t->shape.ndim == 4)))
            found = t;
    }
    return found ? found->name : NULL;
}

/* Sets name to the op's layer. A batch norm counts for its convolution: enc1.bn2 for enc1.conv2. */
static void name_layer(const struct op *op, char *name)
{
    const char *parameter = parameter_of(op);

    snprintf(name, TENSOR_NAME_SIZE, "%s", parameter ? parameter : op->kind->is_loss ? "loss" : "");
    char *end = strstr(name, ".weight"), *norm = strstr(name, ".bn");
    if (end)
        *end = 0;
    if (norm) {
        char number[8];

        snprintf(number, sizeof number, "%s", norm + 3);
        snprintf(norm, TENSOR_NAME_SIZE - (size_t)(norm - name), ".conv%s", number);
    }
    if (!*name)
        snprintf(name, TENSOR_NAME_SIZE, "%s", strstr(op->kind->name, "pool") ? "pooling" :
                 strstr(op->kind->name, "concat") ? "concat" : "relu, add");
}

static struct layer *find_layer(const char *name)
{
    for (size_t i = 0; i < nlayers; i++)
        if (strcmp(layers[i].name, name) == 0)
            return &layers[i];
    if (nlayers == MAX_LAYERS) {
        fprintf(stderr, "traffic: more than %d layers\n", MAX_LAYERS);
        exit(1);
    }
    snprintf(layers[nlayers].name, sizeof layers->name, "%s", name);
    return &layers[nlayers++];
}

/* Counts every number once for each time that it is read from or written to memory. */
static double bytes_now(const struct op *op)
{
    double bytes = profile_bytes(op);

    if (op->attr.scale_shift)
        return bytes;
    if (is_norm(op->kind) && op->kind != &batch_norm_infer_kind && !op->in[OP_MOMENTS])
        bytes += (double)tensor_nbytes(op->in[0]);
    if (is_norm_grad(op->kind) && !op->in[OP_SUMS])
        bytes += (double)tensor_nbytes(op->in[1]);
    return bytes;
}

/* Returns whether t is the gradient that a norm passes on. Its reader then reads what the norm
 * read. */
static bool is_of_norm(const struct graph *g, const struct tensor *t)
{
    for (size_t i = 0; i < g->nops; i++)
        if (is_norm_grad(g->ops[i]->kind) && g->ops[i]->out[0] == t)
            return true;
    return false;
}

static double bytes_fused(const struct graph *g, const struct op *op)
{
    double bytes = profile_bytes(op);

    if (is_norm(op->kind))
        return 0;
    if (is_conv(op->kind) && is_of_norm(g, op->in[0]) && !op->in[OP_NORM_GRAD_X] &&
        op_form(op) & OP_WEIGHTS_ONLY)
        return bytes + (double)tensor_nbytes(op->in[0]);
    if (op_form(op) & OP_INPUT_ONLY)
        /* the same pass as the gradient of the weights */
        return bytes - (double)tensor_nbytes(op->in[0]);
    return bytes;
}

static void count_ops(const struct graph *g, enum way way)
{
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        char name[TENSOR_NAME_SIZE];

        name_layer(op, name);
        struct layer *layer = find_layer(name);
        layer->bytes[way] += way == FUSED ? bytes_fused(g, op) : bytes_now(op);
        if (way != NOW)
            continue;
        layer->flop += profile_flop(op);
        if (i < g->nforward && is_conv(op->kind)) {
            const struct tensor *y = op->out[0];

            layer->height = y->shape.dim[DIM_H];
            layer->width = y->shape.dim[DIM_W];
            layer->in = op->in[0]->shape.dim[DIM_C] +
                        (op->in[OP_SECOND] ? op->in[OP_SECOND]->shape.dim[DIM_C] : 0);
            layer->out = y->shape.dim[DIM_C];
        }
    }
}

static bool is_cudnn(const struct kernel *kernel)
{
    return kernel == &cudnn_conv_conv2d || kernel == &cudnn_conv_conv2d_grad ||
           kernel == &cudnn_conv_conv_transpose2d || kernel == &cudnn_conv_conv_transpose2d_grad;
}

static void print_cudnn(const struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        unsigned form = op_form(op);

        if (!is_cudnn(backend_kernel(backend_find("cuda"), op)))
            continue;
        const struct tensor *w = op->in[1] ? op->in[1] : op->out[1];
        bool up = strstr(op->kind->name, "transpose") != NULL;
        printf("%s\t%d\t%d\t%.0f\t%.0f\n",
               form & OP_INPUT_ONLY     ? "gradient of the input"
               : form & OP_WEIGHTS_ONLY ? "gradient of the weights" : "forward",
               (int)w->shape.dim[!up], (int)w->shape.dim[up], profile_flop(op), profile_bytes(op));
    }
}

static void count_graph(const struct network_config *config, int batch, bool fuse, enum way way)
{
    const struct backend *cuda = backend_find("cuda");
    struct err e;
    struct graph *g = graph_create(true, &e);

    if (!g || model_build(model_find("unet"), g, config, batch, &e) < 0 || graph_backward(g, &e) < 0) {
        fprintf(stderr, "traffic: %s\n", e.text);
        exit(1);
    }
    precision_mark(g, config->dtype);
    if (fuse && fuse_graph(g, cuda, &e) < 0) {
        fprintf(stderr, "traffic: %s\n", e.text);
        exit(1);
    }
    if (way == CUDNN)
        print_cudnn(g);
    else
        count_ops(g, way);
    graph_destroy(g);
}

static void print_layers(double bytes_per_s, double flop_per_s)
{
    struct layer all = {.name = "step"};
    double sum[NWAYS] = {0};

    printf("| layer | result | channels | GFLOP | its ms | MB unfused | now | fused | ms unfused | now | "
           "fused |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i <= nlayers; i++) {
        const struct layer *l = i < nlayers ? &layers[i] : &all;
        char result[64] = "", channels[64] = "";

        if (l->out) {
            snprintf(result, sizeof result, "%dx%d", (int)l->height, (int)l->width);
            snprintf(channels, sizeof channels, "%d to %d", (int)l->in, (int)l->out);
        }
        printf("| %s | %s | %s | %.1f | %.3f |", l->name, result, channels, l->flop * 1e-9,
               1e3 * l->flop / flop_per_s);
        for (enum way w = UNFUSED; w < NWAYS; w++)
            printf(" %.0f |", l->bytes[w] * 1e-6);
        for (enum way w = UNFUSED; w < NWAYS; w++) {
            double ms = 1e3 * fmax(l->bytes[w] / bytes_per_s, l->flop / flop_per_s);

            printf(" %.3f |", i < nlayers ? ms : sum[w]);
            sum[w] += ms;
            all.bytes[w] += l->bytes[w];
        }
        all.flop += l->flop;
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    double numbers[] = {8, 768, 1024, 16, 4300, 790};

    setenv("UNET_CUDA_KERNELS", "untried", 1);
    for (int i = 1; i < argc && i <= 6; i++)
        numbers[i - 1] = atof(argv[i]);
    struct network_config config = {.model = "unet", .backend = "cuda", .base = (int)numbers[0],
                                    .depth = 4, .channels = 1, .classes = 1, .seed = 1,
                                    .height = (int)numbers[1], .width = (int)numbers[2],
                                    .batch_norm = BATCH_NORM_LOCAL, .threads = 1,
                                    .dtype = DTYPE_BF16};
    struct err e;

    if (!model_open("unet", &e)) {
        fprintf(stderr, "traffic: %s\n", e.text);
        return 1;
    }
    if (argc == 6) {
        config.dtype = strcmp(argv[5], "f32") == 0 ? DTYPE_F32 : DTYPE_BF16;
        count_graph(&config, (int)numbers[3], true, CUDNN);
        return 0;
    }
    /* first, because it determines order and channels */
    count_graph(&config, (int)numbers[3], true, NOW);
    count_graph(&config, (int)numbers[3], true, FUSED);
    count_graph(&config, (int)numbers[3], false, UNFUSED);
    print_layers(numbers[4] * 1e9, numbers[5] * 1e12);
    return 0;
}
