/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/scan.h"
#include "src/mem.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX_THREADS 8 /* more threads would only wait for the same disk */
#define FEWEST 64     /* items for which a second thread is worth its start */

struct work {
    scan_item_f *f;
    void *arg;
    size_t n;
    atomic_size_t next;
};

static void *take_items(void *arg)
{
    struct work *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->f(w->arg, i);
    return NULL;
}

/* Returns the number of cores that this process may use. */
static int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

void scan_each(size_t n, scan_item_f *f, void *arg)
{
    struct work work = {.f = f, .arg = arg, .n = n};
    pthread_t threads[MAX_THREADS];
    int wanted = count_cores(), started = 0;

    wanted = n < FEWEST ? 1 : wanted > MAX_THREADS ? MAX_THREADS : wanted;
    while (started < wanted - 1 && pthread_create(&threads[started], NULL, take_items, &work) == 0)
        started++;
    take_items(&work);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

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

static void scan_entry(void *arg, size_t i)
{
    const struct scan *s = arg;

    result_init(&s->rows[i]);
    s->read(s->arg, s->entries[i]->d_name, &s->rows[i]);
}

static int read_entries(struct scan *s, size_t n, struct results *table, struct err *e)
{
    int rc = 0;

    s->rows = mem_zero(n, sizeof *s->rows, e);
    if (!s->rows)
        return -1;
    scan_each(n, scan_entry, s);
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
    int n = scandir(dir, &scan.entries, is_visible, alphasort);

    if (n < 0)
        return err_errno(e, ERR_DATA, errno, "can't read the folder %s", dir);
    int rc = read_entries(&scan, (size_t)n, table, e);
    for (int i = 0; i < n; i++)
        free(scan.entries[i]);
    free(scan.entries);
    return rc;
}
