/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all backends that this program contains. */
#include "config.h"
#include "trainer/backends/backends.h"

#include <string.h>

#ifdef HAVE_CUDA
#include "trainer/backends/cuda/cuda_backend.h"
#endif
#include "trainer/backends/cpu/simd_backend.h"
#include "trainer/backends/ref/ref.h"

const struct backend *const backends[] = {
    &simd_backend,
    &ref_backend,
#ifdef HAVE_CUDA
    &cuda_backend,
#endif
    NULL,
};

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; backends[i]; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
