/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/network/recordings.h"

#include <stdlib.h>

#include "src/mem.h"

struct recording *recordings_get(struct recordings *r, const struct graph *graph, bool updates,
                                 uint64_t shares, struct err *e)
{
    struct recording *one;

    for (one = r->first; one; one = one->next)
        if (one->graph == graph && one->updates == updates && one->shares == shares)
            return one;
    one = mem_zero(1, sizeof *one, e);
    if (!one)
        return NULL;
    *one = (struct recording){
        .graph = graph, .updates = updates, .shares = shares, .next = r->first};
    r->first = one;
    return one;
}

bool recordings_know(const struct recordings *r, uint64_t shares)
{
    const struct recording *one = r->first;

    while (one && one->shares != shares)
        one = one->next;
    return one;
}

static void discard(struct recordings *r)
{
    for (struct recording *one = r->first; one; one = one->next) {
        if (one->captured)
            r->ops->discard(one->captured);
        one->captured = NULL;
    }
}

void recordings_moved(struct recordings *r)
{
    discard(r);
    r->moved = true;
}

void recordings_forget(struct recordings *r)
{
    discard(r);
    r->moved = false;
}

void recordings_release(struct recordings *r)
{
    discard(r);
    while (r->first) {
        struct recording *one = r->first;

        r->first = one->next;
        free(one);
    }
}
