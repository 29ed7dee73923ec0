/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that MPI connects (the multi-worker strategy). Collectives are MPI-3's non-blocking ones,
 * polled until a deadline, so that a lost rank ends the others with a message. A rank that fails
 * reports its error before MPI ends the other ranks.
 *
 * The ranks of a host sum in shared memory (node.h), in the order of ranks; then one rank of each
 * host sums with the other hosts by MPI. UNET_SHARED_MEMORY=off treats every rank as a host of its
 * own. */
#ifndef UNETCTL_TRAINER_COMM_COMM_MPI_H
#define UNETCTL_TRAINER_COMM_COMM_MPI_H

#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous/lifeline.h"

/* Starts MPI, at most once per process; ops->close ends it. config: rank and size are what the
 * launcher announced (-1 and 0 if unknown), for error texts. Without a lifeline, as of ranks that
 * have no cluster spec, the ranks connect when MPI has started, and lost is called with arg when a
 * rank is lost (lifeline.h). Returns NULL on error: ERR_PEER if MPI fails or does not start within
 * timeout_s, 128 + signal if *interrupt asks the run to end, ERR_CONFIG in a build without MPI. */
struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e);

/* Starts a thread that executes the sums of start_sum_float while the rank computes (comm_async.h);
 * the other collectives, except sum_small, first wait for it. */
int comm_mpi_start_thread(struct comm *c, struct err *e);

/* Returns name and version of the MPI library, such as "Open MPI v4.1.4", or "" in a build without
 * MPI. */
const char *comm_mpi_version(void);

#endif
