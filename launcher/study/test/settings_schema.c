/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON Schemas of run.json, study.yaml and site files (logs/) are those of the tables of
 * settings. With UPDATE_GOLDEN set they are written there. */
#include "src/base.h"
#include "src/settings/settings.h"

#include <jansson.h>

#include "launcher/study/study.h"
#include "src/atomicfile.h"
#include "t/tap.h"

#define SETTINGS "src/settings/settings.def"

/* A YAML reader takes a text such as 64 or off for another type. */
#define SCALAR "[\"string\",\"number\",\"boolean\"]"

/* Adds the members of a schema that give the type; is_open: of a word any text. */
static void add_type(struct buf *b, const struct setting *s, bool is_yaml, bool is_open)
{
    switch (s->type) {
    case SETTING_INT: buf_add(b, "\"type\":\"integer\""); break;
    case SETTING_REAL: buf_add(b, "\"type\":\"number\""); break;
    case SETTING_SWITCH: buf_add(b, "\"type\":\"boolean\""); break;
    case SETTING_LINES: buf_add(b, "\"type\":\"array\",\"items\":{\"type\":" SCALAR "}"); break;
    case SETTING_PAIRS:
        buf_add(b, "\"type\":\"object\",\"additionalProperties\":{\"type\":" SCALAR "}");
        break;
    case SETTING_VARIANTS:
        buf_add(b, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\"}");
        break;
    case SETTING_WORD:
        if (is_open)
            break;
        buf_add(b, "\"enum\":[");
        for (size_t i = 0; s->words[i]; i++)
            buf_addf(b, "%s\"%s\"", i ? "," : "", s->words[i]);
        buf_add(b, "]");
        return;
    default:
        if (is_yaml) {
            buf_addf(b, s->is_joined ? "\"type\":[\"string\",\"number\",\"array\"],\"items\":{\"type\":%s}"
                                     : "\"type\":%s", SCALAR);
            return;
        }
    }
    if (s->type == SETTING_TEXT || s->type == SETTING_PATH || s->type == SETTING_WORD)
        buf_add(b, "\"type\":\"string\"");
    if (s->min != 0 || s->max != 0)
        buf_addf(b, ",\"minimum\":%.10g,\"maximum\":%.10g", s->min, s->max);
}

/* Returns whether the record has what the run chose in the place of this word. */
static bool is_replaced(const struct setting *s)
{
    return strcmp(s->path, "train.backend") == 0 || strcmp(s->path, "train.comm") == 0;
}

static void add_row(struct buf *b, const struct setting *s, bool is_yaml, bool is_old)
{
    const char *preset = is_yaml ? s->preset : setting_absent(s);
    const char *help = is_old ? s->gone_why : s->help;

    buf_addf(b, "\"%s\":{", setting_leaf(s->path));
    add_type(b, s, is_yaml, !is_yaml && is_replaced(s));
    if (preset && (setting_is_text(s) || s->type == SETTING_WORD)) {
        buf_add(b, ",\"default\":");
        buf_add_json_string(b, preset);
    } else if (preset && !setting_is_list(s)) {
        buf_addf(b, ",\"default\":%s", preset);
    }
    buf_add(b, is_old ? ",\"deprecated\":true" : "");
    if (help) {
        struct buf text = {0};
        buf_addf(&text, "%s%s%s", help, s->unit ? "; in " : "", s->unit ? s->unit : "");
        buf_add(b, ",\"description\":");
        buf_add_json_string(b, text.data);
        buf_destroy(&text);
    }
    buf_add(b, "}");
}

/* Adds the rows of a section, or for "" those outside of all, one on each line. */
static void add_rows(struct buf *b, const struct setting *table, const char *section)
{
    bool is_yaml = table != settings_of_run;

    for (int old = 0; old < 1 + (table != site_keys); old++)
        for (const struct setting *s = old ? settings_gone : table; s->path; s++) {
            if (!setting_is_in(s, section, strlen(section)) || (!is_yaml && s->of_split))
                continue;
            buf_add(b, b->data[b->length - 1] == '{' ? "\n    " : ",\n    ");
            add_row(b, s, is_yaml, old);
        }
}

/* Adds the names of the keys that the first run.json had. */
static void add_required(struct buf *b, const char *section)
{
    buf_add(b, "\"required\":[");
    for (const struct setting *s = settings_of_run; s->path; s++)
        if (s->expected && setting_is_in(s, section, strlen(section)))
            buf_addf(b, "%s\"%s\"", b->data[b->length - 1] == '[' ? "" : ",",
                     setting_leaf(s->path));
    buf_add(b, "]");
}

/* Returns the next section behind s, or NULL; *name gets its name. */
static const struct setting *next_section(const struct setting *s, char name[SETTING_PATH_SIZE])
{
    size_t n = strlen(name);

    while (s->path && (!strchr(s->path, '.') || setting_is_in(s, name, n)))
        s++;
    if (s->path)
        snprintf(name, SETTING_PATH_SIZE, "%.*s", (int)strcspn(s->path, "."), s->path);
    return s->path ? s : NULL;
}

static void add_head(struct buf *b, const char *title, const char *description,
                     const char *source)
{
    buf_addf(b, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
                " \"title\":\"%s\",\n \"description\":\"%s; from %s\",\n"
                " \"type\":\"object\",\n", title, description, source);
}

