/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions as graphs of cuDNN, their engines, and the engines that were chosen. */
#pragma once

#include "trainer/backends/cuda/cudnn/cudnn_conv.h"
#include "trainer/backends/cuda/runtime/cudnn_library.h"

/* One convolution, with the operations on its result before it is written, as a graph of cuDNN's
 * graph API.
 *
 * x [n][h][w][c] and y [n][oh][ow][k] are activations (NHWC); the weights are [k][side][side][c],
 * as cuDNN's engines expect with NHWC. The bias is floats [k]. All are aligned to CUDNN_GRAPH_ALIGN
 * bytes. */

#define CUDNN_GRAPH_ALIGN 16

/* Ids of the tensors in memory. */
enum { CUDNN_X, CUDNN_Y, CUDNN_W, CUDNN_B };

/* What a graph computes. x and y are the images on both sides of a convolution from x to y; in the
 * gradients of an op one of them, or the weights, is a gradient. */
enum cudnn_direction {
    CUDNN_FORWARD, /* y from x and the weights */
    CUDNN_DATA,    /* the gradient of x from that of y and the weights */
    CUDNN_WEIGHTS  /* the gradient of the weights from x and the gradient of y */
};

/* The operations on a forward convolution's result. */
enum cudnn_tail {
    CUDNN_ALONE,    /* none */
    CUDNN_BIAS,     /* + bias */
    CUDNN_BIAS_RELU /* max(0, + bias) */
};

struct cudnn_problem {
    enum cudnn_direction direction;
    enum cudnn_tail tail;
    int64_t n, h, w, c, oh, ow, k, side, stride, pad, dilation;
    enum dtype dtype;   /* of x, y and weights; sums are floats */
    bool tf32;          /* TF32: floats may be multiplied with 10 bits of mantissa */
    bool deterministic; /* only engines whose results have the same bits in every run */
};

struct cudnn_graph;

/* Creates a graph. handle may be NULL where there is no device: cuDNN checks the graph, but has no
 * engines for it. Returns NULL with the reason of cuDNN, or "out of memory", in *e. */
struct cudnn_graph *cudnn_graph_create(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_graph_destroy(struct cudnn_graph *g); /* g may be NULL */

/* Searches cuDNN's engines for a problem, and runs one. An engine is acceptable if by its numerical
 * notes it does not reduce precision further than the problem's type and tf32 allow, and is
 * deterministic if the problem asks for that. A plan must be closed before its search ends. */

/* Identifies an engine: the tail of the graph that it computes, the list and the index there in
 * which cuDNN offers it, and its id, which is compared when the engine is looked up. */
struct cudnn_engine {
    int mode; /* DNN_HEUR_MODE_... */
    int64_t index, id;
    enum cudnn_tail tail;
};

struct cudnn_plan;

/* Begins a search through the engines of cuDNN's heuristic, from the most promising, then through
 * its fallbacks. Returns NULL with the reason of cuDNN, or "out of memory", in *e. */
struct cudnn_search *cudnn_plan_search(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_plan_end(struct cudnn_search *s); /* after its plans are closed; s may be NULL */

/* Returns a plan for the next acceptable engine that needs at most `most` bytes of workspace; NULL:
 * there is none left. */
struct cudnn_plan *cudnn_plan_next(struct cudnn_search *s, size_t most);

/* Returns a plan for that engine; NULL: it is missing, not acceptable or needs more workspace. */
struct cudnn_plan *cudnn_plan_find(struct cudnn_search *s, const struct cudnn_engine *engine,
                                     size_t most);

void cudnn_plan_close(struct cudnn_plan *p); /* p may be NULL */
const struct cudnn_engine *cudnn_plan_engine(const struct cudnn_plan *p);

/* Queues the plan in the handle's stream. pointers: by CUDNN_X to CUDNN_B, the bias only with a
 * tail that has one. They and the workspace are aligned to 16 bytes; the workspace has the size
 * given to cudnn_plan_next or cudnn_plan_find. */
int cudnn_plan_run(const struct cudnn_plan *p, void *const pointers[4], void *workspace,
                   struct err *e);

/* For each problem that was timed the fastest engine: kept in the file cudnn-choices for later runs
 * (backends/cuda/cudnn/cudnn_choices.c). Any thread may call. */

#define CUDNN_KEY_SIZE 256

struct cudnn_choice {
    struct cudnn_engine engine;
    double us; /* its time in microseconds */
};

/* Sets *c to the choice for a key and returns true, or returns false. A key has neither tabs nor
 * line ends. */
bool cudnn_choices_find(const char *key, struct cudnn_choice *c);

/* Adds or replaces a choice, and writes the file, so that a run that is killed keeps it. */
void cudnn_choices_add(const char *key, const struct cudnn_choice *c);
