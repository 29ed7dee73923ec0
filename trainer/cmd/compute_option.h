/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verb computes with: rows of its option table, which say the words that compute_choose
 * and precision_parse take. */
#ifndef UNETCTL_TRAINER_CMD_COMPUTE_OPTION_H
#define UNETCTL_TRAINER_CMD_COMPUTE_OPTION_H

#include "src/cli.h"

#define COMPUTE_OPTION_BACKEND(word) \
    {"backend", 0, CLI_STRING, "WORD", \
     "auto: a GPU where there is one | cpu | ref | simd | cuda (auto)", &(word), 0, 0}
#define COMPUTE_OPTION_DTYPE(word)                                                              \
    {"dtype", 0, CLI_STRING, "WORD", "of activations: f32 | bf16; with cuda fp16 | tf32 (f32)", \
     &(word), 0, 0}
#define COMPUTE_OPTION_CHECKPOINT(path)                                                         \
    {"checkpoint", 'c', CLI_STRING, "PATH", "folder of a run (its newest DONE attempt), an " \
     "attempt or a checkpoint; or a file", &(path), 0, 0}
#define COMPUTE_OPTION_NATIVE(flag)                                                        \
    {"native", 0, CLI_FLAG, NULL, "keep images at their own scale: overlapping tiles of --size", \
     &(flag), 0, 0}
#define COMPUTE_OPTION_OVERLAP(n)                                                                 \
    {"overlap", 0, CLI_INT, "N", "of --native: pixels that tiles share (a quarter of the tile's " \
     "smaller side)", &(n), 0, 65535}
#define COMPUTE_OPTION_THREADS(n) \
    {"threads", 't', CLI_INT, "N", "0: the cores of this process (0)", &(n), 0, 4096}

#endif
