/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts operations and bytes of a training step in bfloat16, in the graphs that the CUDA backend
 * would run. No GPU is needed, and nothing is computed. Three variants are counted:
 *
 *   unfused   each op reads its inputs and writes its results; batch norm reads twice, for its sums
 *             and to apply them
 *   now       after fuse_graph for the backend, as it runs today
 *   fused     with everything that mma_tile.h can do in a convolution's prologue and epilogue: norms
 *             and ReLUs need no pass of their own, and both gradients of a convolution share one
 *
 *     make bench/gpu/traffic && bench/gpu/traffic [BASE HEIGHT WIDTH BATCH]
 *
 * The preset is 8 768 1024 16, the reference network.
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

static void print_counts(const struct graph *g, bool fused)
{
    double flop = 0, now = 0, most = 0;

    for (size_t i = 0; i < g->nops; i++) {
        flop += profile_flop(g->ops[i]);
        now += bytes_now(g->ops[i]);
        most += bytes_fused(g, g->ops[i]);
    }
    if (fused)
        printf("now      %.1f GFLOP, %.0f MB\nfused    %.0f MB\n", flop * 1e-9, now * 1e-6,
               most * 1e-6);
    else
        printf("unfused  %.1f GFLOP, %.0f MB\n", flop * 1e-9, now * 1e-6);
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

static struct graph *build_graph(const struct network_config *config, int batch, bool fuse,
                                 struct err *e)
{
    struct graph *g = graph_create(true, e);

    if (!g || !model_open("unet", e) || model_build(model_find("unet"), g, config, batch, e) < 0 ||
        graph_backward(g, e) < 0)
        return NULL;
    precision_mark(g, config->dtype);
    return fuse && fuse_graph(g, backend_find("cuda"), e) < 0 ? NULL : g;
}

int main(int argc, char **argv)
{
    int numbers[] = {8, 768, 1024, 16};

    setenv("UNET_CUDA_KERNELS", "untried", 1);
    for (int i = 1; i < argc && i <= 4; i++)
        numbers[i - 1] = atoi(argv[i]);
    struct network_config config = {.model = "unet", .backend = "cuda", .base = numbers[0],
                                    .depth = 4, .channels = 1, .classes = 1, .seed = 1,
                                    .height = numbers[1], .width = numbers[2],
                                    .batch_norm = BATCH_NORM_LOCAL, .threads = 1,
                                    .dtype = DTYPE_BF16};
    struct err e;

    if (argc == 6 && strcmp(argv[5], "f32") == 0)
        config.dtype = DTYPE_F32;
    for (int fused = argc == 6; fused <= 1; fused++) {
        struct graph *g = build_graph(&config, numbers[3], fused, &e);

        if (!g) {
            fprintf(stderr, "traffic: %s\n", e.text);
            return 1;
        }
        if (argc == 6)
            print_cudnn(g);
        else
            print_counts(g, fused);
        graph_destroy(g);
    }
    return 0;
}
