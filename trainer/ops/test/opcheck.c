/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of op on every backend: values against the reference kernels, gradients (on the host)
 * against central differences, and nothing written outside the results.
 *
 *   opcheck.t                                 the checks
 *   opcheck.t --list                          which backend has which op
 *   opcheck.t --cases                         the cases, as OP NUMBER
 *   opcheck.t --check BACKEND [OP [NUMBER]]   one backend's checks, all or of one op or case
 *
 * To cover a new kind add a line to `cases`. */
#include "src/base.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/backends/backends.h"
#include "trainer/backends/cpu/simd.h"
#include "trainer/backends/cpu/simd_backend.h"
#include "trainer/ops/test/cases.h"
#include "trainer/ops/test/oplist.h"

/* Elements of a gradient that are compared with differences, and those with EXHAUSTIVE set;
 * OPCHECK_PROBES sets fewer for slow builds (sanitizers). */
#define PROBES 8
#define EXHAUSTIVE_PROBES 40

static const float weights[] = {0.5F, 2, 1, 0.25F, 3, 1, 1, 0.75F};

static const struct test_case cases[] = {
    CONV(1, 5, 7, 1, 8, 3),
    CONV(2, 6, 5, 3, 8, 3),
    CONV(2, 8, 8, 8, 8, 3),
    CONV(1, 7, 9, 16, 8, 3),
    CONV(2, 4, 6, 8, 16, 3),
    CONV(1, 9, 33, 16, 16, 3),
    CONV(1, 1, 1, 3, 5, 3),
    CONV(3, 2, 3, 5, 7, 3),
    CONV(1, 3, 4, 24, 40, 3),
    CONV(1, 4, 20, 32, 64, 3),
    CONV(2, 7, 42, 8, 8, 3),
    CONV(1, 5, 22, 16, 8, 3),
    CONV(3, 3, 12, 5, 4, 3),
    CONV(1, 35, 62, 1, 8, 3),
    CONV(2, 5, 17, 16, 48, 3),
    CONV(1, 5, 21, 32, 32, 3),
    CONV(2, 6, 14, 16, 32, 3),
    CONV(1, 2, 2, 32, 16, 3),
    CONV(1, 10, 8, 16, 16, 3),
    CONV(2, 17, 3, 1, 3, 3),
    CONV(1, 5, 6, 3, 16, 3),
    CONV(1, 64, 68, 16, 32, 3),
    CONV(2, 30, 20, 16, 16, 3),
    CONV(5, 32, 28, 32, 48, 3),
    CONV(3, 12, 8, 48, 16, 3),
    CONV(2, 19, 37, 24, 8, 3),
    CONV(1, 5, 70, 40, 16, 3),
    CONV(3, 8, 8, 64, 128, 3),
    CONV(1, 4, 5, 8, 1, 1),
    CONV(2, 5, 7, 40, 6, 1),
    CONV(3, 1, 1, 70, 10, 1),
    CONV(2, 9, 6, 5, 24, 1),
    CONV(1, 3, 5, 2, 2, 3),
    CONV(1, 3, 5, 6, 4, 3),
    CONV(1, 3, 5, 4, 6, 3),
    CONV_RELU(1, 3, 5, 2, 1, 3),
    CONV_RELU(1, 3, 5, 3, 2, 3),
    CONV_RELU(1, 3, 5, 5, 4, 3),
    CONV_RELU(2, 9, 13, 6, 5, 3),
    CONV_RELU(1, 3, 5, 7, 6, 3),
    CONV_RELU(1, 3, 5, 4, 11, 3),
    CONV_RELU(1, 5, 7, 1, 8, 3),
    CONV_RELU(2, 6, 5, 3, 8, 3),
    CONV_RELU(2, 8, 8, 8, 16, 3),
    CONV_RELU(1, 3, 3, 5, 7, 1),
    CONV_RELU(2, 19, 37, 24, 8, 3),
    CONV_RELU(1, 16, 24, 8, 8, 3),
    CONV_RELU(1, 64, 68, 16, 32, 3),
    CONV_RELU(3, 10, 14, 16, 48, 3),
    CONV_RELU(2, 5, 17, 16, 48, 3),
    FOLD_NORM(3, 5, 3),
    FOLD_NORM(16, 8, 1),
    FOLD_NORM(16, 32, 3),
    FOLD_NORM_NOBIAS(8, 16, 3),
    CONV(2, 3, 3, 3, 1, 1),
    CONV(1, 19, 31, 16, 1, 1),
    CONV(1, 30, 43, 24, 1, 1),
    CONV(1, 6, 7, 16, 4, 1),
    HEAD(2, 19, 31, 8, 1),
    HEAD(1, 5, 7, 24, 3),
    HEAD(1, 5, 7, 24, 7),
    HEAD(1, 9, 29, 40, 1),
    CONV(1, 2, 805, 8, 8, 3),
    CONV_STRIDED(1, 5, 7, 3, 8, 3),
    CONV_STRIDED(2, 8, 6, 16, 32, 3),
    CONV_STRIDED(1, 4, 5, 16, 32, 1),
    CONV_STRIDED(2, 8, 8, 8, 16, 1),
    CONV_NOBIAS(2, 6, 5, 3, 16, 3, 1),
    CONV_NOBIAS(1, 8, 8, 16, 16, 3, 1),
    CONV_NOBIAS(5, 8, 8, 16, 32, 3, 1),
    CONV_NOBIAS(2, 8, 8, 16, 32, 3, 2),
    CONV_NOBIAS(1, 7, 5, 5, 7, 3, 2),
    CONV_STRIDED(2, 20, 18, 3, 16, 7),
    CONV_STRIDED(1, 13, 1, 2, 8, 7),
    CONV_NOBIAS(2, 13, 11, 3, 64, 7, 2),
    CONV_NOBIAS(1, 7, 9, 5, 7, 7, 1),
    CONV(2, 9, 12, 8, 24, 5),
    CONV(1, 2, 1, 3, 5, 5),
    CONV_RELU(1, 9, 8, 3, 16, 7),
    CONV_DILATED(1, 9, 8, 8, 16, 3, 1, 2),
    CONV_DILATED(2, 7, 11, 3, 5, 3, 2, 3),
    CONV_DILATED(1, 3, 2, 8, 8, 3, 1, 4),
    CONV_DILATED(1, 16, 24, 16, 16, 3, 1, 2),
    CONV_DILATED(1, 11, 9, 4, 8, 5, 1, 2),
    CONV_TRANSPOSE(1, 3, 5, 1, 8),
    CONV_TRANSPOSE(2, 4, 3, 16, 8),
    CONV_TRANSPOSE(1, 2, 3, 2, 1),
    CONV_TRANSPOSE(1, 2, 3, 4, 2),
    CONV_TRANSPOSE(1, 2, 3, 5, 4),
    CONV_TRANSPOSE(1, 2, 3, 7, 6),
    CONV_TRANSPOSE(1, 5, 5, 3, 3),
    CONV_TRANSPOSE(1, 3, 4, 14, 7),
    CONV_TRANSPOSE(1, 2, 7, 32, 16),
    CONV_TRANSPOSE(2, 1, 1, 8, 5),
    CONV_TRANSPOSE(3, 2, 19, 16, 8),
    CONV_TRANSPOSE(1, 3, 6, 48, 24),
    CONV_TRANSPOSE(2, 9, 37, 32, 8),
    CONV_TRANSPOSE(3, 8, 8, 64, 32),
    BATCH_NORM(batch_norm_kind, 1, 5, 7, 1, 0.02),
    BATCH_NORM(batch_norm_kind, 2, 6, 5, 3, 0.02),
    BATCH_NORM(batch_norm_kind, 2, 9, 7, 8, 0.02),
    BATCH_NORM(batch_norm_kind, 1, 11, 5, 16, 0.02),
    BATCH_NORM(batch_norm_kind, 3, 3, 5, 70, 0.02),
    BATCH_NORM(batch_norm_kind, 1, 7, 5, 96, 0.02),
    BATCH_NORM(batch_norm_kind, 2, 1, 3, 530, 0.02),
    BATCH_NORM(batch_norm_infer_kind, 2, 3, 5, 8, 0),
    BATCH_NORM(batch_norm_infer_kind, 1, 7, 3, 3, 0),
    BATCH_NORM(batch_norm_relu_kind, 1, 5, 7, 1, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 2, 9, 7, 8, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 3, 13, 11, 5, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 1, 6, 5, 130, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 1, 5, 13, 48, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 2, 3, 11, 128, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 2, 3, 1, 530, 0.02),
    CONV(1, 12, 264, 8, 16, 3),
    CONV(1, 8, 260, 16, 16, 3),
    CONV(2, 12, 16, 8, 24, 3),
    CONV(1, 18, 22, 48, 32, 3),
    CONV_RELU(2, 8, 260, 8, 16, 3),
    CONV_RELU(3, 24, 8, 32, 24, 3),
    CONV_NOBIAS_RELU(1, 16, 24, 8, 8, 3),
    CONV_NOBIAS_RELU(1, 5, 7, 3, 5, 3),
    CONV_GRAD(1, 64, 72, 8, 8),
    CONV_GRAD(1, 68, 264, 8, 8),
    CONV_GRAD(1, 16, 260, 16, 16),
    CONV_GRAD(4, 18, 14, 32, 16),
    CONV_GRAD(2, 12, 16, 8, 24),
    CONV_GRAD(1, 34, 34, 48, 16),
    CONV_NOBIAS_GRAD(3, 12, 8, 48, 32),
    CONV_NOBIAS_GRAD(1, 64, 72, 16, 8),
    CONV_GRAD(1, 3, 5, 3, 2),
    CONV_GRAD(2, 10, 35, 8, 16),
    CONV_NOBIAS_GRAD(1, 3, 5, 3, 2),
    CONV_NOBIAS_GRAD(1, 34, 34, 16, 16),
    UNARY(relu_kind, 1, 5, 7, 3),
    UNARY(relu_kind, 2, 3, 3, 16),
    LEAKY_RELU(2, 5, 7, 3, 0.01),
    LEAKY_RELU(1, 4, 6, 16, 0.25),
    GROUP_NORM(1, 5, 7, 1, 0),
    GROUP_NORM(2, 6, 5, 3, 0),
    GROUP_NORM(3, 19, 17, 16, 0),
    GROUP_NORM(2, 4, 5, 130, 0),
    GROUP_NORM(2, 9, 7, 8, 2),
    GROUP_NORM(3, 3, 5, 6, 1),
    GROUP_NORM(2, 1, 1, 32, 8),
    UNARY(max_pool2d_kind, 1, 2, 2, 1),
    UNARY(max_pool2d_kind, 2, 6, 4, 3),
    UNARY(max_pool2d_kind, 1, 4, 10, 8),
    UNARY(max_pool2d_kind, 2, 4, 2, 16),
    UNARY(max_pool2d_kind, 2, 5, 7, 3),
    UNARY(max_pool2d_kind, 1, 3, 4, 8),
    UNARY(max_pool2d_kind, 2, 4, 5, 8),
    MAX_POOL3(1, 1, 1, 1),
    MAX_POOL3(2, 6, 4, 3),
    MAX_POOL3(2, 5, 7, 8),
    MAX_POOL3(1, 9, 8, 20),
    MAX_POOL3(1, 1, 5, 16),
    AVG_POOL(2, 6, 4, 3),
    AVG_POOL(1, 5, 7, 8),
    AVG_POOL(2, 26, 24, 3),
    IMAGE_POOL(2, 5, 6, 3),
    BIAS(2, 3, 5, 7),
    BIAS(1, 9, 4, 16),
    BIAS(2, 19, 37, 3),
    BIAS(2, 1, 3, 530),
    BIAS(1, 17, 19, 280),
    RESHAPE(2, 3, 4, 5),
    DROPOUT(2, 5, 7, 3, 0.5),
    DROPOUT(1, 4, 4, 16, 0.1),
    DROPOUT(2, 17, 29, 11, 0.3),
    CONV_TRANSPOSE3(1, 3, 5, 4, 6),
    CONV_TRANSPOSE3(2, 4, 4, 16, 8),
    CONV_TRANSPOSE3(1, 2, 3, 64, 32),
    CONV(3, 1, 1, 50, 7, 1),
    CONV(2, 1, 1, 128, 32, 1),
    POOL_ADD(1, 2, 2, 1, 0),
    POOL_ADD(2, 3, 5, 8, 0),
    POOL_ADD(3, 6, 5, 3, 1),
    POOL_ADD(1, 9, 10, 30, 1),
    POOL_ADD(1, 2, 7, 16, 1),
    POOL_ADD(1, 5, 7, 24, 0),
    POOL3_ADD(2, 6, 5, 3),
    POOL3_ADD(1, 7, 8, 16),
    CONCAT(1, 3, 5, 1, 3),
    CONCAT(2, 4, 3, 8, 8),
    CONCAT(2, 33, 35, 8, 8),
    CONCAT(1, 5, 1, 16, 3),
    CONCAT(2, 3, 5, 8, 24),
    ADD(1, 5, 7, 3),
    ADD(2, 4, 4, 16),
    UPSAMPLE(1, 1, 1, 3, true),
    UPSAMPLE(2, 3, 4, 8, true),
    UPSAMPLE(1, 5, 2, 3, true),
    UPSAMPLE(2, 3, 5, 16, false),
    UPSAMPLE(1, 4, 1, 5, false),
    GLOBAL_AVG_POOL(2, 5, 7, 3),
    GLOBAL_AVG_POOL(3, 8, 8, 64),
    GLOBAL_AVG_POOL(2, 1, 3, 3),
    GLOBAL_AVG_POOL(2, 1, 3, 530),
    GLOBAL_AVG_POOL(1, 9, 11, 264),
    SUBSAMPLE(2, 21, 31, 3, 6),
    SUBSAMPLE(1, 8, 6, 16, 32),
    SUBSAMPLE(1, 4, 4, 3, 4),
    BCE(1, 7, 11),
    BCE(2, 16, 5),
    LOSS(bce_kind, 1, 9, 71, 1, VALUES_HOLES, weights),
    LOSS(bce_kind, 1, 264, 256, 1, VALUES_HOLES, weights),
    LOSS(softmax_ce_kind, 1, 7, 11, 3, VALUES_CLASS, NULL),
    LOSS(softmax_ce_kind, 2, 5, 9, 7, VALUES_CLASS, weights),
    LOSS(softmax_ce_kind, 1, 19, 33, 11, VALUES_CLASS, NULL),
    LOSS(softmax_ce_kind, 1, 5, 9, 6, VALUES_CLASS, NULL),
    LOSS(softmax_ce_kind, 1, 5, 9, 8, VALUES_CLASS, NULL),
    LOSS_FAR(softmax_ce_kind, 2, 5, 9, 11, VALUES_CLASS, 0),
    LOSS(dice_kind, 2, 5, 9, 6, VALUES_CLASS, NULL),
    LOSS_FAR(dice_kind, 2, 5, 9, 11, VALUES_CLASS, 0),
    LOSS(dice_kind, 1, 7, 11, 1, VALUES_UNIT, NULL),
    LOSS(dice_kind, 2, 9, 8, 1, VALUES_HOLES, NULL),
    LOSS(dice_kind, 3, 5, 9, 4, VALUES_CLASS, NULL),
    LOSS(dice_kind, 3, 5, 9, 4, VALUES_CLASS, weights),
    LOSS(dice_kind, 2, 7, 9, 7, VALUES_CLASS, weights),
    LOSS(dice_kind, 2, 3, 11, 5, VALUES_CLASS, NULL),
    LOSS(dice_kind, 2, 17, 19, 7, VALUES_CLASS, NULL),
    LOSS(dice_kind, 40, 1, 2, 11, VALUES_CLASS, NULL),
    LOSS_SHAPED(bce_kind, 1, 9, 71, 1, VALUES_HOLES, weights, 2, 0, 0),
    LOSS_SHAPED(bce_kind, 2, 9, 8, 1, VALUES_UNIT, NULL, 0.5, 0, 0),
    LOSS_FAR(bce_kind, 1, 9, 71, 1, VALUES_HOLES, 0.5),
    LOSS_SHAPED(softmax_ce_kind, 2, 5, 9, 3, VALUES_CLASS, NULL, 0.5, 0, 0),
    LOSS_SHAPED(softmax_ce_kind, 2, 5, 9, 8, VALUES_CLASS, weights, 3, 0, 0),
    LOSS_FAR(softmax_ce_kind, 2, 5, 9, 11, VALUES_CLASS, 0.5),
    LOSS_SHAPED(dice_kind, 2, 9, 8, 1, VALUES_HOLES, NULL, 0, 0.3, 0.7),
    LOSS_SHAPED(dice_kind, 2, 7, 11, 1, VALUES_UNIT, NULL, 0, 0, 2),
    LOSS_SHAPED(dice_kind, 3, 5, 9, 4, VALUES_CLASS, weights, 0, 0.3, 0.7),
    LOSS_SHAPED(dice_kind, 2, 7, 9, 7, VALUES_CLASS, NULL, 0, 1, 0.25),
};
#define NCASES (sizeof cases / sizeof *cases)

