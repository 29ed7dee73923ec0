/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/settings/settings.h"

#include <math.h>

#include "src/cli.h"
#include "src/cluster/range.h"
#include "src/run/schedule.h"

static const struct builtin_model models[] = {
#include "src/settings/models.inc"
};

const struct builtin_model *settings_find_model(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

/* ---- checks of texts ---- */

static const char *check_filled(const char *text)
{
    return *text ? NULL : "must not be empty";
}

static const char *check_study_name(const char *text)
{
    if (!*text || *text == '.' || strlen(text) > 64 ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(text))
        return "must be 1 to 64 of a-z 0-9 . _ - (and not start with a dot)";
    return NULL;
}

static const char *check_count(const char *text)
{
    return strspn(text, "0123456789") == strlen(text) && atoi(text) > 0 &&
                   atoi(text) <= SETTINGS_GPUS_MAX
               ? NULL
               : "is not a number of GPUs";
}

static const char *check_gpus(const char *text)
{
    struct err e;
    struct range r;

    if (range_decode(text, 1, SETTINGS_GPUS_MAX, &r, &e))
        return "is not a list of GPU counts (N, N..M, N..M:STEP, or several with commas, from 1 to "
               "65536)";
    range_destroy(&r);
    return NULL;
}

static const char *check_mask_value(const char *text)
{
    if (strlen(text) > 5 || strspn(text, "0123456789") != strlen(text) || atoi(text) > 65535)
        return "is not a mask value (0 to 65535)";
    return NULL;
}

static const char *check_lr_steps(const char *text)
{
    static _Thread_local char why[ERR_TEXT_SIZE + 64];
    struct schedule schedule;
    struct err e;

    if (!*text || schedule_parse(&schedule, text, &e) == 0)
        return NULL;
    snprintf(why, sizeof why, "is not a list of EPOCH:FACTOR, such as 30:0.1,60:0.01: %s", e.text);
    return why;
}

static const char *check_stage(const char *text)
{
    return !*text || strchr("/$", *text)
               ? NULL
               : "is neither an absolute path nor a variable of the nodes, such as $TMPDIR";
}

static const char *check_patch(const char *text)
{
    int height, width;

    return !*text || settings_decode_size(text, &height, &width)
               ? NULL : "must be HEIGHTxWIDTH in pixels, as in 256x256";
}

static const char *check_model(const char *text)
{
    return settings_find_model(text) || settings_model_is_file(text)
               ? NULL
               : "is not a model (unet; nnunet; fcnn; chips; resnet20, 32, 44, 56, 110, or one of these "
                 "with -projection; resnet18, 34; unet-resnet18, 34; or a FILE.yaml)";
}

const char *settings_check_time(const char *text)
{
    return time_limit_decode(text) >= 0 ? NULL : "is not a time limit such as 01:30:00, "
                                                 "2-00:00:00 or UNLIMITED";
}

/* Accepts digits only, while strtol also accepts blanks and signs. */
static const char *parse_side(const char *text, int *side)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    long v = strtol(text, &end, 10);
    if (v < 1 || v > SETTINGS_SIDE_MAX)
        return NULL;
    *side = (int)v;
    return end;
}

bool settings_decode_size(const char *text, int *height, int *width)
{
    const char *end = parse_side(text, height);

    return end && *end == 'x' && (end = parse_side(end + 1, width)) && !*end;
}

bool settings_take_patch(struct settings *c)
{
    return settings_decode_size(c->data.patch, &c->data.height, &c->data.width);
}

bool settings_decode_margin(const char *text, double *margin, bool *is_share)
{
    char *end;

    *margin = strtod(text, &end);
    while (*end == ' ')
        end++;
    *is_share = *end == '%';
    if (*is_share)
        *margin /= 100;
    return end != text && end[*is_share] == 0 && *margin > 0 && isfinite(*margin);
}

static const char *check_margin(const char *text)
{
    double margin;
    bool is_share;

    return settings_decode_margin(text, &margin, &is_share)
               ? NULL : "is not a margin above 0, such as 0.02 or 2 %";
}

bool settings_decode_chance(const char *text, double min, double max, struct settings_chance *dst)
{
    const char *colon = text ? strchr(text, ':') : NULL, *dots = colon ? strstr(colon, "..") : NULL;
    char low[32] = "", *end[3]; /* strtod would take "0." of "0..1" */

    *dst = (struct settings_chance){0};
    if (!text || !*text)
        return true;
    if (!dots || dots - colon > (ptrdiff_t)sizeof low)
        return false;
    memcpy(low, colon + 1, (size_t)(dots - colon - 1));
    dst->probability = strtod(text, &end[0]);
    dst->low = strtod(low, &end[1]);
    dst->high = strtod(dots + 2, &end[2]);
    return end[0] == colon && end[0] != text && end[1] != low && !*end[1] && end[2] != dots + 2 &&
           !*end[2] && dst->probability >= 0 && dst->probability <= 1 && min <= dst->low &&
           dst->low <= dst->high && dst->high <= max;
}

