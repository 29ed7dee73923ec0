/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's lists of nodes, and of tasks per node. */
#pragma once

#include "src/base.h"

/* Slurm's node lists: "node[1-3,5],gpu[001-010]-ib" and their names, in the order of scontrol show
 * hostnames.
 *
 * A list is names separated by commas or blanks; empty places between separators are ignored. A
 * name is text and any number (up to NODELIST_BRACKETS_MAX) of brackets. A bracket holds numbers
 * and ranges LOW-HIGH. Values are padded with zeros to the width of LOW: [08-11] is 08 09 10 11.
 * The last bracket runs fastest, then the first, the second ... Order and duplicates are kept.
 *
 * Where this differs from Slurm, on purpose. Accepted here: text behind the last bracket, ranges
 * of more than 65536 values, single numbers beyond 64 bits (which Slurm changes to 2^64 - 1).
 * Refused here, where Slurm makes up a name: an unclosed or stray bracket, a range without end
 * ("[1-]"), any ASCII character but letters, digits, '-', '_' and '.', a name that is too long. */
#define NODELIST_LIMIT ((size_t)1 << 20) /* for callers: more nodes than a cluster has */
#define NODELIST_NAME_MAX 255            /* bytes of one name */
#define NODELIST_NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
#define NODELIST_BRACKETS_MAX 8

struct nodelist;

/* Expands a list. A list of more than limit names is refused before more than limit names are
 * built. Returns NULL with ERR_USAGE and the list (shortened if long), the position from 1, and
 * what is expected there. An empty list is an error. */
struct nodelist *nodelist_decode(const char *text, size_t limit, struct err *e);

/* Returns the list in Slurm's short form, which the caller frees; decoding it gives the same
 * names in the same order. Brackets hold only numbers at the end of names, because Slurm reads
 * no others. */
char *nodelist_encode(const struct nodelist *l, struct err *e);

size_t nodelist_count(const struct nodelist *l); /* at least 1 */

/* Returns name i, which lives as long as l. length may be NULL. */
const char *nodelist_get(const struct nodelist *l, size_t i, size_t *length);

void nodelist_destroy(struct nodelist *l);

/* Slurm's short form of tasks per node: "2(x3),1" is 2, 2, 2, 1. */
#define TASKLIST_TASKS_MAX 65536 /* the most on one node */
struct tasklist {
    int *tasks; /* each from 1 to TASKLIST_TASKS_MAX */
    size_t count; /* number of nodes, at least 1 */
};

/* Decodes text. Lists of more than limit nodes are refused before anything is allocated. Returns
 * 0, or -1 with ERR_USAGE: the text (shortened if long), the position from 1, and what is
 * expected there. */
int tasklist_decode(const char *text, size_t limit, struct tasklist *dst, struct err *e);

void tasklist_destroy(struct tasklist *t);
