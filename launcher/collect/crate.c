/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/crate.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/format/document.h"
#include "src/format/sha256.h"
#include "src/log.h"
#include "src/plural.h"

#define CRATE_FILE "ro-crate-metadata.json"
#define CRATE_MARK "\"#unetctl\"" /* only crates that are written here begin with it */
#define PROFILE "https://w3id.org/ro/wfrun/process/0.5"
#define STATUS "http://schema.org/"
#define SPLIT_LIMIT ((size_t)256 << 20)
#define CITATION_LIMIT ((size_t)1 << 20)
#define ID_SIZE (3 * PATH_MAX)

/* The crate as it grows. All entities belong to `entities`. */
struct crate {
    const char *dir;       /* of the study */
    json_t *entities;      /* by @id, in the order of the file */
    json_t *root, *inputs; /* inputs: the images, or NULL */
};

/* Sets a text unless it is empty. Bytes that are not UTF-8 become question marks. */
static void set_text(json_t *o, const char *key, const char *text)
{
    char clean[ERR_TEXT_SIZE];

    result_set_text(clean, sizeof clean, text);
    if (*clean)
        json_object_set_new(o, key, json_string(clean));
}

/* Returns the entity whose @id is prefix and path as a URI reference; it is added if it is
 * missing. */
static json_t *get_entity(struct crate *c, const char *type, const char *prefix, const char *path,
                          const char *name)
{
    char id[ID_SIZE];
    size_t n = (size_t)snprintf(id, sizeof id, "%s", prefix);

    for (; *path && n + 4 < sizeof id; path++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/", *path))
            id[n++] = *path;
        else
            n += (size_t)snprintf(id + n, 4, "%%%02X", (unsigned char)*path);
    id[n] = 0;
    json_t *o = json_object_get(c->entities, id);
    if (!o) {
        o = json_pack("{s:s, s:s}", "@id", id, "@type", type);
        set_text(o, "name", name);
        json_object_set_new(c->entities, id, o);
    }
    return o;
}

/* Adds a reference to the entity, unless that is NULL. Several make a list. */
static void refer(json_t *from, const char *property, const json_t *to)
{
    json_t *old = json_object_get(from, property);
    json_t *reference = to ? json_pack("{s:O}", "@id", json_object_get(to, "@id")) : NULL;

    if (reference && old && !json_is_array(old))
        json_object_set_new(from, property, old = json_pack("[O]", old));
    if (reference && old)
        json_array_append_new(old, reference);
    else if (reference)
        json_object_set_new(from, property, reference);
}

/* Adds a file or folder of the study as a part of whole. Returns its entity, or NULL if it does not
 * exist. */
static json_t *add_part(struct crate *c, json_t *whole, const char *path)
{
    size_t before = json_object_size(c->entities);
    char full[PATH_MAX], folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (stat(path_format(full, "%s/%s", c->dir, path), &st))
        return NULL;
    bool is_folder = S_ISDIR(st.st_mode);
    json_t *o = get_entity(c, is_folder ? "Dataset" : "File", "",
                           is_folder ? path_format(folder, "%s/", path) : path,
                           slash ? slash + 1 : path);
    if (json_object_size(c->entities) == before)
        return o;
    if (!is_folder)
        json_object_set_new(o, "contentSize", json_sprintf("%lld", (long long)st.st_size));
    refer(whole, "hasPart", o);
    return o;
}

/* Adds a folder of the study with what is in it, but not in folders within it. */
static json_t *add_folder(struct crate *c, const char *path)
{
    json_t *folder = add_part(c, c->root, path);
    char inner[PATH_MAX];
    struct dirent **list;
    int n = scandir(path_format(inner, "%s/%s", c->dir, path), &list, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        if (*list[i]->d_name != '.')
            add_part(c, folder, path_format(inner, "%s/%s", path, list[i]->d_name));
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return folder;
}

/* Returns the entity of an author of CITATION.cff, or NULL if it has no name. */
static json_t *add_author(struct crate *c, const struct document_node *author)
{
    static const char orcids[] = "https://orcid.org/";
    const struct document_node *given = document_get(author, "given-names"),
                               *family = document_get(author, "family-names"),
                               *orcid = document_get(author, "orcid"),
                               *name = document_get(author, "name");
    char whole[512];

    snprintf(whole, sizeof whole, "%s%s%s", given ? given->text : "", given && family ? " " : "",
             family ? family->text : name ? name->text : "");
    bool has_orcid = orcid && strncmp(orcid->text, orcids, strlen(orcids)) == 0;
    return *whole ? get_entity(c, name ? "Organization" : "Person", has_orcid ? orcids : "#author-",
                               has_orcid ? orcid->text + strlen(orcids) : whole, whole)
                  : NULL;
}

static int read_citation(struct crate *c, const char *path, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, CITATION_LIMIT, &n, e);
    struct document *d = text ? document_decode(text, n, path, e) : NULL;
    const struct document_node *authors = d ? document_get(d->root, "authors") : NULL;
    const struct document_node *license = d ? document_get(d->root, "license") : NULL;
    int rc = d ? 0 : -1;

    if (d && (!authors || authors->kind != DOCUMENT_LIST))
        rc = err_set(e, ERR_CONFIG, "%s: there is no list of 'authors'", path);
    for (size_t i = 0; rc == 0 && i < authors->count; i++)
        refer(c->root, "author", add_author(c, authors->items[i]));
    if (rc == 0 && license && *license->text)
        refer(c->root, "license", get_entity(c, "CreativeWork", "https://spdx.org/licenses/",
                                             license->text, license->text));
    document_destroy(d);
    free(text);
    return rc;
}

static int add_people(struct crate *c, struct err *e)
{
    const char *const ask[] = {"git", "-C", c->dir, "config", "user.name", NULL};
    struct child git = {.argv = ask, .out = CHILD_READ, .err = CHILD_NULL, .limit_s = 10};
    char path[PATH_MAX];
    struct child_end end;
    struct err ignored;

    if (path_has_file(c->dir, "CITATION.cff"))
        return read_citation(c, path_format(path, "%s/CITATION.cff", c->dir), e);
    if (child_run(&git, &end, &ignored) == 0 && end.code == 0 && end.out.length > 1) {
        end.out.data[strcspn(end.out.data, "\n")] = 0;
        refer(c->root, "author",
              get_entity(c, "Person", "#author-", end.out.data, end.out.data));
    }
    child_destroy(&end);
    return 0;
}

/* Adds the images of split.json, if the study has one. */
static int add_inputs(struct crate *c, struct err *e)
{
    static const char *const parts[] = {"train", "val"};
    static const char *const keys[][2] = {{"image", "image_sha256"}, {"mask", "mask_sha256"}};
    char path[PATH_MAX];
    const json_t *item;
    size_t i;

    if (!add_part(c, c->root, "split.json"))
        return 0;
    json_t *split = jsonio_read(path_format(path, "%s/split.json", c->dir), SPLIT_LIMIT, e);
    if (!split)
        return -1;
    const char *dir = jsonio_text(split, "data");
    c->inputs = get_entity(c, "Dataset", "file://", path_format(path, "%s/", dir), dir);
    refer(c->root, "hasPart", c->inputs);
    for (int k = 0; k < 4; k++)
        json_array_foreach(json_object_get(split, parts[k / 2]), i, item) {
            const char *name = jsonio_text(item, keys[k % 2][0]);
            if (!*name)
                continue;
            json_t *file = get_entity(c, "File", "file://", path_format(path, "%s/%s", dir, name),
                                      name);
            set_text(file, "sha256", jsonio_text(item, keys[k % 2][1]));
            refer(c->inputs, "hasPart", file);
        }
    json_decref(split);
    return 0;
}

/* Adds what source.sha256 of an attempt lists: files, of which RUN/source-HASH has copies, and a
 * container. */
static void add_source(struct crate *c, json_t *action, const char *run, const char *attempt)
{
    char path[PATH_MAX], hash[65], *line = NULL;
    size_t size = 0;
    struct err ignored;

    path_format(path, "%s/%s/source.sha256", c->dir, attempt);
    FILE *f = sha256_file(path, hash, &ignored) == 0 ? fopen(path, "re") : NULL;
    while (f && getline(&line, &size, f) > 66) {
        line[strcspn(line, "\n")] = line[64] = 0;
        const char *name = line + 66; /* as sha256sum prints it */
        json_t *o = add_part(c, c->root,
                             path_format(path, "runs/%s/source-%.8s/%s", run, hash, name));
        if (!o)
            o = get_entity(c, "SoftwareSourceCode", "#source-", name, name);
        set_text(o, "sha256", line);
        refer(action, "object", o);
    }
    free(line);
    if (f)
        fclose(f);
}

/* Returns the program that ran, one for all runs that had the same versions of everything. */
static json_t *add_program(struct crate *c, const struct result *r, const char *attempt)
{
    char path[PATH_MAX], text[2 * PATH_MAX], hash[65];
    FILE *f = fopen(path_format(path, "%s/%s/record.jsonl", c->dir, attempt), "re");
    json_t *record = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    json_t *plan = json_load_file(path_format(path, "%s/runs/%s/run.json", c->dir, r->run), 0, NULL);
    const char *name = jsonio_text(json_object_get(plan, "program"), "script");

    if (strcmp(r->engine, "embedded") == 0)
        name = "unet-train";
    if (f)
        fclose(f);
    snprintf(text, sizeof text, "%s %s %s", name, jsonio_text(record, "version"), r->versions);
    sha256_bytes(text, strlen(text), hash);
    hash[8] = 0;
    json_t *program = get_entity(c, "SoftwareApplication", "#program-", hash, name);
    set_text(program, "softwareVersion", jsonio_text(record, "version"));
    set_text(program, "softwareRequirements", r->versions);
    json_decref(record);
    json_decref(plan);
    return program;
}

/* Sets when the run began, and when its marker was written unless that file is older, as of a
 * copy. */
static void set_times(json_t *action, const char *started, const char *marker)
{
    char date[32] = "";
    struct stat st;
    struct tm tm;

    if (*started && stat(marker, &st) == 0 && st.st_mtime >= clock_decode_date(started))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&st.st_mtime, &tm));
    set_text(action, "startTime", started);
    set_text(action, "endTime", date);
}

