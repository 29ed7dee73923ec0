/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/network/captures.h"

#include <stdlib.h>

#include "src/mem.h"

struct capture *captures_get(struct captures *r, const struct graph *graph, bool updates,
                             uint64_t shares, struct err *e)
{
    struct capture *one;

    for (one = r->first; one; one = one->next)
        if (one->graph == graph && one->updates == updates && one->shares == shares)
            return one;
    one = mem_zero(1, sizeof *one, e);
    if (!one)
        return NULL;
    *one = (struct capture){
        .graph = graph, .updates = updates, .shares = shares, .next = r->first};
    r->first = one;
    return one;
}

bool captures_know(const struct captures *r, uint64_t shares)
{
    const struct capture *one = r->first;

    while (one && one->shares != shares)
        one = one->next;
    return one;
}

static void discard(struct captures *r)
{
    for (struct capture *one = r->first; one; one = one->next) {
        if (one->device_graph)
            r->ops->discard(one->device_graph);
        one->device_graph = NULL;
    }
}

void captures_moved(struct captures *r)
{
    discard(r);
    r->moved = true;
}

void captures_forget(struct captures *r)
{
    discard(r);
    r->moved = false;
}

void captures_release(struct captures *r)
{
    discard(r);
    while (r->first) {
        struct capture *one = r->first;

        r->first = one->next;
        free(one);
    }
}
