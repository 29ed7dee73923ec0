/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/yaml_table.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/schema.h"

#define SCHEMA_KEY "schema" /* may be left out */
#define MAX_PLACE 4200
#define MAX_FILE ((size_t)1 << 20)
#define MAX_DEPTH 32
#define MAX_PAIRS 1000 /* entries of a mapping */

/* Reads a file, or one value from elsewhere; then document is NULL. */
struct yaml_reader {
    const struct setting *keys;
    const char *file; /* or the origin of the single value */
    enum yaml_layer layer;
    yaml_document_t *document;
    void *dst;
    struct yaml_origins *origins;
};

struct yaml_place {
    char text[MAX_PLACE];
};

static struct yaml_place place_of(const struct yaml_reader *r, size_t line)
{
    struct yaml_place p;

    if (r->document)
        snprintf(p.text, sizeof p.text, "%s:%zu", r->file, line);
    else
        snprintf(p.text, sizeof p.text, "%s", r->file);
    return p;
}

/* Returns the place followed by the key, unless a variable's or option's name says it already. */
static struct yaml_place place_of_key(const struct yaml_reader *r, const struct setting *key,
                                      size_t line)
{
    struct yaml_place p = place_of(r, line);
    size_t n = strlen(p.text);

    if (r->document || strcmp(r->file, "--set") == 0)
        snprintf(p.text + n, sizeof p.text - n, "%s%s", r->document ? ": " : " ", key->path);
    return p;
}

static int code_of(const struct yaml_reader *r)
{
    return r->layer >= YAML_ENVIRONMENT ? ERR_USAGE : ERR_CONFIG;
}

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

static struct setting_lines *list_of(const struct yaml_reader *r, const struct setting *key)
{
    return (struct setting_lines *)((char *)r->dst + key->offset);
}

static const char *type_name(const struct setting *key)
{
    switch (key->type) {
    case SETTING_INT: return "a whole number";
    case SETTING_REAL: return "a number";
    case SETTING_SWITCH: return "true or false";
    case SETTING_LINES: return "a list of texts";
    case SETTING_PAIRS: return "a mapping NAME: VALUE";
    default: return "a text";
    }
}

/* Is text one line without control characters? Others would break the scripts that use the
 * value. */
static bool is_one_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

char *yaml_table_resolve(const struct setting *key, const char *folder, const char *text)
{
    char here[PATH_MAX], *path;

    if (key->type != SETTING_PATH || !*text || *text == '/' ||
        (key->is_path && !key->is_path(text)))
        return strdup(text);
    if (!folder)
        folder = getcwd(here, sizeof here);
    while (strncmp(text, "./", 2) == 0)
        text += 2 + strspn(text + 2, "/");
    return folder && asprintf(&path, "%s%s%s", folder, *text ? "/" : "", text) >= 0 ? path : NULL;
}

/* Returns a copy of the text in the form that the key's member stores: paths become absolute. */
static char *resolve(const struct yaml_reader *r, const struct setting *key, const char *text)
{
    const char *slash = r->document ? strrchr(r->file, '/') : NULL;
    char folder[PATH_MAX];

    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - r->file), r->file);
    return yaml_table_resolve(key, slash ? folder : NULL, text);
}

static int set_scalar(const struct yaml_reader *r, const struct setting *key, const char *text,
                      size_t line, struct err *e)
{
    char *value = resolve(r, key, text);
    int rc = value ? setting_set(key, value, r->dst, e)
                   : err_errno(e, ERR_INTERNAL, errno, "%s", r->file);

    free(value);
    if (rc && e->code == ERR_USAGE)
        e->code = code_of(r);
    return rc ? err_prefix(e, "%s", place_of_key(r, key, line).text) : 0;
}

/* Returns the text of a node that is a scalar of one line, or NULL with an error. */
static const char *node_text(const struct yaml_reader *r, const yaml_node_t *node, const char *path,
                             const char *want, struct err *e)
{
    const char *text;

    if (node->type != YAML_SCALAR_NODE) {
        err_set(e, ERR_CONFIG, "%s:%zu: %s: must be %s, not a %s", r->file, line_of(node), path,
                want, node->type == YAML_SEQUENCE_NODE ? "list" : "mapping");
        return NULL;
    }
    text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length || !is_one_line(text, strlen(text))) {
        err_set(e, ERR_CONFIG, "%s:%zu: %s: control characters and newlines are not allowed",
                r->file, line_of(node), path);
        return NULL;
    }
    return text;
}

