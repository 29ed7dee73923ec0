/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 32

static int add(struct tree *tree, char *path, struct err *e)
{
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
        char **paths = realloc(tree->paths, capacity * sizeof *paths);
        if (!paths) {
            free(path);
            return err_set(e, ERR_INTERNAL, "no memory for the list of files");
        }
        tree->paths = paths;
        tree->capacity = capacity;
    }
    tree->paths[tree->count++] = path;
    return 0;
}

static int scan(const char *dir, int depth, bool (*wanted)(const char *name), struct tree *tree,
                struct err *e);

/* Takes path. */
static int visit(char *path, const char *name, int depth, bool (*wanted)(const char *name),
                 struct tree *tree, struct err *e)
{
    struct stat st;
    int rc = 0;

    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (depth < MAX_DEPTH)
            rc = scan(path, depth + 1, wanted, tree, e);
    } else if (wanted(name))
        return add(tree, path, e);
    free(path);
    return rc;
}

static int scan(const char *dir, int depth, bool (*wanted)(const char *name), struct tree *tree,
                struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int rc = 0;

    if (!d)
        return err_errno(e, ERR_DATA, errno, "%s: can't be listed", dir);
    while (rc == 0 && (errno = 0, entry = readdir(d))) {
        char *path;
        if (entry->d_name[0] == '.')
            continue;
        if (asprintf(&path, "%s/%s", dir, entry->d_name) < 0)
            rc = err_set(e, ERR_INTERNAL, "no memory for the list of files");
        else
            rc = visit(path, entry->d_name, depth, wanted, tree, e);
    }
    if (rc == 0 && errno)
        rc = err_errno(e, ERR_DATA, errno, "%s: can't be listed", dir);
    closedir(d);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e)
{
    size_t before = tree->count;

    if (scan(dir, 0, wanted, tree, e))
        return -1;
    if (tree->count > before)
        qsort(tree->paths + before, tree->count - before, sizeof *tree->paths, by_path);
    return 0;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->paths[i]);
    free(tree->paths);
    *tree = (struct tree){0};
}
