/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of cuDNN 9 that is used, its graph API in C, as a table of functions: found when the
 * program runs, so that one binary serves nodes with and without it, and without its header, whose
 * numbers are repeated here (cudnn_library.c compares them where the header is). A graph is made of
 * descriptors: created, given attributes, finalized; then they can be asked, and belong to others.
 * The tests fill such a table with functions that do the same on the CPU (test/cudnn_emulated.c). */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_LIBRARY_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

/* As CUDNN_... in the header. */
enum {
    DNN_STATUS_SUCCESS = 0,

    DNN_DATA_FLOAT = 0,
    DNN_DATA_HALF = 2,
    DNN_DATA_BFLOAT16 = 9,

    DNN_CROSS_CORRELATION = 1,

    DNN_HEUR_MODE_FALLBACK = 2,
    DNN_HEUR_MODE_A = 3,

    DNN_NUMERICAL_NOTE_TENSOR_CORE = 0,
    DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS = 1,
    DNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION = 2,
    DNN_NUMERICAL_NOTE_NONDETERMINISTIC = 4,

    DNN_TYPE_HANDLE = 0,
    DNN_TYPE_DATA_TYPE = 1,
    DNN_TYPE_INT64 = 3,
    DNN_TYPE_FLOAT = 4,
    DNN_TYPE_VOID_PTR = 6,
    DNN_TYPE_CONVOLUTION_MODE = 7,
    DNN_TYPE_HEUR_MODE = 8,
    DNN_TYPE_NUMERICAL_NOTE = 11,
    DNN_TYPE_BACKEND_DESCRIPTOR = 15,

    DNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1,
    DNN_BACKEND_ENGINE_DESCRIPTOR = 2,
    DNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
    DNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
    DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
    DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 10,
    DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 11,
    DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 12,
    DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15,
    DNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16,
    DNN_BACKEND_TENSOR_DESCRIPTOR = 17,

    DNN_ATTR_CONVOLUTION_COMP_TYPE = 100,
    DNN_ATTR_CONVOLUTION_CONV_MODE = 101,
    DNN_ATTR_CONVOLUTION_DILATIONS = 102,
    DNN_ATTR_CONVOLUTION_FILTER_STRIDES = 103,
    DNN_ATTR_CONVOLUTION_POST_PADDINGS = 104,
    DNN_ATTR_CONVOLUTION_PRE_PADDINGS = 105,
    DNN_ATTR_CONVOLUTION_SPATIAL_DIMS = 106,
    DNN_ATTR_ENGINEHEUR_MODE = 200,
    DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
    DNN_ATTR_ENGINEHEUR_RESULTS = 202,
    DNN_ATTR_ENGINECFG_ENGINE = 300,
    DNN_ATTR_EXECUTION_PLAN_HANDLE = 400,
    DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
    DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA = 700,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA = 701,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC = 702,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W = 703,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X = 704,
    DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y = 705,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA = 706,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA = 707,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC = 708,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W = 709,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX = 710,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY = 711,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA = 712,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA = 713,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC = 714,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW = 715,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X = 716,
    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY = 717,
    DNN_ATTR_OPERATIONGRAPH_HANDLE = 800,
    DNN_ATTR_OPERATIONGRAPH_OPS = 801,
    DNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900,
    DNN_ATTR_TENSOR_DATA_TYPE = 901,
    DNN_ATTR_TENSOR_DIMENSIONS = 902,
    DNN_ATTR_TENSOR_STRIDES = 903,
    DNN_ATTR_TENSOR_UNIQUE_ID = 906,
    DNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000,
    DNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001,
    DNN_ATTR_VARIANT_PACK_WORKSPACE = 1003,
    DNN_ATTR_ENGINE_GLOBAL_INDEX = 1301,
    DNN_ATTR_ENGINE_NUMERICAL_NOTE = 1303
};
#define DNN_NUMERICAL_NOTES 32 /* more than any release has */

/* Calls return a status; handle: one per device; stream: a cudaStream_t. */
struct cudnn_calls {
    size_t (*get_version)(void); /* 91900: 9.19.0 */
    const char *(*get_error_string)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*create_descriptor)(int type, void **descriptor);
    int (*destroy_descriptor)(void *descriptor);
    int (*finalize)(void *descriptor);
    int (*set)(void *descriptor, int name, int type, int64_t count, const void *elements);
    int (*get)(void *descriptor, int name, int type, int64_t room, int64_t *count, void *elements);
    int (*execute)(void *handle, void *plan, void *pack);
};

/* Opened on the first call, and open to the end of the process. NULL with ERR_CONFIG if there is
 * none of release 9. */
const struct cudnn_calls *cudnn_library_open(struct err *e);

#endif