/* The device of the backend that is tested; NULL: the host. */
static struct device *opened;

/* Returns the largest difference relative to the largest value of b; infinity if any value is not
 * finite. */
static double relative_difference(const float *a, const float *b, size_t n)
{
    double largest = 0, scale = 1e-30;

    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);

        if (!isfinite(d))
            return INFINITY;
        largest = fmax(largest, d);
        scale = fmax(scale, fabs((double)b[i]));
    }
    return largest / scale;
}

/* Compares the tensors of `want`, which has no casts; in `got` those of casts come after them.
 * With whole numbers, those of `want` are rounded to the types of `got`. */
static double compare_rigs(const struct rig *got, const struct rig *want)
{
    double largest = fabs(got->loss - want->loss) / fmax(fabs(want->loss), 1e-30);

    for (size_t i = 0; i < want->graph->ntensors; i++) {
        const struct tensor *t = got->graph->tensors[i];
        float *a = rig_read(t), *b = rig_read(want->graph->tensors[i]);

        if (want->whole)
            rig_round(t->dtype, b, tensor_count(t));
        largest = fmax(largest, relative_difference(a, b, tensor_count(t)));
        free(a);
        free(b);
    }
    return largest;
}

/* Returns the scalar whose gradients are checked: the loss, or the sum of the results times dy. */
static double objective(struct rig *b)
{
    const struct tensor *y = b->op->out[0];
    double sum = 0;

    rig_run(b, 1);
    if (!b->dy)
        return b->loss;
    for (size_t i = 0; i < tensor_count(y); i++)
        sum += (double)y->data[i] * (double)b->dy->data[i];
    return sum;
}

