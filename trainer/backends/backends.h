/* SPDX-License-Identifier: BSD-3-Clause */
/* The backends that this program was built with. */
#ifndef UNETCTL_TRAINER_BACKENDS_BACKENDS_H
#define UNETCTL_TRAINER_BACKENDS_BACKENDS_H

#include "trainer/core/backend.h"

/* NULL-terminated. The host's come first, the best of them at the front; the last of these is the
 * reference, which has a kernel for every kind. Backends with a device follow. */
extern const struct backend *const backends[];

/* Returns NULL if it was not built in. */
const struct backend *backend_find(const char *name);

#endif
