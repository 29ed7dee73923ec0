/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicas as MPI processes (the multi-worker strategy). Collectives are the non-blocking ones of
 * MPI-3, polled against the deadline, so a lost rank ends the others with a message and not with
 * a hang. A rank that fails tells the others why before it takes them down.
 *
 * Sums go two ways: the ranks of a host sum in memory that they share (node.h), in the order of
 * ranks; one of each host then sums with the other hosts by MPI.
 *
 * UNET_SHARED_MEMORY=off: every rank is like a host of its own.
 *
 * With comm->wire, slices of start_sum_float go between hosts as 16 bits: each host gets the
 * others' part of its share, adds them up as floats in the order of hosts, and sends the sum to
 * all. What the hosts bring and the sum are rounded, once each; every rank has the same bits. */
#ifndef UNETCTL_TRAINER_COMM_COMM_MPI_H
#define UNETCTL_TRAINER_COMM_COMM_MPI_H

#include "trainer/comm/comm.h"

/* Start MPI. expected_rank and expected_size are what the launcher said (-1 and 0: unknown), for
 * the text when MPI does not come up within timeout_s (ERR_PEER). A build without MPI: ERR_CONFIG.
 * Once per process. Ended by ops->close. */
struct comm *comm_mpi_open(int expected_rank, int expected_size, double timeout_s,
                           const atomic_int *interrupt, struct err *e);

/* First line of the MPI library's version, or "" without MPI. */
const char *comm_mpi_version(void);

#endif
