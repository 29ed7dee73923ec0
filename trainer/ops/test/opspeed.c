/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/ops/test/opspeed.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/clock.h"
#include "src/stat.h"
#include "trainer/backends/backends.h"
#include "trainer/network/network.h"
#include "trainer/ops/test/cases.h"

#define MIN_ROUNDS 5
#define MAX_ROUNDS 1000
#define BURST 20 /* runs between two waits for a device, as a wait takes as long as many runs */

/* The sizes of a batch of 4 images of 256x256 in the reference U-Net's first, middle and last
 * levels (base 8), and of a batch of CIFAR-10's images in ResNet's (base 16). */
static const struct test_case sizes[] = {
    CONV_RELU(4, 64, 64, 32, 32, 3),
    CONV(4, 256, 256, 1, 8, 3),
    CONV(4, 256, 256, 8, 8, 3),
    CONV(4, 128, 128, 16, 16, 3),
    CONV(4, 64, 64, 32, 32, 3),
    CONV(4, 32, 32, 64, 64, 3),
    CONV(4, 16, 16, 128, 128, 3),
    CONV(4, 256, 256, 8, 1, 1),
    CONV_STRIDED(32, 32, 32, 16, 32, 3),
    CONV_NOBIAS(32, 32, 32, 16, 16, 3, 1),
    CONV_TRANSPOSE(4, 16, 16, 128, 64),
    CONV_TRANSPOSE(4, 128, 128, 16, 8),
    BATCH_NORM(batch_norm_kind, 4, 256, 256, 8, 0.02),
    BATCH_NORM(batch_norm_relu_kind, 4, 256, 256, 8, 0.02),
    BATCH_NORM(batch_norm_infer_kind, 4, 256, 256, 8, 0),
    GROUP_NORM(4, 256, 256, 8, 0),
    FOLD_NORM(128, 128, 3),
    FOLD_NORM_NOBIAS(64, 64, 3),
    CONV_GRAD(4, 128, 128, 16, 16),
    CONV_NOBIAS_GRAD(16, 32, 32, 16, 16),
    UNARY(relu_kind, 4, 256, 256, 8),
    UNARY(max_pool2d_kind, 4, 256, 256, 8),
    AVG_POOL(4, 256, 256, 8),
    UPSAMPLE(4, 128, 128, 8, true),
    BIAS(4, 256, 256, 8),
    RESHAPE(16, 32, 32, 64),
    DROPOUT(16, 32, 32, 64, 0.5),
    POOL_ADD(4, 128, 128, 8, 0),
    CONCAT(4, 256, 256, 8, 8),
    ADD(32, 32, 32, 16),
    GLOBAL_AVG_POOL(32, 8, 8, 64),
    SUBSAMPLE(32, 32, 32, 16, 32),
    BCE(4, 256, 256),
    LOSS(softmax_ce_kind, 4, 256, 256, 4, VALUES_CLASS, NULL),
    LOSS(dice_kind, 4, 256, 256, 1, VALUES_UNIT, NULL),
};

static bool has_kernel(const struct kernel *const *kernels, const struct kernel *kernel)
{
    for (; kernels && *kernels; kernels++)
        if (*kernels == kernel)
            return true;
    return false;
}

const struct backend *opspeed_owner(const struct kernel *kernel)
{
    for (size_t i = 0; kernel && backends[i]; i++)
        if (has_kernel(backends[i]->kernels, kernel))
            return backends[i];
    return NULL;
}

struct cell {
    const struct backend *owners[8];
    size_t n;
};

static void add_owner(struct cell *cell, const struct backend *owner)
{
    for (size_t i = 0; i < cell->n; i++)
        if (cell->owners[i] == owner)
            return;
    cell->owners[cell->n++] = owner;
}

/* Returns the backends whose kernels compute ops of this kind for the backend. */
static struct cell owners(const struct backend *backend, const struct op_kind *kind,
                          struct graph *const *graphs, size_t n)
{
    struct cell cell = {.n = 0};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < graphs[i]->nops; k++)
            if (graphs[i]->ops[k]->kind == kind)
                add_owner(&cell, opspeed_owner(backend_kernel(backend, graphs[i]->ops[k])));
    return cell;
}

