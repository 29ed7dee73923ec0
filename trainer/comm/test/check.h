/* SPDX-License-Identifier: BSD-3-Clause */
/* What every communicator must do, as one program of a rank. All data are small whole numbers, so
 * every order of summation gives exactly the same and results are compared with ==. */
#ifndef UNETCTL_TRAINER_COMM_TEST_CHECK_H
#define UNETCTL_TRAINER_COMM_TEST_CHECK_H

#include "trainer/comm/comm.h"

/* Every collective, several sizes. -1: the call failed or a result is wrong, e says which. */
int check_collectives(struct comm *c, struct err *e);

#endif