static const char *check_angles(const char *text)
{
    return settings_decode_chance(text, -360, 360, &(struct settings_chance){0})
               ? NULL : "must be PROBABILITY:LOW..HIGH, such as 0.2:-30..30, with a probability from 0 "
                        "to 1 and LOW <= HIGH, from -360 to 360 degrees";
}

static const char *check_factors(const char *text)
{
    return settings_decode_chance(text, 0.1, 10, &(struct settings_chance){0})
               ? NULL : "must be PROBABILITY:LOW..HIGH, such as 0.2:0.7..1.4, with a probability from 0 "
                        "to 1 and LOW <= HIGH, from 0.1 to 10";
}

static const char *check_amounts(const char *text)
{
    return settings_decode_chance(text, 0, 10, &(struct settings_chance){0})
               ? NULL : "must be PROBABILITY:LOW..HIGH, such as 0.1:0..0.5, with a probability from 0 "
                        "to 1 and LOW <= HIGH, from 0 to 10";
}

static bool has_slash(const char *text)
{
    return strchr(text, '/') != NULL;
}

static bool is_folder(const char *text)
{
    return strcmp(text, "auto") != 0 && strcmp(text, "off") != 0;
}

/* Returns whether it is FILE:COLUMN, not a pattern with a group in parentheses. */
static bool is_group_list(const char *text)
{
    return strchr(text, '(') == NULL;
}

/* Returns whether it is a file or folder, not a name such as nvcr.io/nvidia/pytorch:25.01-py3. */
static bool is_image_file(const char *text)
{
    static const char *const ends[] = {".sif", ".simg", ".sqsh", ".sqfs", NULL};
    size_t n = strlen(text);
    bool found = *text == '/' || *text == '.';

    for (const char *const *end = ends; *end && !strstr(text, "://"); end++)
        found |= n > strlen(*end) && strcmp(text + n - strlen(*end), *end) == 0;
    return found;
}

