/* SPDX-License-Identifier: BSD-3-Clause */
/* The study.yaml for another host: in every form of the key site, other lines stay in place. */
#include "src/base.h"
#include "launcher/remote/remote_internal.h"

#include "t/tap.h"

static char dir[] = "/tmp/remote-site.XXXXXX";
static struct err e;

/* Reads a study.yaml of this text and compares the result, which is NULL if it is refused. */
static void reads(const char *text, int want, const char *there, const char *what)
{
    char file[64];
    struct remote_site s;
    struct buf made = {0};

    snprintf(file, sizeof file, "%s/study.yaml", dir);
    FILE *f = fopen(file, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s", file);
    int rc = remote_site_read(dir, &s, &made, &e);
    ok(rc == want && (!there || strcmp(made.data ? made.data : "", there) == 0), "%s", what);
    if (rc != want || (there && made.data && strcmp(made.data, there) != 0))
        printf("# %d: %s\n", rc, rc < 0 ? e.text : made.data ? made.data : "");
    buf_destroy(&made);
    remote_site_destroy(&s);
    unlink(file);
}

static void test_forms(void)
{
    reads("name: a\nsite: generic\n", 0, NULL, "a name is a site here");
    reads("name: a\nsite: [\n", 0, NULL, "what is not YAML is left to the verb");
    reads("site: {ssh: h}\nname: a\n", 1, "site: \"generic\"\nname: a\n", "one line");
    reads("name: a\nsite: # there\n  ssh: h\n  # more\n  site: ./my.yaml\n\ngpus: 1 # x\n", 1,
          "name: a\nsite: \"./my.yaml\"\n\n\n\n\ngpus: 1 # x\n", "several lines");
    reads("  name: a\n  'site': {ssh: h,\n    site: x}", 1, "  name: a\n  site: \"x\"\n\n",
          "at the end, indented");
    reads("{name: a, site: {ssh: h}}", -1, NULL, "a flow mapping is refused");
    reads("site: {ssh: h}\n# \xe2\x80\xa8\nname: a\n", -1, NULL, "so is another kind of line end");
}

static void test_refusals(void)
{
    static const char *const bad[][2] = {
        {"{folder: ~/x}", "'ssh' is missing"},
        {"{ssh: h, foldr: ~/x}", "did you mean 'folder'?"},
        {"{ssh: [h]}", "site.ssh: must be a text"},
        {"{ssh: -oProxyCommand=x}", "must be a host"},
        {"{ssh: 'h; x'}", "must be a host"},
        {"{ssh: 'h:22'}", "must be a host"},
        {"{ssh: h, folder: x}", "must be /FOLDER or ~/FOLDER"},
        {"{ssh: h, folder: $WORK/x}", "must be /FOLDER or ~/FOLDER"},
        {"{ssh: h, folder: ~/}", "must be /FOLDER or ~/FOLDER"},
        {"{ssh: h, folder: ~//etc}", "must be /FOLDER or ~/FOLDER"},
        {"{ssh: h, folder: '/x/*'}", "none of"},
        {"{ssh: h, folder: \"/x\\n\"}", "control characters"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        snprintf(text, sizeof text, "site: %s\n", bad[i][0]);
        e = (struct err){0};
        reads(text, -1, NULL, bad[i][0]);
        ok(strstr(e.text, bad[i][1]) && strstr(e.text, "study.yaml:1") && e.code == ERR_CONFIG,
           "... %s", bad[i][1]);
    }
}

static void test_words(void)
{
    struct remote_site s;
    struct buf text = {0};

    ok(remote_site_decode("me@h", "/a/b", &s, &e) == 0 && !strcmp(s.host, "me@h") &&
           !strcmp(s.folder, "~/unetctl/b"), "a host");
    remote_site_destroy(&s);
    ok(remote_site_decode("h:/x y", "/a/b", &s, &e) == 0 && !strcmp(s.folder, "/x y"),
       "a host and a folder");
    ok(remote_site_encode("name: a\nsite: l # c\ngpus: 1\n", &s, &text, &e) == 0 &&
           !strcmp(text.data, "name: a\nsite: {ssh: \"h\", folder: \"/x y\", site: \"l\"}\n"
                              "gpus: 1\n"), "its study.yaml here");
    buf_destroy(&text);
    remote_site_destroy(&s);
    ok(remote_site_decode("-h", "/a/b", &s, &e) < 0 && e.code == ERR_USAGE, "not a host");
    remote_site_destroy(&s);
}

int main(void)
{
    if (!mkdtemp(dir))
        bail_out("mkdtemp");
    test_forms();
    test_refusals();
    test_words();
    rmdir(dir);
    return done_testing();
}
