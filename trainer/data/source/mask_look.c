/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts values, colours and connected regions of the masks, then decides by rules of thumb what
 * they mean (mask_look_propose). A wrong guess is only a wrong proposal: nothing is changed. */
#include "config.h"
#include "trainer/data/source/mask_look.h"

#include <cJSON.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/mem.h"
#include "src/plural.h"
#include "trainer/data/image/classes.h"

#define PALETTES 16    /* masks whose palettes are compared */
#define PIECES 24      /* masks whose regions are counted */
#define MAX_GRID ((size_t)1 << 20)
#define FEW_VALUES 32  /* masks of classes have at most as many */
#define SHOWN_VALUES 8
#define EXPLAINED 100  /* masks that are read to explain an error */
#define MAX_JSON ((size_t)16 << 20)
#define NEAR 64        /* lossy values lie at most so far from 0 or 255 */

/* --- examining one mask --- */

/* A mask, subsampled to at most MAX_GRID points. */
struct grid {
    size_t width, height;
    uint16_t *values; /* 0: background, or a region that has been counted */
    size_t *stack;
};

static int grid_open(struct grid *g, const struct pixels *mask, struct err *e)
{
    size_t step = 1;

    while ((mask->width / step + 1) * (mask->height / step + 1) > MAX_GRID)
        step++;
    g->width = (mask->width + step - 1) / step;
    g->height = (mask->height + step - 1) / step;
    g->values = malloc(g->width * g->height * sizeof *g->values);
    g->stack = malloc(g->width * g->height * sizeof *g->stack);
    if (!g->values || !g->stack)
        return mem_fail(e);
    for (size_t y = 0; y < g->height; y++)
        for (size_t x = 0; x < g->width; x++)
            g->values[y * g->width + x] =
                (uint16_t)pixels_sample(mask, y * step * mask->width + x * step);
    return 0;
}

/* Sets the region of equal values around `at` to 0; neighbours are 8-connected. */
static void clear_region(struct grid *g, size_t at)
{
    size_t w = g->width, h = g->height, n = 0, *stack = g->stack;
    uint16_t value = g->values[at];

    stack[n++] = at;
    g->values[at] = 0;
    while (n) {
        size_t y = stack[--n] / w, x = stack[n] % w;
        for (size_t v = y ? y - 1 : 0; v <= y + 1 && v < h; v++)
            for (size_t u = x ? x - 1 : 0; u <= x + 1 && u < w; u++) {
                size_t next = v * w + u;
                if (g->values[next] == value) {
                    g->values[next] = 0;
                    stack[n++] = next;
                }
            }
    }
}

static int count_pieces(struct mask_look *look, const struct pixels *mask, struct err *e)
{
    struct grid g = {0};
    uint8_t *pieces = mem_zero(65536, 1, e);
    int rc = pieces ? grid_open(&g, mask, e) : -1;

    for (size_t i = 0; rc == 0 && i < g.width * g.height; i++)
        if (g.values[i]) {
            uint8_t *p = &pieces[g.values[i]];
            *p = *p < 2 ? *p + 1 : 2;
            clear_region(&g, i);
        }
    for (size_t v = 0; rc == 0 && v < 65536; v++) {
        look->regions += pieces[v] > 0;
        look->whole += pieces[v] == 1;
    }
    free(g.stack);
    free(g.values);
    free(pieces);
    return rc;
}

static int add_values(struct mask_look *look, const struct pixels *mask, bool pieces, struct err *e)
{
    size_t n = (size_t)mask->width * mask->height, different = 0;
    unsigned full = (1u << mask->source_bits) - 1;
    bool *seen = mem_zero(65536, sizeof *seen, e);

    if (!seen)
        return -1;
    for (size_t i = 0; i < n; i++) {
        unsigned v = pixels_sample(mask, i);
        if (full == 1 && v)
            look->bit_ones++;
        else
            look->of_value[v]++;
        different += v && !seen[v];
        seen[v] = true;
    }
    look->one_and_full |= full > 1 && seen[1] && seen[full];
    look->full = full > look->full ? full : look->full;
    look->fewest = different < look->fewest || look->masks == 1 ? different : look->fewest;
    look->most = different > look->most ? different : look->most;
    free(seen);
    return pieces ? count_pieces(look, mask, e) : 0;
}

