/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of cuDNN's graph API (cuDNN 9) that the engine uses, as a table that is filled
 * at run time: one binary works on nodes with and without the library. Builds need no cuDNN header
 * either, as its constants are repeated here; cudnn_library.c compares them with the header where
 * there is one.
 *
 * A graph consists of descriptors. A descriptor is created, given attributes and finalized; then
 * its attributes can be read, and it can be an attribute of another. The tests fill such a table
 * with functions that emulate cuDNN on the CPU (test/cudnn_emulated.c). */
#pragma once

#include "src/base.h"

/* CONSTANT(NAME, VALUE): DNN_NAME, the constant CUDNN_NAME of the header. */
#define DNN_CONSTANTS(CONSTANT)                                            \
    CONSTANT(STATUS_SUCCESS, 0)                                            \
    CONSTANT(DATA_FLOAT, 0)                                                \
    CONSTANT(DATA_HALF, 2)                                                 \
    CONSTANT(DATA_BFLOAT16, 9)                                             \
    CONSTANT(CROSS_CORRELATION, 1)                                         \
    CONSTANT(HEUR_MODE_FALLBACK, 2)                                        \
    CONSTANT(HEUR_MODE_A, 3)                                               \
    CONSTANT(POINTWISE_ADD, 0)                                             \
    CONSTANT(POINTWISE_RELU_FWD, 100)                                      \
    CONSTANT(NUMERICAL_NOTE_TENSOR_CORE, 0)                                \
    CONSTANT(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                        \
    CONSTANT(NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2)                \
    CONSTANT(NUMERICAL_NOTE_NONDETERMINISTIC, 4)                           \
    CONSTANT(TYPE_HANDLE, 0)                                               \
    CONSTANT(TYPE_DATA_TYPE, 1)                                            \
    CONSTANT(TYPE_BOOLEAN, 2)                                              \
    CONSTANT(TYPE_INT64, 3)                                                \
    CONSTANT(TYPE_FLOAT, 4)                                                \
    CONSTANT(TYPE_VOID_PTR, 6)                                             \
    CONSTANT(TYPE_CONVOLUTION_MODE, 7)                                     \
    CONSTANT(TYPE_HEUR_MODE, 8)                                            \
    CONSTANT(TYPE_NUMERICAL_NOTE, 11)                                      \
    CONSTANT(TYPE_POINTWISE_MODE, 14)                                      \
    CONSTANT(TYPE_BACKEND_DESCRIPTOR, 15)                                  \
    CONSTANT(BACKEND_POINTWISE_DESCRIPTOR, 0)                              \
    CONSTANT(BACKEND_CONVOLUTION_DESCRIPTOR, 1)                            \
    CONSTANT(BACKEND_ENGINE_DESCRIPTOR, 2)                                 \
    CONSTANT(BACKEND_ENGINECFG_DESCRIPTOR, 3)                              \
    CONSTANT(BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                             \
    CONSTANT(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                         \
    CONSTANT(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)         \
    CONSTANT(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11) \
    CONSTANT(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)   \
    CONSTANT(BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                   \
    CONSTANT(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                        \
    CONSTANT(BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                          \
    CONSTANT(BACKEND_TENSOR_DESCRIPTOR, 17)                                \
    CONSTANT(ATTR_POINTWISE_MODE, 0)                                       \
    CONSTANT(ATTR_POINTWISE_MATH_PREC, 1)                                  \
    CONSTANT(ATTR_CONVOLUTION_COMP_TYPE, 100)                              \
    CONSTANT(ATTR_CONVOLUTION_CONV_MODE, 101)                              \
    CONSTANT(ATTR_CONVOLUTION_DILATIONS, 102)                              \
    CONSTANT(ATTR_CONVOLUTION_FILTER_STRIDES, 103)                         \
    CONSTANT(ATTR_CONVOLUTION_POST_PADDINGS, 104)                          \
    CONSTANT(ATTR_CONVOLUTION_PRE_PADDINGS, 105)                           \
    CONSTANT(ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                           \
    CONSTANT(ATTR_ENGINEHEUR_MODE, 200)                                    \
    CONSTANT(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                         \
    CONSTANT(ATTR_ENGINEHEUR_RESULTS, 202)                                 \
    CONSTANT(ATTR_ENGINECFG_ENGINE, 300)                                   \
    CONSTANT(ATTR_EXECUTION_PLAN_HANDLE, 400)                              \
    CONSTANT(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                       \
    CONSTANT(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                      \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)                \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)                 \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)            \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                    \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                    \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                    \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)               \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)           \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                   \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                  \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                  \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712)             \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713)              \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714)         \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)                \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)                 \
    CONSTANT(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                \
    CONSTANT(ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                  \
    CONSTANT(ATTR_OPERATION_POINTWISE_XDESC, 751)                          \
    CONSTANT(ATTR_OPERATION_POINTWISE_BDESC, 752)                          \
    CONSTANT(ATTR_OPERATION_POINTWISE_YDESC, 753)                          \
    CONSTANT(ATTR_OPERATIONGRAPH_HANDLE, 800)                              \
    CONSTANT(ATTR_OPERATIONGRAPH_OPS, 801)                                 \
    CONSTANT(ATTR_TENSOR_BYTE_ALIGNMENT, 900)                              \
    CONSTANT(ATTR_TENSOR_DATA_TYPE, 901)                                   \
    CONSTANT(ATTR_TENSOR_DIMENSIONS, 902)                                  \
    CONSTANT(ATTR_TENSOR_STRIDES, 903)                                     \
    CONSTANT(ATTR_TENSOR_UNIQUE_ID, 906)                                   \
    CONSTANT(ATTR_TENSOR_IS_VIRTUAL, 907)                                  \
    CONSTANT(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                           \
    CONSTANT(ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                        \
    CONSTANT(ATTR_VARIANT_PACK_WORKSPACE, 1003)                            \
    CONSTANT(ATTR_ENGINE_GLOBAL_INDEX, 1301)                               \
    CONSTANT(ATTR_ENGINE_NUMERICAL_NOTE, 1303)

#define DNN_CONSTANT(name, value) DNN_##name = (value),
enum { DNN_CONSTANTS(DNN_CONSTANT) };
#define DNN_NUMERICAL_NOTES 32 /* at least as many as any release has */

/* Functions that return int return a status. handle: one per device. stream: a cudaStream_t. */
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

/* Opens the library at the first call; it stays open. Returns NULL with ERR_CONFIG if there is no
 * cuDNN 9. */
const struct cudnn_calls *cudnn_library_open(struct err *e);
