/* SPDX-License-Identifier: BSD-3-Clause */
/* What every communicator must do, as the program of one rank. All data are small whole numbers, so
 * that every order of summation gives the same result, which is compared with ==. */
#ifndef UNETCTL_TRAINER_COMM_TEST_CHECK_H
#define UNETCTL_TRAINER_COMM_TEST_CHECK_H

#include "trainer/comm/comm.h"

/* Runs every collective with several sizes. Returns -1 if a call failed or a result is wrong; e
 * says which. */
int check_collectives(struct comm *c, struct err *e);

#endif
