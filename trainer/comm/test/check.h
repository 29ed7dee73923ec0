/* SPDX-License-Identifier: BSD-3-Clause */
/* What every communicator must do, as the program of one rank. The data are whole numbers whose sum
 * is exact in every order, so it is compared with ==. Only slices in memory from
 * comm_ops.reduce_buffer also have values whose sum has the expected bits only in the order of
 * ranks. */
#pragma once

#include "trainer/comm/comm.h"

/* Runs every collective on host memory, sums with several sizes. Returns -1 if a call failed or a
 * result is wrong; e says which. */
int check_collectives(struct comm *c, struct err *e);