static void add_colour(struct mask_look *look, uint32_t rgb)
{
    size_t i = 0;

    while (i < look->ncolours && i < MASK_LOOK_COLOURS && look->colours[i].rgb != rgb)
        i++;
    if (i == look->ncolours && i < MASK_LOOK_COLOURS)
        look->colours[look->ncolours++] = (struct mask_look_colour){rgb, 0};
    if (i < MASK_LOOK_COLOURS)
        look->colours[i].pixels++;
    else
        look->ncolours = MASK_LOOK_COLOURS + 1;
}

static void add_colours(struct mask_look *look, const struct pixels *mask)
{
    size_t n = (size_t)mask->width * mask->height;

    for (size_t i = 0; i < n; i++) {
        uint32_t rgb = pixels_colour(mask, i);
        if (rgb >> 16 == (rgb >> 8 & 255) && rgb >> 16 == (rgb & 255))
            look->of_value[rgb & 255]++;
        else
            add_colour(look, rgb);
    }
    look->coloured++;
}

/* If an index has different colours in different files, only the colours have a meaning. of_index:
 * the colour of each index in the masks before, plus 1, or 0. */
static void compare_palette(struct mask_look *look, const struct pixels *values,
                            const struct pixels *picture, uint32_t of_index[256])
{
    size_t n = (size_t)values->width * values->height;

    for (size_t i = 0; picture->channels >= 3 && values->bits == 8 && i < n; i++) {
        unsigned v = pixels_sample(values, i);
        uint32_t rgb = pixels_colour(picture, i) + 1; /* 0 means: not seen */
        look->palettes_differ |= of_index[v] && of_index[v] != rgb;
        of_index[v] = rgb;
    }
}

/* --- examining all masks --- */

static int read_mask(struct mask_look *look, struct source *source, const char *name,
                     uint32_t of_index[256], struct err *e)
{
    struct pixels values, picture;
    struct err ignored;
    int rc;

    look->masks++;
    bool grey = source_mask(source, name, false, NULL, NULL, &values, e) == 0;
    if (!grey && source_mask(source, name, true, NULL, NULL, &picture, &ignored))
        return -1; /* *e has the error of the first reading */
    look->pixels += grey ? (int64_t)values.width * values.height
                         : (int64_t)picture.width * picture.height;
    if (!grey) {
        add_colours(look, &picture);
        pixels_free(&picture);
        return 0;
    }
    rc = add_values(look, &values, look->masks <= PIECES, e);
    if (rc == 0 && look->masks <= PALETTES &&
        source_mask(source, name, true, NULL, NULL, &picture, &ignored) == 0) {
        compare_palette(look, &values, &picture, of_index);
        pixels_free(&picture);
    }
    pixels_free(&values);
    return rc;
}

static int read_colours(struct mask_look *look, struct source *source, size_t most, struct err *e)
{
    size_t n = source->count < most ? source->count : most;

    memset(look, 0, sizeof *look);
    look->palettes_differ = true;
    for (size_t i = 0; i < n; i++) {
        struct pixels picture;
        if (source_mask(source, source->items[i * source->count / n].mask, true, NULL, NULL,
                        &picture, e))
            return -1;
        look->masks++;
        look->pixels += (int64_t)picture.width * picture.height;
        add_colours(look, &picture);
        pixels_free(&picture);
    }
    return 0;
}

int mask_look_read(struct mask_look *look, struct source *source, size_t most, struct err *e)
{
    size_t n = source->count < most ? source->count : most;
    uint32_t of_index[256] = {0};

    memset(look, 0, sizeof *look);
    for (size_t i = 0; i < n; i++)
        if (read_mask(look, source, source->items[i * source->count / n].mask, of_index, e))
            return -1;
    look->of_value[look->full > 1 ? look->full : 1] += look->bit_ones;
    return look->palettes_differ ? read_colours(look, source, most, e) : 0;
}

/* --- proposing settings --- */

struct values {
    unsigned v[FEW_VALUES + 1];
    size_t n; /* number of different values; v has the first of them */
    unsigned max, second; /* the two largest values */
};

static struct values list_values(const struct mask_look *look)
{
    struct values all = {.n = 0};

