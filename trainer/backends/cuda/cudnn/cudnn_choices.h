/* SPDX-License-Identifier: BSD-3-Clause */
/* What was found fastest, kept in a file for later runs: cudnn-choices in $XDG_CACHE_HOME/unetctl,
 * or ~/.cache/unetctl. It is read once in a process and replaced as a whole, so that readers see
 * the old one or the new one, with what others have added meanwhile. A file that is damaged counts
 * as none. Any thread may call. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_CHOICES_H

#include "trainer/backends/cuda/cudnn/cudnn_plan.h"

#define CUDNN_KEY_SIZE 256

struct cudnn_choice {
    bool own; /* no engine: the kernel that was there before */
    struct cudnn_engine engine;
    double us; /* microseconds that it took */
};

/* key: without tabs and line ends. */
bool cudnn_choices_find(const char *key, struct cudnn_choice *c);

/* In memory; in the file with the next save. */
void cudnn_choices_add(const char *key, const struct cudnn_choice *c);

/* All of them as text, to be freed, NULL: out of memory; and those of another process, not for the
 * file: -1 where the text is damaged. */
char *cudnn_choices_encode(void);
int cudnn_choices_decode(const char *text);

/* Nothing to do if nothing was added. What can't be written is told once. */
void cudnn_choices_save(void);

#endif
