/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoded sample, as it is cached, loaded and sent to a device: this header, then the numbers of
 * the image and of the target, each padded to 16 bytes. Values of 8 bits, a quarter of the size of
 * floats, become floats only where the network reads them. */
#ifndef UNETCTL_TRAINER_CORE_RECORD_H
#define UNETCTL_TRAINER_CORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum record_kind {
    RECORD_BYTES,   /* of an image n / 255, of a target n / target_divisor */
    RECORD_NUMBERS, /* floats */
    RECORD_LABELS   /* bytes: whole numbers; RECORD_IGNORE is -1 */
};
struct record {
    uint32_t image_kind, target_kind; /* enum record_kind */
    float target_divisor;
    uint32_t unused;
};

#define RECORD_IGNORE 255 /* pixels that loss and metrics leave out */
#define RECORD_DIVISOR 255.0f /* of RECORD_BYTES of an image */

/* Bytes of n numbers. */
#define RECORD_PLANE(kind, n) \
    (((size_t)(n) * ((kind) == RECORD_NUMBERS ? sizeof(float) : 1) + 15) / 16 * 16)

/* Bytes of a record with so many numbers of the image and the target. */
static inline size_t record_size(enum record_kind image_kind, size_t images,
                                 enum record_kind target_kind, size_t targets)
{
    return sizeof(struct record) + RECORD_PLANE(image_kind, images) +
           RECORD_PLANE(target_kind, targets);
}

static inline size_t record_nbytes(const struct record *r, size_t images, size_t targets)
{
    return record_size((enum record_kind)r->image_kind, images, (enum record_kind)r->target_kind,
                       targets);
}

static inline void *record_image(const struct record *r)
{
    return (char *)(uintptr_t)r + sizeof *r;
}

static inline void *record_target(const struct record *r, size_t images)
{
    return (char *)record_image(r) + RECORD_PLANE(r->image_kind, images);
}

/* Writes n numbers of that kind to dst as floats. */
void record_decode(enum record_kind kind, const void *src, float divisor, size_t n, float *dst);

/* Writes a record's image and target as floats. */
void record_unpack(const struct record *r, size_t images, size_t targets, float *image,
                   float *target);

/* Records at equal distances, a multiple of 16 bytes: the batch of a run. The samples of a batch of
 * floats may also be the numbers of a single record. */
struct record_batch {
    const void *records; /* borrowed */
    size_t pitch;        /* bytes from one record to the next */
    size_t nbytes;       /* of the largest record */
    size_t count;
};

static inline const struct record *record_at(const struct record_batch *b, size_t i)
{
    return (const struct record *)((const char *)b->records + i * b->pitch);
}

#endif
