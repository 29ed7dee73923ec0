/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/workspace.h"

#include <jansson.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/files.h"
#include "src/format/schema.h"
#include "src/run/marker.h"

#define MAX_LEDGER ((size_t)1 << 30)

static const char *const event_names[] = {"submitting", "submitted", "cancelled", "lost",
                                          "refused"};
#define NEVENTS (int)(sizeof event_names / sizeof *event_names)

static void path_of(const struct ledger *l, const char *name, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/%s", l->dir, name);
}

static struct ledger_entry *find_entry(const struct ledger *l, const char *run, int attempt)
{
    char key[RUN_ID_SIZE + 16];
    size_t i;

    snprintf(key, sizeof key, attempt ? "%s:%d" : "%s", run, attempt);
    return map_get(&l->index, key, &i) ? &l->entries[i] : NULL;
}

const struct ledger_entry *ledger_find(const struct ledger *l, const char *run, int attempt)
{
    return find_entry(l, run, attempt);
}

static struct ledger_entry *add_entry(struct ledger *l, const char *run, int attempt,
                                      struct err *e)
{
    char key[RUN_ID_SIZE + 16];

    if (mem_grow(&l->entries, l->count, &l->capacity, sizeof *l->entries, e))
        return NULL;
    struct ledger_entry *entry = &l->entries[l->count];
    *entry = (struct ledger_entry){.attempt = attempt, .uid = -1};
    snprintf(entry->run, sizeof entry->run, "%s", run);
    snprintf(key, sizeof key, "%s:%d", run, attempt);
    if (map_set(&l->index, key, l->count) || map_set(&l->index, run, l->count)) {
        mem_fail(e);
        return NULL;
    }
    l->count++;
    return entry;
}

/* An event of the ledger, as a line has it. Strings are borrowed. */
struct event {
    enum ledger_event kind;
    const char *run, *scheduler, *job, *user, *tag, *time, *reason;
    int attempt;
    json_int_t uid;
};

static int apply_event(struct ledger *l, const struct event *v, struct err *e)
{
    struct ledger_entry *entry = find_entry(l, v->run, v->attempt);
    bool submits = v->kind == LEDGER_SUBMITTING || v->kind == LEDGER_SUBMITTED;

    if (!entry && !(entry = add_entry(l, v->run, v->attempt, e)))
        return -1;
    entry->last = v->kind;
    entry->time = v->time ? clock_decode_date(v->time) : 0;
    if (v->kind == LEDGER_SUBMITTING || (submits && !entry->asked))
        entry->asked = entry->time;
    if (submits) {
        entry->uid = (long)v->uid;
        snprintf(entry->user, sizeof entry->user, "%s", v->user ? v->user : "");
    }
    snprintf(entry->scheduler, sizeof entry->scheduler, "%s", v->scheduler);
    if (v->job)
        snprintf(entry->job, sizeof entry->job, "%s", v->job);
    return 0;
}

static void take_id(struct ledger *l, const char *text)
{
    if (strspn(text, "0123456789abcdef") == LEDGER_STUDY_ID_SIZE - 1)
        snprintf(l->study_id, sizeof l->study_id, "%.*s", LEDGER_STUDY_ID_SIZE - 1, text);
}

/* Reads the file that holds the study's id, if it exists. Earlier versions did not sync it, so
 * after a power failure it may be empty. */
static int read_id(struct ledger *l, struct err *e)
{
    char file[PATH_MAX], *text;
    size_t n;

    path_of(l, "id", file);
    if (access(file, F_OK) != 0)
        return 0;
    text = atomicfile_read(file, 64, &n, e);
    if (!text)
        return -1;
    *l->study_id = 0;
    take_id(l, text);
    l->is_new = false;
    free(text);
    return 0;
}

/* Returns the event with this name, or -1. */
static int find_event(const char *name)
{
    int i = 0;

    while (i < NEVENTS && strcmp(name, event_names[i]) != 0)
        i++;
    return i < NEVENTS ? i : -1;
}

/* Applies one line of the ledger. Returns 0, -1 with an error, or -2 for a line that is not JSON
 * or lacks members, which a crash left incomplete. */