static int set_lines(const struct yaml_reader *r, const struct setting *key,
                     const yaml_node_t *node, struct err *e)
{
    struct setting_lines *list = list_of(r, key);

    if (node->type != YAML_SEQUENCE_NODE)
        return err_set(e, ERR_CONFIG, "%s:%zu: %s: must be %s", r->file, line_of(node),
                       key->path, type_name(key));
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        const char *text =
            node_text(r, yaml_document_get_node(r->document, *i), key->path, "a text", e);
        if (!text || setting_append_line(list, text, e))
            return -1;
    }
    return 0;
}

static int check_duplicates(const struct yaml_reader *r, const yaml_node_t *mapping, struct err *e)
{
    yaml_node_pair_t *first = mapping->data.mapping.pairs.start;

    if (mapping->data.mapping.pairs.top - first > MAX_PAIRS)
        return err_set(e, ERR_CONFIG, "%s:%zu: a mapping has more than %d "
                                      "keys", r->file, line_of(mapping),
                       MAX_PAIRS);
    for (yaml_node_pair_t *p = first; p < mapping->data.mapping.pairs.top; p++)
        for (yaml_node_pair_t *q = first; q < p; q++) {
            const yaml_node_t *a = yaml_document_get_node(r->document, p->key);
            const yaml_node_t *b = yaml_document_get_node(r->document, q->key);
            if (a->type == YAML_SCALAR_NODE && b->type == YAML_SCALAR_NODE &&
                strcmp((char *)a->data.scalar.value, (char *)b->data.scalar.value) == 0)
                return err_set(e, ERR_CONFIG, "%s:%zu: %s is given twice, first in line %zu",
                               r->file, line_of(a), (char *)a->data.scalar.value, line_of(b));
        }
    return 0;
}

static int set_pairs(const struct yaml_reader *r, const struct setting *key,
                     const yaml_node_t *node, struct err *e)
{
    struct setting_lines *list = list_of(r, key);

    if (node->type != YAML_MAPPING_NODE)
        return err_set(e, ERR_CONFIG, "%s:%zu: %s: must be %s", r->file, line_of(node),
                       key->path, type_name(key));
    if (check_duplicates(r, node, e))
        return -1;
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *name_node = yaml_document_get_node(r->document, p->key);
        const char *name = node_text(r, name_node, key->path, "a name", e);
        const char *value = name ? node_text(r, yaml_document_get_node(r->document, p->value),
                                             key->path, "a text", e)
                                 : NULL;
        char *line = NULL;

        if (!value)
            return -1;
        if (!*name ||
            strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
                          != strlen(name) || (*name >= '0' && *name <= '9'))
            return err_set(e, ERR_CONFIG, "%s: '%s' is not the name of a variable",
                           place_of_key(r, key, line_of(name_node)).text, name);
        if (asprintf(&line, "%s=%s", name, value) < 0)
            return err_errno(e, ERR_INTERNAL, ENOMEM, "%s", r->file);
        int rc = setting_append_line(list, line, e);
        free(line);
        if (rc)
            return -1;
    }
    return 0;
}

/* Does the value mean that a lower layer's value applies? */
static bool says_nothing(const struct setting *key, const char *text)
{
    return key->blank && (!*text || (key->type == SETTING_INT && strcmp(text, "0") == 0));
}

static int note_origin(const struct yaml_reader *r, const struct setting *key, size_t line,
                       struct err *e)
{
    struct yaml_origin *o = &r->origins->at[key - r->keys];
    char *where = strdup(place_of(r, line).text);

    if (!where)
        return err_errno(e, ERR_INTERNAL, errno, "%s", r->file);
    free(o->where);
    o->layer = r->layer;
    o->where = where;
    return 0;
}

