/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/rounds/left.h"

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/files.h"

#define LEFT_FILE "left.json"
#define LEFT_LIMIT ((size_t)1 << 20)

/* ---- the file ---- */

static bool has_word(const json_t *words, const char *word)
{
    const json_t *one;
    size_t i;

    json_array_foreach(words, i, one) {
        if (json_is_string(one) && strcmp(json_string_value(one), word) == 0)
            return true;
    }
    return false;
}

/* Returns the list of submissions, which is empty without the file, or NULL with an error. Earlier
 * versions wrote one submission as the document itself. */
static json_t *read_list(const struct workspace *w, struct err *e)
{
    char file[PATH_MAX];

    if (!path_has_file(w->ledger.dir, LEFT_FILE))
        return json_array();
    json_t *o = jsonio_read(path_format(file, "%s/" LEFT_FILE, w->ledger.dir), LEFT_LIMIT, e);
    json_t *words = json_object_get(o, "words"), *list = json_incref(json_object_get(o, "left"));

    if (json_is_array(words)) {
        json_decref(list);
        list = json_pack("[{s:b, s:s, s:O}]", "rounds", has_word(words, "--until-decided"),
                         "folder", jsonio_text(o, "folder"), "words", words);
    }
    if (o && !json_is_array(list))
        err_set(e, ERR_DATA, "%s: the list of submissions is missing", file);
    json_decref(o);
    if (json_is_array(list))
        return list;
    json_decref(list);
    err_prefix(e, "if the file is damaged, remove it, and type 'unetctl submit' again");
    return NULL;
}

static int write_list(const struct workspace *w, json_t *list, struct err *e)
{
    char file[PATH_MAX];

    if (json_array_size(list) == 0)
        return files_unlink(path_format(file, "%s/" LEFT_FILE, w->ledger.dir)) && errno != ENOENT
                   ? files_error(e, ERR_INTERNAL, errno, "cannot remove", file)
                   : 0;
    json_t *o = json_pack("{s:i, s:O}", "schema", 1, "left", list);
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return path_write(w->ledger.dir, LEFT_FILE, text, e);
}

static bool in_rounds(const json_t *submission)
{
    return json_is_true(json_object_get(submission, "rounds"));
}

/* A study has one submission in rounds, with whatever words. */
static bool is_same(const json_t *a, const json_t *b)
{
    return (in_rounds(a) && in_rounds(b)) ||
           (json_equal(json_object_get(a, "words"), json_object_get(b, "words")) &&
            json_equal(json_object_get(a, "folder"), json_object_get(b, "folder")));
}

/* Returns the index of the submission in the list, or the length of the list. */
static size_t find(const json_t *list, const json_t *submission)
{
    size_t i = 0;

    while (i < json_array_size(list) && !is_same(json_array_get(list, i), submission))
        i++;
    return i;
}

json_t *left_create(json_t *words, bool in_rounds)
{
    char folder[PATH_MAX];

    return json_pack("{s:b, s:I, s:s, s:o}", "rounds", in_rounds, "uid", (json_int_t)getuid(),
                     "folder", getcwd(folder, sizeof folder) ? folder : "", "words", words);
}

int left_note(struct workspace *w, const json_t *submission, bool leaves, struct err *e)
{
    json_t *list;
    size_t i;
    int rc = -1;

    if (!leaves && (!submission || !path_has_file(w->ledger.dir, LEFT_FILE)))
        return 0;
    if (!submission)
        return err_set(e, ERR_CONFIG, "submit: the path of the current folder is not UTF-8, so "
                       "'unetctl watch' cannot submit the runs that are left");
    if (ledger_lock(&w->ledger, LEDGER_LOCK_S, e))
        return -1;
    list = read_list(w, e);
    if (list) {
        if ((i = find(list, submission)) < json_array_size(list))
            json_array_remove(list, i);
        if (leaves)
            json_array_append(list, (json_t *)(uintptr_t)submission);
        rc = write_list(w, list, e);
    }
    json_decref(list);
    ledger_unlock(&w->ledger);
    return rc;
}

bool left_is_noted(const struct workspace *w, void *submission)
{
    struct err ignored;
    json_t *list = read_list(w, &ignored);
    bool is_noted = find(list, submission) < json_array_size(list);

    json_decref(list);
    return is_noted;
}

int left_count(const struct workspace *w, struct left_counts *dst, struct err *e)
{
    json_t *list = read_list(w, e), *one;
    size_t i;

    *dst = (struct left_counts){.all = json_array_size(list)};
    json_array_foreach(list, i, one) {
        dst->rounds += in_rounds(one);
    }
    json_decref(list);
    return list ? 0 : -1;
}

int left_clear(const struct workspace *w, struct err *e)
{
    json_t *list = read_list(w, e);
    int n = 0;

    if (!list)
        return -1;
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *uid = json_object_get(json_array_get(list, i), "uid");
        if (uid && !w->take_over && json_integer_value(uid) != (json_int_t)getuid())
            continue;
        json_array_remove(list, i);
        n++;
    }
    int rc = n ? write_list(w, list, e) : 0;
    json_decref(list);
    return rc ? -1 : n;
}

/* ---- repeating ---- */

/* Reports the submission's command line, unless it has been reported. */
static void report(struct left_repeat *r, const json_t *submission)
{
    struct buf line = {0};
    const json_t *word;
    size_t i;

    json_array_foreach(json_object_get(submission, "words"), i, word) {
        if (json_is_string(word) && strcmp(json_string_value(word), "--no-wait") != 0)
            buf_addf(&line, " %s", json_string_value(word));
    }
    if (line.length > 3 && strcmp(line.data + line.length - 3, " --") == 0)
        line.data[line.length - 3] = 0;
    if (line.data && !line.failed && !map_get(&r->reported, line.data, NULL) &&
        map_set(&r->reported, line.data, 0) == 0)
        log_info("%s: 'unetctl submit%s' ('unetctl cancel' gives that up)",
                 in_rounds(submission) ? "the rounds are continued"
                                       : "runs that were left for later are submitted",
                 line.data);
    buf_destroy(&line);
}

/* Submits again in the folder where the submission was typed, since paths are relative to it. */
static int repeat(struct left_repeat *r, json_t *submission, struct err *e)
{
    const char *folder = jsonio_text(submission, "folder");
    char here[PATH_MAX] = "";

    report(r, submission);
    int rc = !getcwd(here, sizeof here) || chdir(folder)
                 ? err_errno(e, ERR_INTERNAL, errno, "cannot change to %s", folder)
                 : r->again(submission, e);
    if (chdir(here) && rc == 0)
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot change back to %s", here);
    return rc ? err_prefix(e, "cannot submit the runs that were left for later") : 0;
}

long left_submit(struct left_repeat *r, struct err *e)
{
    json_t *list = read_list(r->w, e), *one;
    struct left_counts now;
    size_t i;
    int rc = list ? 0 : -1;

    json_array_foreach(list, i, one) {
        if (rc == 0)
            rc = repeat(r, one, e);
    }
    json_decref(list);
    return rc || left_count(r->w, &now, e) ? -1 : (long)now.all;
}
