/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm.h"

int comm_no_place(struct comm *c, size_t n, float **values, struct err *e)
{
    (void)c, (void)n, (void)e;
    *values = NULL;
    return 0;
}

int comm_check_interrupt(const struct comm *c, struct err *e)
{
    int signal = c->leaving;

    if (!signal && c->interrupt)
        signal = *c->interrupt;
    return signal ? err_signal(e, signal) : 0;
}