/* Joins the items of a list with commas. */
static int join_items(const struct yaml_reader *r, const struct setting *key,
                      const yaml_node_t *node, struct buf *dst, struct err *e)
{
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        const char *text =
            node_text(r, yaml_document_get_node(r->document, *i), key->path, "a text", e);
        if (!text)
            return -1;
        buf_addf(dst, "%s%s", dst->length ? "," : "", text);
    }
    return dst->failed ? err_set(e, ERR_INTERNAL, "%s: out of memory", r->file) : 0;
}

static int set_joined(const struct yaml_reader *r, const struct setting *key,
                      const yaml_node_t *node, struct err *e)
{
    struct buf text = {0};
    int rc = join_items(r, key, node, &text, e);

    if (rc == 0)
        rc = set_scalar(r, key, text.data ? text.data : "", line_of(node), e);
    buf_destroy(&text);
    return rc ? -1 : note_origin(r, key, line_of(node), e);
}

static int set_key(const struct yaml_reader *r, const struct setting *key, const yaml_node_t *value,
                   struct err *e)
{
    const char *text;
    int rc;

    if (setting_is_list(key)) {
        setting_clear_lines(list_of(r, key));
        rc = key->type == SETTING_LINES ? set_lines(r, key, value, e) : set_pairs(r, key, value, e);
        return rc ? -1 : note_origin(r, key, line_of(value), e);
    }
    if (key->is_joined && value->type == YAML_SEQUENCE_NODE)
        return set_joined(r, key, value, e);
    text = node_text(r, value, key->path, type_name(key), e);
    if (!text)
        return -1;
    if (says_nothing(key, text))
        return 0;
    return set_scalar(r, key, text, line_of(value), e) ? -1 : note_origin(r, key, line_of(value),
                                                                          e);
}

/* Lists the names allowed in a section, or, for NULL, at the top level, where sections count
 * too. */
static void list_names(const struct yaml_reader *r, const char *section,
                       char names[SETTINGS_MAX][SETTING_PATH_SIZE],
                       const char *pointers[SETTINGS_MAX + 1])
{
    size_t n = 0;

    for (const struct setting *k = r->keys; k->path && n < SETTINGS_MAX; k++) {
        if (section && !setting_is_in(k, section, strlen(section)))
            continue;
        snprintf(names[n], SETTING_PATH_SIZE, "%.*s",
                 section ? SETTING_PATH_SIZE : (int)strcspn(k->path, "."),
                 section ? setting_leaf(k) : k->path);
        if (n == 0 || strcmp(names[n], names[n - 1]) != 0) {
            pointers[n] = names[n];
            n++;
        }
    }
    pointers[n] = NULL;
}

static int unknown_key(const struct yaml_reader *r, const char *section, const char *name,
                       size_t line, struct err *e)
{
    static const char separator[] = ".";
    char names[SETTINGS_MAX][SETTING_PATH_SIZE], all[512] = "";
    const char *pointers[SETTINGS_MAX + 1];

    list_names(r, section, names, pointers);
    if (cli_nearest(name, pointers))
        return err_set(e, ERR_CONFIG, "%s:%zu: unknown key '%s%s%s'%s", r->file, line,
                       section ? section : "", section ? separator : "", name,
                       cli_suggest(name, pointers, (char[CLI_SUGGESTION]){0}));
    for (size_t i = 0; pointers[i]; i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", pointers[i]);
    }
    return err_set(e, ERR_CONFIG, "%s:%zu: unknown key '%s%s%s' (known: %s)", r->file, line,
                   section ? section : "", section ? separator : "", name, all);
}

