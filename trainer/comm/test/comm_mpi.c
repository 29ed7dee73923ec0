/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI communicator. Run alone it is a unit test with one rank; t/t4000-comm.t runs it under
 * mpirun. An operand chooses the check: none, every collective; "async", the same with a thread for
 * communication; "fused", the same with fused slices; "bf16" and "fp16", sums of gradients that are
 * sent as 16 bits; "fail", rank 1 fails and the others must report its error; "async-fail", the
 * same while its thread waits for a sum; "hang", rank 1 does not enter a barrier; "init", MPI has 2
 * s to start. Rank 0 prints TAP. If MPI does not start, the exit code is the error's. */
#include "config.h"
#include "trainer/comm/comm_async.h"
#include "trainer/comm/comm_mpi.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/comm/test/check.h"

#ifdef HAVE_MPI

static int fail_on_one(struct comm *c, struct err *e)
{
    if (c->rank == 1)
        return err_set(e, ERR_DATA, "image 7 is broken");
    return c->ops->barrier(c, e);
}

static int fail_in_sum(struct comm *c, struct err *e)
{
    static float v[1000];

    if (c->rank != 1)
        return c->ops->barrier(c, e);
    return c->ops->start_sum_float(c, v, 1000, e) ? -1
                                                  : err_set(e, ERR_DATA, "image 7 is broken");
}

static float random_value(int rank, size_t i)
{
    double u = rng_uniform(11, (uint64_t)rank, i);

    return (float)((u - 0.5) * pow(10, 4 * rng_uniform(12, (uint64_t)rank, i) - 3));
}

/* Every part and the sum lose at most dtype_error. Small whole numbers, such as the votes among
 * gradients, lose nothing. */
static int check_halves(struct comm *c, struct err *e)
{
    enum { N = 70001 };
    static float v[N], votes[2];
    double u = dtype_error(c->wire), worst = 0;

    for (int round = 0; round < 2; round++) {
        votes[0] = 1;
        votes[1] = 0;
        for (size_t i = 0; i < N; i++)
            v[i] = round ? random_value(c->rank, i) : (float)((i + (size_t)c->rank) % 50);
        if (c->ops->start_sum_float(c, votes, 2, e) || c->ops->start_sum_float(c, v, 1000, e) ||
            c->ops->start_sum_float(c, v + 1000, N - 1000, e) || c->ops->wait(c, e))
            return -1;
        for (size_t i = 0; i < N; i++) {
            double want = 0, size = 0;
            for (int r = 0; r < c->size; r++) {
                double x = round ? (double)random_value(r, i) : (double)((i + (size_t)r) % 50);
                want += x;
                size += fabs(x);
            }
            double error = fabs((double)v[i] - want), bound = u * size + u * (1 + u) * size + 1e-6 *
                size;
            if (round == 0 ? error != 0 : error > bound + 1e-7)
                return err_set(e, ERR_INTERNAL, "element %zu is %g, not %g", i, (double)v[i], want);
            worst = round && error / bound > worst ? error / bound : worst;
        }
        if (votes[0] != (float)c->size || votes[1] != 0)
            return err_set(e, ERR_INTERNAL, "the votes are %g and %g", (double)votes[0],
                           (double)votes[1]);
    }
    if (c->size > 1 && !(worst > 0.05))
        return err_set(e, ERR_INTERNAL, "nothing was rounded: the numbers did not go as 16 bits");
    return 0;
}

static int stay_away(struct comm *c, struct err *e)
{
    c->timeout_s = 2;
    if (c->rank == 1)
        for (;;)
            pause();
    return c->ops->barrier(c, e);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    const char *what = argc > 1 ? argv[1] : "";
    bool async = strncmp(what, "async", 5) == 0, fused = strcmp(what, "fused") == 0;
    enum dtype wire = strstr(what, "bf16")   ? DTYPE_BF16
                          : strstr(what, "fp16") ? DTYPE_F16
                                                 : DTYPE_F32;
    struct comm *c = comm_mpi_open(-1, 0, strcmp(what, "init") == 0 ? 2 : 60, NULL, &e);
    int rc;

    if (c)
        c->wire = wire;
    if (c && (async || fused))
        c = comm_async_open(c, fused ? &(struct comm_async_fusion){100000, 0.001} : NULL, &e);
    if (!c) {
        fprintf(stderr, "%s\n", e.text);
        return e.code;
    }
    if (strcmp(what, "fail") == 0)
        rc = fail_on_one(c, &e);
    else if (strcmp(what, "hang") == 0)
        rc = stay_away(c, &e);
    else if (strcmp(what, "async-fail") == 0)
        rc = fail_in_sum(c, &e);
    else if (wire != DTYPE_F32)
        rc = check_halves(c, &e);
    else
        rc = check_collectives(c, &e);
    if (c->rank == 0)
        ok(rc == 0, "mpi: all collectives, %d ranks, %s: %s", c->size, comm_mpi_version(), e.text);
    if (rc) {
        fflush(stdout); /* another rank's abort may end this process first */
        c->ops->abort(c, &e);
    }
    int rank = c->rank;
    c->ops->close(c);
    return rank == 0 ? done_testing() : 0;
}

#else

int main(void)
{
    skip_all("built without MPI");
}

#endif