/* Returns the central difference for value i of input k. Richardson extrapolation, (4 d(h) - d(2h))
 * / 3, removes the error of second order; it is left out for VALUES_APART, whose ops are linear
 * near each value. */
static double slope(struct rig *b, int k, size_t i)
{
    double d[2], h = b->test->step;
    float *value = &b->op->in[k]->data[i], old = *value;

    for (int n = 0; n < 2; n++) {
        volatile float up = old + (float)(h * (n + 1)), down = old - (float)(h * (n + 1));
        double above, below;

        *value = up;
        above = objective(b);
        *value = down;
        below = objective(b);
        *value = old;
        d[n] = (above - below) / ((double)up - (double)down);
        rig_fill(b); /* batch norm has changed its running statistics */
    }
    return b->test->values[k] == VALUES_APART ? d[0] : (4 * d[0] - d[1]) / 3;
}

static size_t most_probes(void)
{
    const char *fewer = getenv("OPCHECK_PROBES");

    return fewer                  ? strtoul(fewer, NULL, 10)
           : getenv("EXHAUSTIVE") ? EXHAUSTIVE_PROBES
                                  : PROBES;
}

/* Returns the largest error, in at most most_probes() values, of the gradient of input k, relative
 * to its largest value. */
static double check_slopes(struct rig *b, int k, const float *grad)
{
    size_t n = tensor_count(b->op->in[k]), most = most_probes(), nprobes = n < most ? n : most;
    double largest = 0, scale = 1e-6;

    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs((double)grad[i]));
    for (size_t p = 0; p < nprobes; p++) {
        size_t i = n <= most ? p : (size_t)(rng_uniform(15, (uint64_t)k, p) * (double)n);
        double error = fabs(slope(b, k, i) - (double)grad[i]) / scale;

        largest = isfinite(error) ? fmax(largest, error) : INFINITY;
    }
    return largest;
}

