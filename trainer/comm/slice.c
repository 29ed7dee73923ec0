/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/slice.h"

#include <stdlib.h>

int slice_list_add(struct slice_list *list, struct slice slice, struct err *e)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        struct slice *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return err_set(e, ERR_INTERNAL, "out of memory");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = slice;
    return 0;
}
