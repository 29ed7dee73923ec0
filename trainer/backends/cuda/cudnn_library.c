/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cudnn_library.h"

#include <pthread.h>

#include "trainer/core/library.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

#define SAME(name) _Static_assert((int)DNN_##name == (int)CUDNN_##name, #name)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SAME(STATUS_SUCCESS);
SAME(DATA_FLOAT);
SAME(DATA_HALF);
SAME(DATA_BFLOAT16);
SAME(CROSS_CORRELATION);
SAME(HEUR_MODE_FALLBACK);
SAME(HEUR_MODE_A);
SAME(NUMERICAL_NOTE_TENSOR_CORE);
SAME(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
SAME(NUMERICAL_NOTE_NONDETERMINISTIC);
SAME(TYPE_HANDLE);
SAME(TYPE_DATA_TYPE);
SAME(TYPE_INT64);
SAME(TYPE_FLOAT);
SAME(TYPE_VOID_PTR);
SAME(TYPE_CONVOLUTION_MODE);
SAME(TYPE_HEUR_MODE);
SAME(TYPE_NUMERICAL_NOTE);
SAME(TYPE_BACKEND_DESCRIPTOR);
SAME(BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(BACKEND_ENGINE_DESCRIPTOR);
SAME(BACKEND_ENGINECFG_DESCRIPTOR);
SAME(BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
SAME(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
SAME(BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(BACKEND_TENSOR_DESCRIPTOR);
SAME(ATTR_CONVOLUTION_COMP_TYPE);
SAME(ATTR_CONVOLUTION_CONV_MODE);
SAME(ATTR_CONVOLUTION_DILATIONS);
SAME(ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(ATTR_CONVOLUTION_POST_PADDINGS);
SAME(ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(ATTR_ENGINEHEUR_MODE);
SAME(ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(ATTR_ENGINEHEUR_RESULTS);
SAME(ATTR_ENGINECFG_ENGINE);
SAME(ATTR_EXECUTION_PLAN_HANDLE);
SAME(ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
SAME(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
SAME(ATTR_OPERATIONGRAPH_HANDLE);
SAME(ATTR_OPERATIONGRAPH_OPS);
SAME(ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(ATTR_TENSOR_DATA_TYPE);
SAME(ATTR_TENSOR_DIMENSIONS);
SAME(ATTR_TENSOR_STRIDES);
SAME(ATTR_TENSOR_UNIQUE_ID);
SAME(ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(ATTR_VARIANT_PACK_WORKSPACE);
SAME(ATTR_ENGINE_GLOBAL_INDEX);
SAME(ATTR_ENGINE_NUMERICAL_NOTE);
_Static_assert(DNN_NUMERICAL_NOTES > (int)CUDNN_NUMERICAL_NOTE_TYPE_COUNT, "notes");
#endif

#define OLDEST 90000

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
    void *library = library_open("libcudnn.so.9", e);

    if (!library)
        return -1;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (library_find(library, needed[i].symbol, needed[i].function, e))
            return -1;
    size_t version = calls.get_version();
    return version >= OLDEST ? 0 : err_set(e, ERR_CONFIG, "cuDNN has version number %zu; 9.0 or later "
                                           "is needed: install it, or load the site's module for it",
                                           version);
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