static double check_gradients(struct rig *b)
{
    double largest = 0;

    for (int k = 0; k < OP_MAX_IN; k++) {
        if (!((b->test->data | b->test->params) >> k & 1))
            continue;
        const struct tensor *grad = b->op->in[k]->grad;
        float *copy = malloc(tensor_count(grad) * sizeof *copy);

        rig_fill(b);
        rig_run(b, b->graph->nops);
        rig_fill(b);
        memcpy(copy, grad->data, tensor_count(grad) * sizeof *copy);
        largest = fmax(largest, check_slopes(b, k, copy));
        free(copy);
    }
    return largest;
}

static void use_threads(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#else
    (void)n;
#endif
}

/* Returns whether a kernel of the backend itself, not of its fallback, computes some op of the
 * case. */
static bool has_own_kernel(const struct rig *b, const struct backend *backend)
{
    for (size_t i = 0; i < b->graph->nops; i++)
        if (oplist_owner(b->graph->ops[i]->kernel) == backend)
            return true;
    return false;
}

/* The kernels whose values were compared. */
static const struct kernel *covered[256];
static size_t ncovered;

static bool is_covered(const struct kernel *kernel)
{
    for (size_t i = 0; i < ncovered; i++)
        if (covered[i] == kernel)
            return true;
    return false;
}

