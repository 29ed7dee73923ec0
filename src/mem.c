/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/mem.h"

int mem_fail(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory");
}

static void *checked(void *p, struct err *e)
{
    if (!p && e)
        mem_fail(e);
    return p;
}

void *mem_zero(size_t n, size_t size, struct err *e)
{
    return checked(calloc(n ? n : 1, size), e);
}

void *mem_alloc(size_t n, size_t size, struct err *e)
{
    size_t nbytes;

    return checked(__builtin_mul_overflow(n, size, &nbytes) ? NULL : malloc(nbytes ? nbytes : 1),
                   e);
}

char *mem_text(const char *text, struct err *e)
{
    return checked(strdup(text), e);
}

char *mem_textf(struct err *e, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    return checked(n < 0 ? NULL : text, e);
}

int mem_grow(void *array, size_t n, size_t *capacity, size_t size, struct err *e)
{
    size_t room = n < 8 ? 16 : 2 * n, nbytes;
    void *items;

    if (n < *capacity)
        return 0;
    memcpy(&items, array, sizeof items);
    items = checked(__builtin_mul_overflow(room, size, &nbytes) ? NULL : realloc(items, nbytes), e);
    if (!items)
        return -1;
    memcpy(array, &items, sizeof items);
    *capacity = room;
    return 0;
}