static int replay_line(struct ledger *l, const char *file, size_t number, const char *line,
                       size_t length, struct err *e)
{
    json_error_t error;
    json_t *root = json_loadb(line, length, 0, &error);
    struct event v = {.uid = -1};
    const char *name = NULL;
    int schema = 0, rc = -2;

    if (root && json_unpack(root, "{s:i}", "schema", &schema) == 0 && schema != SCHEMA)
        rc = schema_check(schema, ERR_CONFIG, e) ? err_prefix(e, "%s:%zu", file, number) : 0;
    else if (root &&
             json_unpack(root, "{s:s, s:s, s:i, s:s, s?s, s?s, s?s, s?I, s?s}", "event", &name,
                         "run", &v.run, "attempt", &v.attempt, "scheduler", &v.scheduler, "job",
                         &v.job, "tag", &v.tag, "time", &v.time, "uid", &v.uid, "user",
                         &v.user) == 0) {
        int kind = find_event(name);
        if (!*l->study_id && v.tag)
            take_id(l, v.tag + strcspn(v.tag, ":") + (strchr(v.tag, ':') != NULL));
        v.kind = (enum ledger_event)kind;
        rc = kind >= 0 ? apply_event(l, &v, e)
                       : err_set(e, ERR_CONFIG, "%s:%zu: unknown event '%s'", file, number, name);
    }
    json_decref(root);
    return rc;
}

int ledger_reload(struct ledger *l, struct err *e)
{
    char file[PATH_MAX];
    char *text, *line, *end;
    size_t n, number = 1;
    struct stat st;
    int rc = 0;

    l->count = 0;
    l->owner = -1;
    map_destroy(&l->index);
    if (read_id(l, e))
        return -1;
    path_of(l, "ledger.jsonl", file);
    if (stat(file, &st))
        return 0;
    l->owner = (long)st.st_uid;
    text = atomicfile_read(file, MAX_LEDGER, &n, e);
    if (!text)
        return -1;
    for (line = text; rc != -1 && (end = strchr(line, '\n')); line = end + 1, number++) {
        rc = replay_line(l, file, number, line, (size_t)(end - line), e);
        if (rc == -2)
            log_debug("%s:%zu: skipped a torn line", file, number);
    }
    free(text);
    return rc == -1 ? -1 : 0;
}

int ledger_open(struct ledger *l, const char *study_dir, struct err *e)
{
    *l = (struct ledger){.dir = mem_textf(e, "%s/.unetctl", study_dir), .lock_fd = -1};
    if (!l->dir || ledger_reload(l, e)) {
        ledger_close(l);
        return -1;
    }
    return 0;
}

void ledger_close(struct ledger *l)
{
    if (l->dir)
        ledger_unlock(l);
    free(l->entries);
    map_destroy(&l->index);
    free(l->dir);
    *l = (struct ledger){.lock_fd = -1};
}

static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns whether the study whose folder .unetctl is `folder` has the same id as this one. */
static bool is_this_study(const struct ledger *l, const char *folder)
{
    char file[PATH_MAX + 8], *id;
    struct err ignored;
    size_t size;

    snprintf(file, sizeof file, "%s/id", folder);
    if (access(file, F_OK) != 0)
        return false;
    id = atomicfile_read(file, 64, &size, &ignored);
    bool same = id && *l->study_id && text_begins(id, l->study_id);
    free(id);
    return same;
}

/* Refuses a copy of a study. It has the tags of the original and would cancel its jobs. If the
 * study was moved, the earlier folder no longer exists, and that is accepted. */
static int check_copy(const struct ledger *l, const char *folder, struct err *e)
{
    char text[256 + PATH_MAX], *before;
    ssize_t n = pread(l->lock_fd, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = 0;
    before = strchr(text, '\n');
    if (!before || !before[1])
        return 0;
    before++;
    before[strcspn(before, "\n")] = 0;
    if (strcmp(before, folder) == 0 || is_same_folder(before, folder))
        return 0;
    if (is_this_study(l, before))
        return err_set(e, ERR_CONFIG, "%s was copied with its study from %s, whose jobs it would "
                       "take for its own; remove either the original, or this folder and the runs/ "
                       "beside it (which makes it another study)", folder, before);
    char *slash = strrchr(before, '/');
    log_info("the study was moved here from %.*s; jobs submitted there cannot find its "
             "files", slash ? (int)(slash - before) : 0, before);
    return 0;
}

static int choose_study_id(struct ledger *l, struct err *e)
{
    uint64_t id;

    if (getrandom(&id, sizeof id, 0) != sizeof id)
        return err_errno(e, ERR_INTERNAL, errno, "random numbers");
    snprintf(l->study_id, sizeof l->study_id, "%016llx", (unsigned long long)id);
    l->is_new = true;
    return 0;
}

int ledger_keep_id(struct ledger *l, struct err *e)
{
    char file[PATH_MAX], text[LEDGER_STUDY_ID_SIZE + 1];

    if (!l->is_new)
        return 0;
    path_of(l, "id", file);
    snprintf(text, sizeof text, "%s\n", l->study_id);
    int rc = atomicfile_write(file, text, strlen(text), 0666, e);
    l->is_new = rc != 0;
    return rc;
}

int ledger_lock(struct ledger *l, int timeout_s, struct err *e)
{
    char file[PATH_MAX], folder[PATH_MAX];

    if (files_make_folder(l->dir) || !realpath(l->dir, folder))
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", l->dir);
    path_of(l, "lock", file);
    l->lock_fd = lockfile_open(file, true, e);
    if (l->lock_fd < 0)
        return -1;
    if (lockfile_take(l->lock_fd, file, "another unetctl that works on this study", timeout_s, e) ||
        ledger_reload(l, e) || check_copy(l, folder, e) ||
        lockfile_sign(l->lock_fd, file, folder, e) ||
        (!*l->study_id && choose_study_id(l, e))) {
        ledger_unlock(l);
        return -1;
    }
    return 0;
}

void ledger_unlock(struct ledger *l)
{
    if (l->lock_fd < 0)
        return;
    lockfile_release(l->lock_fd); /* a helper that still runs shares it */
    close(l->lock_fd);
    l->lock_fd = -1;
}

/* Appends one line of the ledger to dst, without its newline. */
static int encode_event(const struct ledger *l, const struct event *v, struct buf *dst,
                        struct err *e)
{
    char tag[256];
    json_t *root;
    char *line;

    ledger_tag(l->study_id, v->run, v->attempt, tag);
    root = json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:s, s:s*, s:s*}", "schema", SCHEMA,
                     "time", v->time, "event", event_names[v->kind], "run", v->run, "attempt",
                     v->attempt, "scheduler", v->scheduler, "tag", tag, "uid", v->uid, "user",
                     v->user, "job", v->job, "reason", v->reason);
    line = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!line)
        return err_set(e, ERR_INTERNAL, "%s: event of %s cannot be encoded", l->dir, v->run);
    buf_addf(dst, "%s%s", dst->length ? "\n" : "", line);
    free(line);
    return 0;
}

