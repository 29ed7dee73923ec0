/* SPDX-License-Identifier: BSD-3-Clause */
/* The unified diff: known texts, and random ones that `patch` turns into each other. */
#include "config.h"
#include "src/text/textdiff.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/rng.h"
#include "t/tap.h"

#define SEED 7

static void diff_is(const char *a, const char *b, const char *want, const char *what)
{
    struct buf got = {0};
    struct err e = {0};

    is_int(textdiff_unified(a, b, "a", "b", &got, &e), 0, "%s", what);
    is_str(got.data ? got.data : "", want, "%s", what);
    buf_destroy(&got);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s cannot be written", path);
}

/* A text of few different lines, so that there is much to find in common. */
static void make_text(uint64_t stream, struct buf *b)
{
    size_t n = (size_t)(rng_u64(SEED, stream, 0) % 40);

    for (size_t i = 0; i < n; i++)
        buf_addf(b, "%c%s", (char)('a' + rng_u64(SEED, stream, 1 + i) % 4),
                 i + 1 < n || stream % 3 ? "\n" : "");
    buf_add(b, "");
}

static void check_with_patch(const char *dir)
{
    char old_path[256], new_path[256], diff_path[256], command[2048];
    int bad = 0;

    snprintf(old_path, sizeof old_path, "%s/old", dir);
    snprintf(new_path, sizeof new_path, "%s/new", dir);
    snprintf(diff_path, sizeof diff_path, "%s/diff", dir);
    snprintf(command, sizeof command, "patch -s %s %s >/dev/null && cmp -s %s %s", old_path,
             diff_path, old_path, new_path);
    for (int i = 0; i < 60; i++) {
        struct buf a = {0}, b = {0}, d = {0};
        struct err e = {0};
        make_text(2 * (uint64_t)i, &a);
        make_text(2 * (uint64_t)i + 1, &b);
        if (textdiff_unified(a.data, b.data, "old", "new", &d, &e))
            bail_out("%s", e.text);
        write_text(old_path, a.data);
        write_text(new_path, b.data);
        write_text(diff_path, d.data ? d.data : "");
        if (d.length && system(command) != 0)
            bad++;
        buf_destroy(&a);
        buf_destroy(&b);
        buf_destroy(&d);
    }
    is_int(bad, 0, "patch makes the new text of the old one (60 random pairs, seed 7)");
}

int main(void)
{
    char dir[] = "/tmp/unetctl-textdiff.XXXXXX", command[64];

    diff_is("a\nb\n", "a\nb\n", "", "equal texts");
    diff_is("", "a\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n", "from nothing");
    diff_is("a\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n", "to nothing");
    diff_is("a", "a\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
            "a last newline");
    diff_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
            "three lines around");
    diff_is("a\n2\n3\n4\n5\n6\n7\n8\nb\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
            "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n "
            "8\n-b\n+y\n", "two hunks");
    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    if (system("command -v patch >/dev/null") == 0)
        check_with_patch(dir);
    else
        tap_skip(1, "patch is not installed");
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command))
        bail_out("%s", command);
    done_testing();
}