static const char *scalar_of(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

/* Returns as setting_check_gone. */
static int check_gone(const struct yaml_reader *r, const char *section, const char *name,
                      const yaml_node_t *value, size_t line, struct err *e)
{
    char path[SETTING_PATH_SIZE];

    snprintf(path, sizeof path, "%s.%s", section ? section : "", name);
    int rc = setting_check_gone(path, scalar_of(value), e);
    if (rc < 0) {
        e->code = ERR_CONFIG;
        err_prefix(e, "%s:%zu", r->file, line);
    }
    return rc;
}

static int read_mapping(const struct yaml_reader *r, const char *section,
                        const yaml_node_t *mapping, struct err *e);

static int read_pair(const struct yaml_reader *r, const char *section, const yaml_node_t *name_node,
                     const yaml_node_t *value, struct err *e)
{
    const char *name = node_text(r, name_node, section ? section : "key", "a name", e);

    if (!name)
        return -1;
    if (!section && strcmp(name, SCHEMA_KEY) == 0)
        return 0;
    for (const struct setting *k = r->keys; k->path; k++) {
        if (!section && setting_is_in(k, name, strlen(name))) {
            if (value->type != YAML_MAPPING_NODE)
                return err_set(e, ERR_CONFIG,
                               "%s:%zu: %s is a section; write its keys indented below it",
                               r->file, line_of(value), name);
            return read_mapping(r, name, value, e);
        }
        if (section ? setting_is_in(k, section, strlen(section)) &&
                          strcmp(setting_leaf(k), name) == 0
                    : strcmp(k->path, name) == 0)
            return set_key(r, k, value, e);
    }
    int gone = check_gone(r, section, name, value, line_of(name_node), e);
    if (gone)
        return gone < 0 ? -1 : 0;
    return unknown_key(r, section, name, line_of(name_node), e);
}

static int read_mapping(const struct yaml_reader *r, const char *section,
                        const yaml_node_t *mapping, struct err *e)
{
    if (check_duplicates(r, mapping, e))
        return -1;
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++)
        if (read_pair(r, section, yaml_document_get_node(r->document, p->key),
                      yaml_document_get_node(r->document, p->value), e))
            return -1;
    return 0;
}

/* Does this line of the text contain a tab? libyaml's error does not name tabs. */
static bool has_tab(const char *text, size_t line)
{
    for (; line > 0 && text; line--)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    return text && memchr(text, '\t', strcspn(text, "\n"));
}

static int syntax_error(const yaml_parser_t *p, const char *file, const char *text, struct err *e)
{
    size_t line = p->problem_mark.line;

    if (p->error == YAML_READER_ERROR)
        return err_set(e, ERR_CONFIG, "%s: not UTF-8 text: %s (byte %zu)", file, p->problem,
                       p->problem_offset);
    if (has_tab(text, line))
        return err_set(e, ERR_CONFIG, "%s:%zu: the line has a tab; indent YAML with blanks", file,
                       line + 1);
    return err_set(e, ERR_CONFIG, "%s:%zu: not YAML: %s%s%s", file, line + 1,
                   p->context ? p->context : "", p->context ? ", " : "",
                   p->problem ? p->problem : "unknown problem");
}

/* Checks the file's schema, before all other keys: a later version may have other keys. */
static int check_schema(const struct yaml_reader *r, const yaml_node_t *root, struct err *e)
{
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *name = yaml_document_get_node(r->document, p->key);
        const yaml_node_t *value = yaml_document_get_node(r->document, p->value);
        if (strcmp(scalar_of(name), SCHEMA_KEY) == 0 &&
            schema_check(strtod(scalar_of(value), NULL), ERR_CONFIG, e))
            return err_prefix(e, "%s:%zu", r->file, line_of(name));
    }
    return 0;
}

static int read_document(const struct yaml_reader *r, struct err *e)
{
    yaml_node_t *root = yaml_document_get_root_node(r->document);

    if (root && root->type != YAML_MAPPING_NODE)
        return err_set(e, ERR_CONFIG, "%s:%zu: the file must have 'KEY: VALUE' lines", r->file,
                       line_of(root));
    return root && (check_schema(r, root, e) || read_mapping(r, NULL, root, e)) ? -1 : 0;
}

int yaml_table_create(const struct setting *keys, void *dst, struct yaml_origins *origins,
                      struct err *e)
{
    *origins = (struct yaml_origins){0};
    return settings_create(keys, dst, e);
}

int yaml_table_copy(const struct setting *keys, const void *src,
                    const struct yaml_origins *src_origins, void *dst,
                    struct yaml_origins *origins, struct err *e)
{
    *origins = (struct yaml_origins){0};
    if (settings_copy(keys, src, dst, e))
        return -1;
    for (const struct setting *k = keys; k->path; k++) {
        const struct yaml_origin *o = &src_origins->at[k - keys];
        struct yaml_origin *copy = &origins->at[k - keys];

        copy->layer = o->layer;
        copy->where = o->where ? strdup(o->where) : NULL;
        if (o->where && !copy->where)
            return err_errno(e, ERR_INTERNAL, errno, "%s", k->path);
    }
    return 0;
}