static void add_program(struct buf *b)
{
    buf_add(b, "  \"program\":{\"description\":\"what an engine other than embedded runs\",\n"
               "   \"type\":\"object\",\"required\":[\"script\",\"python\",\"args\"],"
               "\"additionalProperties\":false,\n   \"properties\":{\"script\":{\"type\":"
               "\"string\"},\"python\":{\"type\":\"string\"},\"study_dir\":{\"type\":\"string\"},\n"
               "    \"args\":{\"$ref\":\"#/$defs/texts\"},\"env\":{\"$ref\":\"#/$defs/texts\"},"
               "\"markers\":{\"$ref\":\"#/$defs/texts\"}}}");
}

/* Adds a section of run.json, with the words that may stand only there and not in the record. */
static void add_section(struct buf *b, const char *name)
{
    buf_addf(b, "  \"%s\":{\"type\":\"object\",\"$ref\":\"#/$defs/%s\","
                "\"unevaluatedProperties\":false,\"properties\":{", name, name);
    for (const struct setting *s = settings_of_run; s->path; s++)
        if (is_replaced(s) && setting_is_in(s, name, strlen(name))) {
            buf_addf(b, "%s\"%s\":{", b->data[b->length - 1] == '{' ? "" : ",",
                     setting_leaf(s->path));
            add_type(b, s, false, false);
            buf_add(b, "}");
        }
    buf_add(b, "}},\n");
}

/* The sections stand in $defs, to which record.schema.json refers. */
static void encode_run(struct buf *b)
{
    const struct setting *const first = settings_of_run;
    char name[SETTING_PATH_SIZE] = "";

    add_head(b, "STUDY/runs/RUN/run.json", "the plan of one run", SETTINGS);
    buf_add(b, " \"$ref\":\"#/$defs/top\",\"unevaluatedProperties\":false,\n \"allOf\":[{");
    add_required(b, "");
    buf_add(b, "}],\"required\":[\"schema\",\"layout\"],\n"
               " \"properties\":{\n  \"schema\":{\"const\":1},\n");
    for (const struct setting *s = first; (s = next_section(s, name));)
        add_section(b, name);
    add_program(b);
    buf_add(b, "},\n \"if\":{\"properties\":{\"engine\":{\"const\":\"embedded\"}}},\n"
               " \"else\":{\"required\":[\"program\"]},\n"
               " \"then\":{\"required\":[\"data\",\"model\",\"train\"],\"properties\":{");
    *name = 0;
    for (const struct setting *s = first; (s = next_section(s, name));) {
        buf_addf(b, "%s\n  \"%s\":{", b->data[b->length - 1] == '{' ? "" : ",", name);
        add_required(b, name);
        buf_add(b, "}");
    }
    buf_add(b, "}},\n \"$defs\":{\n  \"texts\":{\"type\":\"array\",\"items\":{\"type\":"
               "\"string\"}},\n  \"top\":{\"properties\":{");
    add_rows(b, first, "");
    *name = 0;
    for (const struct setting *s = first; (s = next_section(s, name));) {
        buf_addf(b, "}},\n  \"%s\":{\"properties\":{", name);
        add_rows(b, first, name);
    }
    buf_add(b, "}}}}\n");
}

static void encode_study(struct buf *b)
{
    char name[SETTING_PATH_SIZE] = "";

    add_head(b, "STUDY/study.yaml", "what the user writes", SETTINGS);
    buf_add(b, " \"required\":[\"name\"],\n \"additionalProperties\":false,\n \"properties\":{\n"
               "    \"schema\":{\"const\":1}");
    add_rows(b, settings_of_study, "");
    for (const struct setting *s = settings_of_study; (s = next_section(s, name));) {
        buf_addf(b, ",\n  \"%s\":{\"type\":\"object\",\"additionalProperties\":false,"
                    "\"properties\":{", name);
        add_rows(b, settings_of_study, name);
        buf_add(b, "}}");
    }
    buf_add(b, "}}\n");
}

static void encode_site(struct buf *b)
{
    add_head(b, "SITE.yaml", "what differs between clusters", "launcher/study/study.c");
    buf_add(b, " \"required\":[\"gpus_per_node\"],\n \"additionalProperties\":false,\n"
               " \"properties\":{\n    \"schema\":{\"const\":1}");
    add_rows(b, site_keys, "");
    buf_add(b, "}}\n");
}

static void check(const char *name, void (*encode)(struct buf *))
{
    const char *srcdir = getenv("srcdir");
    struct buf want = {0};
    struct err e = {0};
    char path[4096];
    json_error_t why;
    size_t n;

    encode(&want);
    json_t *root = json_loadb(want.data, want.length, JSON_REJECT_DUPLICATES, &why);
    if (!ok(root != NULL, "%s is JSON", name))
        printf("# %s at %d\n%s\n", why.text, why.line, want.data);
    json_decref(root);
    snprintf(path, sizeof path, "%s/logs/%s", srcdir ? srcdir : ".", name);
    if (getenv("UPDATE_GOLDEN") && atomicfile_write(path, want.data, want.length, 0666, &e))
        bail_out("%s", e.text);
    char *text = atomicfile_read(path, 1 << 20, &n, &e);
    if (!ok(text && strcmp(text, want.data) == 0, "logs/%s is that of the settings", name))
        printf("# %s; UPDATE_GOLDEN=1 writes it\n", text ? "it differs" : e.text);
    free(text);
    buf_destroy(&want);
}

int main(void)
{
    check("run.schema.json", encode_run);
    check("study.schema.json", encode_study);
    check("site.schema.json", encode_site);
    return done_testing();
}