static void add_run(struct crate *c, const struct result *r, const struct ledger_entry *entry)
{
    static const char *const files[] = {"run.json", "run_file.sh", "submit_file.sh"};
    char attempt[PATH_MAX], path[PATH_MAX];
    bool failed = r->state == RESULT_FAILED;

    path_format(attempt, "runs/%s/attempt-%d", r->run, r->attempt);
    path_format(path, "%s: %d GPU%s, seed %ld", r->run, r->gpus, plural(r->gpus), r->seed);
    json_t *action = get_entity(c, "CreateAction", "#run-", r->run, path);
    refer(c->root, "mentions", action);
    set_times(action, r->started,
              path_format(path, "%s/%s/%s", c->dir, attempt, failed ? "FAILED" : "DONE"));
    set_text(action, "actionStatus", failed ? STATUS "FailedActionStatus"
                                            : STATUS "CompletedActionStatus");
    set_text(action, "error", failed ? r->note : "");
    if (entry && *entry->user)
        refer(action, "agent", get_entity(c, "Person", "#user-", entry->user, entry->user));
    refer(action, "instrument", add_program(c, r, attempt));
    for (int i = 0; i < 3; i++)
        refer(action, "object",
              add_part(c, c->root, path_format(path, "runs/%s/%s", r->run, files[i])));
    refer(action, "object", json_object_get(c->entities, "split.json"));
    refer(action, "object", c->inputs);
    add_source(c, action, r->run, attempt);
    refer(action, "result", add_folder(c, attempt));
}

