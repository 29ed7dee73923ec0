/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/local/local_record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/jsonio.h"
#include "src/atomicfile.h"
#include "src/format/schema.h"
#include "src/mem.h"

#define RECORD_LIMIT ((size_t)1 << 16)

int local_record_path(const char *dir, const char *id, char dst[PATH_MAX], struct err *e)
{
    if (snprintf(dst, PATH_MAX, "%s/%s.json", dir, id) >= PATH_MAX)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", dir);
    return 0;
}

int local_record_write(const char *dir, const struct local_record *r, struct err *e)
{
    const struct job_state *s = &r->state;
    char path[PATH_MAX];
    json_t *o = job_state_encode(s);
    bool is_utf8 = json_object_set_new(o, "name", json_string(s->name)) == 0;

    json_object_set_new(o, "schema", json_integer(SCHEMA));
    json_object_set_new(o, "keeper", json_integer(r->runner.pid));
    json_object_set_new(o, "keeper_start", json_integer((json_int_t)r->runner.start));
    json_object_set_new(o, "script", json_integer(r->script.pid));
    json_object_set_new(o, "script_start", json_integer((json_int_t)r->script.start));
    json_object_set_new(o, "boot", json_string(r->runner.boot));
    char *text = is_utf8 ? json_dumps(o, JSON_INDENT(1)) : NULL;
    int rc = -1;

    json_decref(o);
    if (!text)
        err_set(e, ERR_CONFIG, "the name of job %s is not UTF-8", s->id);
    else if (local_record_path(dir, s->id, path, e) == 0)
        rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}

int local_record_read(const char *dir, const char *id, struct local_record *r, struct err *e)
{
    struct job_state *s = &r->state;
    char path[PATH_MAX];

    *r = (struct local_record){0};
    if (local_record_path(dir, id, path, e) < 0)
        return -1;
    json_t *o = jsonio_read(path, RECORD_LIMIT, e);
    if (!o)
        return access(path, F_OK)
                   ? -1
                   : err_prefix(e, "cannot read a job; if its file is damaged, remove it");
    job_state_decode(o, s);
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(r->runner.boot, sizeof r->runner.boot, "%s", jsonio_text(o, "boot"));
    r->runner.pid = (pid_t)jsonio_integer(o, "keeper");
    r->runner.start = (unsigned long long)jsonio_integer(o, "keeper_start");
    r->script = r->runner; /* of a job of 0.1.0, whose keeper led the session */
    if (json_object_get(o, "script")) {
        r->script.pid = (pid_t)jsonio_integer(o, "script");
        r->script.start = (unsigned long long)jsonio_integer(o, "script_start");
    }
    json_decref(o);
    return 0;
}

/* The script's pid is the number of the job's session. As long as a process of the session is
 * left, the kernel gives no new process that number. */
bool local_record_has_orphans(const struct local_record *r)
{
    struct procid now;

    if (r->script.pid == 0 || procid_is_alive(&r->runner) || !procid_is_boot(&r->script))
        return false;
    return procid_is_alive(&r->script) || (procid_get(r->script.pid, &now) < 0 &&
                                           procid_signal_session(r->script.pid, 0) > 0);
}

void local_record_judge(struct local_record *r)
{
    struct job_state *s = &r->state;

    if (s->ended) {
        s->phase = PHASE_ENDED;
    } else if (procid_is_alive(&r->runner) || local_record_has_orphans(r)) {
        s->phase = s->started ? PHASE_RUNNING : PHASE_PENDING;
    } else {
        job_state_set(s, STATE_NODE_FAIL);
        strcpy(s->reason, "the unetctl that ran the job was killed, or this machine was restarted; "
                          "'unetctl resume' continues");
    }
}

static int by_number(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return (x > y) - (x < y);
}

int local_record_list(const char *dir, unsigned long **dst, size_t *n, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    size_t capacity = 0;

    *dst = NULL;
    *n = 0;
    if (!d)
        return err_errno(e, ERR_INTERNAL, errno, "cannot read %s", dir);
    while ((entry = readdir(d))) {
        char *end;
        unsigned long id = strtoul(entry->d_name, &end, 10);
        if (id == 0 || strcmp(end, ".json") != 0)
            continue;
        if (mem_grow(dst, *n, &capacity, sizeof **dst, e)) {
            closedir(d);
            free(*dst);
            *dst = NULL;
            return -1;
        }
        (*dst)[(*n)++] = id;
    }
    closedir(d);
    if (*n > 1)
        qsort(*dst, *n, sizeof **dst, by_number);
    return 0;
}
