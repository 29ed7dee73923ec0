/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel by AMX tiles that works is used; one that fails, is wrong or writes beside its results
 * is replaced by one without tiles. */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_check.h"

#include <stdlib.h>

#include "src/log.h"
#include "t/tap.h"
#include "trainer/backends/cpu/conv/amx/amx_kernels.h"
#include "trainer/backends/cpu/simd_backend.h"
#include "trainer/core/graph.h"
#include "trainer/ops/ops.h"
#include "trainer/passes/precision.h"

static size_t nruns;

static int run_right(struct op *op, struct exec *x, struct err *e)
{
    nruns++;
    return simd_amx_conv.run(op, x, e);
}

static int run_wrong(struct op *op, struct exec *x, struct err *e)
{
    int rc = simd_amx_conv.run(op, x, e);

    op->out[0]->half[tensor_count(op->out[0]) - 1] ^= 1;
    return rc;
}

static int run_beside(struct op *op, struct exec *x, struct err *e)
{
    int rc = simd_amx_conv.run(op, x, e);

    op->out[0]->half[tensor_count(op->out[0])] = 0;
    return rc;
}

static int run_failing(struct op *op, struct exec *x, struct err *e)
{
    (void)op;
    (void)x;
    return err_set(e, ERR_INTERNAL, "no tiles today");
}

/* Builds a convolution from and to bf16 between two others. */
static struct graph *build(int64_t channels, struct op **op)
{
    struct err e = {0};
    struct graph *g = graph_create(false, &e);
    struct tensor *x;

    g->input = graph_input(g, "input", shape_nhwc(2, 9, 70, 3), &e);
    x = conv2d_append(g, "one", g->input, 16, 3, 1, true, &e);
    x = conv2d_append(g, "two", x, (int)channels, 3, 1, true, &e);
    g->logits = conv2d_append(g, "three", x, 1, 1, 1, true, &e);
    if (!g->logits)
        bail_out("%s", e.text);
    precision_mark(g, DTYPE_BF16);
    *op = g->ops[1];
    return g;
}

static void check(int (*run)(struct op *, struct exec *, struct err *), int64_t channels,
                  bool works, const char *what)
{
    const struct kernel kernel = {
        .prepare = simd_amx_conv.prepare, .run = run, .release = simd_amx_conv.release};
    struct op *op;
    struct graph *g = build(channels, &op);

    ok(amx_check(&kernel, op) == works, "%s: %s used", what, works ? "is" : "is not");
    ok((backend_kernel(&simd_backend, op) == &simd_amx_conv) == works, "%s: the backend takes it%s",
       what, works ? "" : " not either");
    ok(backend_kernel(&simd_backend, op) != NULL, "%s: there is a kernel", what);
    graph_destroy(g);
}

int main(void)
{
    size_t first;

    setenv("UNET_ISA", "amx-emulated", 1);
    log_open("amx_check.t", LOG_QUIET);
    check(run_right, 16, true, "one that works");
    first = nruns;
    ok(first > 0, "it was run before");
    check(run_right, 16, true, "asked again");
    ok(nruns == first, "it was not run again");
    check(run_wrong, 32, false, "wrong results");
    check(run_beside, 48, false, "results beside the tensor");
    check(run_failing, 64, false, "failures");
    return done_testing();
}
