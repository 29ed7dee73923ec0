/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of one host as JSON: the part of a preflight (unetctl doctor) that needs no other host;
 * logs/rank.schema.json has the keys. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_FACTS_H
#define UNETCTL_LAUNCHER_DOCTOR_FACTS_H

#include <jansson.h>

/* Collects the facts. backend is train.backend, for "compute"; if it is NULL, or unet-train does
 * not answer, "compute" is omitted. The caller releases the result. NULL only if memory ran out. */
json_t *facts_collect(const char *backend);

#endif
