/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat in a plate, by Jacobi's method: its rows are divided over the ranks of MPI, which exchange
 * their edges in each step. Prints "step N seconds T cells C change D" ten times.
 *
 *     mpicc -O2 -o heat heat.c -lm && mpirun -n 4 ./heat ROWS COLUMNS STEPS
 *
 * ROWS are those of the whole plate (strong scaling), or with a + in front of each rank (weak). */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

/* Computes the new rows from the old ones and returns the sum of squared changes. */
static double relax(const double *old, double *new, long rows, long columns)
{
    double change = 0;

    for (long i = 1; i <= rows; i++)
        for (long j = 1; j < columns - 1; j++) {
            long k = i * columns + j;
            new[k] = (old[k - 1] + old[k + 1] + old[k - columns] + old[k + columns]) / 4;
            change += (new[k] - old[k]) * (new[k] - old[k]);
        }
    return change;
}

static void exchange_edges(double *plate, long rows, long columns)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

    MPI_Sendrecv(plate + columns, (int)columns, MPI_DOUBLE, above, 0, plate + (rows + 1) * columns,
                 (int)columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(plate + rows * columns, (int)columns, MPI_DOUBLE, below, 1, plate, (int)columns,
                 MPI_DOUBLE, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void simulate(double *plate[2], long rows, long columns, long all_rows, long steps)
{
    double begin = MPI_Wtime(), change;

    for (long step = 1; step <= steps; step++) {
        exchange_edges(plate[0], rows, columns);
        change = relax(plate[0], plate[1], rows, columns);
        double *swap = plate[0];
        plate[0] = plate[1];
        plate[1] = swap;
        if (step % ((steps + 9) / 10) && step != steps)
            continue;
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("step %ld seconds %.6f cells %.0f change %.4e\n", step, MPI_Wtime() - begin,
                   (double)step * (double)all_rows * (double)columns, sqrt(change));
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long rows = argc == 4 ? atol(argv[1]) : 0, columns = argc == 4 ? atol(argv[2]) : 0;
    if (rows < 1 || columns < 3 || atol(argv[3]) < 1) {
        fprintf(stderr, "usage: heat [+]ROWS COLUMNS STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long all_rows = argv[1][0] == '+' ? rows * size : rows;
    rows = all_rows / size + (rank < all_rows % size);
    double *plate[2];
    for (int i = 0; i < 2; i++) {
        plate[i] = calloc((size_t)((rows + 2) * columns), sizeof **plate);
        for (long j = 0; plate[i] && rank == 0 && j < columns; j++)
            plate[i][j] = 100; /* the hot edge */
    }
    if (plate[0] && plate[1])
        simulate(plate, rows, columns, all_rows, atol(argv[3]));
    else
        MPI_Abort(MPI_COMM_WORLD, 1);
    free(plate[0]);
    free(plate[1]);
    MPI_Finalize();
    return 0;
}
