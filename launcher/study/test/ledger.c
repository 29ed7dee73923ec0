/* SPDX-License-Identifier: BSD-3-Clause */
/* Events are replayed, also after crashes; the study keeps its id; the lock excludes other
 * processes; copies of a study and unknown schemas are refused. */
#include "src/base.h"
#include "launcher/study/workspace.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/tap.h"

static char dir[64] = "/tmp/unetctl-ledger.XXXXXX";

static struct ledger open_ledger(void)
{
    struct ledger l;
    struct err e = {0};

    if (ledger_open(&l, dir, &e))
        bail_out("%s", e.text);
    return l;
}

static void write_raw(const char *name, const char *mode, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/.unetctl/%s", dir, name);
    f = fopen(path, mode);
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s", path);
}

static void check_events(void)
{
    struct ledger l = open_ledger();
    const struct ledger_entry *entry;
    struct err e = {0};
    char id[LEDGER_STUDY_ID_SIZE], tag[256], want[256];

    is_int(l.count, 0, "a new study has an empty ledger");
    is_str(l.study_id, "", "a new study has no id");
    if (ledger_lock(&l, 0, &e))
        bail_out("%s", e.text);
    strcpy(id, l.study_id);
    ok(strlen(id) == 16 && l.is_new, "the lock chooses an id");
    snprintf(want, sizeof want, "%s/.unetctl/id", dir);
    ok(access(want, F_OK) != 0, "the id is not on disk yet");
    ok(ledger_append(&l, LEDGER_SUBMITTING, "unet-g01-s1", 1, "slurm", NULL, &e) == 0 &&
           ledger_append(&l, LEDGER_SUBMITTED, "unet-g01-s1", 1, "slurm", "17", &e) == 0 &&
           ledger_append(&l, LEDGER_SUBMITTING, "unet-g02-s1", 1, "slurm", NULL, &e) == 0,
       "events are appended");
    ok(access(want, F_OK) == 0 && !l.is_new, "the id is kept with the first event");
    ledger_tag(l.study_id, "unet-g01-s1", 1, tag);
    snprintf(want, sizeof want, "unetctl:%s:unet-g01-s1:1", id);
    is_str(tag, want, "the tag has id, run and attempt");
    ledger_close(&l);

    l = open_ledger();
    is_str(l.study_id, id, "the id stays the same");
    is_int(l.count, 2, "two runs are replayed");
    entry = ledger_find(&l, "unet-g01-s1", 0);
    ok(entry && entry->last == LEDGER_SUBMITTED && entry->attempt == 1,
       "the first run was submitted");
    is_str(entry->job, "17", "it was submitted as job 17");
    entry = ledger_find(&l, "unet-g02-s1", 1);
    ok(entry && entry->last == LEDGER_SUBMITTING, "the second run is only being submitted");
    ok(!ledger_find(&l, "unet-g02-s1", 2), "there is no second attempt");
    ledger_close(&l);
}

/* Who submitted: this user, another one, and a user of a version that did not write that. */
static void check_submitter(void)
{
    struct ledger l = open_ledger();
    long own = (long)getuid();

    const struct ledger_entry *entry = ledger_find(&l, "unet-g01-s1", 0);
    ok(entry && entry->uid == own && *entry->user, "an entry has its submitter, %s",
       entry ? entry->user : "");
    ok(entry && entry->asked && entry->time >= entry->asked, "and the times of its events");
    ok(!ledger_has_others(&l) && ledger_may_be_of(&l, own) && !ledger_may_be_of(&l, own + 1),
       "no other user has submitted anything");
    ledger_close(&l);
    write_raw("ledger.jsonl", "a",
              "{\"schema\":1,\"event\":\"submitted\",\"run\":\"unet-g08-s1\",\"attempt\":1,"
              "\"scheduler\":\"slurm\",\"job\":\"5\"}\n"
              "{\"schema\":1,\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"submitted\",\"run\":"
              "\"unet-g09-s1\",\"attempt\":1,\"scheduler\":\"slurm\",\"job\":\"6\",\"uid\":4242,"
              "\"user\":\"joe\"}\n"
              "{\"schema\":1,\"event\":\"cancelled\",\"run\":\"unet-g09-s1\",\"attempt\":1,"
              "\"scheduler\":\"slurm\",\"job\":\"6\",\"uid\":4243,\"user\":\"ann\"}\n");
    l = open_ledger();
    entry = ledger_find(&l, "unet-g08-s1", 0);
    ok(entry && entry->uid == -1 && !*entry->user && entry->time == 0,
       "an event of an earlier version has no user");
    entry = ledger_find(&l, "unet-g09-s1", 0);
    ok(entry && entry->uid == 4242 && entry->asked == 1767225600,
       "one of another user has that user");
    is_str(entry ? entry->user : "", "joe", "who cancels does not become the submitter");
    ok(ledger_has_others(&l) && ledger_may_be_of(&l, 4242) && !ledger_may_be_of(&l, 4244),
       "that user may have jobs");
    ledger_close(&l);
}

