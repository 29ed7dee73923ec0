/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/tasklist.h"

#include <stdlib.h>
#include <string.h>

#define GRAMMAR "write N or N(xNODES), joined by commas, as in 2(x3),1"

struct tasklist_reader {
    const char *text, *at;
    size_t limit;
    struct err *e;
};

static int refuse_tasklist(const struct tasklist_reader *r, const char *at, const char *why)
{
    return err_set(r->e, ERR_USAGE, "tasks per node '%.80s', position %zu: %s", r->text,
                   (size_t)(at - r->text) + 1, why);
}

/* Reads a number from 1 to max. The value stops growing once it exceeds max, so that any number
 * of digits is safe. */
static int read_tasks(struct tasklist_reader *r, size_t max, const char *too_large, size_t *dst)
{
    const char *start = r->at;
    size_t v = 0;

    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        v = v > max ? v : 10 * v + (size_t)(*r->at - '0');
    if (r->at == start)
        return refuse_tasklist(r, start, "a number is missing; " GRAMMAR);
    if (v == 0)
        return refuse_tasklist(r, start, "must be at least 1");
    if (v > max)
        return refuse_tasklist(r, start, too_large);
    *dst = v;
    return 0;
}

/* Reads N or N(xNODES). */
static int read_item(struct tasklist_reader *r, size_t *tasks, size_t *nodes)
{
    *nodes = 1;
    if (read_tasks(r, TASKLIST_TASKS_MAX, "more than 65536 tasks on a node", tasks))
        return -1;
    if (*r->at == '(') {
        if (r->at[1] != 'x')
            return refuse_tasklist(r, r->at, GRAMMAR);
        r->at += 2;
        if (read_tasks(r, r->limit, "too many nodes", nodes))
            return -1;
        if (*r->at != ')')
            return refuse_tasklist(r, r->at, "')' is missing; " GRAMMAR);
        r->at++;
    }
    if (*r->at && *r->at != ',')
        return refuse_tasklist(r, r->at, "unexpected character; " GRAMMAR);
    return 0;
}

/* Reads the whole text, counts its nodes, and fills tasks unless it is NULL. */
static int walk(struct tasklist_reader *r, int *tasks, size_t *count)
{
    size_t n, nodes;

    *count = 0;
    for (r->at = r->text;; r->at++) {
        const char *start = r->at;
        if (read_item(r, &n, &nodes))
            return -1;
        if (nodes > r->limit - *count)
            return refuse_tasklist(r, start, "too many nodes");
        for (size_t i = 0; tasks && i < nodes; i++)
            tasks[*count + i] = (int)n;
        *count += nodes;
        if (*r->at == 0)
            return 0;
    }
}

int tasklist_decode(const char *text, size_t limit, struct tasklist *dst, struct err *e)
{
    struct tasklist_reader r = {text, text, limit, e};
    size_t count;

    if (walk(&r, NULL, &count))
        return -1;
    int *tasks = calloc(count, sizeof *tasks);
    if (!tasks)
        return err_set(e, ERR_INTERNAL, "tasks per node: out of memory");
    walk(&r, tasks, &count);
    *dst = (struct tasklist){tasks, count};
    return 0;
}

void tasklist_destroy(struct tasklist *t)
{
    if (!t)
        return;
    free(t->tasks);
    *t = (struct tasklist){NULL, 0};
}
