/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/terms.h"

#include <stddef.h>

const char *const terms_remainders[] = {"keep", "drop", NULL};
const char *const terms_files[] = {"all", "workers", NULL};
const char *const terms_batch_norms[] = {"local", "sync", "none", NULL};
const char *const terms_losses[] = {"ce", "dice", "ce+dice", NULL};
const char *const terms_optimizers[] = {"adam", "adamw", "sgd", "lars", "lamb", NULL};
const char *const terms_lr_scalings[] = {"none", "linear", "sqrt", "two-thirds", NULL};
const char *const terms_lr_schedules[] = {"step", "step-tf", "constant", NULL};
const char *const terms_keeps[] = {"last", "best", NULL};
const char *const terms_warmups[] = {"batch", "epoch", NULL};
const char *const terms_backends[] = {"auto", "cpu", "ref", "simd", "dnnl", "cuda", NULL};
const char *const terms_dtypes[] = {"f32", "tf32", "bf16", "fp16", NULL};
const char *const terms_compressions[] = {"none", "bf16", "fp16", NULL};
const char *const terms_comms[] = {"auto", "self", "thread", "mpi", "nccl", NULL};
const char *const terms_allreduces[] = {"bucketed", "native", "horovod", NULL};
