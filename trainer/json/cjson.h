/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects and arrays of cJSON that are built, and printed once. If memory runs out, the object that
 * lacks an item cannot be printed any more, so that only cjson_print must be checked. */
#ifndef UNETCTL_TRAINER_JSON_CJSON_H
#define UNETCTL_TRAINER_JSON_CJSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

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

#endif