bool settings_model_is_file(const char *name)
{
    size_t n = strlen(name);

    return strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

/* ---- the tables ---- */

#define check_time settings_check_time
#define RESULT .affects_result = true
#define ADJUSTABLE .resume = SETTING_ADJUSTABLE
#define FIXED .resume = SETTING_FIXED
#define EXPECTED .expected = true
#define OF_SPLIT .of_split = true
#define ON_DEMAND .on_demand = true
#define BLANK .blank = true
#define JOINED .is_joined = true
#define PLACE .is_place = true
#define RANGE(min_, max_) .min = min_, .max = max_
#define UNIT(text) .unit = text
#define WORDS(...) .words = (const char *const[]){__VA_ARGS__, NULL}
#define GONE(word, why) .gone = word, .gone_why = why
#define HELP(text) .help = text
#define NEEDS(...) .needs = (const struct setting_need[]){__VA_ARGS__, {0}}
#define NEED(path_, ...) {.path = path_, .values = (const char *const[]){__VA_ARGS__, NULL}}
#define NEED_AS(as_, path_, ...) \
    {.path = path_, .as = as_, .values = (const char *const[]){__VA_ARGS__, NULL}}
#define EITHER(path_, ...) \
    {.path = path_, .or_next = true, .values = (const char *const[]){__VA_ARGS__, NULL}}
#define EITHER_AS(as_, path_, ...) \
    {.path = path_, .as = as_, .or_next = true, .values = (const char *const[]){__VA_ARGS__, NULL}}
#define MASKS NEED_AS("masks", "model.name", "unet*", "nnunet", "fcnn", NEED_MODEL_FILE)
#define ABSENT(text) .absent = text
#define NEUTRAL(text) .neutral = text
#define CHECK(name) .check = check_##name
#define IS_PATH(name) .is_path = name

#define AT(member) offsetof(struct settings, member)
#define ROW(section, name, type, ...) \
    SETTING_ROW(#section "." #name, type, AT(section.name), __VA_ARGS__),
#define TOP_ROW(name, type, ...) SETTING_ROW(#name, type, AT(name), __VA_ARGS__),

const struct setting settings_of_study[] = {
#define SETTING ROW
#define TOP TOP_ROW
#define RUN_SETTING(...)
#define RUN_TOP(...)
#define PROGRAM(engine, text)                                                                   \
    ROW(engine, script, PATH, "", RESULT, ON_DEMAND, PLACE, HELP(text))                         \
    ROW(engine, args, LINES, "", RESULT, ON_DEMAND,                                             \
        HELP("its arguments, with markers such as {{attempt_dir}}"))                            \
    ROW(engine, python, TEXT, "python3", RESULT, ON_DEMAND, CHECK(filled),                      \
        HELP("the interpreter of a Python script"))                                             \
    ROW(engine, resumes, SWITCH, "false", ON_DEMAND,                                            \
        HELP("true if it writes a checkpoint on USR1 and TERM, exits with 75, and resumes "     \
             "from it"))                                                                        \
    ROW(engine, setup, LINES, "", RESULT, ON_DEMAND,                                            \
        HELP("shell lines before it, after the site's"))                                        \
    ROW(engine, env, PAIRS, "", RESULT, ON_DEMAND,                                              \
        HELP("its environment variables, over the site's"))
#include "src/settings/settings.def"
    {0},
};

const struct setting settings_of_run[] = {
#define SETTING ROW
#define TOP TOP_ROW
#define STUDY_SETTING(...)
#define STUDY_TOP(...)
#include "src/settings/settings.def"
    {0},
};

_Static_assert(sizeof settings_of_study / sizeof *settings_of_study <= SETTINGS_MAX + 1 &&
               sizeof settings_of_run / sizeof *settings_of_run <= SETTINGS_MAX + 1,
               "SETTINGS_MAX is too small");

const struct setting settings_gone[] = {
#define GONE_SETTING(section, name, type, preset, why, ...) \
    SETTING_ROW(#section "." #name, type, 0, preset, .gone_why = why, __VA_ARGS__),
#include "src/settings/settings.def"
    {0},
};

const struct setting *setting_find(const struct setting *table, const char *path)
{
    while (table->path && (*table->path != *path || strcmp(table->path, path) != 0))
        table++;
    return table->path ? table : NULL;
}

const char *setting_absent(const struct setting *s)
{
    return s->absent ? s->absent : s->preset;
}

int setting_word_index(const struct setting *table, const char *path, const void *src)
{
    const struct setting *s = setting_find(table, path);
    const char *word;
    int i = 0;

    memcpy(&word, (const char *)src + s->offset, sizeof word);
    while (strcmp(s->words[i], word) != 0)
        i++;
    return i;
}

int setting_refuse(const struct setting *table, const char *path, struct err *e)
{
    const struct setting *gone = setting_find(settings_gone, path);
    char sections[SETTINGS_MAX][SETTING_PATH_SIZE];
    struct buf known = {0};
    const char *names[2 * SETTINGS_MAX + 1], *dot = strchr(path, '.');
    size_t n = 0;

    if (gone)
        return err_set(e, ERR_USAGE, "%s is no longer a setting: %s; leave it out", path,
                       gone->gone_why);
    for (size_t i = 0; i < SETTINGS_MAX && table[i].path; i++) {
        const struct setting *s = &table[i];
        snprintf(sections[i], sizeof sections[i], "%.*s", (int)strcspn(s->path, "."), s->path);
        names[n++] = s->path;
        if (strcmp(sections[i], path) != 0)
            names[n++] = sections[i];
        if (dot ? setting_is_in(s, path, (size_t)(dot - path))
                : !i || strcmp(sections[i], sections[i - 1]) != 0)
            buf_addf(&known, "%s%s", known.length ? ", " : "",
                     dot ? setting_leaf(s->path) : sections[i]);
    }
    names[n] = NULL;
    if (known.length && !known.failed && !cli_nearest(path, names))
        err_set(e, ERR_USAGE, "unknown key '%s' (known: %s)", path, known.data);
    else
        err_set(e, ERR_USAGE, "unknown key '%s'%s", path,
                cli_suggest(path, names, (char[CLI_SUGGESTION]){0}));
    buf_destroy(&known);
    return -1;
}

int setting_check_gone(const char *path, const char *text, struct err *e)
{
    const struct setting *s = setting_find(settings_gone, path);
    char *end;

    if (!s)
        return 0;
    bool same = strcmp(text, s->preset) == 0;
    if (s->type == SETTING_INT || s->type == SETTING_REAL)
        same = strtod(text, &end) == strtod(s->preset, NULL) && end != text && !*end;
    return same ? 1 : setting_refuse(settings_gone, path, e);
}

const char *setting_leaf(const char *path)
{
    const char *dot = strchr(path, '.');

    return dot ? dot + 1 : path;
}

bool setting_is_in(const struct setting *s, const char *section, size_t length)
{
    return length ? strncmp(s->path, section, length) == 0 && s->path[length] == '.'
                  : !strchr(s->path, '.');
}

bool setting_is_of_trainer(const struct setting *s)
{
    static const struct { const char *name; bool is_of_trainer; } sections[] = {
#define OF_TRAINER + 1
#define SECTION(name, ...) {#name, 0 __VA_ARGS__},
#include "src/settings/settings.def"
    };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (setting_is_in(s, sections[i].name, strlen(sections[i].name)))
            return sections[i].is_of_trainer;
    return false;
}

bool setting_is_text(const struct setting *s)
{
    return s->type == SETTING_TEXT || s->type == SETTING_PATH;
}

bool setting_is_list(const struct setting *s)
{
    return s->type >= SETTING_LINES;
}

/* ---- values ---- */

static void *member_of(const struct setting *s, void *dst)
{
    return (char *)dst + s->offset;
}

static const void *const_member(const struct setting *s, const void *src)
{
    return (const char *)src + s->offset;
}

static int set_text(const struct setting *s, const char *text, void *dst, struct err *e)
{
    char **at = member_of(s, dst), *copy;

    if (s->check && !(s->preset && strcmp(text, s->preset) == 0) && s->check(text))
        return err_set(e, ERR_USAGE, "'%.200s' %s", text, s->check(text));
    copy = strdup(text);
    if (!copy)
        return err_errno(e, ERR_INTERNAL, errno, "%s", s->path);
    free(*at);
    *at = copy;
    return 0;
}

static int set_word(const struct setting *s, const char *text, void *dst, struct err *e)
{
    int i = cli_choose(text, s->words, "unknown word", e);

    if (i >= 0)
        *(const char **)member_of(s, dst) = s->words[i];
    return i < 0 ? -1 : 0;
}

static int set_number(const struct setting *s, const char *text, void *dst, struct err *e)
{
    bool whole = s->type == SETTING_INT;
    char *end;

    errno = 0;
    double v = whole ? (double)strtol(text, &end, 10) : strtod(text, &end);
    if (end == text || *end || !isfinite(v) || (whole && (errno || v < INT_MIN || v > INT_MAX)))
        return err_set(e, ERR_USAGE, "'%.200s' is not a%s number", text, whole ? " whole" : "");
    if ((s->min != 0 || s->max != 0) && !(v >= s->min && v <= s->max))
        return err_set(e, ERR_USAGE, "'%.200s' must be from %.10g to %.10g", text, s->min, s->max);
    if (whole)
        *(int *)member_of(s, dst) = (int)v;
    else
        *(double *)member_of(s, dst) = v;
    return 0;
}

int setting_set(const struct setting *s, const char *text, void *dst, struct err *e)
{
    if (s->gone && strcmp(text, s->gone) == 0)
        return err_set(e, ERR_USAGE, "'%s': %s", text, s->gone_why);
    switch (s->type) {
    case SETTING_WORD: return set_word(s, text, dst, e);
    case SETTING_INT:
    case SETTING_REAL: return set_number(s, text, dst, e);
    case SETTING_SWITCH:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return err_set(e, ERR_USAGE, "'%.200s' is not true or false", text);
        *(bool *)member_of(s, dst) = *text == 't';
        return 0;
    case SETTING_TEXT:
    case SETTING_PATH: return set_text(s, text, dst, e);
    default: break;
    }
    return err_set(e, ERR_USAGE, "is a list; set it in a file");
}

void setting_clear_lines(struct setting_lines *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->lines[i]);
    free(list->lines);
    *list = (struct setting_lines){0};
}

int setting_append_line(struct setting_lines *list, const char *line, struct err *e)
{
    char **lines = realloc(list->lines, (list->count + 2) * sizeof *lines);

    if (lines)
        list->lines = lines;
    if (!lines || !(lines[list->count] = strdup(line)))
        return err_errno(e, ERR_INTERNAL, ENOMEM, "a list");
    lines[++list->count] = NULL;
    return 0;
}

int setting_set_lines(const struct setting *s, const char *const *lines, size_t n, void *dst,
                      struct err *e)
{
    struct setting_lines *list = member_of(s, dst);

    setting_clear_lines(list);
    for (size_t i = 0; i < n; i++)
        if (setting_append_line(list, lines[i], e))
            return err_prefix(e, "%s", s->path);
    return 0;
}

/* Prints 15 significant digits, or 17 if those would not be read back as the same number. */
static void format_real(double v, struct buf *dst)
{
    char text[40];

    snprintf(text, sizeof text, "%.15g", v);
    buf_addf(dst, "%.*g", strtod(text, NULL) == v ? 15 : 17, v);
}

void setting_format(const struct setting *s, const void *src, struct buf *dst)
{
    const void *at = const_member(s, src);
    const struct setting_lines *list = at;

    switch (s->type) {
    case SETTING_INT: buf_addf(dst, "%d", *(const int *)at); break;
    case SETTING_REAL: format_real(*(const double *)at, dst); break;
    case SETTING_SWITCH: buf_add(dst, *(const bool *)at ? "true" : "false"); break;
    case SETTING_LINES:
    case SETTING_PAIRS:
    case SETTING_VARIANTS:
        for (size_t i = 0; i < list->count; i++)
            buf_addf(dst, "%s%s", i ? ", " : "", list->lines[i]);
        break;
    default: buf_add(dst, *(char *const *)at ? *(char *const *)at : "");
    }
}

bool setting_is_preset(const struct setting *s, const void *src)
{
    struct buf text = {0};

    setting_format(s, src, &text);
    bool same = s->preset && strcmp(text.data ? text.data : "", s->preset) == 0;
    buf_destroy(&text);
    return same;
}

static void clear_members(const struct setting *table, void *dst)
{
    for (const struct setting *s = table; s->path; s++)
        if (setting_is_list(s))
            *(struct setting_lines *)member_of(s, dst) = (struct setting_lines){0};
        else if (setting_is_text(s))
            *(char **)member_of(s, dst) = NULL;
}

int settings_create(const struct setting *table, void *dst, struct err *e)
{
    clear_members(table, dst);
    for (const struct setting *s = table; s->path; s++)
        if (s->preset && !setting_is_list(s) && setting_set(s, s->preset, dst, e))
            return err_prefix(e, "%s", s->path);
    return 0;
}

int settings_copy(const struct setting *table, const void *src, void *dst, struct err *e)
{
    clear_members(table, dst);
    for (const struct setting *s = table; s->path; s++) {
        const struct setting_lines *list = const_member(s, src);
        char *text = setting_is_text(s) ? *(char *const *)const_member(s, src) : NULL;

        if (setting_is_list(s) &&
            setting_set_lines(s, (const char *const *)list->lines, list->count, dst, e))
            return -1;
        if (text && !(*(char **)member_of(s, dst) = strdup(text)))
            return err_errno(e, ERR_INTERNAL, errno, "%s", s->path);
    }
    return 0;
}

void settings_destroy(const struct setting *table, void *dst)
{
    for (const struct setting *s = table; s->path; s++)
        if (setting_is_text(s))
            free(*(char **)member_of(s, dst));
        else if (setting_is_list(s))
            setting_clear_lines(member_of(s, dst));
    clear_members(table, dst);
}

const char *settings_dice_weights(const struct settings *c)
{
    bool weighs = *c->train.class_weights && strcmp(c->train.loss, "ce") != 0;

    return weighs && c->data.classes > 1 ? "classes" : "none";
}

/* ---- descriptions ---- */

void setting_describe(const struct setting *s, struct buf *dst)
{
    if (!s->help || !*s->help)
        return;
    need_describe(s, dst);
    buf_add(dst, s->help);
}

static bool has_words(const struct setting *s)
{
    for (const char *const *w = s->words; *w; w++)
        if (!strstr(s->help, *w))
            return false;
    return true;
}

static void describe_bounds(const struct setting *s, struct buf *dst)
{
    bool bounded = s->min != 0 || s->max != 0, words = s->words && !has_words(s);

    for (size_t i = 0; words && s->words[i]; i++)
        buf_addf(dst, "%s%s", i ? " | " : " (", s->words[i]);
    if (bounded)
        buf_addf(dst, " (%.10g to %.10g", s->min, s->max);
    if (bounded && s->unit)
        buf_addf(dst, " %s", s->unit);
    if (words || bounded)
        buf_add(dst, ")");
    if (s->type == SETTING_SWITCH)
        buf_add(dst, " (true | false)");
}

void settings_describe(const struct setting *table, struct buf *dst)
{
    for (const struct setting *s = table; s->path; s++) {
        size_t start = dst->length;

        if (!s->help)
            continue;
        buf_addf(dst, "  %s=%s ", s->path, s->preset ? s->preset : "");
        buf_addf(dst, "%*s", start + 32 > dst->length ? (int)(start + 32 - dst->length) : 0, "");
        setting_describe(s, dst);
        describe_bounds(s, dst);
        buf_add(dst, "\n");
    }
}