    for (unsigned v = 0; v < 65536; v++) {
        if (!look->of_value[v])
            continue;
        if (all.n <= FEW_VALUES)
            all.v[all.n] = v;
        all.n++;
        all.second = all.max;
        all.max = v;
    }
    return all;
}

__attribute__((format(printf, 3, 4))) static void append_text(char *dst, size_t size,
                                                              const char *fmt, ...)
{
    size_t n = strlen(dst);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(dst + n, size - n, fmt, ap);
    va_end(ap);
}

#define say(p, ...) append_text((p)->text, sizeof(p)->text, __VA_ARGS__)
#define add_line(p, ...) append_text((p)->class_file, sizeof(p)->class_file, __VA_ARGS__)

static void say_values(struct mask_proposal *p, const struct values *all)
{
    say(p, "the masks contain %zu value%s (", all->n, plural(all->n));
    for (size_t i = 0; i < all->n && i < SHOWN_VALUES; i++)
        say(p, "%s%u", i ? ", " : "", all->v[i]);
    say(p, all->n > SHOWN_VALUES ? " ... %u)" : ")", all->max);
}

/* Shell commands that write a class file of background 0 and foreground `from`. */
#define TWO_NAMES(from) "printf '0 background\\n" from " foreground\\n' >classes.txt, then -s " \
                        "data.class_file=classes.txt"

/* Whether values are object numbers: each value is a single region, and masks have different
 * numbers of values. */
static bool is_numbered(const struct mask_look *look)
{
    return look->regions && 10 * look->whole >= 9 * look->regions && look->most >= 4 &&
           look->most > look->fewest;
}

static void propose_numbered(const struct values *all, struct mask_proposal *p)
{
    p->meaning = MASK_MEANS_UNKNOWN;
    say_values(p, all);
    say(p, ", each a single region, and not every mask has the same number of values: these "
           "seem to be object numbers (instance masks), not classes. If all values above 0 are "
           "foreground: "
           TWO_NAMES("1-65535"));
    if (all->max < CLASSES_MAX)
        say(p, ". If the values are classes: -s data.classes=%u", all->max + 1);
}

/* Whether nearly all values are close to 0 or 255, as a lossy format or a scaled mask leaves
 * them. */
static bool is_lossy(const struct mask_look *look)
{
    int64_t near = 0;

    for (unsigned v = 0; v < 256; v++)
        near += v <= NEAR || v >= 255 - NEAR ? look->of_value[v] : 0;
    return look->full == 255 && look->of_value[0] + look->of_value[255] >= look->pixels / 4 &&
           (double)near >= 0.995 * (double)look->pixels;
}

static void propose_grey(const struct mask_look *look, const struct values *all,
                         struct mask_proposal *p)
{
    say_values(p, all);
    if (is_lossy(look)) {
        p->meaning = MASK_MEANS_CLASSES;
        p->classes = 1;
        add_line(p, "0-127 background\n128-255 foreground\n");
        say(p, ", nearly all of them close to 0 or 255, as a lossy format (JPEG) leaves them: "
               "values up to 127 are background, from 128 foreground");
        return;
    }
    p->meaning = MASK_MEANS_UNKNOWN;
    say(p, ": these are not classes. If a value is the share of foreground: -s "
           "data.soft_masks=true. If all values from 128 are foreground: printf '0-127 "
           "background\\n128-65535 foreground\\n' >classes.txt, then -s "
           "data.class_file=classes.txt");
}

/* Whether the largest possible value occurs far above all others, as data sets mark pixels to
 * ignore. */
static bool has_ignored(const struct mask_look *look, const struct values *all)
{
    return all->n > 2 && all->max == look->full && all->max > 2 * all->second;
}

/* Whether values are class numbers: 0, 1, ... with few gaps, because a rare class may be absent. */
static bool are_numbers(const struct mask_look *look, const struct values *all)
{
    bool ignored = has_ignored(look, all);
    unsigned top = ignored ? all->second : all->max;

    return all->n > 2 && all->v[0] == 0 && all->v[1] == 1 && top < CLASSES_MAX &&
           top < 2 * (all->n - ignored);
}

static void propose_classes(const struct mask_look *look, const struct values *all,
                            struct mask_proposal *p)
{
    bool ignored = has_ignored(look, all);
    unsigned top = ignored ? all->second : all->max;