/* Checks the states in which a power failure may leave the id's file. */
static void check_id(void)
{
    struct ledger l = open_ledger();
    char id[LEDGER_STUDY_ID_SIZE], path[128], torn[8];
    struct err e = {0};

    strcpy(id, l.study_id);
    ledger_close(&l);
    write_raw("id", "w", "");
    l = open_ledger();
    is_str(l.study_id, id, "an empty id is restored from the events");
    if (ledger_lock(&l, 0, &e))
        bail_out("%s", e.text);
    ok(strcmp(l.study_id, id) == 0 && !l.is_new, "it stays the same under the lock");
    ledger_close(&l);
    snprintf(torn, sizeof torn, "%.5s", id);
    write_raw("id", "w", torn);
    l = open_ledger();
    is_str(l.study_id, id, "a truncated id is restored");
    ledger_close(&l);
    snprintf(path, sizeof path, "%s/.unetctl/id", dir);
    unlink(path);
    l = open_ledger();
    is_str(l.study_id, id, "a missing id is restored");
    ledger_close(&l);
}

static void check_torn(void)
{
    struct ledger l;
    struct err e = {0};

    write_raw("ledger.jsonl", "a",
              "{\"schema\":1,\"event\":\"submitted\",\"run\":\"unet-g02-s1\",\"att");
    l = open_ledger();
    ok(ledger_find(&l, "unet-g02-s1", 0)->last == LEDGER_SUBMITTING,
       "an incomplete last line is skipped");
    if (ledger_lock(&l, 0, &e))
        bail_out("%s", e.text);
    ok(ledger_append(&l, LEDGER_SUBMITTED, "unet-g02-s1", 1, "slurm", "18", &e) == 0,
       "an event is appended after it");
    ledger_close(&l);
    l = open_ledger();
    ok(ledger_find(&l, "unet-g02-s1", 0)->last == LEDGER_SUBMITTED, "that event can be read");
    ledger_close(&l);
}

static void check_schema(void)
{
    struct ledger l;
    struct err e = {0};

    write_raw("ledger.jsonl", "a",
              "{\"schema\":2,\"event\":\"submitted\",\"run\":\"r\","
              "\"attempt\":1,\"scheduler\":\"x\"}\n");
    is_int(ledger_open(&l, dir, &e), -1, "an unknown schema is refused");
    ok(e.code == ERR_CONFIG && strstr(e.text, "ledger.jsonl:9: schema 2"),
       "the error names the line");
}

static void check_lock(void)
{
    struct ledger l;
    struct err e = {0};
    int ready[2], hold[2];
    char c, want[64];

    if (pipe(ready) || pipe(hold))
        bail_out("no pipe");
    l = open_ledger();
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        if (ledger_lock(&l, 0, &e) || (fork() == 0 && read(hold[0], &c, 1) >= 0))
            _exit(0);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(hold[0]);
    if (read(ready[0], &c, 1) != 1)
        bail_out("the child did not get the lock");
    is_int(ledger_lock(&l, 0, &e), -1, "a second process does not get the lock");
    is_int(e.code, ERR_TIMEOUT, "exit code");
    snprintf(want, sizeof want, "pid %ld", (long)child);
    ok(strstr(e.text, want) && strstr(e.text, "host "), "the error names the holder");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    is_int(ledger_lock(&l, 0, &e), -1, "the helper of a killed holder keeps the lock");
    close(hold[1]);
    is_int(ledger_lock(&l, 30, &e), 0, "the lock is free when the helper ends");
    ledger_unlock(&l);
    is_int(ledger_lock(&l, 0, &e), 0, "the lock can be taken again");
    ledger_close(&l);
}

