/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/mem.h"
#include "trainer/data/image/image_file.h"

#define MAX_DEPTH 32

static int add_path(struct tree *tree, char *path, struct err *e)
{
    if (!path || mem_grow(&tree->paths, tree->count, &tree->capacity, sizeof *tree->paths, e)) {
        free(path);
        return -1;
    }
    tree->paths[tree->count++] = path;
    return 0;
}

bool tree_is_folder(const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
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

/* Adds an entry of the file tree if it is a wanted file; skips hidden and very deep folders. Links
 * count as files. */
static int add_entry(FTS *fts, FTSENT *entry, bool (*wanted)(const char *name), struct tree *tree,
                     struct err *e)
{
    bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';

    switch (entry->fts_info) {
    case FTS_D:
        if (hidden || entry->fts_level > MAX_DEPTH)
            fts_set(fts, entry, FTS_SKIP);
        return 0;
    case FTS_DP: return 0;
    case FTS_DNR: case FTS_ERR: case FTS_NS:
        return err_errno(e, ERR_DATA, entry->fts_errno, "cannot list %s", entry->fts_path);
    default:
        return hidden || (wanted && !wanted(entry->fts_name))
                   ? 0 : add_path(tree, mem_text(entry->fts_path, e), e);
    }
}

int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e)
{
    char *const top[] = {(char *)(uintptr_t)dir, NULL};
    size_t before = tree->count;
    FTS *fts = fts_open(top, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int rc = 0;

    if (!fts)
        return mem_fail(e);
    while (rc == 0 && (errno = 0, entry = fts_read(fts)))
        rc = add_entry(fts, entry, wanted, tree, e);
    if (rc == 0 && errno)
        rc = err_errno(e, ERR_DATA, errno, "cannot list %s", dir);
    fts_close(fts);
    sort_paths(tree, before);
    return rc;
}

int tree_list(const char *dir, const char *sub, bool (*wanted)(const char *name), struct tree *tree,
              struct err *e)
{
    char *path = mem_textf(e, "%s/%s", dir, sub ? sub : "");
    DIR *d = path ? opendir(path) : NULL;
    struct dirent *entry;
    int rc = path ? 0 : -1;

    *tree = (struct tree){0};
    if (path && !d && errno != ENOENT && errno != ENOTDIR)
        rc = err_errno(e, ERR_DATA, errno, "cannot list %s", path);
    while (rc == 0 && d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && (!wanted || wanted(entry->d_name)))
            rc = add_path(tree, mem_text(entry->d_name, e), e);
    if (d)
        closedir(d);
    free(path);
    sort_paths(tree, 0);
    return rc;
}

int tree_refuse_foreign(const char *dir, struct err *e)
{
    struct tree files = {0};
    struct err ignored;
    const char *what = NULL;

    tree_scan(dir, NULL, &files, &ignored);
    for (size_t i = 0; i < files.count && !what; i++)
        if ((what = image_file_foreign(files.paths[i])))
            err_set(e, ERR_DATA, "%s: no image that can be read, but %s: %s", dir, files.paths[i],
                    what);
    tree_free(&files);
    return what ? -1 : 0;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->paths[i]);
    free(tree->paths);
    *tree = (struct tree){0};
}