    p->meaning = MASK_MEANS_CLASSES;
    p->classes = top > 1 ? (int)top + 1 : 1;
    if (ignored)
        snprintf(p->ignore, sizeof p->ignore, "%u", all->max);
    say_values(p, all);
    if (p->classes > 1)
        say(p, ": %d classes", p->classes);
    else
        say(p, ": 1 is foreground");
    if (ignored)
        say(p, ", and %u is taken as the value to ignore (data.ignore)", all->max);
    else if (p->classes > 2)
        say(p, "; if the last value is to be ignored: -s data.classes=%u -s "
               "data.ignore=%u", top, top);
    if (p->classes > 1 && p->classes < 12)
        say(p, "; if these are object numbers instead: " TWO_NAMES("1-65535"));
}

/* Proposes a class for each of a few values that are not class numbers. */
static void propose_listed(const struct mask_look *look, const struct values *all,
                           struct mask_proposal *p)
{
    say_values(p, all);
    if (all->n == 2 && all->v[0] != 0) {
        p->meaning = MASK_MEANS_UNKNOWN;
        say(p,
            ": which value is foreground? printf '%u background\\n%u foreground\\n' >classes.txt "
            "(or the other way round), then -s data.class_file=classes.txt",
            all->v[0], all->v[1]);
        return;
    }
    p->meaning = MASK_MEANS_CLASSES;
    p->classes = all->n == 2 ? 1 : (int)all->n;
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i] == 0)
            add_line(p, "0 background\n");
        else if (all->n == 2)
            add_line(p, "%u foreground\n", all->v[i]);
        else
            add_line(p, "%u value_%u\n", all->v[i], all->v[i]);
    if (all->n == 2)
        say(p, ": %u is foreground", all->v[1]);
    else {
        say(p, ": each is a class; rename the classes, or use `ignore` for values to ignore");
        if (look->of_value[0] && look->of_value[look->full])
            say(p, ". If a value is the share of foreground: -s data.soft_masks=true");
    }
}

static void propose_colours(const struct mask_look *look, struct mask_proposal *p)
{
    struct values grey = list_values(look);
    size_t n = look->ncolours + grey.n;

    if (look->ncolours > MASK_LOOK_COLOURS || n > MASK_LOOK_COLOURS) {
        p->meaning = MASK_MEANS_UNKNOWN;
        say(p, "the masks contain more than %d colours: a lossy format (JPEG), smoothed edges or "
               "one colour per object. Write them as PNG with one value or colour per class",
            MASK_LOOK_COLOURS);
        return;
    }
    p->meaning = n > 1 ? MASK_MEANS_CLASSES : MASK_MEANS_ONE_CLASS;
    p->classes = n == 2 && look->of_value[0] ? 1 : (int)n;
    for (unsigned v = 0; v < 256; v++)
        if (look->of_value[v])
            add_line(p, v ? "%u %u %u grey_%u\n" : "%u %u %u background\n", v, v, v, v);
    for (size_t i = 0; i < look->ncolours; i++) {
        uint32_t c = look->colours[i].rgb;
        add_line(p, "%u %u %u colour_%zu\n", c >> 16, c >> 8 & 255, c & 255, i + 1);
    }
    say(p, "the masks contain %zu colour%s: %s", n, plural(n),
        n == 1 ? "there is nothing to learn"
               : "each is a class; rename the classes, or use `ignore` for colours to ignore");
    if (look->palettes_differ)
        say(p, ". The palettes of the files differ, so that the colours are used, not the "
               "indices");
}

void mask_look_propose(const struct mask_look *look, struct mask_proposal *dst)
{
    struct values all = list_values(look);
    bool two = all.n == 2 && all.v[0] == 0;

    *dst = (struct mask_proposal){.meaning = MASK_MEANS_FOREGROUND, .classes = 1};
    if (look->coloured)
        propose_colours(look, dst);
    else if (all.n == 1) {
        dst->meaning = MASK_MEANS_ONE_CLASS;
        say(dst, "all masks contain only the value %u: there is nothing to learn", all.max);
    } else if (two && (all.max == 1 || all.max == look->full))
        say_values(dst, &all);
    else if (is_numbered(look))
        propose_numbered(&all, dst);
    else if (all.n == 3 && all.second == 1 && all.max == look->full && !look->one_and_full) {
        dst->meaning = MASK_MEANS_UNKNOWN;
        say(dst, "some masks contain 0 and 1, others 0 and %u. If both are foreground: "
            TWO_NAMES("1-65535"), all.max);
    } else if (are_numbers(look, &all))
        propose_classes(look, &all, dst);
    else if (all.n <= FEW_VALUES && !(all.n > 4 && is_lossy(look)))
        propose_listed(look, &all, dst);
    else
        propose_grey(look, &all, dst);
}

