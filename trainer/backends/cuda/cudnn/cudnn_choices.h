/* SPDX-License-Identifier: BSD-3-Clause */
/* For each problem that was timed the fastest engine, or that the own kernel was faster: kept in a
 * file for later runs, cudnn-choices in $XDG_CACHE_HOME/unetctl or ~/.cache/unetctl. A process
 * reads it at its first look-up; saving reads it again, merges what other processes have added and
 * replaces the file as a whole. A damaged file is reported, ignored, and replaced when choices are
 * saved. Any thread may call. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H

#include "trainer/backends/cuda/cudnn/cudnn_plan.h"

#define CUDNN_KEY_SIZE 256

struct cudnn_choice {
    bool own; /* no engine: the own kernel */
    struct cudnn_engine engine;
    double us; /* its time in microseconds */
};

/* Sets *c to the choice for a key and returns true, or returns false. A key has neither tabs nor
 * line ends. */
bool cudnn_choices_find(const char *key, struct cudnn_choice *c);

/* Adds or replaces a choice in memory; the next save writes it. */
void cudnn_choices_add(const char *key, const struct cudnn_choice *c);

/* cudnn_choices_encode returns all choices as text, to be freed by the caller; NULL: out of memory.
 * cudnn_choices_decode adds those of another process to the memory, which alone is not a reason for
 * the next save to write; -1, with nothing added, if the text is damaged. */
char *cudnn_choices_encode(void);
int cudnn_choices_decode(const char *text);

/* Writes the file if cudnn_choices_add was called since the last save. Reports that it cannot be
 * written, unless that or a damaged file was reported before. */
void cudnn_choices_save(void);

#endif
