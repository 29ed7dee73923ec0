/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/yaml_table.h"

#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/format/document.h"

#define SCHEMA_KEY "schema" /* may be left out */
#define MAX_PLACE 4200
#define MAX_FILE ((size_t)1 << 20)

/* Reads a file, or one value from elsewhere; then document is NULL. */
struct yaml_reader {
    const struct setting *keys;
    const char *file; /* or the origin of the single value */
    enum yaml_layer layer;
    const struct document *document;
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
    case SETTING_VARIANTS: return "a mapping NAME: {KEY: VALUE}";
    default: return "a text";
    }
}

/* Returns whether text is one line without control characters. Others would break the scripts that
 * use the value. */
static bool is_one_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
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

/* Returns a copy of the text in the form that the key's member stores: paths become absolute, and
 * in a file they may have variables. */
static char *resolve(const struct yaml_reader *r, const struct setting *key, const char *text,
                     struct err *e)
{
    const char *slash = r->document ? strrchr(r->file, '/') : NULL;
    char folder[PATH_MAX];
    bool expands = key->type == SETTING_PATH && r->document;
    char *expanded = expands ? path_expand(text, e) : NULL;

    if (expands && !expanded)
        return NULL;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - r->file), r->file);
    char *path = yaml_table_resolve(key, slash ? folder : NULL, expanded ? expanded : text);
    if (!path)
        err_errno(e, ERR_INTERNAL, errno, "%s", r->file);
    free(expanded);
    return path;
}

static int set_scalar(const struct yaml_reader *r, const struct setting *key, const char *text,
                      size_t line, struct err *e)
{
    char *value = resolve(r, key, text, e);
    int rc = value ? setting_set(key, value, r->dst, e) : -1;

    free(value);
    if (rc && e->code == ERR_USAGE)
        e->code = code_of(r);
    return rc ? err_prefix(e, "%s", place_of_key(r, key, line).text) : 0;
}

/* Returns the text of a node that is a text of one line, or NULL with an error. */
static const char *node_text(const struct document_node *node, const char *path, const char *want,
                             struct err *e)
{
    if (node->kind != DOCUMENT_TEXT)
        document_refuse(node, e, "%s: must be %s, not a %s", path, want,
                        node->kind == DOCUMENT_LIST ? "list" : "mapping");
    else if (!is_one_line(node->text))
        document_refuse(node, e,
                        "%s: control characters and newlines are not allowed", path);
    else
        return node->text;
    return NULL;
}

static int set_lines(const struct yaml_reader *r, const struct setting *key,
                     const struct document_node *node, struct err *e)
{
    for (size_t i = 0; i < node->count; i++) {
        const char *text = node_text(node->items[i], key->path, "a text", e);
        if (!text || setting_append_line(list_of(r, key), text, e))
            return -1;
    }
    return 0;
}

/* Returns whether text is the name of a variable or marker. */
static const char *check_name(const struct setting *key, const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    if (key->check)
        return key->check(text);
    return *text && strspn(text, letters) == strlen(text) && !(*text >= '0' && *text <= '9')
               ? NULL
               : "is not the name of a variable";
}

/* Appends the line "NAME=VALUE", or replaces that of the same name. */
static int set_pair(struct setting_lines *list, const char *name, const char *value, struct err *e)
{
    size_t n = strlen(name), i = 0;
    char *line = NULL;

    if (asprintf(&line, "%s=%s", name, value) < 0)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "%s", name);
    while (i < list->count && (strncmp(list->lines[i], line, n + 1) != 0))
        i++;
    if (i < list->count) {
        free(list->lines[i]);
        list->lines[i] = line;
        return 0;
    }
    int rc = setting_append_line(list, line, e);
    free(line);
    return rc;
}

static int set_pairs(const struct yaml_reader *r, const struct setting *key,
                     const struct document_node *node, struct err *e)
{
    for (size_t i = 0; i < node->count; i++) {
        const char *name = node_text(node->keys[i], key->path, "a name", e);
        const char *value = name ? node_text(node->items[i], key->path, "a text", e) : NULL;

        if (!value)
            return -1;
        const char *why = check_name(key, name);
        if (why)
            return document_refuse(node->keys[i], e, "%s: '%s' %s", key->path, name, why);
        if (set_pair(list_of(r, key), name, value, e))
            return -1;
    }
    return 0;
}

