/* SPDX-License-Identifier: BSD-3-Clause */
/* One file of named arrays of float (https://github.com/huggingface/safetensors): 8 bytes little-
 * endian length of the header, a JSON header {"__metadata__":{KEY:TEXT,..},"NAME":{"dtype":"F32",
 * "shape":[..],"data_offsets":[begin,end]},..}, then the data without gaps. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_SAFETENSORS_H
#define UNETCTL_TRAINER_CHECKPOINT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/weights.h"

struct safetensors_entry {
    char name[80];
    int ndim;
    int64_t shape[4];
    size_t count;
    float *data; /* the caller's */
};

/* The entries of w as PyTorch names them: names prefixed with prefix, data taken from value (laid
 * out like w->value) and state; a NULL array is left out. Appends to list, which has room for
 * w->nentries more; the number appended. */
size_t safetensors_list(const struct weights *w, const char *prefix, float *value, float *state,
                        struct safetensors_entry *list);

/* Atomically. metadata: pairs of key and text, ended by a NULL key; may be NULL. The text
 * SAFETENSORS_HASH becomes the SHA-256 of the header with that text and of the data. */
#define SAFETENSORS_HASH "0000000000000000000000000000000000000000000000000000000000000000"
int safetensors_write(const char *path, const char *const *metadata,
                      const struct safetensors_entry *list, size_t n, struct err *e);

/* All errors: ERR_CHECKPOINT, naming the file and the tensor. */
struct safetensors;
struct safetensors *safetensors_open(const char *path, struct err *e);
void safetensors_close(struct safetensors *s);

/* NULL if there is none; lives as long as s. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);

/* SHA-256 of the whole file. */
void safetensors_hash(const struct safetensors *s, char hex[65]);

/* Is the file as it was written with SAFETENSORS_HASH for key? */
int safetensors_check_hash(const struct safetensors *s, const char *key, struct err *e);

/* Fill list[i].data; file and list must match one to one. Every length is checked against the bytes
 * present; a value that is not finite is refused. On failure the data are undefined. */
int safetensors_read(const struct safetensors *s, const struct safetensors_entry *list, size_t n,
                     struct err *e);

#endif