/* Stores a label of dataset.json in names: "NAME": VALUE, or in older files "VALUE": "NAME". */
static void add_label(const cJSON *label, const char *names[CLASSES_MAX])
{
    char *end;
    double value = label->valuedouble;
    const char *name = label->string;

    if (cJSON_IsString(label)) {
        value = strtod(label->string, &end);
        name = *end ? NULL : label->valuestring;
    } else if (!cJSON_IsNumber(label))
        name = NULL;
    if (name && *name && strlen(name) < 64 && !strpbrk(name, "#\n\r") && value >= 0 &&
        value < CLASSES_MAX && value == (double)(unsigned)value)
        names[(unsigned)value] = name;
}

static void propose_names(const struct mask_look *look, const char *const names[CLASSES_MAX],
                      struct mask_proposal *p)
{
    struct values all = list_values(look);
    struct mask_proposal named = {.meaning = MASK_MEANS_CLASSES};
    int ignored = 0;

    for (unsigned v = 0; v < 65536; v++)
        if (look->of_value[v] && (v >= CLASSES_MAX || !names[v]))
            return;
    for (unsigned v = 0; v < CLASSES_MAX; v++)
        if (names[v]) {
            add_line(&named, "%u %s\n", v, names[v]);
            named.classes++;
            ignored += strcmp(names[v], "ignore") == 0;
        }
    named.classes -= ignored;
    if (named.classes < 2 || strlen(named.class_file) + 1 >= sizeof named.class_file)
        return;
    if (named.classes == 2)
        named.classes = 1;
    say_values(&named, &all);
    say(&named, ", with class names from dataset.json");
    *p = named;
}

void mask_look_name(const struct mask_look *look, const char *dir, struct mask_proposal *p)
{
    const char *names[CLASSES_MAX] = {NULL};
    char path[PATH_MAX];
    struct err ignored;
    size_t n;

    snprintf(path, sizeof path, "%.4000s/dataset.json", dir);
    if (look->coloured || p->meaning == MASK_MEANS_FOREGROUND ||
        p->meaning == MASK_MEANS_ONE_CLASS || access(path, R_OK) != 0)
        return;
    char *text = atomicfile_read(path, MAX_JSON, &n, &ignored);
    cJSON *root = text ? cJSON_ParseWithLength(text, n) : NULL;
    const cJSON *label, *labels = cJSON_GetObjectItemCaseSensitive(root, "labels");
    cJSON_ArrayForEach(label, labels)
    {
        if (label->string)
            add_label(label, names);
    }
    propose_names(look, names, p);
    cJSON_Delete(root);
    free(text);
}

/* Adds the shell command that writes the class file. */
static void say_class_file(struct mask_proposal *p)
{
    say(p, " printf '");
    for (const char *c = p->class_file; *c; c++)
        say(p, *c == '\n' ? "\\n" : "%c", *c);
    say(p, "' >classes.txt, then -s data.class_file=classes.txt");
}

void mask_look_explain(struct source *source, struct err *e)
{
    struct mask_look *look = malloc(sizeof *look);
    struct mask_proposal *p = malloc(sizeof *p);
    struct err ignored;
    bool read = look && p && mask_look_read(look, source, EXPLAINED, &ignored) == 0;

    if (read) {
        mask_look_propose(look, p);
        mask_look_name(look, source->dir, p);
    }
    if (read && p->meaning == MASK_MEANS_CLASSES) {
        say(p, ". To use them so:");
        if (*p->class_file)
            say_class_file(p);
        if (p->classes > 1)
            say(p, " -s data.classes=%d", p->classes);
        if (*p->ignore)
            say(p, " -s data.ignore=%s", p->ignore);
    }
    if (read && *p->text)
        append_text(e->text, sizeof e->text, ". In total, %s (unet-train: --classes, "
                    "--class-file, --ignore, --soft-masks)", p->text);
    free(p);
    free(look);
}
