/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/study_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/tap.h"

#define OTHER 5 /* a user and a group that are not the test's */

static char above[64], folder[96], file[128];
static struct rights_writer found;

/* Gives the folder above, the folder and the file these modes, and asks about the file. */
static bool is_open(mode_t of_above, mode_t of_folder, mode_t of_file)
{
    chmod(above, of_above);
    chmod(folder, of_folder);
    chmod(file, of_file);
    return rights_find_writer(file, &found);
}

int main(void)
{
    strcpy(above, "/tmp/unetctl-t.XXXXXX");
    if (!mkdtemp(above))
        return 1;
    snprintf(folder, sizeof folder, "%s/study", above);
    snprintf(file, sizeof file, "%s/study.yaml", folder);
    mkdir(folder, 0700);
    fclose(fopen(file, "w"));

    ok(!is_open(0755, 0755, 0644), "what only its owner may write is fine, also below /tmp");
    ok(is_open(0755, 0755, 0646), "a file that all may write is found");
    is_str(found.path, file, "with its path");
    is_str(found.who, "every user", "and who may");
    ok(is_open(0755, 0757, 0644), "so is an open folder around a file");
    is_str(found.path, folder, "with its own path");
    ok(is_open(0777, 0755, 0644), "and one further above");
    is_str(found.path, above, "with its own path");
    ok(!is_open(01777, 0755, 0644), "a sticky folder above protects what is in it");
    chmod(folder, 01777);
    ok(rights_find_writer(folder, &found), "but new files may be put into a sticky folder");
    ok(!rights_find_writer("/tmp/none/such", &found), "what does not exist is not open");
    if (geteuid() == 0) {
        is_open(0755, 0755, 0664);
        ok(!rights_find_writer(file, &found), "root's group counts as root");
        if (chown(file, 0, OTHER) == 0)
            ok(is_open(0755, 0755, 0664) && strncmp(found.who, "the group ", 10) == 0,
               "a group that may write is found: %s", found.who);
        if (chown(file, OTHER, 0) == 0)
            ok(is_open(0755, 0755, 0644) && strncmp(found.who, "its owner ", 10) == 0,
               "a file of another user is found: %s", found.who);
        if (chown(file, 0, 0) == 0 && chown(folder, 0, OTHER) == 0)
            ok(!is_open(0755, 0755, 0644), "a group that may only read is not");
    } else {
        tap_skip(4, "only root can give files away");
    }
    unlink(file);
    rmdir(folder);
    rmdir(above);
    return done_testing();
}
