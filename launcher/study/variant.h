/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants of a study: the same runs with a few other settings. They come from study.yaml
 * (variants) and from `--vary KEY=VALUE,VALUE`, of which all combinations are variants. */
#ifndef UNETCTL_LAUNCHER_STUDY_VARIANT_H
#define UNETCTL_LAUNCHER_STUDY_VARIANT_H

#include "launcher/study/study.h"

#define VARIANTS_MAX 64

struct variant {
    char name[VARIANT_NAME_SIZE];
    struct setting_lines set; /* "KEY=VALUE" */
};

struct variants {
    struct variant *at;
    size_t count; /* 0: the study has none */
    size_t capacity;
};

/* Returns 0, or -1 with ERR_USAGE or ERR_CONFIG. The caller destroys dst in either case. */
int variant_list_create(const struct study *s, const struct cli_list *vary, struct variants *dst,
                    struct err *e);
void variant_list_destroy(struct variants *v);

#endif