/* Starts a process, of another user if this is root, that holds the lock with the rights of a
 * reader. */
static pid_t hold_as_reader(const char *file)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int ready[2];
    char c;

    if (pipe(ready))
        bail_out("no pipe");
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534))
            _exit(1);
        int fd = open(file, O_RDONLY);
        if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) || write(ready[1], "x", 1) != 1)
            _exit(errno == EACCES ? 77 : 1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    bool held = read(ready[0], &c, 1) == 1;
    close(ready[0]);
    if (held)
        return child;
    waitpid(child, NULL, 0);
    return -1;
}

/* Checks that those who may not write to the folder cannot open the lock file, also one that an
 * earlier version made, and that its holder is named. */
static void check_rights(void)
{
    char file[128], folder[96], want[64];
    struct ledger l = open_ledger();
    struct err e = {0};
    struct stat st;

    snprintf(folder, sizeof folder, "%s/.unetctl", dir);
    snprintf(file, sizeof file, "%s/lock", folder);
    write_raw("lock", "w", "host elsewhere, pid 1\n");
    if (chmod(dir, 0755) || chmod(folder, 0755) || chmod(file, 0644))
        bail_out("rights");
    pid_t reader = hold_as_reader(file);
    is_int(ledger_lock(&l, 0, &e), -1, "a reader holds the lock of an earlier version");
    snprintf(want, sizeof want, "by pid %ld (", (long)reader);
    ok(strstr(e.text, want) && !strstr(e.text, "elsewhere"), "the error names it: %s", e.text);
    ok(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600, "the rights are corrected");
    kill(reader, SIGKILL);
    waitpid(reader, NULL, 0);
    if (geteuid() == 0)
        is_int(hold_as_reader(file), -1, "another reader cannot open it");
    else
        tap_skip(1, "only root can be another user");
    is_int(ledger_lock(&l, 0, &e), 0, "the owner takes it");
    ledger_unlock(&l);
    ok(chmod(folder, 02775) == 0 && ledger_lock(&l, 0, &e) == 0 && stat(file, &st) == 0 &&
           (st.st_mode & 0777) == 0660,
       "the group of a group's folder may take it, too");
    ledger_close(&l);
}

/* Checks a study that was copied, one that was moved, and one that is reached by another name. */
static void check_copy(void)
{
    char command[256], one[96], other[96];
    struct ledger l;
    struct err e = {0};

    snprintf(one, sizeof one, "%s/one", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    if (mkdir(one, 0777) || ledger_open(&l, one, &e) || ledger_lock(&l, 0, &e) ||
        ledger_keep_id(&l, &e))
        bail_out("%s", e.text);
    ledger_close(&l);
    if (symlink("one", other) || ledger_open(&l, other, &e))
        bail_out("%s", e.text);
    is_int(ledger_lock(&l, 0, &e), 0, "another name of the same study is accepted");
    ledger_close(&l);
    snprintf(command, sizeof command, "cd %s && rm other && cp -r one other", dir);
    if (system(command) || ledger_open(&l, other, &e))
        bail_out("%s", e.text);
    is_int(ledger_lock(&l, 0, &e), -1, "a copy of a study is refused");
    ok(e.code == ERR_CONFIG && strstr(e.text, "/one/.unetctl, whose jobs"),
       "the error names the original: %s",
       e.text);
    is_int(ledger_lock(&l, 0, &e), -1, "a copy is refused again");
    snprintf(command, sizeof command, "cd %s && rm -r one", dir);
    if (system(command))
        bail_out("%s", command);
    is_int(ledger_lock(&l, 0, &e), 0, "a study whose original is gone was moved, and is accepted");
    ledger_close(&l);
}

int main(void)
{
    char command[128];

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    check_events();
    check_submitter();
    check_id();
    check_torn();
    check_lock();
    check_rights();
    check_copy();
    check_schema();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        bail_out("%s", command);
    return done_testing();
}
