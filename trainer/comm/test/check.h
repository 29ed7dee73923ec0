/* SPDX-License-Identifier: BSD-3-Clause */
/* What every communicator must do, as the program of one rank. The data are whole numbers that add
 * up to the same result in every order, which is compared with ==; only slices in memory of place
 * must be summed in the order of ranks. */
#ifndef UNETCTL_TRAINER_COMM_TEST_CHECK_H
#define UNETCTL_TRAINER_COMM_TEST_CHECK_H

#include "trainer/comm/comm.h"

/* Runs every collective with several sizes. Returns -1 if a call failed or a result is wrong; e
 * says which. */
int check_collectives(struct comm *c, struct err *e);

#endif
