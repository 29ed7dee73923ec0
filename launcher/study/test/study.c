/* SPDX-License-Identifier: BSD-3-Clause */
/* study.yaml and site files: values, presets, and the errors that people are likely to make. */
#include "src/base.h"
#include "launcher/study/study.h"

#include <sys/stat.h>

#include "t/tap.h"

static char dir[64] = "/tmp/unetctl-study.XXXXXX";

static void write_text(const char *name, const char *text, size_t n)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        bail_out("%s cannot be written", path);
}

#define MINIMAL "name: demo\ndata:\n  dir: d\n  height: 96\n  width: 128\n"

static void check_good(void)
{
    struct study s;
    struct err e = {0};
    char want[256];

    write_text("study.yaml", MINIMAL, strlen(MINIMAL));
    if (!ok(study_open(&s, dir, NULL, 0, &e) == 0, "the smallest study is read"))
        bail_out("%s", e.text);
    is_str(s.name, "demo", "the name is read");
    is_str(s.site, "generic", "a text has its preset");
    is_str(s.strategy, "auto", "a word has its preset");
    is_int(s.train.epochs, 200, "a number has its preset");
    ok(s.train.lr == 0.001, "a real number has its preset");
    ok(!s.data.soft_masks, "a switch has its preset");
    snprintf(want, sizeof want, "%s/d", s.dir);
    is_str(s.data.dir, want, "a relative path starts at the study's folder");
    study_close(&s);
}

/* Replaces the file by text; the error must contain both words. */
static void check_bad(const char *what, const char *text, const char *word1, const char *word2)
{
    struct study s;
    struct err e = {0};

    write_text("study.yaml", text, strlen(text));
    is_int(study_open(&s, dir, NULL, 0, &e), -1, "%s is refused", what);
    is_int(e.code, ERR_CONFIG, "%s: exit code", what);
    if (!ok(strstr(e.text, word1) && strstr(e.text, word2), "%s: the error says '%s' and '%s'",
            what, word1, word2))
        printf("# %s\n", e.text);
}

static void check_patch(void)
{
    static const char text[] = "name: demo\ndata: {dir: d, patch: 64x48}\n";
    struct study s;
    struct err e = {0};

    write_text("study.yaml", text, sizeof text - 1);
    ok(study_open(&s, dir, NULL, 0, &e) == 0 && s.data.height == 64 && s.data.width == 48,
       "the sides of a patch are those of the network's images %s", e.text);
    study_close(&s);
    const struct yaml_setting other = {"data.patch", "32x16", "--set"};
    write_text("study.yaml", MINIMAL, strlen(MINIMAL));
    ok(study_open(&s, dir, &other, 1, &e) == 0 && s.data.height == 32 && s.data.width == 16,
       "also where --set replaces a height and a width %s", e.text);
    study_close(&s);
}