static void note_coverage(const struct graph *g)
{
    for (size_t i = 0; i < g->nops; i++)
        if (!is_covered(g->ops[i]->kernel) && ncovered < sizeof covered / sizeof *covered)
            covered[ncovered++] = g->ops[i]->kernel;
}

static const char *describe(const struct test_case *t)
{
    static char text[256];

    snprintf(text, sizeof text, "%s", t->kind->name);
    for (int i = 0; i < t->kind->nin && i < 2; i++)
        for (int k = 0; k < t->in[i].ndim; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", k ? "x" : " ",
                     (int)t->in[i].dim[k]);
    if (t->kind->is_loss)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %g %g %g", t->attr.gamma,
                 t->attr.alpha, t->attr.beta);
    return text;
}

/* An op that writes its result over an input computes the same bits. */
static void check_inplace(const struct test_case *t, const struct backend *backend,
                          enum dtype dtype)
{
    struct rig apart, over;
    bool same = true;

    use_threads(2);
    rig_create(&apart, t, backend, opened, dtype);
    rig_create(&over, t, backend, opened, dtype);
    struct op *op = over.graph->ops[0];
    if (over.graph->nops == 1 && op_is_inplace(op) && op->in[0]->dtype == op->out[0]->dtype &&
        tensor_count(op->in[0]) == tensor_count(op->out[0])) {
        void *own = op->out[0]->data;

        rig_run(&apart, 1);
        op->out[0]->data = op->in[0]->data;
        rig_copy(&over, false);
        rig_repeat(&over, op, 1);
        rig_copy(&over, true);
        for (int i = -1; op_next_out(op, &i);)
            same = same && memcmp(op->out[i]->data, apart.graph->ops[0]->out[i]->data,
                                  tensor_nbytes(op->out[i])) == 0;
        ok(same, "%s: %s: %s: the same bits in the place of its input", backend->name,
           precision_name(dtype), describe(t));
        op->out[0]->data = own;
    }
    rig_destroy(&apart);
    rig_destroy(&over);
}

/* Returns whether the op and its gradient compute nothing: then all bits are the reference's. */
static bool only_moves(const struct test_case *t)
{
    return t->kind == &concat_kind || t->kind == &subsample_kind ||
           (t->kind == &relu_kind && t->attr.slope <= 0);
}

/* Returns whether results of whole numbers are exact. Those of losses and norms never are, nor
 * convolutions: Winograd's and cuDNN's transform their inputs. */
static bool is_exact(const struct op_kind *kind)
{
    return !rig_convolves(kind) && !kind->is_loss && kind != &batch_norm_kind &&
           kind != &batch_norm_relu_kind && kind != &batch_norm_infer_kind &&
           kind != &fold_norm_kind && kind != &group_norm_kind;
}

/* With whole numbers, results are the reference's to the bit. */
static void check_whole(const struct test_case *t, const struct backend *backend,
                        const struct backend *reference, enum dtype dtype)
{
    struct rig b, ref;

    rig_create(&b, t, backend, opened, dtype);
    rig_create_wide(&ref, t, reference, dtype);
    rig_make_whole(&b);
    rig_make_whole(&ref);
    rig_run(&b, b.graph->nops);
    rig_run(&ref, ref.graph->nops);
    double error = compare_rigs(&b, &ref);
    ok(error < 1e-7, "%s: %s: %s: exact with whole numbers: %.1e", backend->name,
       precision_name(dtype), describe(t), error);
    rig_destroy(&b);
    rig_destroy(&ref);
}

