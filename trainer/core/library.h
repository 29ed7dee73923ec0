/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDNN and NCCL, loaded at run time: from the dynamic linker's search path, or else from the
 * folder of the CUDA that this program was built with. They are never closed. */
#ifndef UNETCTL_TRAINER_CORE_LIBRARY_H
#define UNETCTL_TRAINER_CORE_LIBRARY_H

#include "src/err.h"

#define LIBRARY_CUDNN "libcudnn.so.9"
#define LIBRARY_NCCL "libnccl.so.2"

/* Opens a library by its name with version. Returns a handle, or NULL with ERR_CONFIG. */
void *library_open(const char *name, struct err *e);

/* Stores the address of the symbol in the function pointer that `function` points to. -1 with
 * ERR_CONFIG if the library, such as an older release, does not have it. */
int library_find(void *library, const char *symbol, void *function, struct err *e);

#endif
