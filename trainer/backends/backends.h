/* SPDX-License-Identifier: BSD-3-Clause */
/* The backends that this program contains. They are constants and need no setup. */
#ifndef UNETCTL_TRAINER_BACKENDS_BACKENDS_H
#define UNETCTL_TRAINER_BACKENDS_BACKENDS_H

#include "trainer/core/kernel.h"

/* All backends, NULL-terminated: first those of the host, the fastest first and the reference,
 * which has a kernel for every kind of op, last; then those of devices. */
extern const struct backend *const backends[];

/* Returns the backend of that name, or NULL if the program does not contain it. */
const struct backend *backend_find(const char *name);

#endif
