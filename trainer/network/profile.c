/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts operations and bytes from the shapes of an op's tensors. */
#include "config.h"
#include "trainer/network/profile.h"

#include <inttypes.h>
#include <math.h>

#define MAX_KINDS 64

struct op_total {
    const struct op_kind *kind;
    double seconds, flop, bytes;
    double least; /* seconds, at the peak rates */
};

static const struct tensor *find_weights(const struct op *op)
{
    static const struct op_kind *const with[] = {
        &conv2d_kind, &conv2d_relu_kind, &conv2d_grad_kind, &conv2d_grad_input_kind,
        &conv_transpose2d_kind, &conv_transpose2d_grad_input_kind};

    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (op->kind == with[i])
            return op->in[1];
    return op->kind == &conv2d_grad_weights_kind || op->kind == &conv_transpose2d_grad_weights_kind
               ? op->out[0]
               : NULL;
}

/* Each weight is used once for each pixel of the smaller of input and output. */
double profile_flop(const struct op *op)
{
    const struct tensor *w = find_weights(op);

    if (!w)
        return 0;
    const struct tensor *a = op->in[0], *b = w == op->out[0] ? op->in[1] : op->out[0];
    return (op->kind == &conv2d_grad_kind ? 4 : 2) * (double)tensor_count(w) *
           fmin((double)tensor_pixels(a), (double)tensor_pixels(b));
}

double profile_bytes(const struct op *op)
{
    size_t nbytes = 0;

    for (int i = -1; op_next_in(op, &i);)
        nbytes += tensor_nbytes(op->in[i]);
    for (int i = -1; op_next_out(op, &i);)
        nbytes += tensor_nbytes(op->out[i]);
    return (double)nbytes;
}

void profile_sum(const struct graph *g, double *flop, double *bytes)
{
    *flop = *bytes = 0;
    for (size_t i = 0; i < g->nops; i++) {
        *flop += profile_flop(g->ops[i]);
        *bytes += profile_bytes(g->ops[i]);
    }
}

static void print_line(const char *name, const char *shape, const struct op_total *t,
                       double all_seconds, FILE *out)
{
    double seconds = fmax(t->seconds, 1e-12);

    fprintf(out, "%-36s %-18s %9.3f ms %5.1f %% %8.3f GFLOP %7.1f GFLOP/s %7.1f GB/s", name, shape,
            t->seconds * 1e3, 100 * t->seconds / all_seconds, t->flop * 1e-9,
            t->flop * 1e-9 / seconds, t->bytes * 1e-9 / seconds);
    if (t->least > 0)
        fprintf(out, " %5.1f %% of peak", 100 * t->least / seconds);
    fputc('\n', out);
}

/* Operations and memory accesses overlap, so the slower of both determines the time. */
static double least_time(const struct op_total *t, const struct profile_peak *peak)
{
    if (!(peak->flop > 0 && peak->bytes > 0))
        return 0;
    return fmax(t->flop / peak->flop, t->bytes / peak->bytes);
}

static void add_total(struct op_total *totals, size_t *n, const struct op_kind *kind,
                      const struct op_total *t)
{
    size_t i = 0;

    while (i < *n && totals[i].kind != kind)
        i++;
    if (i == MAX_KINDS)
        return;
    if (i == *n)
        totals[(*n)++] = (struct op_total){.kind = kind};
    totals[i].seconds += t->seconds;
    totals[i].flop += t->flop;
    totals[i].bytes += t->bytes;
    totals[i].least += t->least;
}

static void print_totals(struct op_total *totals, size_t n, double all_seconds, FILE *out)
{
    for (; n > 0; n--) {
        size_t longest = 0;

        for (size_t i = 1; i < n; i++)
            if (totals[i].seconds > totals[longest].seconds)
                longest = i;
        print_line(totals[longest].kind->name, "", &totals[longest], all_seconds, out);
        totals[longest] = totals[n - 1];
    }
}

void profile_print(const struct graph *g, const struct profile_peak *peak, FILE *out)
{
    double all_seconds = 1e-12, runs = (double)(g->nruns ? g->nruns : 1);
    struct op_total totals[MAX_KINDS], all = {0};
    size_t n = 0;

    for (size_t i = 0; i < g->nops; i++)
        all_seconds += g->ops[i]->seconds / runs;
    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        const struct shape *s = &op->in[0]->shape;
        struct op_total t = {op->kind, op->seconds / runs, profile_flop(op), profile_bytes(op), 0};
        char shape[64];

        snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s->dim[0],
                 s->dim[1], s->dim[2], s->dim[3]);
        t.least = least_time(&t, peak);
        print_line(op->kind->name, shape, &t, all_seconds, out);
        add_total(totals, &n, op->kind, &t);
        add_total(&all, &(size_t){1}, NULL, &t);
    }
    if (peak->flop > 0 && peak->bytes > 0)
        fprintf(out, "\npeak of %s: %.1f GFLOP/s, %.1f GB/s\n", peak->of, peak->flop * 1e-9,
                peak->bytes * 1e-9);
    else
        fprintf(out, "\nthe peak of %s is not known\n", peak->of);
    print_totals(totals, n, all_seconds, out);
    print_line("all", "", &all, all_seconds, out);
}
