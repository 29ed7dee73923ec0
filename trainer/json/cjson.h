/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON by cJSON: documents that are built and printed once, and the reading of documents and of
 * their members.
 *
 * checkpoint/, data/, evaluate/, run/ and cmd/ call it. If memory runs out while a document is
 * built, the object that lacks an item cannot be printed any more, so that only cjson_print must be
 * checked. Errors of reading name the file and the key. */
#pragma once

#include "src/base.h"

#include <cjson/cJSON.h>

/* Add an item, which `to` owns from then on, as a member of an object, or with key NULL to an
 * array. Return it, or NULL if memory ran out. cjson_object and cjson_array create an empty one. */
cJSON *cjson_add(cJSON *to, const char *key, cJSON *item);
cJSON *cjson_object(cJSON *to, const char *key);
cJSON *cjson_array(cJSON *to, const char *key);

/* Adds members: cjson_addf(o, "name=%s steps=%zu loss=%g done=%i", ...). %s is a text (NULL becomes
 * null), %d, %u, %zu and PRId64 are whole numbers, %g is a double that is read back as the same
 * number (null if it is not finite), and %i is true or false. */
void cjson_addf(cJSON *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the JSON text on one line, followed by `end`, to be freed by the caller. Destroys root.
 * NULL if memory ran out. */
char *cjson_print(cJSON *root, const char *end, struct err *e);

/* Writes root as a line to a file, atomically, and destroys it. */
int cjson_write(cJSON *root, const char *path, struct err *e);

/* Returns the object that a file of at most `limit` bytes holds, to be freed by cJSON_Delete. NULL
 * with an error of this code, which names the file, if it cannot be read, or is not JSON or another
 * value. */
cJSON *cjson_read(const char *path, size_t limit, int code, struct err *e);

/* Return a member: a text, or "" if there is none; a number, or 0 if there is none of 0 or more. */
const char *cjson_text(const cJSON *object, const char *key);
double cjson_number(const cJSON *object, const char *key);

/* Reads a list of two numbers, the first smaller; leaves dst if there is no such key. `code`: the
 * error for anything else. */
int cjson_read_pair(const cJSON *object, const char *key, int code, double dst[2], struct err *e);

/* Sets *dst to a member that must be a whole number from min to max; otherwise -1 with an error of
 * this code. */
int cjson_read_int(const cJSON *object, const char *key, double min, double max, int code,
                   int64_t *dst, struct err *e);

/* Copies a list of texts to *dst, an array of *n, which the caller frees with its texts, also after
 * an error. -1 with an error of this code if `list` is not such a list; key is its name in that. */
int cjson_read_texts(const cJSON *list, const char *key, int code, char ***dst, int *n,
                     struct err *e);