static void check_errors(void)
{
    check_bad("a height beside a patch", MINIMAL "  patch: 64x48\n", "study.yaml:4: data.height",
              "no effect beside data.patch: 64x48");
    check_bad("a patch of one number", "name: x\ndata: {dir: d, patch: 64}\n", "study.yaml:2:",
              "HEIGHTxWIDTH");
    check_bad("a patch that four poolings do not divide",
              "name: x\ndata: {dir: d, patch: 64x40}\n", "data.width 40", "multiple of 16");
    check_bad("a patch of another engine",
              "name: x\nengine: pytorch\ndata: {dir: d, patch: 64x48}\n", "study.yaml:3:",
              "cut no patches");
    check_bad("zscore with brightness",
              "name: x\ndata: {dir: d, height: 32, width: 32, scale: zscore}\n"
              "augment: {brightness: 0.1}\n", "study.yaml:", "data.scale: zscore excludes");
    check_bad("a goal of no metric", MINIMAL "train: {until: foo}\n", "study.yaml:6: train.until:",
              "METRIC>=VALUE");
    check_bad("a weight too many", MINIMAL "train: {class_weights: '1,2,3'}\n",
              "study.yaml:6: train.class_weights:", "3 weights for");
    check_bad("steps that are no list", MINIMAL "train: {lr_steps: abc}\n",
              "study.yaml:6: train.lr_steps:", "EPOCH:FACTOR");
    check_bad("steps and a plateau", MINIMAL "train: {lr_steps: '3:0.1', lr_plateau: '10:0.5'}\n",
              "study.yaml:6: train.lr_steps:", "excludes train.lr_plateau");
    check_bad("a plateau with no factor", MINIMAL "train: {lr_plateau: '10'}\n",
              "study.yaml:6: train.lr_plateau:", "EPOCHS:FACTOR");
    check_bad("quarter turns of images that are not square",
              "name: x\ndata: {dir: d, height: 32, width: 48, repeat: 6}\n"
              "augment: {six: true}\n", "study.yaml:3: augment.six:", "square");
    check_bad("unknown key", MINIMAL "trian:\n  lr: 1\n", "study.yaml:6: unknown key 'trian'",
              "'train'");
    check_bad("unknown key in a section", MINIMAL "train:\n  epoch: 1\n",
              "study.yaml:7: unknown key 'train.epoch'", "'train.epochs'");
    check_bad("key far from all", MINIMAL "model:\n  zzzzzzzz: 1\n", "study.yaml:7", "known: name");
    check_bad("wrong type", MINIMAL "seeds: two\n", "study.yaml:6: seeds: 'two'", "whole number");
    check_bad("list for a text", MINIMAL "site: [a]\n", "study.yaml:6: site", "not a list");
    check_bad("text for a section", MINIMAL "train: fast\n", "study.yaml:6: train", "section");
    check_bad("out of bounds", MINIMAL "seeds: 0\n", "study.yaml:6: seeds: '0'", "from 1 to 1000");
    check_bad("overflow", MINIMAL "seeds: 99999999999999999999\n", "study.yaml:6", "whole number");
    check_bad("not finite", MINIMAL "train:\n  lr: nan\n", "study.yaml:7: train.lr", "number");
    check_bad("unknown word", MINIMAL "train:\n  optimizer: adm\n", "study.yaml:7", "'adam'");
    check_bad("duplicate key", MINIMAL "seeds: 1\nseeds: 2\n", "study.yaml:7: seeds is given twice",
              "line 6");
    check_bad("duplicate section", MINIMAL "train:\n  lr: 1\ntrain:\n  epochs: 1\n",
              "study.yaml:8: train is given twice", "line 6");
    check_bad("missing key", "name: demo\n", "study.yaml", "'data.dir' is missing");
    check_bad("empty file", "", "study.yaml", "'name' is missing");
    check_bad("tab", "name: demo\ndata:\n\tdir: d\n", "study.yaml:3", "tab");
    check_bad("broken YAML", MINIMAL "x: [1, 2\n", "study.yaml:", "not YAML");
    check_bad("list at the top", "- a\n", "study.yaml:1", "KEY: VALUE");
    check_bad("newline in a value", MINIMAL "site: \"a\\nb\"\n", "study.yaml:6: site", "newlines");
    check_bad("bad name", "name: De/mo\ndata:\n  dir: d\n  height: 96\n  width: 128\n",
              "study.yaml:1: name", "a-z");
    check_bad("bad list of counts", MINIMAL "gpus: 14..1\n", "study.yaml:6: gpus", "N..M");
    check_bad("bad time", MINIMAL "slurm:\n  time: soon\n", "study.yaml:7: slurm.time",
              "time limit");
    check_bad("size that poolings do not divide",
              "name: demo\ndata:\n  dir: d\n  height: 100\n  width: 128\n",
              "study.yaml:4: data.height 100", "multiple of 16");
    check_bad("too many channels",
              "name: demo\ndata:\n  dir: d\n  height: 96\n  width: 128\n  channels: 65\n",
              "data.channels", "64");
    check_bad("bytes that are not UTF-8", "name: \xff\xfe\n", "study.yaml", "UTF-8");
}

static void check_find(void)
{
    char below[128], old[4096];
    struct study s;
    struct err e = {0};

    write_text("study.yaml", MINIMAL, strlen(MINIMAL));
    snprintf(below, sizeof below, "%s/a", dir);
    mkdir(below, 0777);
    if (!getcwd(old, sizeof old) || chdir(below))
        bail_out("%s: no folder", below);
    if (ok(study_open(&s, NULL, NULL, 0, &e) == 0, "a study is found from a folder below it"))
        study_close(&s);
    ok(study_open(&s, ".", NULL, 0, &e) == -1 && strstr(e.text, "unetctl init"),
       "a named folder is not searched upwards");
    if (chdir("/"))
        bail_out("no root folder");
    ok(study_open(&s, NULL, NULL, 0, &e) == -1 && strstr(e.text, "-C STUDY"),
       "if there is no study above, the error says what to type");
    if (chdir(old))
        bail_out("%s: no folder", old);
}

