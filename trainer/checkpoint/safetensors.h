/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of named arrays of floats (https://github.com/huggingface/safetensors): the length of the
 * header as 8 bytes, little-endian; the header, JSON {"__metadata__":{KEY:TEXT,..},
 * "NAME":{"dtype":"F32","shape":[..],"data_offsets":[begin,end]},..}; then the data without gaps.
 * Errors name the file and, if one is at fault, the tensor; those of reading are ERR_CHECKPOINT,
 * those of writing ERR_INTERNAL. */
#pragma once

#include "trainer/core/graph.h"

struct safetensors_entry {
    char name[80];
    int ndim;
    int64_t shape[4];
    size_t count;
    float *data; /* [count], owned by the caller */
};

/* Writes the entries of w, with prefix before their names, to list, which has room for w->nentries.
 * Their data are in value and state, which have the layouts of w->value and w->state; entries of a
 * NULL array are omitted. Returns the number of entries written. */
size_t safetensors_list(const struct weights *w, const char *prefix, float *value, float *state,
                        struct safetensors_entry *list);

/* Writes a file atomically. metadata: pairs of key and text, ended by a NULL key; may be NULL. The
 * first text SAFETENSORS_HASH in the header is replaced by the SHA-256 of the header with that text
 * followed by the data. */
#define SAFETENSORS_HASH "0000000000000000000000000000000000000000000000000000000000000000"
int safetensors_write(const char *path, const char *const *metadata,
                      const struct safetensors_entry *list, size_t n, struct err *e);

struct safetensors;

/* Reads a file into memory and decodes its header; safetensors_read checks the tensors. The caller
 * calls safetensors_close, which accepts NULL. */
struct safetensors *safetensors_open(const char *path, struct err *e);
void safetensors_close(struct safetensors *s);

/* Returns the text of a key, which lives as long as s, or NULL. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);

/* Sets hex to the SHA-256 of the file in hexadecimal. */
void safetensors_hash(const struct safetensors *s, char hex[65]);

/* Checks the hash that safetensors_write has inserted for key. 0, or -1: with ERR_CHECKPOINT if the
 * file has no such hash or has changed. */
int safetensors_check_hash(const struct safetensors *s, const char *key, struct err *e);

/* Calls visit with the name and shape of each tensor of the file, in its order, until that fails;
 * ndim is 5 if there are more than 4 dimensions, count and data are 0. Returns 0, or -1: the shape
 * of a tensor is malformed, or the error of visit. The caller adds the file to this error, and to
 * that of safetensors_read_one. */
int safetensors_each(const struct safetensors *s,
                     int (*visit)(void *arg, const struct safetensors_entry *found, struct err *e),
                     void *arg, struct err *e);

/* Reads the data of a tensor that safetensors_each has named, with its shape and its count, and
 * with the checks below. */
int safetensors_read_one(const struct safetensors *s, const struct safetensors_entry *entry,
                         struct err *e);

/* Reads list[i].data; file and list must match one to one. Every length is checked against the
 * bytes present; a value that is not finite is an error. After an error the data are undefined. */
int safetensors_read(const struct safetensors *s, const struct safetensors_entry *list, size_t n,
                     struct err *e);
