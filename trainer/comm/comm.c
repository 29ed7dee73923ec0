/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm.h"

#include <stdio.h>

#include "src/mem.h"
#include "trainer/comm/rendezvous/lifeline.h"

struct comm *comm_create(const struct comm_ops *ops, const struct comm_config *config, void *priv,
                         struct err *e)
{
    struct comm *c = mem_zero(1, sizeof *c, e);

    if (!c)
        return NULL;
    *c = (struct comm){.ops = ops, .rank = config->rank, .size = config->size,
                       .timeout_s = config->timeout_s, .interrupt = config->interrupt,
                       .lifeline = config->lifeline, .priv = priv};
    snprintf(c->host, sizeof c->host, "%s", config->host);
    return c;
}

void comm_count(struct comm *c)
{
    c->ncollectives++;
    if (c->lifeline)
        lifeline_count(c->lifeline);
}

void comm_enter(struct comm *c, const char *what)
{
    c->what = what;
    comm_count(c);
}

int comm_check_lifeline(struct comm *c, struct err *e)
{
    bool relayed = false;

    if (!c->lifeline || lifeline_check(c->lifeline, &relayed, e) == 0)
        return 0;
    c->relayed = relayed;
    return -1;
}

static int check_interrupt(const struct comm *c, struct err *e)
{
    return c->leaving ? err_signal(e, c->leaving) : err_interrupt(e, c->interrupt);
}

int comm_check_wait(struct comm *c, const char *what, double waited_s, struct err *e)
{
    bool relayed = false;

    if (comm_check_lifeline(c, e) || check_interrupt(c, e))
        return -1;
    if (waited_s <= c->timeout_s)
        return 0;
    if (c->lifeline && lifeline_ask(c->lifeline, &relayed, e)) {
        c->relayed = relayed;
        return -1;
    }
    return err_set(e, ERR_PEER, "rank %d of %d on %s: %s (collective %lu) did not end within %g s: "
                   "another rank is gone or stuck; its output or the system's log says why",
                   c->rank, c->size, c->host, what, c->ncollectives, c->timeout_s);
}

const char comm_small_sum[] = "a sum within a step";

int comm_check_main(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return comm_check_wait(c, c->what, waited_s, e);
}

int comm_check_small(void *arg, double waited_s, struct err *e)
{
    return comm_check_wait(arg, comm_small_sum, waited_s, e);
}