/* With two threads, values equal the reference's for the same numbers up to rounding, and nothing
 * else is written. */
static bool check_values(const struct test_case *t, const struct backend *backend,
                         const struct backend *reference, enum dtype dtype)
{
    struct rig b, ref;
    double error;
    bool own;

    use_threads(2);
    rig_create(&b, t, backend, opened, dtype);
    rig_create_wide(&ref, t, reference, dtype);
    own = has_own_kernel(&b, backend);
    if (own) {
        note_coverage(b.graph);
        rig_run(&b, b.graph->nops);
        rig_run(&ref, ref.graph->nops);
        error = compare_rigs(&b, &ref);
        double allowed = only_moves(t) ? 0 : 1e-5 + 2 * dtype_error(dtype);
        ok(error <= allowed, "%s: %s: %s: values as the reference: %.1e",
           backend->name, precision_name(dtype), describe(t), error);
        ok(rig_is_intact(&b), "%s: %s: %s: writes nothing else", backend->name,
           precision_name(dtype), describe(t));
    }
    rig_destroy(&b);
    rig_destroy(&ref);
    if (own && is_exact(t->kind))
        check_whole(t, backend, reference, dtype);
    if (own && !backend->device)
        check_inplace(t, backend, dtype);
    return own;
}

/* The largest error of a gradient, relative to the largest one: rounding a loss over 70,000 numbers
 * has this effect on a difference. */
#define DIFFERENCE_ERROR 4e-3

/* Uses one thread, as starting threads would dominate thousands of tiny runs. Not done on a device,
 * which would wait for each run; its gradients are compared with the reference's. */
static void check_case(const struct test_case *t, const struct backend *backend,
                       const struct backend *reference)
{
    struct rig b;
    double error;

    if (!check_values(t, backend, reference, DTYPE_F32) || t->step <= 0 || backend->device)
        return;
    use_threads(1);
    rig_create(&b, t, backend, opened, DTYPE_F32);
    error = check_gradients(&b);
    ok(error < DIFFERENCE_ERROR, "%s: %s: gradients as differences: %.1e", backend->name, describe(t), error);
    rig_destroy(&b);
}

/* The order of sums does not depend on the number of threads. */
static void check_threads(const struct test_case *t, const struct backend *backend)
{
    struct rig one, two;
    bool same = true;

    use_threads(1);
    rig_create(&one, t, backend, opened, DTYPE_F32);
    rig_run(&one, one.graph->nops);
    use_threads(2);
    rig_create(&two, t, backend, opened, DTYPE_F32);
    rig_run(&two, two.graph->nops);
    for (size_t i = 0; i < one.graph->ntensors; i++)
        same = same && memcmp(one.graph->tensors[i]->data, two.graph->tensors[i]->data,
                              tensor_nbytes(one.graph->tensors[i])) == 0;
    ok(same && one.loss == two.loss, "%s: %s: the same bits with one thread and two",
       backend->name, describe(t));
    rig_destroy(&one);
    rig_destroy(&two);
}

static void check_table(const struct backend *backend)
{
    const struct kernel *const *kernels = backend->kernels;

    for (size_t k = 0; kernels[k]; k++)
        ok(is_covered(kernels[k]), "%s: %s: kernel %zu of its table was compared", backend->name,
           kernels[k]->kind->name, k);
}

static bool has_kind(const struct kernel *const *kernels, const struct op_kind *kind)
{
    for (; *kernels; kernels++)
        if ((*kernels)->kind == kind)
            return true;
    return false;
}

/* Every kernel of the backend's table has run, and the reference has a kernel for every kind. */
static void check_coverage(const struct backend *backend)
{
    bool none = backend == &simd_backend && simd_isa() == SIMD_NONE;

    if (none)
        tap_skip(1, "this processor has no AVX2, or UNET_ISA is none");
    else
        check_table(backend);
    for (size_t k = 0; op_kinds[k] && backend == backend_find("ref"); k++) {
        if (op_kinds[k] == &cast_kind)
            continue; /* a cast never has floats only */
        ok(has_kind(backend->kernels, op_kinds[k]), "the reference has %s", op_kinds[k]->name);
    }
}

/* If a pixel is wrong with a logit of +-200, its loss is 200, not infinity. */
static void check_bce_extremes(void)
{
    static const struct test_case t = BCE(1, 1, 4);
    struct rig b;

    rig_create(&b, &t, backend_find("ref"), NULL, DTYPE_F32);
    memcpy(b.op->in[0]->data, (float[]){200, -200, 200, -200}, 4 * sizeof(float));
    memcpy(b.op->in[1]->data, (float[]){1, 0, 0, 1}, 4 * sizeof(float));
    rig_run(&b, 1);
    ok(fabs(b.loss - 400) < 1e-3, "bce: extreme logits cost %g", b.loss);
    ok(b.op->out[0]->data[0] == 0 && b.op->out[0]->data[1] == 0 && b.op->out[0]->data[2] == 1 &&
           b.op->out[0]->data[3] == -1,
       "bce: and their gradients are 0, 0, 1, -1");
    rig_destroy(&b);
}