static void print_cell(const struct cell *cell, FILE *out)
{
    char text[64] = "";

    for (size_t i = 0; i < cell->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "," : "",
                 cell->owners[i] ? cell->owners[i]->name : "-");
    fprintf(out, " %-16s", text);
}

void opspeed_list(const struct test_case *cases, size_t n, FILE *out)
{
    struct graph **graphs = calloc(n, sizeof(struct graph *));

    for (size_t i = 0; graphs && i < n; i++)
        graphs[i] = rig_graph(&cases[i]);
    fprintf(out, "%-28s dtype", "op");
    for (size_t b = 0; backends[b]; b++)
        fprintf(out, " %-16s", backends[b]->name);
    fputc('\n', out);
    for (size_t k = 0; graphs && op_kinds[k]; k++) {
        if (op_kinds[k] == &cast_kind)
            continue; /* a cast never has floats only */
        fprintf(out, "%-28s f32  ", op_kinds[k]->name);
        for (size_t b = 0; backends[b]; b++) {
            struct cell cell = owners(backends[b], op_kinds[k], graphs, n);

            print_cell(&cell, out);
        }
        fputc('\n', out);
    }
    for (size_t i = 0; graphs && i < n; i++)
        graph_destroy(graphs[i]);
    free(graphs);
}

/* Returns the median seconds of one run. */
static double measure_op(struct rig *r, struct op *op, double seconds_each)
{
    static double times[MAX_ROUNDS];
    long burst = r->device ? BURST : 1;
    double began = clock_now();
    size_t n = 0;

    rig_repeat(r, op, burst);
    while (n < MIN_ROUNDS || (n < MAX_ROUNDS && clock_now() - began < seconds_each)) {
        double start = clock_now();

        rig_repeat(r, op, burst);
        times[n++] = (clock_now() - start) / (double)burst;
    }
    return fmax(stat_median(times, n), 1e-9);
}

static void print_line(const struct backend *backend, const struct op *op, enum dtype dtype,
                       double seconds, FILE *out)
{
    const struct shape *s = &op->in[0]->shape;
    double flop = profile_flop(op) * 1e-9 / seconds;
    char shape[64], rate[16] = "-";

    snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s->dim[0],
             s->dim[1], s->dim[2], s->dim[3]);
    if (flop > 0)
        snprintf(rate, sizeof rate, "%.1f", flop);
    fprintf(out, "%-5s %-5s %-28s %-17s %10.4f %9s %8.2f %s\n", backend->name,
            precision_name(dtype), op->kind->name, shape, seconds * 1e3, rate,
            profile_bytes(op) * 1e-9 / seconds, opspeed_owner(op->kernel)->name);
}

static void measure_case(const struct backend *backend, struct device *device,
                         const struct test_case *test, enum dtype dtype, double seconds_each,
                         FILE *out)
{
    struct rig r;

    if (!rig_is_possible(test, backend, dtype)) {
        fprintf(out, "%-5s %-5s %-28s -\n", backend->name, precision_name(dtype), test->kind->name);
        return;
    }
    rig_create(&r, test, backend, device, dtype);
    rig_run(&r, r.graph->nops);
    for (size_t i = 0; i < r.graph->nops; i++)
        print_line(backend, r.graph->ops[i], dtype, measure_op(&r, r.graph->ops[i], seconds_each),
                   out);
    fflush(out);
    rig_destroy(&r);
}

int opspeed_measure(const struct backend *backend, const char *op, double seconds_each,
                    enum dtype dtype, FILE *out, struct err *e)
{
    struct device *device = backend->device ? backend->device->open(0, e) : NULL;
    int threads = 1;

    if (backend->device && !device)
        return -1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    fprintf(out, "# %s, %d threads\n%-5s dtype %-28s %-17s %10s %9s %8s kernel\n", backend->name,
            device ? 1 : threads, "", "op", "first input", "ms", "GFLOP/s", "GB/s");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!op || !*op || strcmp(op, sizes[i].kind->name) == 0)
            measure_case(backend, device, &sizes[i], dtype, seconds_each, out);
    if (device)
        backend->device->close(device);
    return 0;
}
