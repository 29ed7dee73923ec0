/* SPDX-License-Identifier: BSD-3-Clause */
/* What a split is made from, and where decoded samples are kept. */
#pragma once

#include "trainer/data/set/dataset.h"
#include "trainer/data/source/mask_stats.h"

/* Decodes, hashes and checks the pairs of a data set (an image and its mask, or an image with a
 * class) before split.c divides them. */

struct candidate {
    struct split_item item;
    char pixels[65]; /* hash of shape and samples: equal for the same image in two files */
    const char *key; /* set by candidates_join */
    struct remarks_picture about_image, about_mask;
    float *points; /* of an image that SCALE_AUTO maps by levels (picture_points), or NULL */
    struct mask_summary mask; /* of a mask of classes only max is set */
    bool is_bad;              /* examining it has failed */
    enum source_side side;    /* first by the folder, later by the split; SOURCE_ANY: neither */
};

/* Returns one candidate per item of the source, in the same order, and sets the scale of the masks
 * and, of images with masks, the levels: the values that 1 % and 99 % of all samples do not exceed.
 * The candidates take the names from the items; the caller frees names and array. Logs what
 * decoders remarked (data/source/mask_stats.h). Returns NULL on error, with ERR_DATA for the first
 * pair whose name, file, size or mask value is wrong, or if the masks have no common scale. */
struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct picture_levels *levels,
                                  struct err *e);

/* Sets the keys of n candidates, the smallest hash of the images of a set: equal for equal images
 * and for images of one group (config->group); with JOIN_PIECES also for tiles and pages of one
 * file (`data convert`), with JOIN_ALIKE for names that differ from their last number on. -1
 * with ERR_CONFIG for a wrong group, and with ERR_DATA for an image without one. */
enum join_by { JOIN_GROUPS, JOIN_PIECES, JOIN_ALIKE };
int candidates_join(const struct split_config *config, enum source_format format, enum join_by by,
                    struct candidate *c, size_t n, struct err *e);

/* Appends to the record of an image with a mask where the classes are in it (sampler.c). values:
 * numbers of the image. */
int sampler_add_index(struct buf *record, size_t values, struct dataset_sides sides,
                      struct err *e);

/* A file of byte records that all processes of a machine map. One process creates the file while
 * others wait. cache_close unmaps; the file remains.
 *
 * A complete file gets its name DIR/KEY.cache by a rename, so that no reader sees a partial one;
 * KEY is the first 16 digits of the key. If a builder is killed, its temporary file remains, and
 * the next builder removes it. A lock on DIR/KEY.lock admits one builder at a time; its holder
 * removes the lock file. If the file system has no locks, every process that finds no file creates
 * it, and the last rename wins. Each process checks a record by CRC-32 when it first reads it.
 * Processes share the pages and the kernel may drop them, so that a data set can be larger than
 * memory. */

struct cache_config {
    const char *dir; /* created if missing (not its parents) */
    const char *key; /* 64 hex digits: the hash of everything that the records depend on */
    size_t count;    /* number of records */
    /* Lower bound of the records' total size: reserved before the first record is made, or if the
     * file system cannot do that, compared with the free space. */
    uint64_t nbytes;
    int threads;     /* that create records: at least 1, at most 64 are used */
    int (*begin)(void *arg, struct err *e); /* called before the first record is made; or NULL */
    /* Appends record i to dst, which is empty. Called by several threads at once. Returns -1 on
     * error. */
    int (*make)(void *arg, size_t i, struct buf *dst, struct err *e);
    void *arg;
    const atomic_int *interrupt; /* nonzero cancels creating or waiting; or NULL */
};

struct cache;

/* Opens the file, or creates it if it is missing or damaged. Returns NULL on error, after removing
 * its temporary file, and dir if this call has made it and it is empty. */
struct cache *cache_open(const struct cache_config *config, struct err *e);
void cache_close(struct cache *c);

const char *cache_path(const struct cache *c);

/* Returns record i, aligned to 16 bytes and valid until cache_close, or NULL with ERR_DATA if it is
 * damaged. Thread-safe; does not allocate. */
const void *cache_get(struct cache *c, size_t i, size_t *nbytes, struct err *e);

/* Says that a large record is not needed soon. It remains valid. */
void cache_release(const struct cache *c, size_t i);
