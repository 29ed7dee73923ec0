/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/image_list.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/mem.h"
#include "src/text.h"
#include "trainer/data/source/tree.h"

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
