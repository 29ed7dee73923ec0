/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm.h"

#include <string.h>

int comm_no_place(struct comm *c, size_t n, float **values, struct err *e)
{
    (void)c, (void)n, (void)e;
    *values = NULL;
    return 0;
}

int comm_set_interrupted(struct err *e, int signal)
{
    return err_set(e, 128 + signal,
                   "stopped by signal %d (%s): cancelled, out of time, or another rank was lost",
                   signal, strsignal(signal));
}

int comm_check_interrupt(const struct comm *c, struct err *e)
{
    int signal = c->leaving;

    if (!signal && c->interrupt)
        signal = *c->interrupt;
    return signal ? comm_set_interrupted(e, signal) : 0;
}

int comm_name_rank(struct err *e, int rank, const char *host)
{
    bool everybodys = e->code > 128; /* a signal reaches all ranks; who spoke first means nothing */
    bool named = strncmp(e->text, "rank ", 5) == 0 || strncmp(e->text, "ranks ", 6) == 0;

    if (everybodys || named)
        return -1;
    return host ? err_prefix(e, "rank %d on %s", rank, host) : err_prefix(e, "rank %d", rank);
}
