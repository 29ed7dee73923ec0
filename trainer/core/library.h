/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDNN and NCCL, found when the program runs: by the dynamic linker's own search, else in the
 * folder of the CUDA that this was built with. They stay open to the end of the process. */
#ifndef UNETCTL_TRAINER_CORE_LIBRARY_H
#define UNETCTL_TRAINER_CORE_LIBRARY_H

#include "src/err.h"

/* name: with its version, "libnccl.so.2". NULL with ERR_CONFIG if it can't be opened. */
void *library_open(const char *name, struct err *e);

/* function: address of a pointer to a function. ERR_CONFIG if the library is too old for it. */
int library_find(void *library, const char *symbol, void *function, struct err *e);

#endif
