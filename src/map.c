/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/map.h"

struct map_slot {
    char *key; /* NULL for a free slot */
    uint64_t hash;
    size_t value;
};

/* Returns the slot that holds key, or the free one where it belongs. */
static struct map_slot *find_slot(struct map_slot *slots, size_t nslots, const char *key,
                                  uint64_t hash)
{
    size_t i = hash & (nslots - 1);

    while (slots[i].key && (slots[i].hash != hash || strcmp(slots[i].key, key) != 0))
        i = (i + 1) & (nslots - 1);
    return &slots[i];
}

static int grow_map(struct map *m)
{
    size_t nslots = m->nslots ? 2 * m->nslots : 64;
    struct map_slot *slots = calloc(nslots, sizeof *slots);

    if (!slots)
        return -1;
    for (size_t i = 0; i < m->nslots; i++)
        if (m->slots[i].key)
            *find_slot(slots, nslots, m->slots[i].key, m->slots[i].hash) = m->slots[i];
    free(m->slots);
    m->slots = slots;
    m->nslots = nslots;
    return 0;
}

int map_set(struct map *m, const char *key, size_t value)
{
    uint64_t hash = hash_text(HASH_BEGIN, key);

    if (4 * (m->count + 1) > 3 * m->nslots && grow_map(m))
        return -1;
    struct map_slot *slot = find_slot(m->slots, m->nslots, key, hash);
    if (!slot->key) {
        slot->key = strdup(key);
        if (!slot->key)
            return -1;
        slot->hash = hash;
        m->count++;
    }
    slot->value = value;
    return 0;
}

bool map_get(const struct map *m, const char *key, size_t *value)
{
    const struct map_slot *slot =
        m->nslots ? find_slot(m->slots, m->nslots, key, hash_text(HASH_BEGIN, key)) : NULL;

    if (!slot || !slot->key)
        return false;
    if (value)
        *value = slot->value;
    return true;
}

void map_destroy(struct map *m)
{
    for (size_t i = 0; i < m->nslots; i++)
        free(m->slots[i].key);
    free(m->slots);
    *m = (struct map){0};
}
