/* SPDX-License-Identifier: BSD-3-Clause */
/* The files below a folder, and those that a command line names. */
#include "src/base.h"
#include "trainer/data/source/tree.h"

#include <dirent.h>
#include <fts.h>
#include <sys/stat.h>

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

static int add_image(struct image_list *list, const char *path, struct err *e)
{
    struct image_list_item item = {.path = mem_text(path, e)};

    if (!item.path ||
        mem_grow(&list->items, list->count, &list->capacity, sizeof *list->items, e)) {
        free(item.path);
        return -1;
    }
    list->items[list->count++] = item;
    return 0;
}

static int add_folder(struct image_list *list, const char *dir, struct err *e)
{
    struct tree tree = {0};
    int rc = tree_scan(dir, filename_is_image, &tree, e);

    if (rc == 0 && tree.count == 0 && (rc = tree_refuse_foreign(dir, e)) == 0)
        rc = err_set(e, ERR_DATA, "%s: has no images (" FILENAME_IMAGES ")", dir);
    for (size_t i = 0; rc == 0 && i < tree.count; i++)
        rc = add_image(list, tree.paths[i], e);
    tree_free(&tree);
    return rc;
}

/* Copies the absolute path of an image's folder, without symbolic links, to dst; "" if the file
 * does not exist. */
static void find_folder(const char *path, char dst[PATH_MAX])
{
    size_t n = (size_t)(filename_base(path) - path);
    char *folder = n ? strndup(path, n) : strdup(".");

    if (!folder || access(path, F_OK) || !realpath(folder, dst))
        *dst = 0;
    free(folder);
}

/* Shortens `common` to the leading folders that it shares with `other`. */
static void cut_common(char *common, const char *other)
{
    size_t n = 0, end = 0;

    for (; common[n] && common[n] == other[n]; n++)
        if (common[n] == '/')
            end = n;
    if ((!common[n] || common[n] == '/') && (!other[n] || other[n] == '/'))
        end = n;
    common[end] = 0;
}

static int set_names(struct image_list *list, struct err *e)
{
    char common[PATH_MAX] = "", folder[PATH_MAX];
    bool first = true;

    for (size_t i = 0; i < list->count; i++) {
        find_folder(list->items[i].path, folder);
        if (!*folder)
            continue;
        if (first)
            memcpy(common, folder, sizeof common);
        cut_common(common, folder);
        first = false;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct image_list_item *item = &list->items[i];
        const char *base = filename_base(item->path);
        find_folder(item->path, folder);
        const char *below = folder + strlen(common);
        if (!*folder)
            continue;
        below += strspn(below, "/");
        item->name = mem_textf(e, "%s%s%.*s", below, *below ? "/" : "", (int)filename_stem(base),
                               base);
        if (!item->name)
            return -1;
    }
    return 0;
}

int image_list_create(struct image_list *list, char **operands, int count, struct err *e)
{
    struct stat st;

    *list = (struct image_list){0};
    for (int i = 0; i < count; i++) {
        bool folder = stat(operands[i], &st) == 0 && S_ISDIR(st.st_mode);
        if (folder ? add_folder(list, operands[i], e) : add_image(list, operands[i], e))
            return -1;
    }
    return set_names(list, e);
}

void image_list_free(struct image_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].name);
    }
    free(list->items);
    *list = (struct image_list){0};
}

static int by_name(const void *a, const void *b)
{
    const struct image_list_item *const *x = a, *const *y = b;

    return strcmp((*x)->name ? (*x)->name : "", (*y)->name ? (*y)->name : "");
}

int image_list_check_names(const struct image_list *list, struct err *e)
{
    const struct image_list_item **sorted = mem_alloc(list->count, sizeof(void *), e);
    int rc = 0;

    if (!sorted)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = &list->items[i];
    qsort(sorted, list->count, sizeof *sorted, by_name);
    for (size_t i = 1; rc == 0 && i < list->count; i++)
        if (sorted[i]->name && by_name(&sorted[i - 1], &sorted[i]) == 0)
            rc = err_set(e, ERR_USAGE, "%s and %s would both become %s; predict them into "
                         "different folders", sorted[i - 1]->path, sorted[i]->path,
                         sorted[i]->name);
    free(sorted);
    return rc;
}
