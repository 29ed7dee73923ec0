/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/remote/remote_site.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/path.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/format/document.h"
#include "src/mem.h"
#include "src/text.h"

#define MAX_FILE ((size_t)1 << 20)
#define KEY "site"

static const char *const keys[] = {"ssh", "folder", "site", "unetctl", NULL};

static char **member(struct remote_site *s, size_t i)
{
    return (char **[]){&s->host, &s->folder, &s->site, &s->unetctl}[i];
}

static int take_keys(const struct document_node *mapping, struct remote_site *s, struct err *e)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct document_node *name = mapping->keys[i], *value = mapping->items[i];
        size_t k = 0;

        while (keys[k] && strcmp(keys[k], name->text) != 0)
            k++;
        if (!keys[k])
            return document_refuse(name, e, KEY ": unknown key '%s'%s (known: ssh, folder, site, "
                                   "unetctl)", name->text,
                                   cli_suggest(name->text, keys, (char[CLI_SUGGESTION]){0}));
        if (value->kind != DOCUMENT_TEXT || !*value->text)
            return document_refuse(value, e, KEY ".%s: must be a text", keys[k]);
        for (const char *p = value->text; *p; p++)
            if (control_size(p))
                return document_refuse(value, e, KEY ".%s: control characters are not allowed",
                                       keys[k]);
        free(*member(s, k));
        if (!(*member(s, k) = mem_text(value->text, e)))
            return -1;
    }
    return s->host ? 0 : document_refuse(mapping, e, KEY ": the key 'ssh' is missing");
}

/* Sets the presets of missing keys, and checks the values. The error names no file and line. */
static int complete(struct remote_site *s, const char *dir, struct err *e)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@%+-";
    const char *slash = strrchr(dir, '/');

    if ((!s->folder && !(s->folder = mem_textf(e, "~/unetctl/%s", slash ? slash + 1 : dir))) ||
        (!s->site && !(s->site = mem_text("generic", e))) ||
        (!s->unetctl && !(s->unetctl = mem_text("unetctl", e))))
        return -1;
    if (*s->host == '-' || !*s->host || strspn(s->host, letters) != strlen(s->host))
        return err_set(e, ERR_CONFIG, "'%s' must be a host, such as me@login.example.org or a Host "
                       "of ~/.ssh/config, where ports and jumps belong", s->host);
    const char *name = s->folder + (*s->folder == '~');
    if (*name != '/' || !name[1] || name[1] == '/' || strpbrk(name, "$*?[\\"))
        return err_set(e, ERR_CONFIG, "the folder on %s, '%s', must be /FOLDER or ~/FOLDER and "
                       "have none of $ * ? [ \\; write the path that a variable stands for",
                       s->host, s->folder);
    return 0;
}

/* Adds text, in which the lines of the key site become `site: VALUE` and empty lines, so that
 * errors name the right lines of the other keys. */
static int replace_site(const struct document *d, const char *text, const char *value,
                        struct buf *dst, struct err *e)
{
    const struct document_node *root = d->root, *own = NULL;
    size_t end = SIZE_MAX;

    for (size_t i = 0; i < root->count; i++)
        if (strcmp(root->keys[i]->text, KEY) == 0)
            own = root->keys[i];
    for (size_t i = 0; own && i < root->count; i++) {
        const struct document_node *key = root->keys[i];
        if (key != own && key->line == own->line)
            return document_refuse(own, e, KEY ": write it on lines of its own");
        if (key->line > own->line && key->line < end)
            end = key->line;
    }
    for (size_t line = 1; *text; line++) {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (own && line == own->line)
            buf_addf(dst, "%.*s" KEY ": %s\n", (int)strspn(text, " "), text, value);
        else if (own && line > own->line && line < end)
            buf_add(dst, "\n");
        else
            buf_add_bytes(dst, text, n);
        text += n;
    }
    if (!own)
        buf_addf(dst, KEY ": %s\n", value);
    return dst->failed ? mem_fail(e) : 0;
}

/* Makes the file for the host, and checks that it is what it should be. */
static int encode_there(const struct document *d, const char *file, const char *text,
                        const struct remote_site *s, struct buf *dst, struct err *e)
{
    struct buf value = {0};

    buf_add_json_string(&value, s->site);
    int rc = value.failed ? mem_fail(e) : replace_site(d, text, value.data, dst, e);
    buf_destroy(&value);
    struct document *made = rc ? NULL : document_decode(dst->data, dst->length, file, e);
    const struct document_node *site = made ? document_get(made->root, KEY) : NULL;
    if (made && (!site || strcmp(site->text, s->site) != 0 || made->root->count != d->root->count))
        rc = err_set(e, ERR_CONFIG, "%s: " KEY ": write it on lines of its own", file);
    document_destroy(made);
    return made ? rc : -1;
}

int remote_site_read(const char *dir, struct remote_site *s, struct buf *text, struct err *e)
{
    char file[PATH_MAX];
    struct err unreported;
    size_t n = 0;
    int rc = 0;

    *s = (struct remote_site){0};
    path_format(file, "%s/" STUDY_FILE, dir);
    char *here = atomicfile_read(file, MAX_FILE, &n, &unreported);
    struct document *d = here ? document_decode(here, n, file, &unreported) : NULL;
    const struct document_node *site = d ? document_get(d->root, KEY) : NULL;
    if (site && site->kind == DOCUMENT_MAPPING) {
        rc = take_keys(site, s, e);
        if (rc == 0 && (rc = complete(s, dir, e)))
            err_prefix(e, "%s:%zu: " KEY, file, site->line);
        rc = rc || encode_there(d, file, here, s, text, e) ? -1 : 1;
    }
    document_destroy(d);
    free(here);
    return rc;
}

int remote_site_decode(const char *words, const char *dir, struct remote_site *s, struct err *e)
{
    size_t n = strcspn(words, ":");

    *s = (struct remote_site){0};
    s->host = mem_textf(e, "%.*s", (int)n, words);
    if (!s->host || (words[n] && words[n + 1] && !(s->folder = mem_text(words + n + 1, e))))
        return -1;
    if (complete(s, dir, e) == 0)
        return 0;
    e->code = e->code == ERR_CONFIG ? ERR_USAGE : e->code;
    return err_prefix(e, "--ssh");
}

int remote_site_encode(const char *there, const struct remote_site *s, struct buf *text,
                       struct err *e)
{
    struct document *d = document_decode(there, strlen(there), STUDY_FILE, e);
    const struct document_node *site = d ? document_get(d->root, KEY) : NULL;
    struct buf value = {0};

    buf_add(&value, "{ssh: ");
    buf_add_json_string(&value, s->host);
    buf_add(&value, ", folder: ");
    buf_add_json_string(&value, s->folder);
    buf_add(&value, ", site: ");
    buf_add_json_string(&value, site ? site->text : s->site);
    buf_add(&value, "}");
    int rc = !d ? -1 : value.failed ? mem_fail(e) : replace_site(d, there, value.data, text, e);
    buf_destroy(&value);
    document_destroy(d);
    return rc;
}

void remote_site_destroy(struct remote_site *s)
{
    for (size_t i = 0; keys[i]; i++)
        free(*member(s, i));
    *s = (struct remote_site){0};
}