int yaml_table_finish(const struct setting *keys, const char *file,
                      const struct yaml_origins *origins, struct err *e)
{
    for (const struct setting *k = keys; k->path; k++)
        if (!k->preset && !origins->at[k - keys].where)
            return err_set(e, ERR_CONFIG, "%s: the key '%s' is missing", file, k->path);
    return 0;
}

static int step_of(yaml_event_type_t type)
{
    if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
        return 1;
    return type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT ? -1 : 0;
}

/* Limits the nesting, because libyaml takes time quadratic in the depth, and refuses a second
 * document, which would not be read. A text that is not YAML passes this check. */
static int check_stream(const char *file, const char *text, size_t n, struct err *e)
{
    yaml_parser_t parser;
    yaml_event_t event;
    size_t line = 0;
    int depth = 0, ndocuments = 0;
    bool more = true;

    if (!yaml_parser_initialize(&parser))
        return err_set(e, ERR_INTERNAL, "%s: out of memory", file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    while (more && depth <= MAX_DEPTH && ndocuments < 2 && yaml_parser_parse(&parser, &event)) {
        depth += step_of(event.type);
        ndocuments += event.type == YAML_DOCUMENT_START_EVENT;
        line = event.start_mark.line + 1;
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (ndocuments > 1)
        return err_set(e, ERR_CONFIG, "%s:%zu: a second document begins here ('---'); one file has "
                                      "one: remove the line", file, line);
    if (depth <= MAX_DEPTH)
        return 0;
    return err_set(e, ERR_CONFIG, "%s:%zu: lists and mappings are nested more than %d "
                                  "deep", file, line,
                   MAX_DEPTH);
}

static int read_text(const struct yaml_reader *r, const char *text, size_t n, struct err *e)
{
    yaml_document_t document;
    yaml_parser_t parser;
    int rc;

    if (check_stream(r->file, text, n, e))
        return -1;
    if (!yaml_parser_initialize(&parser))
        return err_set(e, ERR_INTERNAL, "%s: out of memory", r->file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (yaml_parser_load(&parser, &document)) {
        struct yaml_reader own = *r;
        own.document = &document;
        rc = read_document(&own, e);
        yaml_document_delete(&document);
    } else {
        rc = syntax_error(&parser, r->file, text, e);
    }
    yaml_parser_delete(&parser);
    return rc;
}

int yaml_table_add_file(const struct setting *keys, const char *file, enum yaml_layer layer,
                        void *dst, struct yaml_origins *origins, struct err *e)
{
    struct yaml_reader r = {keys, file, layer, NULL, dst, origins};
    size_t n;
    char *text = atomicfile_read(file, MAX_FILE, &n, e);

    if (!text) {
        e->code = ERR_CONFIG;
        return -1;
    }
    int rc = read_text(&r, text, n, e);
    free(text);
    return rc;
}

int yaml_table_add_text(const struct setting *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e)
{
    const struct yaml_reader r = {keys, where, layer, NULL, dst, origins};
    const struct setting *key = setting_find(keys, path);

    if (!key && setting_check_gone(path, text, e) > 0)
        return 0;
    if (!key)
        return setting_refuse(keys, path, e), err_prefix(e, "%s", where);
    if (setting_is_list(key))
        return err_set(e, code_of(&r), "%s: %s is a list; set it in a file", where,
                       path);
    if (!is_one_line(text, strlen(text)))
        return err_set(e, code_of(&r), "%s: %s: control characters and newlines are not allowed",
                       where, path);
    if (says_nothing(key, text))
        return 0;
    return set_scalar(&r, key, text, 0, e) ? -1 : note_origin(&r, key, 0, e);
}

int yaml_table_add_table(const struct setting *keys, const char *section,
                         const struct setting *from, const void *src,
                         const struct yaml_origins *src_origins, void *dst,
                         struct yaml_origins *origins, struct err *e)
{
    for (const struct setting *k = from; k->path; k++) {
        const struct yaml_origin *said = &src_origins->at[k - from];
        char path[SETTING_PATH_SIZE];
        struct buf text = {0};

        snprintf(path, sizeof path, "%s.%s", section, k->path);
        const struct setting *own = setting_find(keys, path);
        if (!own || own->type != k->type || setting_is_list(k))
            continue;
        struct yaml_origin *mine = &origins->at[own - keys];
        if (mine->layer > said->layer || (mine->layer == said->layer && mine->where))
            continue;
        setting_format(k, src, &text);
        const struct yaml_reader r = {keys, said->where ? said->where : "", said->layer, NULL, dst,
                                      origins};
        int rc = !text.data || says_nothing(own, text.data)
                     ? 0
                     : set_scalar(&r, own, text.data, 0, e);
        if (rc == 0 && text.data && said->where && !says_nothing(own, text.data))
            rc = note_origin(&r, own, 0, e);
        buf_destroy(&text);
        if (rc)
            return -1;
    }
    return 0;
}

int yaml_table_read(const struct setting *keys, const char *file, enum yaml_layer layer, void *dst,
                    struct yaml_origins *origins, struct err *e)
{
    return yaml_table_create(keys, dst, origins, e) ||
                   yaml_table_add_file(keys, file, layer, dst, origins, e) ||
                   yaml_table_finish(keys, file, origins, e)
               ? -1
               : 0;
}

const struct yaml_origin *yaml_table_origin(const struct setting *keys,
                                            const struct yaml_origins *origins, const char *path)
{
    return &origins->at[setting_find(keys, path) - keys];
}

static int check_settings(const struct setting *keys, const struct yaml_setting *settings,
                          size_t nsettings, struct err *e)
{
    for (size_t i = 0; i < nsettings; i++)
        if (!setting_find(keys, settings[i].path))
            return setting_refuse(keys, settings[i].path, e);
    return 0;
}

/* Adds a value, quoted as in JSON, which YAML can read, unless it is a plain word. */
static void add_value(struct buf *dst, const struct setting *key, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,-";

    if (!*value && setting_is_list(key))
        buf_add(dst, key->type == SETTING_LINES ? "[]" : "{}");
    else if (*value && *value != '-' && *value != ',' && strspn(value, plain) == strlen(value))
        buf_add(dst, value);
    else if (setting_is_text(key) || !*value)
        buf_add_json_string(dst, value);
    else
        buf_add(dst, value);
}

static void add_key(struct buf *dst, const struct setting *key, const char *value)
{
    size_t start = dst->length;

    buf_addf(dst, "%s%s: ", strchr(key->path, '.') ? "  " : "", setting_leaf(key));
    add_value(dst, key, value);
    if (key->help && *key->help) {
        buf_addf(dst, "%*s # ", start + 30 > dst->length ? (int)(start + 30 - dst->length) : 0, "");
        setting_describe(key, dst);
    }
    buf_add(dst, "\n");
}

int yaml_table_encode(const struct setting *keys, const struct yaml_setting *settings,
                      size_t nsettings, bool full, struct buf *dst, struct err *e)
{
    char section[SETTING_PATH_SIZE] = "";

    if (check_settings(keys, settings, nsettings, e))
        return -1;
    for (const struct setting *k = keys; k->path; k++) {
        const char *value = NULL, *dot = strchr(k->path, '.');
        for (size_t i = 0; i < nsettings; i++)
            if (strcmp(settings[i].path, k->path) == 0)
                value = settings[i].value;
        if (!value && (k->on_demand || !full))
            continue;
        if (!value)
            value = k->preset ? k->preset : "";
        if (dot && !setting_is_in(k, section, strlen(section))) {
            snprintf(section, sizeof section, "%.*s", (int)(dot - k->path), k->path);
            buf_addf(dst, "%s:\n", section);
        }
        add_key(dst, k, value);
    }
    return 0;
}

void yaml_table_destroy(const struct setting *keys, void *dst, struct yaml_origins *origins)
{
    for (size_t i = 0; i < SETTINGS_MAX; i++)
        free(origins->at[i].where);
    *origins = (struct yaml_origins){0};
    settings_destroy(keys, dst);
}