static void add_node(struct buf *dst, const struct document_node *node)
{
    bool is_list = node->kind == DOCUMENT_LIST;

    if (node->kind == DOCUMENT_TEXT) {
        buf_add_json_string(dst, node->text);
        return;
    }
    buf_add(dst, is_list ? "[" : "{");
    for (size_t i = 0; i < node->count; i++) {
        buf_add(dst, i ? ", " : "");
        if (!is_list) {
            add_node(dst, node->keys[i]);
            buf_add(dst, ": ");
        }
        add_node(dst, node->items[i]);
    }
    buf_add(dst, is_list ? "]" : "}");
}

/* Adds the lines of a variant: "NAME", and "NAME KEY=VALUE" for each of its keys. */
static int set_variant(const struct yaml_reader *r, const struct setting *key, const char *name,
                       const struct document_node *node, struct err *e)
{
    if (node->kind != DOCUMENT_MAPPING)
        return document_refuse(node, e, "%s.%s: must be a mapping of keys, such as {train.dtype: "
                               "bf16}", key->path, name);
    for (size_t i = 0; i <= node->count; i++) {
        const struct document_node *value = i ? node->items[i - 1] : NULL;
        const char *path = i ? node_text(node->keys[i - 1], key->path, "a key", e) : "";
        struct buf line = {0};

        if (!path || (value && value->kind == DOCUMENT_TEXT && !node_text(value, path, "", e)))
            return -1;
        buf_addf(&line, "%s%s%s%s", name, i ? " " : "", path, i ? "=" : "");
        if (value && value->kind == DOCUMENT_TEXT)
            buf_add(&line, value->text);
        else if (value)
            add_node(&line, value);
        int rc = line.failed ? err_errno(e, ERR_INTERNAL, ENOMEM, "%s", r->file)
                             : setting_append_line(list_of(r, key), line.data, e);
        buf_destroy(&line);
        if (rc)
            return -1;
    }
    return 0;
}

static int set_variants(const struct yaml_reader *r, const struct setting *key,
                        const struct document_node *node, struct err *e)
{
    for (size_t i = 0; i < node->count; i++) {
        const char *name = node_text(node->keys[i], key->path, "a name", e);
        if (!name)
            return -1;
        if (!*name || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz."
                                   "0123456789-") != strlen(name))
            return document_refuse(node->keys[i], e,
                                   "%s: the name '%s' must be of letters, digits, "
                                   ". and -", key->path, name);
        if (set_variant(r, key, name, node->items[i], e))
            return -1;
    }
    return 0;
}

/* Returns whether the value means that a lower layer's value applies. */
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

/* Sets a value that is not a list, and notes its origin. */
static int set_text(const struct yaml_reader *r, const struct setting *key, const char *text,
                    size_t line, struct err *e)
{
    return says_nothing(key, text) ? 0
           : set_scalar(r, key, text, line, e) ? -1 : note_origin(r, key, line, e);
}

/* Sets a value that may be given as a list: its items, joined with commas. */
static int set_joined(const struct yaml_reader *r, const struct setting *key,
                      const struct document_node *node, struct err *e)
{
    struct buf b = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < node->count; i++) {
        const char *text = node_text(node->items[i], key->path, "a text", e);
        buf_addf(&b, "%s%s", b.length ? "," : "", text ? text : "");
        rc = text ? 0 : -1;
    }
    if (rc == 0)
        rc = b.failed ? err_set(e, ERR_INTERNAL, "%s: out of memory", r->file)
                      : set_scalar(r, key, b.data ? b.data : "", node->line, e);
    buf_destroy(&b);
    return rc ? -1 : note_origin(r, key, node->line, e);
}

static int set_key(const struct yaml_reader *r, const struct setting *key,
                   const struct document_node *value, struct err *e)
{
    const char *text;
    int rc;

    if (setting_is_list(key)) {
        setting_clear_lines(list_of(r, key));
        if (value->kind != (key->type == SETTING_LINES ? DOCUMENT_LIST : DOCUMENT_MAPPING))
            return document_refuse(value, e, "%s: must be %s", key->path, type_name(key));
        rc = key->type == SETTING_LINES   ? set_lines(r, key, value, e)
             : key->type == SETTING_PAIRS ? set_pairs(r, key, value, e)
                                          : set_variants(r, key, value, e);
        return rc ? -1 : note_origin(r, key, value->line, e);
    }
    if (key->is_joined && value->kind == DOCUMENT_LIST)
        return set_joined(r, key, value, e);
    text = node_text(value, key->path, type_name(key), e);
    return text ? set_text(r, key, text, value->line, e) : -1;
}

static int read_mapping(const struct yaml_reader *r, const char *section,
                        const struct document_node *mapping, struct err *e);