/* Appends lines to the file. The .unetctl folder may be as new as the file, so its entry is
 * synced too. */
static int append_lines(const struct ledger *l, const char *file, const char *lines, struct err *e)
{
    bool is_new = l->count == 0;

    return atomicfile_append(file, lines, e) || (is_new && atomicfile_sync_folder(l->dir, e)) ? -1
                                                                                              : 0;
}

/* Writes the name of this user, or the number of one without a name. */
static void read_user(char *dst, size_t size)
{
    const struct passwd *user = getpwuid(getuid());

    if (user)
        snprintf(dst, size, "%s", user->pw_name);
    else
        snprintf(dst, size, "%u", (unsigned)getuid());
}

int ledger_append_all(struct ledger *l, enum ledger_event event, const struct ledger_note *notes,
                      size_t count, const char *scheduler, struct err *e)
{
    char date[32], file[PATH_MAX], user[64];
    struct event v = {.kind = event, .scheduler = scheduler, .time = date, .user = user,
                      .uid = (json_int_t)getuid()};
    struct buf lines = {0};
    int rc;

    clock_date(date);
    read_user(user, sizeof user);
    rc = ledger_keep_id(l, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        v.run = notes[i].run, v.attempt = notes[i].attempt, v.job = notes[i].job;
        v.reason = notes[i].reason;
        rc = encode_event(l, &v, &lines, e);
    }
    path_of(l, "ledger.jsonl", file);
    if (rc == 0 && lines.failed)
        rc = err_set(e, ERR_INTERNAL, "%s: no memory", l->dir);
    if (rc == 0 && count)
        rc = append_lines(l, file, lines.data, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        v.run = notes[i].run, v.attempt = notes[i].attempt, v.job = notes[i].job;
        rc = apply_event(l, &v, e);
    }
    buf_destroy(&lines);
    return rc;
}

int ledger_append(struct ledger *l, enum ledger_event event, const char *run, int attempt,
                  const char *scheduler, const char *job, struct err *e)
{
    struct ledger_note note = {.run = run, .job = job, .attempt = attempt};

    return ledger_append_all(l, event, &note, 1, scheduler, e);
}

void ledger_tag(const char *study_id, const char *run, int attempt, char dst[256])
{
    int n = snprintf(dst, 256, "unetctl:%s:", study_id);

    if (run)
        snprintf(dst + n, 256 - (size_t)n, "%s:%d", run, attempt);
}

bool ledger_has_others(const struct ledger *l)
{
    long own = (long)getuid();

    for (size_t i = 0; i < l->count; i++)
        if (l->entries[i].uid >= 0 && l->entries[i].uid != own)
            return true;
    return l->owner >= 0 && l->owner != own;
}

bool ledger_may_be_of(const struct ledger *l, long uid)
{
    bool may = uid < 0 || uid == (long)getuid() || uid == l->owner;

    for (size_t i = 0; !may && i < l->count; i++)
        may = l->entries[i].uid == uid;
    return may;
}
