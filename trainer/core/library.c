/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens libraries with dlopen, first by name and then in the folders of CUDA. */
#include "config.h"
#include "trainer/core/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#ifndef CUDA_ROOT
#define CUDA_ROOT "/usr/local/cuda"
#endif

void *library_open(const char *name, struct err *e)
{
    static const char *const folders[] = {"", CUDA_ROOT "/lib64/", CUDA_ROOT "/lib/"};
    char path[PATH_MAX], why[256] = "";

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folders[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        if (!*why)
            snprintf(why, sizeof why, "%s", dlerror());
    }
    err_set(e, ERR_CONFIG, "%s; it is not in %s/lib64 either: install it, load the site's module "
            "for it, or put its folder into LD_LIBRARY_PATH", why, CUDA_ROOT);
    return NULL;
}

int library_find(void *library, const char *symbol, void *function, struct err *e)
{
    void *address = dlsym(library, symbol);

    if (!address)
        return err_set(e, ERR_CONFIG, "%s; a newer release of that library is needed", dlerror());
    memcpy(function, &address, sizeof address);
    return 0;
}
