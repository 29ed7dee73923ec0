/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that split.json names: what is copied to a node. */
#ifndef UNETCTL_LAUNCHER_STAGE_STAGE_LIST_H
#define UNETCTL_LAUNCHER_STAGE_STAGE_LIST_H

#include <stdint.h>

#include "src/err.h"
#include "src/settings/settings.h"

struct stage_list {
    struct setting_lines names; /* relative to the data folder; sorted, each once */
    char hash[17]; /* of the names and of the content, as split.json records it */
};

/* Reads split.json. Returns 0, or -1 with ERR_DATA and nothing to destroy. */
int stage_list_read(struct stage_list *dst, const char *split_file, struct err *e);
void stage_list_destroy(struct stage_list *list);

/* Sets *nbytes to the size of all files in dir, in whole blocks of 4 KiB. Returns 0, or -1 with
 * ERR_DATA that names a file which is not there. */
int stage_list_measure(const struct stage_list *list, const char *dir, int64_t *nbytes,
                       struct err *e);

#endif