/* The variance must be precise even if the mean is a thousand standard deviations. */
static void check_batch_norm_offset(void)
{
    static const struct test_case t = BATCH_NORM(batch_norm_kind, 2, 16, 16, 2, 0);
    struct rig b;
    double sum = 0, squares = 0;

    rig_create(&b, &t, backend_find("ref"), NULL, DTYPE_F32);
    for (size_t i = 0; i < 1024; i++)
        b.op->in[0]->data[i] += 1000;
    for (size_t i = 0; i < 1024; i += 2) {
        sum += (double)b.op->in[0]->data[i] / 512;
        squares += pow((double)b.op->in[0]->data[i] - 1000, 2) / 512;
    }
    rig_run(&b, 1);
    squares = 1 / sqrt(squares - (sum - 1000) * (sum - 1000) + 1e-5);
    ok(fabs((double)b.op->out[1]->data[2] / squares - 1) < 1e-5,
       "batch_norm: the scale is right at an offset of 1000");
    rig_destroy(&b);
}

/* A norm whose result is too large for caches writes it past them. */
static void check_large_norm(const struct backend *reference)
{
    static const struct test_case t = BATCH_NORM(batch_norm_relu_kind, 3, 512, 400, 8, 0);

    check_values(&t, backend_find("simd"), reference, DTYPE_F32);
}

/* Of equal values the first in reading order gets the gradient, as in PyTorch. */
static void check_pool_ties(const struct backend *backend)
{
    static const struct test_case t = UNARY(max_pool2d_kind, 1, 2, 4, 1);
    static const float values[] = {1, 1, 0, 2, 1, 1, 2, 2}, want[] = {1, 0, 0, 1, 0, 0, 0, 0};
    struct rig b;

    rig_create(&b, &t, backend, opened, DTYPE_F32);
    memcpy(b.op->in[0]->data, values, sizeof values);
    b.dy->data[0] = b.dy->data[1] = 1;
    rig_run(&b, b.graph->nops);
    ok(memcmp(b.op->in[0]->grad->data, want, sizeof want) == 0,
       "%s: max_pool2d: of equal values the first has the gradient", backend->name);
    rig_destroy(&b);
}

/* In windows that overlap, a pixel that is the first largest of several sums their gradients; zeros
 * around the image are in none, so that negative values stay. */
static void check_pool_overlaps(const struct backend *backend)
{
    static const struct test_case t = MAX_POOL3(1, 3, 4, 1);
    static const float values[] = {-1, -1, -3, -4, -5, -1, -2, -2, -5, -6, -7, -2};
    static const float y[] = {-1, -1, -1, -1}, want[] = {7, 3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0};
    struct rig b;

    rig_create(&b, &t, backend, opened, DTYPE_F32);
    memcpy(b.op->in[0]->data, values, sizeof values);
    memcpy(b.dy->data, (const float[]){7, 3, 1, 4}, sizeof y);
    rig_run(&b, b.graph->nops);
    ok(memcmp(b.op->out[0]->data, y, sizeof y) == 0 &&
           memcmp(b.op->in[0]->grad->data, want, sizeof want) == 0,
       "%s: max_pool2d: overlapping windows add their gradients", backend->name);
    rig_destroy(&b);
}

/* Returns -1 if the backend's device is missing. */
static int open_backend(const struct backend *backend, struct err *e)
{
    opened = backend->device ? backend->device->open(0, e) : NULL;
    return !backend->device || opened ? 0 : -1;
}

static void close_backend(const struct backend *backend)
{
    if (opened)
        backend->device->close(opened);
    opened = NULL;
}

static const char *only; /* the kind of op that is checked; NULL: all */
static int only_case = -1; /* the case of this kind; negative: all */

/* Returns how many cases before case i have its kind. */
static int number_of(size_t i)
{
    int number = 0;

    for (size_t k = 0; k < i; k++)
        number += cases[k].kind == cases[i].kind;
    return number;
}

static bool is_chosen(size_t i)
{
    return !only || (strcmp(cases[i].kind->name, only) == 0 &&
                     (only_case < 0 || number_of(i) == only_case));
}

/* Returns the last type of 16 bits that is checked of a kind. The emulated cuDNN computes both in
 * floats: fp16 is left to EXHAUSTIVE. */
static enum dtype last_type(const struct op_kind *kind)
{
#ifdef OPCHECK_EMULATED
    if (rig_convolves(kind) && !getenv("EXHAUSTIVE"))
        return DTYPE_BF16;
#endif
    (void)kind;
    return DTYPE_F16;
}

static void check_cases(const struct backend *backend, const struct backend *reference)
{
    for (size_t i = 0; i < NCASES; i++) { /* the backend of a device has no fallback and may lack a
                                           * kernel */
        if (!is_chosen(i))
            continue;
        if (rig_is_possible(&cases[i], backend, DTYPE_F32))
            check_case(&cases[i], backend, reference);
        for (enum dtype t = DTYPE_BF16; t <= last_type(cases[i].kind); t++)
            if (rig_is_possible(&cases[i], backend, t))
                check_values(&cases[i], backend, reference, t);
    }
}

