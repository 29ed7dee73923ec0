/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/namelist.h"

#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/mem.h"

#define MAX_BYTES ((size_t)64 << 20)

int namelist_read(const char *path, struct namelist *list, struct err *e)
{
    size_t n, nlines = 1;
    char *next;

    *list = (struct namelist){NULL, 0, NULL};
    list->text = atomicfile_read(path, MAX_BYTES, &n, e);
    if (!list->text)
        return -1;
    for (size_t i = 0; i < n; i++)
        nlines += list->text[i] == '\n';
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
