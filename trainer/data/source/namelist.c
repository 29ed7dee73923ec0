/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/namelist.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "trainer/data/image/text_file.h"

#define MAX_BYTES ((size_t)64 << 20)

int namelist_read(const char *path, struct namelist *list, struct err *e)
{
    size_t nlines = 1;
    char *next;

    *list = (struct namelist){NULL, 0, NULL};
    list->text = text_file_read(path, MAX_BYTES, e);
    if (!list->text)
        return -1;
    for (const char *c = list->text; *c; c++)
        nlines += *c == '\n';
    list->names = mem_alloc(nlines, sizeof *list->names, e);
    if (!list->names)
        return -1;
    for (char *line = list->text; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[--length] = 0;
        if (length)
            list->names[list->count++] = line;
    }
    return list->count ? 0 : err_set(e, ERR_DATA, "%s: names no image", path);
}

void namelist_free(struct namelist *list)
{
    free(list->names);
    free(list->text);
    *list = (struct namelist){NULL, 0, NULL};
}
