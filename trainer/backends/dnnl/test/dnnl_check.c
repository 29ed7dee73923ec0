/* SPDX-License-Identifier: BSD-3-Clause */
/* Of a library that works all primitives are used, of one with a fault none. The linker puts the
 * functions here before the library's (--wrap). */
#include "config.h"
#include "trainer/backends/dnnl/dnnl_check.h"

#include <dnnl.h>
#include <string.h>

#include "src/log.h"
#include "t/tap.h"
#include "trainer/backends/dnnl/dnnl_backend.h"
#include "trainer/core/graph.h"
#include "trainer/ops/ops.h"

enum fault { NONE, WRONG, LEFT_OUT, BESIDE, FAILS, REFERENCE };

static enum fault fault;
static size_t nexecuted;

dnnl_status_t __real_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int nargs, const dnnl_exec_arg_t *args);
dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int nargs, const dnnl_exec_arg_t *args);
dnnl_status_t __real_dnnl_primitive_desc_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                               int index, void *result);
dnnl_status_t __wrap_dnnl_primitive_desc_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                               int index, void *result);

static float *result_of(int nargs, const dnnl_exec_arg_t *args, size_t *n)
{
    const dnnl_memory_desc_t *desc;
    void *data = NULL;

    for (int i = 0; i < nargs; i++)
        if (args[i].arg == DNNL_ARG_DST || args[i].arg == DNNL_ARG_DIFF_SRC ||
            args[i].arg == DNNL_ARG_DIFF_WEIGHTS) {
            if (dnnl_memory_get_data_handle(args[i].memory, &data) ||
                dnnl_memory_get_memory_desc(args[i].memory, &desc))
                bail_out("oneDNN does not tell where its result is");
            *n = dnnl_memory_desc_get_size(desc) / sizeof(float);
        }
    if (!data)
        bail_out("a primitive without a result");
    return data;
}

dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int nargs, const dnnl_exec_arg_t *args)
{
    bool reorder = nargs == 3;
    size_t n = 0;
    float *result = result_of(nargs, args, &n), last = result[n - 1];
    dnnl_status_t status = __real_dnnl_primitive_execute(primitive, stream, nargs, args);

    nexecuted += !reorder;
    if (status || reorder)
        return status;
    if (fault == WRONG)
        result[n - 1] += 1, result[0] += 1;
    if (fault == LEFT_OUT)
        memcpy(result + n - 1, &last, sizeof last);
    if (fault == BESIDE)
        result[n] = 0;
    return fault == FAILS ? dnnl_runtime_error : status;
}

dnnl_status_t __wrap_dnnl_primitive_desc_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what,
                                               int index, void *result)
{
    dnnl_status_t status = __real_dnnl_primitive_desc_query(desc, what, index, result);

    if (fault == REFERENCE && what == dnnl_query_impl_info_str)
        *(const char **)result = "gemm:ref";
    return status;
}

/* Convolutions of all kinds with their gradients, of a width of their own: what was tried once is not
 * tried again. */
static struct graph *build(int64_t width, struct err *e)
{
    struct graph *g = graph_create(true, e);
    struct tensor *x;

    g->input = graph_input(g, "input", shape_nhwc(3, 12, width, 3), e);
    g->target = graph_input(g, "target", shape_nhwc(3, 12, width, 1), e);
    x = conv2d_append(g, "one", g->input, 8, 3, e);
    x = conv2d_append_as(g, "two", x, 16, 3, 2, false, e);
    x = conv_transpose2d_append(g, "three", x, 16, e);
    x = conv2d_append_as(g, "four", x, 8, 3, 1, false, e);
    g->logits = conv2d_append(g, "five", x, 1, 1, e);
    if (!g->logits || loss_append(g, LOSS_CE, NULL, g->logits, g->target, e) || graph_backward(g, e))
        bail_out("%s", e->text);
    return g;
}

static const struct kernel *find(const struct op *op)
{
    for (size_t i = 0; dnnl_backend.kernels[i]; i++)
        if (dnnl_backend.kernels[i]->kind == op->kind)
            return dnnl_backend.kernels[i];
    return NULL;
}

/* Does it compute in place of its result, not in the workspace? There nothing lies behind it. */
static bool is_direct(const struct op *op)
{
    return op->out[0]->place == TENSOR_ARENA;
}

/* How many of the ops for which there is a kernel are taken. */
static size_t count_used(const struct graph *g, bool direct, size_t *n)
{
    size_t used = 0;

    *n = 0;
    for (size_t i = 0; i < g->nops; i++) {
        const struct kernel *kernel = find(g->ops[i]);

        if (!kernel || (direct && !is_direct(g->ops[i])))
            continue;
        ++*n;
        used += kernel->supports(g->ops[i]);
    }
    return used;
}

static void check(enum fault f, int64_t width, const char *what)
{
    struct err e = {0};
    struct graph *g = build(width, &e);
    size_t n, used;

    fault = f;
    used = count_used(g, f == BESIDE || f == LEFT_OUT, &n);
    ok(n >= 8 && used == 0, "%s: %zu of %zu convolutions are used", what, used, n);
    graph_destroy(g);
}

int main(void)
{
    struct err e = {0};
    struct graph *g = build(16, &e);

    log_open("dnnl_check.t", LOG_QUIET);
    size_t n, used = count_used(g, false, &n);

    ok(used > 8, "a library that works: %zu of %zu convolutions are used", used, n);
    ok(nexecuted >= used, "each was run before");
    nexecuted = 0;
    is_int(count_used(g, false, &n), used, "asked again it answers the same");
    is_int(nexecuted, 0, "from memory");
    graph_destroy(g);
    check(WRONG, 20, "wrong results");
    check(LEFT_OUT, 24, "results left out");
    check(BESIDE, 28, "results beside the tensor");
    check(FAILS, 32, "failures");
    check(REFERENCE, 36, "reference implementations");
    return done_testing();
}
