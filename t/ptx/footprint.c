/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sectors of global memory a launch reads and writes: what it would transfer if each crossed
 * the memory's bus once. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "t/ptx/machine.h"

#define SECTOR 32
#define PAGE_SECTORS 512 /* of a page's bitmaps */
#define WORD_BITS 64

struct page {
    uint64_t number; /* 0: none */
    uint64_t bits[2][PAGE_SECTORS / WORD_BITS]; /* read; written */
};

struct footprint {
    struct page *pages; /* a hash table; room is a power of two */
    size_t npages, room;
    struct page *last;
};

static struct page *slot_of(struct page *pages, size_t room, uint64_t number)
{
    size_t at = (size_t)(number * 0x9e3779b97f4a7c15u >> 20) & (room - 1);

    while (pages[at].number && pages[at].number != number)
        at = (at + 1) & (room - 1);
    return &pages[at];
}

static bool grow(struct footprint *f)
{
    size_t room = f->room ? 2 * f->room : 1024;
    struct page *pages = calloc(room, sizeof *pages);

    if (!pages)
        return false;
    for (size_t k = 0; k < f->room; k++)
        if (f->pages[k].number)
            *slot_of(pages, room, f->pages[k].number) = f->pages[k];
    free(f->pages);
    f->pages = pages;
    f->room = room;
    f->last = NULL;
    return true;
}

static struct page *page_of(struct footprint *f, uint64_t number)
{
    if (f->last && f->last->number == number)
        return f->last;
    if (2 * f->npages >= f->room && !grow(f))
        return NULL;
    struct page *page = slot_of(f->pages, f->room, number);
    f->npages += page->number == 0;
    page->number = number;
    return f->last = page;
}

void ptx_count_footprints(struct ptx *p)
{
    if (!p->footprint)
        p->footprint = calloc(1, sizeof *p->footprint);
}

void footprint_add(struct ptx *p, struct kernel *k, const uint64_t *address, uint32_t mask,
                   bool writes)
{
    uint64_t previous = 0;

    for (unsigned l = 0; p->footprint && l < LANES; l++) {
        uint64_t sector = address[l] / SECTOR, bit = sector % PAGE_SECTORS;
        if (!(mask >> l & 1) || sector == previous)
            continue;
        previous = sector;
        struct page *page = page_of(p->footprint, sector / PAGE_SECTORS);
        uint64_t *word = page ? &page->bits[writes][bit / WORD_BITS] : NULL;
        if (page && !(*word >> bit % WORD_BITS & 1)) {
            *word |= (uint64_t)1 << bit % WORD_BITS;
            k->counts.nfootprint++;
        }
    }
}

void footprint_clear(struct ptx *p)
{
    struct footprint *f = p->footprint;

    if (f && f->npages)
        memset(f->pages, 0, f->room * sizeof *f->pages);
    if (f)
        f->npages = 0;
}

void footprint_free(struct ptx *p)
{
    if (p->footprint)
        free(p->footprint->pages);
    free(p->footprint);
    p->footprint = NULL;
}