static int read_pair(const struct yaml_reader *r, const char *section,
                     const struct document_node *name_node, const struct document_node *value,
                     struct err *e)
{
    const char *name = node_text(name_node, section ? section : "key", "a name", e);
    char path[2 * SETTING_PATH_SIZE];

    if (!name)
        return -1;
    if (!section && strcmp(name, SCHEMA_KEY) == 0)
        return 0;
    snprintf(path, sizeof path, "%s%s%s", section ? section : "", section ? "." : "", name);
    const struct setting *key = setting_find(r->keys, path);
    if (key)
        return set_key(r, key, value, e);
    for (const struct setting *k = r->keys; k->path && !section; k++)
        if (setting_is_in(k, name, strlen(name)))
            return value->kind == DOCUMENT_MAPPING
                       ? read_mapping(r, name, value, e)
                       : document_refuse(value, e, "%s is a section; write its keys indented below "
                                         "it", name);
    int gone = setting_check_gone(path, value->text, e);
    if (gone > 0)
        return 0;
    if (gone == 0)
        setting_refuse(r->keys, path, e);
    e->code = ERR_CONFIG;
    return err_prefix(e, "%s:%zu", name_node->file, name_node->line);
}

static int read_mapping(const struct yaml_reader *r, const char *section,
                        const struct document_node *mapping, struct err *e)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (read_pair(r, section, mapping->keys[i], mapping->items[i], e))
            return -1;
    return 0;
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

int yaml_table_finish(const struct setting *keys, const char *file, bool trainer,
                      const struct yaml_origins *origins, struct err *e)
{
    for (const struct setting *k = keys; k->path; k++)
        if (!k->preset && !origins->at[k - keys].where && (trainer || !setting_is_of_trainer(k)))
            return err_set(e, ERR_CONFIG, "%s: the key '%s' is missing", file, k->path);
    return 0;
}

static int read_document(const struct yaml_reader *r, const struct document *d, struct err *e)
{
    struct yaml_reader own = *r;

    own.document = d;
    if (d->root && d->root->kind != DOCUMENT_MAPPING)
        return document_refuse(d->root, e, "the file must have 'KEY: VALUE' lines");
    return d->root && (document_check_schema(d, e) || read_mapping(&own, NULL, d->root, e)) ? -1
                                                                                            : 0;
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
    struct document *d = document_decode(text, n, file, e);
    int rc = d ? read_document(&r, d, e) : -1;
    document_destroy(d);
    free(text);
    return rc;
}

/* Returns the mapping of free names that the path is a name of, such as markers of markers.lr, or
 * NULL. */
static const struct setting *find_pairs(const struct setting *keys, const char *path)
{
    const char *dot = strrchr(path, '.');
    char mapping[SETTING_PATH_SIZE];

    snprintf(mapping, sizeof mapping, "%.*s", dot ? (int)(dot - path) : 0, path);
    const struct setting *key = dot ? setting_find(keys, mapping) : NULL;
    return key && key->type == SETTING_PAIRS && !check_name(key, dot + 1) ? key : NULL;
}

/* Sets a list or mapping from YAML on one line. */
static int set_flow(const struct yaml_reader *r, const struct setting *key, const char *text,
                    struct err *e)
{
    struct document *d = *text == '[' || *text == '{'
                             ? document_decode(text, strlen(text), r->file, e)
                             : (err_set(e, code_of(r), "%s: %s is a list; set it in a file", r->file,
                                        key->path), NULL);
    int rc = d && d->root ? set_key(r, key, d->root, e) : -1;

    document_destroy(d);
    return rc;
}

