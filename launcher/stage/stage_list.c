/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/stage/stage_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/format/sha256.h"
#include "src/mem.h"

#define MAX_SPLIT ((size_t)1 << 30)
#define BLOCK 4096

/* An image or a mask of split.json. */
struct entry {
    const char *locator, *sha256;
};

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->locator, ((const struct entry *)b)->locator);
}

/* Adds image and mask of each item of a part ("train"). */
static size_t add_part(const json_t *root, const char *part, struct entry *dst)
{
    const json_t *item;
    size_t i, n = 0;

    json_array_foreach(json_object_get(root, part), i, item) {
        dst[n++] = (struct entry){jsonio_text(item, "image"), jsonio_text(item, "image_sha256")};
        if (json_object_get(item, "mask"))
            dst[n++] = (struct entry){jsonio_text(item, "mask"), jsonio_text(item, "mask_sha256")};
    }
    return n;
}

/* Returns whether the name leads to no other folder than one below the data folder. */
static bool is_inside(const char *name)
{
    bool inside = *name && *name != '/';

    for (const char *part = name; inside && part; part = strchr(part, '/')) {
        part += *part == '/';
        inside = strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/');
    }
    return inside;
}

/* Adds the file of each entry, once. of_records: a locator is FILE#RECORD. */
static int add_names(struct stage_list *dst, const struct entry *entries, size_t n, bool of_records,
                     struct err *e)
{
    struct setting_lines *names = &dst->names;
    char name[PATH_MAX], *record;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        path_format(name, "%s", entries[i].locator);
        if (of_records && (record = strrchr(name, '#')))
            *record = 0;
        if (!is_inside(name))
            rc = err_set(e, ERR_DATA, "'%.200s' is not a file of the data folder; make a new split",
                         name);
        else if (!names->count || strcmp(names->lines[names->count - 1], name) != 0)
            rc = setting_append_line(names, name, e);
    }
    return rc;
}

static void hash_entries(const struct entry *entries, size_t n, char hash[17])
{
    struct sha256_ctx s;
    char hex[65];

    sha256_init(&s);
    for (size_t i = 0; i < n; i++) {
        sha256_add(&s, entries[i].locator, strlen(entries[i].locator) + 1);
        sha256_add(&s, entries[i].sha256, strlen(entries[i].sha256) + 1);
    }
    sha256_finish(&s, hex);
    memcpy(hash, hex, 16);
    hash[16] = 0;
}

int stage_list_read(struct stage_list *dst, const char *split_file, struct err *e)
{
    json_t *root = jsonio_read(split_file, MAX_SPLIT, e);
    size_t most = 2 * (json_array_size(json_object_get(root, "train")) +
                       json_array_size(json_object_get(root, "val")));
    struct entry *entries = root ? mem_zero(most, sizeof *entries, e) : NULL;
    const char *format = jsonio_text(root, "format");
    int rc = -1;

    *dst = (struct stage_list){0};
    if (entries) {
        size_t n = add_part(root, "train", entries);
        n += add_part(root, "val", entries + n);
        if (n)
            qsort(entries, n, sizeof *entries, compare_entries);
        hash_entries(entries, n, dst->hash);
        rc = n ? add_names(dst, entries, n, *format && strcmp(format, "pairs") &&
                           strcmp(format, "folders"), e)
               : err_set(e, ERR_DATA, "it names no files");
        if (rc)
            err_prefix(e, "%s", split_file);
    }
    free(entries);
    json_decref(root);
    if (rc)
        stage_list_destroy(dst);
    return rc;
}

void stage_list_destroy(struct stage_list *list)
{
    setting_clear_lines(&list->names);
}

int stage_list_measure(const struct stage_list *list, const char *dir, int64_t *nbytes,
                       struct err *e)
{
    char path[PATH_MAX];
    struct stat st;

    *nbytes = 0;
    for (size_t i = 0; i < list->names.count; i++) {
        const char *name = list->names.lines[i];
        if (stat(path_format(path, "%s/%s", dir, name), &st))
            return err_errno(e, ERR_DATA, errno, "%s/%s", dir, name);
        *nbytes += (st.st_size + BLOCK - 1) / BLOCK * BLOCK;
    }
    return 0;
}
