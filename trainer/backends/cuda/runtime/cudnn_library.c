/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/backends/cuda/runtime/cudnn_library.h"

#include <pthread.h>

#include "trainer/core/host.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#endif

#define LIBRARY_CUDNN "libcudnn.so.9"

#ifdef CUDNN_MAJOR
#define SAME(name, value) _Static_assert((int)CUDNN_##name == (value), #name);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
DNN_CONSTANTS(SAME)
_Static_assert(DNN_NUMERICAL_NOTES > (int)CUDNN_NUMERICAL_NOTE_TYPE_COUNT, "notes");
#endif

#define OLDER "libcudnn.so.8"

static struct cudnn_calls calls;

static int load(struct err *e)
{
    struct { const char *symbol; void *function; } needed[] = {
        {"cudnnGetVersion", &calls.get_version},
        {"cudnnGetErrorString", &calls.get_error_string},
        {"cudnnCreate", &calls.create},
        {"cudnnDestroy", &calls.destroy},
        {"cudnnSetStream", &calls.set_stream},
        {"cudnnBackendCreateDescriptor", &calls.create_descriptor},
        {"cudnnBackendDestroyDescriptor", &calls.destroy_descriptor},
        {"cudnnBackendFinalize", &calls.finalize},
        {"cudnnBackendSetAttribute", &calls.set},
        {"cudnnBackendGetAttribute", &calls.get},
        {"cudnnBackendExecute", &calls.execute},
    };
    void *library = library_open(LIBRARY_CUDNN, e);
    struct err ignored;

    if (!library)
        return library_open(OLDER, &ignored)
                   ? err_set(e, ERR_CONFIG, "%s was found, but cuDNN 9 (%s) is needed: install it, "
                             "or load the site's module for it", OLDER, LIBRARY_CUDNN)
                   : -1;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (library_find(library, needed[i].symbol, needed[i].function, e))
            return -1;
    return 0;
}

const struct cudnn_calls *cudnn_library_open(struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static enum { UNKNOWN, THERE, MISSING } state;
    static struct err why;

    pthread_mutex_lock(&lock);
    if (state == UNKNOWN)
        state = load(&why) ? MISSING : THERE;
    if (state == MISSING)
        *e = why;
    pthread_mutex_unlock(&lock);
    return state == THERE ? &calls : NULL;
}
