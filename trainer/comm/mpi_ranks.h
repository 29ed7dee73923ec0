/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collectives by MPI (comm_mpi.c) share with the start and end of MPI (mpi_start.c). */
#ifndef UNETCTL_TRAINER_COMM_MPI_RANKS_H
#define UNETCTL_TRAINER_COMM_MPI_RANKS_H

#ifdef HAVE_MPI

#include <mpi.h>
#include <pthread.h>

#include "trainer/comm/comm_internal.h"

struct mpi {
    MPI_Request *requests;
    size_t nrequests, capacity;
    struct lifeline *lifeline; /* opened here; or NULL */
    char **hosts;              /* of all ranks, for this lifeline */
    struct comm_async *async; /* sums gradients in the background; or NULL */
    struct node *node;     /* the ranks of this host; NULL if every host has one rank */
    MPI_Comm local;        /* communicator of the ranks of this host */
    MPI_Comm across;       /* the first ranks of the hosts; without nodes, all ranks */
    MPI_Comm across_small; /* a duplicate of across for sum_small */
    pthread_mutex_t lock;  /* held by the MPI calls of sums, as sum_small may run beside others */
    int nacross;
};

static inline struct mpi *mpi_of(struct comm *c)
{
    return c->priv;
}

extern const struct comm_ops mpi_ops;

/* comm_ops.close: after its barrier, a rank that ends without MPI_Finalize loses no data. */
void mpi_close(struct comm *c);

/* Fails with MPI's error rc, or with the lifeline's if it has one within REPORT_S: MPI may notice
 * the loss of a rank first, but only the lifeline knows which rank it is. */
int mpi_fail(struct comm *c, int rc, const char *what, struct err *e);

#endif

#endif
