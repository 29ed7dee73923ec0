/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/core/graph.h"

#include "t/tap.h"

int main(void)
{
    struct err e = {0};
    struct weights *w = weights_create(&e);
    const struct weights_entry *entry;
    bool zero = true;

    ok(w && w->nentries == 0, "weights begin empty");
    ok(weights_add(w, "a.bias", WEIGHTS_PARAM, 1, (int64_t[]){5}, &e) == 0 &&
           weights_add(w, "a.mean", WEIGHTS_STATE, 1, (int64_t[]){7}, &e) == 0 &&
           weights_add(w, "a.weight", WEIGHTS_PARAM, 4, (int64_t[]){5, 2, 3, 3}, &e) == 0,
       "entries are added");
    ok(weights_add(w, "a.bias", WEIGHTS_STATE, 1, (int64_t[]){5}, &e) == -1,
       "a name can't be there twice: %s", e.text);
    ok(weights_alloc(w, &e) == 0, "memory for all of them");
    entry = weights_find(w, "a.weight");
    ok(entry && entry->count == 90 && entry->ndim == 4 && entry->shape[1] == 2, "an entry by name");
    ok(!weights_find(w, "a.weigh"), "there is no other");
    is_int(entry->offset % 16, 0, "entries are aligned");
    ok(weights_find(w, "a.mean")->offset == 0, "state is counted apart");
    is_int(w->nparams, 16 + 96, "padding is included");
    is_int(weights_trainable(w), 95, "and not counted as trainable");
    ok((uintptr_t)w->value % 64 == 0 && (uintptr_t)w->grad % 64 == 0, "arrays are aligned");
    for (size_t i = 0; i < w->nparams; i++)
        zero = zero && w->value[i] == 0 && w->grad[i] == 0;
    ok(zero, "all is zero");
    ok(!weights_have_penalty(w), "there is no penalty");
    w->entries[2].l2 = 0.25;
    w->value[entry->offset + 3] = 4;
    w->grad[entry->offset + 3] = 1;
    weights_penalize(w);
    ok(weights_have_penalty(w) && w->grad[entry->offset + 3] == 3 && w->grad[entry->offset] == 0,
       "the gradient of l2 |w|^2 is 2 l2 w");
    weights_destroy(w);
    weights_destroy(NULL);
    return done_testing();
}