/* Checks all cases, on a device with cuDNN's first engines; then ties of pooling, and that no
 * kernel is left untested. A choice of cases (`only`) omits some of these. Returns -1 if the
 * backend's device is missing. */
static int check_backend(const struct backend *backend, const struct backend *reference,
                         struct err *e)
{
    if (open_backend(backend, e))
        return -1;
    setenv("UNET_CUDNN", "only", 1);
    check_cases(backend, reference);
    unsetenv("UNET_CUDNN");
    if (!only || (strcmp(only, "max_pool2d") == 0 && only_case <= 0))
        check_pool_ties(backend), check_pool_overlaps(backend);
    close_backend(backend);
    if (!only)
        check_coverage(backend);
    return 0;
}

/* Checks the values of the kernels that a processor with fewer instructions would use. */
static void check_isa(const char *isa, const struct backend *backend,
                      const struct backend *reference)
{
    setenv("UNET_ISA", isa, 1);
    for (size_t i = 0; i < NCASES; i++)
        check_values(&cases[i], backend, reference, DTYPE_F32);
    unsetenv("UNET_ISA");
}

/* Checks the backends of the program. With an emulated device, those of the host are left to the
 * program that has no other. */
static int check_all_backends(void)
{
    const struct backend *reference = backend_find("ref");
    struct err e;

#ifdef OPCHECK_EMULATED
    if (check_backend(backend_find("cuda"), reference, &e))
        bail_out("%s", e.text);
    return done_testing();
#endif

    check_isa("avx2", backend_find("simd"), reference);
    for (size_t i = 0; i < NCASES; i++)
        check_threads(&cases[i], backend_find("simd"));
    for (size_t k = 0; backends[k]; k++)
        if (check_backend(backends[k], reference, &e))
            tap_skip(1, e.text);
    check_large_norm(reference);
    check_bce_extremes();
    check_batch_norm_offset();
    return done_testing();
}

static int check_one_backend(int n, char **words)
{
    const struct backend *backend = backend_find(words[0]);
    struct err e;

    if (!backend) {
        fprintf(stderr, "opcheck: there is no backend \"%s\"; --list names those that are here\n",
                words[0]);
        return 2;
    }
    only = n > 1 ? words[1] : NULL;
    only_case = n > 2 ? atoi(words[2]) : -1;
    if (check_backend(backend, backend_find("ref"), &e) == 0)
        return done_testing();
    printf("1..0 # skip %s\n", e.text);
    fprintf(stderr, "opcheck: skipped: %s\n", e.text);
    return ERR_SKIP;
}

/* Prints a line for each case, as --check takes it: the kind of op, and the case's number of it. */
static int list_cases(void)
{
    for (size_t i = 0; i < NCASES; i++)
        printf("%s %d\n", cases[i].kind->name, number_of(i));
    return 0;
}

static void write_numbers(const struct tensor *t)
{
    fwrite(t->data, sizeof *t->data, tensor_count(t), stdout);
}

/* Writes what t/torch_losses.py compares with PyTorch: for each case of a loss whose gradients are
 * checked a line "OP N H W C GAMMA ALPHA BETA LOSS WEIGHT ...", then logits, targets and gradients
 * as raw floats. */
static int write_losses(const struct backend *backend)
{
    struct err e;

    if (!backend || open_backend(backend, &e)) {
        fprintf(stderr, "opcheck: %s\n", backend ? e.text : "there is no such backend");
        return ERR_SKIP;
    }
    for (size_t i = 0; i < NCASES; i++) {
        const struct test_case *t = &cases[i];
        const struct op_attr *a = &t->attr;
        int n = t->in[0].dim[DIM_C] > 1 ? (int)t->in[0].dim[DIM_C] : 2;
        struct rig r;

        if (!t->kind->is_loss || t->step <= 0)
            continue;
        rig_create(&r, t, backend, opened, DTYPE_F32);
        rig_run(&r, 1);
        printf("%s", t->kind->name);
        for (int k = 0; k < t->in[0].ndim; k++)
            printf(" %d", (int)t->in[0].dim[k]);
        printf(" %g %g %g %.17g", a->gamma, a->alpha, a->beta, r.loss);
        for (int k = 0; a->class_weights && k < n; k++)
            printf(" %g", (double)a->class_weights[k]);
        printf("\n");
        rig_fill(&r); /* the gradients may be where the logits were */
        write_numbers(r.in[0]);
        write_numbers(r.in[1]);
        write_numbers(r.op->out[0]);
        rig_destroy(&r);
    }
    close_backend(backend);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return check_all_backends();
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        oplist_list(cases, NCASES, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--cases") == 0)
        return list_cases();
    if (argc >= 3 && argc <= 5 && strcmp(argv[1], "--check") == 0)
        return check_one_backend(argc - 2, argv + 2);
    if (argc == 3 && strcmp(argv[1], "--losses") == 0)
        return write_losses(backend_find(argv[2]));
    fprintf(stderr, "usage: opcheck.t [--list | --cases | --check BACKEND [OP [NUMBER]] | "
                    "--losses BACKEND]\n");
    return 2;
}
