/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/mem.h"

#define MAX_DEPTH 32

/* Adds path to the tree, which then owns it; frees it on error. */
static int add_path(struct tree *tree, char *path, struct err *e)
{
    if (!path || mem_grow(&tree->paths, tree->count, &tree->capacity, sizeof *tree->paths, e)) {
        free(path);
        return -1;
    }
    tree->paths[tree->count++] = path;
    return 0;
}

static int scan_folder(const char *dir, int depth, bool (*wanted)(const char *name),
                       struct tree *tree, struct err *e);

/* Adds a file or scans a folder; owns path. */
static int visit_entry(char *path, const char *name, int depth, bool (*wanted)(const char *name),
                       struct tree *tree, struct err *e)
{
    struct stat st;
    int rc = 0;

    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (depth < MAX_DEPTH)
            rc = scan_folder(path, depth + 1, wanted, tree, e);
    } else if (wanted(name))
        return add_path(tree, path, e);
    free(path);
    return rc;
}

static int scan_folder(const char *dir, int depth, bool (*wanted)(const char *name),
                       struct tree *tree, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int rc = 0;

    if (!d)
        return err_errno(e, ERR_DATA, errno, "cannot list %s", dir);
    while (rc == 0 && (errno = 0, entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = mem_textf(e, "%s/%s", dir, entry->d_name);
        rc = path ? visit_entry(path, entry->d_name, depth, wanted, tree, e) : -1;
    }
    if (rc == 0 && errno)
        rc = err_errno(e, ERR_DATA, errno, "cannot list %s", dir);
    closedir(d);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_paths(struct tree *tree, size_t from)
{
    if (tree->count > from)
        qsort(tree->paths + from, tree->count - from, sizeof *tree->paths, by_path);
}

int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e)
{
    size_t before = tree->count;

    if (scan_folder(dir, 0, wanted, tree, e))
        return -1;
    sort_paths(tree, before);
    return 0;
}

int tree_list(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int rc = 0;

    *tree = (struct tree){0};
    while (rc == 0 && d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && wanted(entry->d_name))
            rc = add_path(tree, mem_text(entry->d_name, e), e);
    if (d)
        closedir(d);
    sort_paths(tree, 0);
    return rc;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->paths[i]);
    free(tree->paths);
    *tree = (struct tree){0};
}