/* Adds the metadata file, unetctl, the study as root, and its files beside the runs. */
static void add_root(struct crate *c, const char *name, size_t ndone)
{
    char text[512];

    json_t *file = get_entity(c, "CreativeWork", CRATE_FILE, "", "");
    json_t *unetctl = get_entity(c, "SoftwareApplication", "#unetctl", "", "unetctl");
    json_t *profile = get_entity(c, "CreativeWork", PROFILE, "", "Process Run Crate");
    c->root = get_entity(c, "Dataset", "./", "", name);
    set_text(unetctl, "softwareVersion", PACKAGE_VERSION);
    set_text(profile, "version", "0.5");
    json_object_set_new(file, "conformsTo",
                        json_pack("{s:s}", "@id", "https://w3id.org/ro/crate/1.1"));
    refer(file, "about", c->root);
    refer(file, "creator", unetctl);
    refer(c->root, "conformsTo", profile);
    snprintf(text, sizeof text, "The study %s: %zu finished run%s, submitted and collected by "
             "unetctl.", name, ndone, plural(ndone));
    set_text(c->root, "description", text);
    clock_date(text);
    text[strcspn(text, "T")] = 0;
    set_text(c->root, "datePublished", text);
    add_part(c, c->root, "study.yaml");
    add_folder(c, "logs");
    add_folder(c, "report");
}

static int write_crate(const struct crate *c, struct err *e)
{
    json_t *graph = json_array(), *entity;
    const char *id;
    char path[PATH_MAX];

    json_object_foreach(c->entities, id, entity)
        json_array_append(graph, entity);
    json_t *o = json_pack("{s:[s,{s:s}], s:o}", "@context", "https://w3id.org/ro/crate/1.1/context",
                          "sha256", "http://schema.org/sha256", "@graph", graph);
    path_format(path, "%s/" CRATE_FILE, c->dir);
    int rc = atomicfile_check_own(path, CRATE_MARK, e);
    if (rc == 0)
        rc = path_write(c->dir, CRATE_FILE, o ? json_dumps(o, JSON_INDENT(1)) : NULL, e);
    json_decref(o);
    return rc;
}

int crate_write(const struct workspace *w, const struct results *table, struct err *e)
{
    size_t ndone = results_count(table, RESULT_DONE);

    if (!ndone)
        return err_set(e, ERR_DATA, "--crate: no run of %s has a result", w->study.dir);
    struct crate c = {.dir = w->study.dir, .entities = json_object()};
    add_root(&c, w->study.name, ndone);
    int rc = add_people(&c, e) || add_inputs(&c, e) ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < table->count; i++) {
        const struct result *r = &table->rows[i];
        if (r->state == RESULT_DONE || r->state == RESULT_FAILED)
            add_run(&c, r, ledger_find(&w->ledger, r->run, r->attempt));
        else if (r->state != RESULT_MISSING)
            log_warn("%s is %s and not in " CRATE_FILE "%s%s", r->run, result_state_name(r->state),
                     *r->note ? ": " : "", r->note);
    }
    if (rc == 0)
        rc = write_crate(&c, e);
    json_decref(c.entities);
    return rc;
}