int yaml_table_add_text(const struct setting *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e)
{
    const struct yaml_reader r = {keys, where, layer, NULL, dst, origins};
    const struct setting *key = setting_find(keys, path), *pairs = find_pairs(keys, path);

    if (pairs && is_one_line(text))
        return set_pair(list_of(&r, pairs), strrchr(path, '.') + 1, text, e) ||
               note_origin(&r, pairs, 0, e) ? -1 : 0;

    if (!key && setting_check_gone(path, text, e) > 0)
        return 0;
    if (!key)
        return setting_refuse(keys, path, e), err_prefix(e, "%s", where);
    if (!is_one_line(text))
        return err_set(e, code_of(&r), "%s: %s: control characters and newlines are not allowed",
                       where, path);
    if (setting_is_list(key))
        return set_flow(&r, key, text, e);
    return set_text(&r, key, text, 0, e);
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

        snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", k->path);
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

const struct yaml_origin *yaml_table_origin(const struct setting *keys,
                                            const struct yaml_origins *origins, const char *path)
{
    return &origins->at[setting_find(keys, path) - keys];
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

    buf_addf(dst, "%s%s: ", strchr(key->path, '.') ? "  " : "", setting_leaf(key->path));
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

    for (size_t i = 0; i < nsettings; i++)
        if (!setting_find(keys, settings[i].path))
            return setting_refuse(keys, settings[i].path, e);
    for (const struct setting *k = keys; k->path; k++) {
        const char *value = NULL, *dot = strchr(k->path, '.');
        for (size_t i = 0; i < nsettings; i++)
            if (strcmp(settings[i].path, k->path) == 0)
                value = settings[i].value;
        if (!value && (k->on_demand || !full || !k->preset))
            continue;
        if (!value)
            value = k->preset;
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

/* ---- values from the environment ---- */

#define MAX_NAME 96
#define PREFIX "UNETCTL_" /* $UNETCTL_TRAIN_LR overrides train.lr of study.yaml */

/* Writes the name of a setting's variable without prefix: TRAIN_LR for train.lr. */
static void name_key(const struct setting *k, char dst[MAX_NAME])
{
    snprintf(dst, MAX_NAME, "%s", k->path);
    for (; *dst; dst++)
        *dst = *dst == '.' ? '_' : (char)toupper((unsigned char)*dst);
}

/* Returns whether name begins with a section and an underscore, such as "TRAIN_". */
static bool is_in_section(const struct setting *keys, const char *name)
{
    char known[MAX_NAME];

    for (const struct setting *k = keys; k->path; k++) {
        const char *dot = strchr(k->path, '.');
        name_key(k, known);
        if (dot && strncmp(name, known, (size_t)(dot - k->path) + 1) == 0)
            return true;
    }
    return false;
}

/* Refuses a variable that was meant as a setting: its name begins with a section, or differs
 * from a setting's by a typing error. Other variables with the prefix are ignored. name is
 * without the prefix. */
static int check_variable(const struct setting *keys, const char *name, const char *value,
                          struct err *e)
{
    char names[SETTINGS_MAX][MAX_NAME];
    const char *pointers[SETTINGS_MAX + 1], *near, *end = strrchr(name, '_');
    size_t n = 0;

    for (const struct setting *k = settings_gone; k->path; k++) {
        name_key(k, names[0]);
        if (strcmp(names[0], name) == 0)
            return setting_check_gone(k->path, value, e) < 0
                       ? err_prefix(e, "$" PREFIX "%s", name) : 0;
    }
    for (; n < SETTINGS_MAX && keys[n].path; n++) {
        name_key(&keys[n], names[n]);
        pointers[n] = names[n];
        if (strcmp(names[n], name) == 0)
            return 0;
    }
    pointers[n] = NULL;
    near = cli_nearest(name, pointers);
    bool slipped = near && end && strlen(near) == strlen(name) &&
        strcmp(near + (end - name), end) == 0;
    if (!is_in_section(keys, name) && !slipped)
        return 0;
    return err_set(e, ERR_USAGE, "$" PREFIX "%s is not the variable of a setting%s%s%s (unset it; "
                   "'unetctl config' lists the settings)", name,
                   near ? "; did you mean $" PREFIX : "", near ? near : "", near ? "?" : "");
}

static int check_names(const struct setting *keys, struct err *e)
{
    /* of options of verbs, though they begin with a section's name */
    static const char others[] = "SLURM_VERSION TRAIN_IMAGES";
    size_t length = strlen(PREFIX);
    char name[MAX_NAME];

    for (char **v = environ; *v; v++) {
        size_t n = strcspn(*v, "=");
        if (strncmp(*v, PREFIX, length) != 0 || !(*v)[n] || !(*v)[n + 1] ||
            n - length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - length), *v + length);
        if (!text_has_word(others, name, n - length) && check_variable(keys, name, *v + n + 1, e))
            return -1;
    }
    return 0;
}

int yaml_table_add_environment(const struct setting *keys, void *dst, struct yaml_origins *origins,
                               struct err *e)
{
    char name[MAX_NAME], where[2 * MAX_NAME];

    for (const struct setting *k = keys; k->path; k++) {
        name_key(k, name);
        snprintf(where, sizeof where, "$" PREFIX "%s", name);
        const char *value = getenv(where + 1);
        if (value && *value &&
            yaml_table_add_text(keys, k->path, value, YAML_ENVIRONMENT, where, dst, origins, e))
            return -1;
    }
    return check_names(keys, e);
}
