/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures sums of gradients over the ranks of one node: by the communicator, in memory that the
 * ranks share if it has some, and by MPI_Allreduce in place. Both are measured alternately, all
 * ranks start each sum together, and the time is that of the slowest rank.
 *
 *   make bench/allreduce && mpirun -np 2 bench/allreduce [ROUNDS [MB...]]     in the build folder;
 *   result: doc/PERFORMANCE.md */
#include "src/base.h"

#include <mpi.h>

#include "src/clock.h"
#include "src/stat.h"
#include "trainer/comm/comm_open.h"

#define MOST_ROUNDS 999

static void exit_with(const struct err *e)
{
    fprintf(stderr, "%s\n", e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns the milliseconds since `began` of the slowest rank. */
static double slowest(double began)
{
    double s = clock_now() - began;

    MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return 1e3 * s;
}

static void fill_values(float *v, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(rank + 1) * (float)(i % 100);
}

static void measure_sums(struct comm *c, float *own, float *other, size_t n, int rounds)
{
    static double ours[MOST_ROUNDS], theirs[MOST_ROUNDS];
    struct err e;

    for (int r = -1; r < rounds; r++) {
        int k = r < 0 ? 0 : r; /* the first round only touches the memory */
        fill_values(own, n, c->rank);
        fill_values(other, n, c->rank);
        MPI_Barrier(MPI_COMM_WORLD);
        double began = clock_now();
        if (comm_start_sum_float(c, own, n, &e) || comm_wait(c, &e))
            exit_with(&e);
        ours[k] = slowest(began);
        MPI_Barrier(MPI_COMM_WORLD);
        began = clock_now();
        MPI_Allreduce(MPI_IN_PLACE, other, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        theirs[k] = slowest(began);
        if (memcmp(own, other, n * sizeof *own) != 0 && c->rank == 0)
            printf("the sums differ\n");
    }
    stat_sort(ours, (size_t)rounds);
    stat_sort(theirs, (size_t)rounds);
    if (c->rank == 0)
        printf("%5d  %8.1f  %10.3f (%.3f)  %10.3f (%.3f)  %8.1f\n", c->size, 4e-6 * (double)n,
               ours[rounds / 2], ours[0], theirs[rounds / 2], theirs[0],
               theirs[rounds / 2] / ours[rounds / 2]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char *usual[] = {"2", "120"};
    int rounds = argc > 1 ? atoi(argv[1]) : 25, nsizes = argc > 2 ? argc - 2 : 2;
    char **sizes = argc > 2 ? argv + 2 : usual;
    size_t most = 0;
    float *own, *other;
    struct err e;
    char host[256] = "";
    struct comm_config config = {.rank = -1, .host = host, .timeout_s = 60};

    gethostname(host, sizeof host - 1);
    struct comm *c = comm_mpi_open(&config, NULL, NULL, &e);
    if (!c || rounds < 1 || rounds > MOST_ROUNDS)
        return fprintf(stderr, "%s\n", c ? "ROUNDS is 1 to 999" : e.text), 2;
    c->spins = c->size <= sysconf(_SC_NPROCESSORS_ONLN); /* as the trainer decides */
    for (int i = 0; i < nsizes; i++)
        if ((size_t)(250000 * atof(sizes[i])) > most)
            most = (size_t)(250000 * atof(sizes[i]));
    if (c->ops->reduce_buffer(c, most, &own, &e))
        exit_with(&e);
    if (!own)
        own = malloc(most * sizeof *own);
    other = malloc(most * sizeof *other);
    if (!own || !other)
        return 1;
    if (c->rank == 0)
        printf("ranks        MB  communicator, ms: median (least)  MPI_Allreduce  times as fast\n");
    for (int i = 0; i < nsizes; i++)
        measure_sums(c, own, other, (size_t)(250000 * atof(sizes[i])), rounds);
    free(other);
    c->ops->close(c);
    return 0;
}
