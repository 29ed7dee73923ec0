/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays `tensors` and `pieces` are in memory that the host and the device can access. */
#include "config.h"
#include "trainer/optim/device_layout.h"

#define PIECE 8192u /* elements */

static unsigned pieces_of(const struct weights_entry *entry)
{
    return (unsigned)((entry->count + PIECE - 1) / PIECE);
}

static void add_tensor(struct device_layout *l, const struct weights_entry *entry, double decay)
{
    unsigned t = l->ntensors++;

    l->tensors[t] = (struct device_tensor){
        .offset = entry->offset, .count = entry->count, .penalty = (float)(2 * entry->l2),
        .decay = entry->ndim > 1 ? (float)decay : 0, .adapts = entry->ndim > 1,
        .first = l->npieces, .npieces = pieces_of(entry)};
    for (size_t at = 0; at < entry->count; at += PIECE) {
        size_t rest = entry->count - at;
        l->pieces[l->npieces++] = (struct device_piece){
            .tensor = t, .count = rest < PIECE ? (unsigned)rest : PIECE,
            .offset = entry->offset + at};
    }
}

int device_layout_open(struct device_layout *l, struct mirror *tensors, struct mirror *pieces,
                       const struct weights *w, double decay, struct err *e)
{
    size_t ntensors = 1, npieces = 1;

    *l = (struct device_layout){0};
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM) {
            ntensors++;
            npieces += pieces_of(&w->entries[i]);
        }
    if (mirror_open(tensors, w->ops, w->device, ntensors * sizeof *l->tensors, e) ||
        mirror_open(pieces, w->ops, w->device, npieces * sizeof *l->pieces, e))
        return -1;
    l->tensors = tensors->host;
    l->pieces = pieces->host;
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM)
            add_tensor(l, &w->entries[i], decay);
    l->tensors = tensors->there;
    l->pieces = pieces->there;
    return mirror_push(tensors, e) || mirror_push(pieces, e) ? -1 : 0;
}
