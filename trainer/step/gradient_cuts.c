/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/gradient_cuts.h"

#include <stdlib.h>

static int reserve(struct gradient_cuts *c, size_t n, struct err *e)
{
    size_t *ends = realloc(c->ends, (n ? n : 1) * sizeof *ends);

    if (!ends)
        return err_set(e, ERR_INTERNAL, "out of memory");
    c->ends = ends;
    c->n = 0;
    return 0;
}

int gradient_cuts_buckets(struct gradient_cuts *c, size_t nparams, size_t bucket, struct err *e)
{
    if (reserve(c, (nparams + bucket - 1) / bucket, e))
        return -1;
    for (size_t end = 0; end < nparams;) {
        end = nparams - end < bucket ? nparams : end + bucket;
        c->ends[c->n++] = end;
    }
    return 0;
}

/* Entries lie in the order of their gradients; padding goes with the tensor before it. */
int gradient_cuts_tensors(struct gradient_cuts *c, const struct weights *w, struct err *e)
{
    if (reserve(c, w->nentries, e))
        return -1;
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM && w->entries[i].offset > 0)
            c->ends[c->n++] = w->entries[i].offset;
    c->ends[c->n++] = w->nparams;
    return 0;
}

void gradient_cuts_destroy(struct gradient_cuts *c)
{
    free(c->ends);
    *c = (struct gradient_cuts){0};
}
