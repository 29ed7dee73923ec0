/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found about the folder of a study, and who may write in it. */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include "launcher/submit/test/demo.h"

static const struct finding *find(const struct findings *f, const char *check)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->list[i].check, check) == 0)
            return &f->list[i];
    return NULL;
}

static void is_found(const struct findings *f, const char *check, enum finding_level level,
                     const char *part)
{
    const struct finding *one = find(f, check);

    ok(one && one->level == level && strstr(one->text, part), "%s: %s", check,
       one ? one->text : "not found");
    if (one && level != FINDING_OK)
        ok(*one->remedy, "the remedy: %s", one->remedy);
}

static void check_good(const struct workspace *w)
{
    struct findings f = {0};

    preflight_check_folder(w, &f);
    is_found(&f, "study", FINDING_OK, "can be written");
    is_found(&f, "lock", FINDING_OK, "can be locked");
    is_found(&f, "space", FINDING_OK, "left for runs");
    is_found(&f, "rights", FINDING_OK, "only you may write");
    ok(!find(&f, "clocks"), "this host is its own file server");
    findings_destroy(&f);
}

static void check_bad(struct workspace *w)
{
    struct findings f = {0};
    char *dir = w->plan.study.dir;

    chmod(demo_dir, 0777);
    preflight_check_folder(w, &f);
    is_found(&f, "rights", FINDING_WARNING, "every user may write");
    is_int(findings_count(&f, FINDING_WARNING), 1,
           "a folder is named once, also for the files in it");
    findings_destroy(&f);
    chmod(demo_dir, 0755);
    w->plan.study.dir = (char *)"/nonexistent/study";
    preflight_check_folder(w, &f);
    is_found(&f, "study", FINDING_ERROR, "cannot be written: No such file");
    ok(!find(&f, "lock") && !find(&f, "space"), "nothing else is tried there");
    w->plan.study.dir = dir;
    findings_destroy(&f);
}

#define OTHER 5 /* a user and a group that are not the test's */

static char above[64], folder[96], file[128];
static char path[PATH_MAX], who[128]; /* which file or folder is open to whom */

/* Gives the folder above, the folder and the file these modes, and asks about the file. */
static bool is_open(mode_t of_above, mode_t of_folder, mode_t of_file)
{
    chmod(above, of_above);
    chmod(folder, of_folder);
    chmod(file, of_file);
    return preflight_find_writer(file, path, who);
}

static void check_writers(void)
{
    strcpy(above, "/tmp/unetctl-t.XXXXXX");
    if (!mkdtemp(above))
        bail_out("%s", above);
    snprintf(folder, sizeof folder, "%s/study", above);
    snprintf(file, sizeof file, "%s/study.yaml", folder);
    mkdir(folder, 0700);
    fclose(fopen(file, "w"));

    ok(!is_open(0755, 0755, 0644), "what only its owner may write is fine, also below /tmp");
    ok(is_open(0755, 0755, 0646), "a file that all may write is found");
    is_str(path, file, "with its path");
    is_str(who, "every user", "and who may");
    ok(is_open(0755, 0757, 0644), "so is an open folder around a file");
    is_str(path, folder, "with its own path");
    ok(is_open(0777, 0755, 0644), "and one further above");
    is_str(path, above, "with its own path");
    ok(!is_open(01777, 0755, 0644), "a sticky folder above protects what is in it");
    chmod(folder, 01777);
    ok(preflight_find_writer(folder, path, who), "but new files may be put into a sticky folder");
    ok(!preflight_find_writer("/tmp/none/such", path, who), "what does not exist is not open");
    if (geteuid() == 0) {
        is_open(0755, 0755, 0664);
        ok(!preflight_find_writer(file, path, who), "root's group counts as root");
        if (chown(file, 0, OTHER) == 0)
            ok(is_open(0755, 0755, 0664) && strncmp(who, "the group ", 10) == 0,
               "a group that may write is found: %s", who);
        if (chown(file, OTHER, 0) == 0)
            ok(is_open(0755, 0755, 0644) && strncmp(who, "its owner ", 10) == 0,
               "a file of another user is found: %s", who);
        if (chown(file, 0, 0) == 0 && chown(folder, 0, OTHER) == 0)
            ok(!is_open(0755, 0755, 0644), "a group that may only read is not");
    } else {
        tap_skip(4, "only root can give files away");
    }
    unlink(file);
    rmdir(folder);
    rmdir(above);
}

int main(void)
{
    demo_make();
    struct workspace w;

    demo_open(&w, 0, NULL);
    check_good(&w);
    check_bad(&w);
    check_writers();
    workspace_close(&w);
    return done_testing();
}
