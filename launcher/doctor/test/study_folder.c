/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found about the folder of a study. */
#include "config.h"
#include "launcher/doctor/study_folder.h"

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

    study_folder_check(w, &f);
    study_folder_check_rights(w, &f);
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
    char *dir = w->study.dir;

    chmod(demo_dir, 0777);
    study_folder_check_rights(w, &f);
    is_found(&f, "rights", FINDING_WARNING, "every user may write");
    is_int((int)f.count, 1, "a folder is named once, also for the files in it");
    chmod(demo_dir, 0755);
    w->study.dir = (char *)"/nonexistent/study";
    study_folder_check(w, &f);
    is_found(&f, "study", FINDING_ERROR, "cannot be written: No such file");
    ok(!find(&f, "lock") && !find(&f, "space"), "nothing else is tried there");
    w->study.dir = dir;
    findings_destroy(&f);
}

int main(void)
{
    demo_make();
    struct workspace w = demo_open(0, NULL);
    check_good(&w);
    check_bad(&w);
    workspace_close(&w);
    return done_testing();
}