static void check_encode(void)
{
    struct yaml_setting settings[] = {{"name", "x", ""}, {"data.dir", "/a \"b\" # c/\xc3\xa9", ""},
                                      {"data.height", "96", ""}, {"data.width", "128", ""},
                                      {"train.epochs", "3", ""}, {"train.epochs", "4", ""}};
    struct buf b = {0};
    struct study s;
    struct err e = {0};

    ok(yaml_table_encode(settings_of_study, settings, 6, true, &b, &e) == 0, "a study is written");
    write_text("study.yaml", b.data, b.length);
    if (!ok(study_open(&s, dir, NULL, 0, &e) == 0, "a written study can be read"))
        bail_out("%s", e.text);
    is_str(s.data.dir, "/a \"b\" # c/\xc3\xa9", "a path with blanks, quotes and a hash is kept");
    is_int(s.train.epochs, 4, "the last of two settings is written");
    study_close(&s);
    buf_destroy(&b);
    settings[0].path = "tran.epochs";
    ok(yaml_table_encode(settings_of_study, settings, 1, true, &b, &e) == -1 && strstr(e.text, "'train.epochs'"),
       "an unknown key is refused, with the nearest");
    is_int(e.code, ERR_USAGE, "that is a usage error");
    buf_destroy(&b);
}

/* A need of a key that no table has would never be unmet. */
static void check_needs(const struct setting *table)
{
    for (const struct setting *k = table; k->path; k++)
        for (const struct setting_need *n = k->needs; n && n->path; n++) {
            ok(strcmp(n->path, NEED_GPUS) == 0 || strcmp(n->path, NEED_DATA) == 0 ||
                   setting_find(settings_of_run, n->path) ||
                   setting_find(settings_of_study, n->path),
               "%s needs a key that there is: %s", k->path, n->path);
            ok(!n->or_next || n[1].path, "%s: either this or another", k->path);
        }
}

static void check_site(void)
{
    static const char good[] = "gpus_per_node: 4\nsetup:\n  - module load x\nenv:\n  A: b c\n";
    static const char bad_env[] = "gpus_per_node: 4\nenv:\n  A-B: c\n";
    char file[128];
    struct site s;
    struct err e = {0};

    if (!ok(site_open(&s, "generic", &e) == 0, "the site generic is read"))
        bail_out("%s", e.text);
    is_str(s.scheduler, "slurm", "its scheduler is read");
    ok(strstr(s.launcher, "srun --mpi=pmix") != NULL, "its launcher is read");
    site_close(&s);
    ok(site_open(&s, "genric", &e) == -1 && strstr(e.text, "'generic'"),
       "an unknown site is refused, with the nearest");
    ok(strstr(e.text, "local") && strstr(e.text, "sandbox"), "the error lists the known sites");
    snprintf(file, sizeof file, "%s/my.yaml", dir);
    write_text("my.yaml", good, strlen(good));
    if (!ok(site_open(&s, file, &e) == 0, "a user's file is read as a site"))
        bail_out("%s", e.text);
    is_int(s.setup.count, 1, "its setup lines are read");
    is_str(s.env.lines[0], "A=b c", "its environment is read");
    site_close(&s);
    write_text("my.yaml", bad_env, strlen(bad_env));
    ok(site_open(&s, file, &e) == -1 && strstr(e.text, "my.yaml:3"),
       "a bad name of a variable is reported with its line");
}

int main(void)
{
    char command[128];

    const char *srcdir = getenv("srcdir");

    setenv("UNETCTL_DATADIR", srcdir ? srcdir : ".", 1);
    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    check_good();
    check_patch();
    check_errors();
    check_find();
    check_encode();
    check_needs(settings_of_study);
    check_needs(settings_of_run);
    check_site();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        bail_out("%s", command);
    return done_testing();
}
