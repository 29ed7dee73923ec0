/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/scan.h"
#include "src/files.h"
#include "src/mem.h"
#include "src/parallel.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

struct scan {
    scan_f *read;
    const void *arg;
    struct dirent **entries;
    struct result *rows;
};

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int scan_entry(void *arg, size_t i, struct err *e)
{
    const struct scan *s = arg;

    result_init(&s->rows[i]);
    s->read(s->arg, s->entries[i]->d_name, &s->rows[i]);
    return 0;
}

static int read_entries(struct scan *s, size_t n, struct results *table, struct err *e)
{
    s->rows = mem_zero(n, sizeof *s->rows, e);
    if (!s->rows)
        return -1;
    int rc = parallel_many(n, scan_entry, s, e);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0 && *s->rows[i].run)
            rc = results_add(table, &s->rows[i], e);
        if (rc)
            result_destroy(&s->rows[i]);
    }
    free(s->rows);
    return rc;
}

int scan_folder(struct results *table, const char *dir, scan_f *read, const void *arg,
                struct err *e)
{
    struct scan scan = {.read = read, .arg = arg};
    int n = files_scan(dir, &scan.entries, is_visible, alphasort);

    if (n < 0)
        return err_errno(e, ERR_DATA, errno, "can't read the folder %s", dir);
    int rc = read_entries(&scan, (size_t)n, table, e);
    for (int i = 0; i < n; i++)
        free(scan.entries[i]);
    free(scan.entries);
    return rc;
}
