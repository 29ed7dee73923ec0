/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/text_file.h"

#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"

#define MARK "\xef\xbb\xbf"

char *text_file_read(const char *path, size_t limit, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, limit, &n, e);

    if (text && memchr(text, 0, n)) {
        err_set(e, ERR_DATA, "%s: is not a text file in UTF-8: it has a NUL byte", path);
        free(text);
        return NULL;
    }
    if (text && strncmp(text, MARK, 3) == 0)
        memmove(text, text + 3, n - 3 + 1);
    return text;
}

char *text_file_line(char **rest)
{
    char *line = strsep(rest, "\n");
    size_t n = line ? strlen(line) : 0;

    if (n && line[n - 1] == '\r')
        line[n - 1] = 0;
    return line;
}
