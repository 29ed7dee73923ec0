/* SPDX-License-Identifier: BSD-3-Clause */
/* The real cuDNN checks our descriptors up to the operation graph, which needs no GPU: attributes,
 * types and shapes for all directions, dtypes, strides and odd numbers of channels, forward with
 * and without the operations on a result. */
#include "src/base.h"

#include "t/tap.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"

int main(void)
{
    static const char *const directions[] = {"forward", "data", "weights"};
    static const char *const tails[] = {"", ", bias", ", bias, relu"};
    static const struct {
        int64_t h, w, c, k, side, stride, dilation;
    } shapes[] = {
        {16, 12, 8, 16, 3, 1, 1}, {15, 11, 3, 5, 3, 2, 1}, {7, 9, 16, 4, 1, 1, 1},
                {8, 8, 1, 8, 2, 2, 1}, {17, 12, 3, 64, 7, 2, 1}, {12, 9, 8, 16, 3, 1, 2}};
    struct err e;
    const struct cudnn_calls *calls = cudnn_library_open(&e);

    if (!calls)
        skip_all(e.text);
    for (enum cudnn_direction direction = CUDNN_FORWARD; direction <= CUDNN_WEIGHTS; direction++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (enum dtype t = DTYPE_F32; t <= DTYPE_F16; t++)
                for (enum cudnn_tail tail = CUDNN_ALONE; tail <= CUDNN_BIAS_RELU; tail++) {
                    struct cudnn_problem p = {
                        .direction = direction, .tail = tail, .n = 2, .h = shapes[i].h,
                        .w = shapes[i].w,
                        .c = shapes[i].c, .k = shapes[i].k, .side = shapes[i].side,
                        .stride = shapes[i].stride, .dilation = shapes[i].dilation, .dtype = t};
                    if (tail != CUDNN_ALONE && direction != CUDNN_FORWARD)
                        continue;
                    p.pad = p.side % 2 * p.dilation * (p.side / 2);
                    p.oh = (p.h + 2 * p.pad - p.dilation * (p.side - 1) - 1) / p.stride + 1;
                    p.ow = (p.w + 2 * p.pad - p.dilation * (p.side - 1) - 1) / p.stride + 1;
                    struct cudnn_graph *g = cudnn_graph_create(calls, NULL, &p, &e);
                    ok(g, "%s%s, shape %zu, type %d: %s", directions[direction], tails[tail], i,
                       (int)t,
                       g ? "cuDNN takes the graph" : e.text);
                    cudnn_graph_destroy(g);
                }
    struct cudnn_problem bad = {.n = 2, .h = 8, .w = 8, .c = 8, .oh = 5, .ow = 8, .k = 8, .side = 3,
                                .stride = 1, .pad = 1, .dilation = 1};
    ok(!cudnn_graph_create(calls, NULL, &bad, &e), "a wrong shape it refuses: %s", e.text);
    return done_testing();
}
