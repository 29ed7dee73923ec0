/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes every pair of a data folder (an image and its mask, or an image with a class) to check
 * and hash it. Several pairs are decoded at a time; the error is always that of the first bad
 * pair. Then finds those that a split must not separate: by their hashes, their names, and groups
 * that the user names. */
#include "src/base.h"
#include "trainer/data/set/set_internal.h"

#include <regex.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/format/sha256.h"
#include "src/parallel.h"

/* How masks are to be read. */
struct mask_rules {
    const struct split_config *config;
    struct classes *classes; /* NULL for masks of foreground and background */
    int ignore;
};

/* The most pairs that are decoded at the same time; limits memory on nodes with many cores. */
#define MOST_READERS 8

static void hash_pixels(const struct pixels *img, char hex[65])
{
    uint32_t shape[4] = {img->width, img->height, (uint32_t)img->channels, (uint32_t)img->bits};
    struct sha256_ctx h;

    sha256_init(&h);
    sha256_add(&h, shape, sizeof shape);
    if (img->flags & PIXELS_STRETCHED)
        sha256_add(&h, (double[]){img->low, img->high}, 2 * sizeof(double));
    sha256_add(&h, img->samples, img->nbytes);
    sha256_finish(&h, hex);
}

/* Raises *most to the largest class in the mask. */
static int check_labels(const struct pixels *mask, const char *name,
                        const struct classes *classes, unsigned *most, struct err *e)
{
    size_t n = (size_t)mask->width * mask->height;
    uint8_t *labels = mem_alloc(n, 1, e);
    int rc = labels ? classes_label(classes, mask, name, labels, e) : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        *most = labels[i] != CLASSES_IGNORE && labels[i] > *most ? labels[i] : *most;
    free(labels);
    return rc;
}

static int check_mask(const struct pixels *mask, const char *name, const struct mask_rules *rules,
                      struct mask_summary *summary, struct err *e)
{
    const char *dir = rules->config->dir;

    if (rules->classes)
        return check_labels(mask, name, rules->classes, &summary->max, e) ? err_prefix(e, "%s", dir)
                                                                          : 0;
    mask_summarize(mask, rules->ignore, summary);
    if (summary->has_other && !rules->config->masks.soft)
        return err_set(
            e, ERR_DATA,
            "%s/%s: the mask contains the value %u; masks must contain 0 and 255, or 0 and 1", dir,
            name, summary->other);
    return 0;
}

/* Sets the scale that all masks share: MASK_FULL if any mask has its full value, or with soft masks
 * any value above 1; else MASK_UNIT; MASK_CLASS for classes. Unless masks are soft, a 1 in a set
 * with full values has no clear meaning and is an error. */
static int decide_scale(const struct mask_rules *rules, struct source *source,
                        const struct candidate *c, enum mask_scale *scale, struct err *e)
{
    bool soft = rules->config->masks.soft;
    const char *has_one = NULL, *has_full = NULL; /* name of the first mask with that value */
    unsigned max = 0;

    if (rules->classes || source->nclasses) {
        *scale = MASK_CLASS;
        return 0;
    }
    for (size_t i = 0; i < source->count; i++) {
        const struct mask_summary *s = &c[i].mask;
        max = s->max > max ? s->max : max;
        if (s->has_one && !has_one)
            has_one = source->items[i].mask;
        if (s->has_full && !has_full)
            has_full = source->items[i].mask;
    }
    *scale = soft ? (max > 1 ? MASK_FULL : MASK_UNIT) : (has_full ? MASK_FULL : MASK_UNIT);
    if (!soft && has_full && has_one) {
        err_set(e, ERR_DATA, "%s: %s contains the value 1, but %s contains 255; all masks of a set "
                "must contain 0 and 255, or 0 and 1", rules->config->dir, has_one, has_full);
        mask_stats_explain(source, e);
        return -1;
    }
    return 0;
}

static int check_utf8_name(const char *dir, const char *name, struct err *e)
{
    if (!name || filename_is_utf8(name))
        return 0;
    return err_set(e, ERR_DATA, "%s/%s: this name is not valid UTF-8, which split.json needs; "
                   "rename the file", dir, name);
}

static int describe_image(const struct pixels *img, bool has_mask, struct candidate *c,
                          struct err *e)
{
    c->item.width = img->width;
    c->item.height = img->height;
    c->item.orientation = img->orientation;
    c->about_image = remarks_look(img, REMARKS_IMAGE);
    hash_pixels(img, c->pixels);
    if (!has_mask || !picture_has_levels(img))
        return 0;
    c->points = mem_alloc(SCALE_POINTS, sizeof *c->points, e);
    return c->points ? picture_points(img, c->points, e) : -1;
}

static int examine_pair(struct source *source, const struct source_item *in, struct candidate *c,
                        const struct mask_rules *rules, struct err *e)
{
    bool coloured = rules->classes && classes_are_coloured(rules->classes);
    struct pixels image, mask;

    if (check_utf8_name(source->dir, in->image, e) || check_utf8_name(source->dir, in->mask, e) ||
        source_decode_pair(source, in, coloured ? SOURCE_COLOURS : SOURCE_VALUES,
                           c->item.image_sha256, c->item.mask_sha256, &image, &mask, e))
        return -1;
    c->item.label = in->label;
    int rc = in->mask ? check_mask(&mask, in->mask, rules, &c->mask, e) : 0;
    if (rc == 0 && in->mask) {
        c->item.mask_orientation = mask.orientation;
        c->about_mask = remarks_look(&mask, REMARKS_MASK);
    }
    if (rc == 0)
        rc = describe_image(&image, in->mask, c, e);
    pixels_free(&mask);
    pixels_free(&image);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Sets the levels by the points of all images, which count alike: to what 1 % and 99 % of the
 * points do not exceed, or where these are equal to the smallest and the largest. */
static int find_levels(const struct candidate *c, size_t n, struct picture_levels *levels,
                       struct err *e)
{
    float *all = mem_alloc(n * SCALE_POINTS, sizeof *all, e);
    size_t k = 0;

    if (!all)
        return -1;
    *levels = (struct picture_levels){0};
    for (size_t i = 0; i < n; i++) {
        levels->bits = c[i].about_image.bits > levels->bits ? c[i].about_image.bits : levels->bits;
        for (int p = 0; c[i].points && p < SCALE_POINTS; p++)
            all[k++] = c[i].points[p];
    }
    if (k > 0) {
        qsort(all, k, sizeof *all, by_value);
        size_t first = k / 100, last = k - 1 - k / 100;
        bool wide = all[last] > all[first];
        levels->values[0] = (double)all[wide ? first : 0];
        levels->values[1] = (double)all[wide ? last : k - 1];
    }
    free(all);
    return 0;
}

static void log_remarks(const struct source *source, const struct candidate *c)
{
    struct remarks images = {.role = REMARKS_IMAGE}, masks = {.role = REMARKS_MASK};

    for (size_t i = 0; i < source->count; i++) {
        remarks_add(&images, &c[i].about_image, source->items[i].image);
        if (source->items[i].mask)
            remarks_add(&masks, &c[i].about_mask, source->items[i].mask);
    }
    remarks_log(&images, source->dir);
    remarks_log(&masks, source->dir);
}

/* Returns whether the mask can be read, but has colours or other values than 0 and 1, or 0 and
 * 255. */
static bool has_other_values(struct source *source, const struct source_item *in,
                            const struct candidate *c)
{
    struct pixels mask = {0};
    struct err ignored;
    bool coloured =
        in->mask && source_decode(source, in->mask, SOURCE_VALUES, NULL, NULL, &mask, &ignored) &&
        source_decode(source, in->mask, SOURCE_COLOURS, NULL, NULL, &mask, &ignored) == 0;

    pixels_free(&mask);
    return coloured || c->mask.has_other;
}

struct examination {
    struct source *source;
    struct candidate *c;
    const struct mask_rules *rules;
};

static int examine_item(void *arg, size_t i, struct err *e)
{
    struct examination *x = arg;

    x->c[i].is_bad = examine_pair(x->source, &x->source->items[i], &x->c[i], x->rules, e) != 0;
    return x->c[i].is_bad ? -1 : 0;
}

/* Decoding computes: more threads than the process has cores would only take memory. */
static int count_readers(void)
{
    int most = 1;

#ifdef _OPENMP
    most = omp_get_max_threads();
#endif
    return most < MOST_READERS ? most : MOST_READERS;
}

/* Examines several pairs at a time. So that the error does not depend on threads, the first bad
 * pair is examined again to report it: all before it have begun earlier, and are good. */
static int examine_all(struct source *source, struct candidate *c, const struct mask_rules *rules,
                       struct err *e)
{
    struct examination x = {source, c, rules};
    size_t bad = 0;

    if (parallel_each(source->count, count_readers(), examine_item, &x, e) == 0)
        return 0;
    while (!c[bad].is_bad)
        bad++;
    (void)examine_pair(source, &source->items[bad], &c[bad], rules, e);
    if (!rules->classes && has_other_values(source, &source->items[bad], &c[bad]))
        mask_stats_explain(source, e);
    return -1;
}

struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct picture_levels *levels,
                                  struct err *e)
{
    struct candidate *c = mem_zero(source->count, sizeof *c, e);
    struct mask_rules rules = {.config = config};
    int rc = c ? 0 : -1;

    if (rc == 0 && (classes_open(&config->masks, &rules.ignore, &rules.classes, e) ||
                    examine_all(source, c, &rules, e) ||
                    decide_scale(&rules, source, c, scale, e) ||
                    find_levels(c, source->count, levels, e)))
        rc = -1;
    for (size_t i = 0; c && i < source->count; i++)
        free(c[i].points);
    classes_destroy(rules.classes);
    if (rc == 0)
        log_remarks(source, c);
    if (rc) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct source_item *in = &source->items[i];
        c[i].item.stem = in->stem;
        c[i].item.image = in->image;
        c[i].item.mask = in->mask;
        c[i].side = in->side;
        in->stem = in->image = in->mask = NULL;
    }
    return c;
}

/* --- which candidates stay together --- */

/* A list that has groups for names. */
struct group_list {
    const char *file;
    char *text, separator; /* text: of the file; separator: between its columns */
    int group, name;       /* columns */
    struct map index;      /* from names to the places of their groups in text */
};

#define MAX_LIST ((size_t)64 << 20)
#define MAX_COLUMNS 256

/* Finds the columns in the first line. */
static int find_columns(struct group_list *l, const char *column, char *line, struct err *e)
{
    const char first = line ? line[strcspn(line, "\t;,")] : 0;
    char *cells[MAX_COLUMNS];

    l->separator = first == '\t' || first == ';' ? first : ',';
    int n = line ? csv_split(line, l->separator, cells, MAX_COLUMNS) : 0;
    while (l->group < n && strcmp(csv_text(cells[l->group]), column) != 0)
        l->group++;
    l->name = l->group == 0;
    if (l->group < n && l->name < n)
        return 0;
    return err_set(e, ERR_CONFIG, "data.group: %s: its first line must name the columns: %s, and "
                   "before or behind it that of the images", l->file, column);
}

static int add_line(struct group_list *l, char *line, struct err *e)
{
    char *cells[MAX_COLUMNS];
    int n = csv_split(line, l->separator, cells, MAX_COLUMNS);
    size_t at;

    if (n <= l->group || n <= l->name)
        return err_set(e, ERR_DATA, "data.group: %s: '%s' lacks columns", l->file, line);
    const char *name = csv_text(cells[l->name]), *group = csv_text(cells[l->group]);
    if (map_get(&l->index, name, &at) && strcmp(l->text + at, group) != 0)
        return err_set(e, ERR_DATA, "data.group: %s: %s has two groups, %s and %s", l->file, name,
                       l->text + at, group);
    return *group && map_set(&l->index, name, (size_t)(group - l->text)) ? mem_fail(e) : 0;
}

static const char *find_group(const struct group_list *l, const struct split_item *item)
{
    const char *base = filename_base(item->image);
    char name[NAME_MAX + 1];
    size_t at;

    snprintf(name, sizeof name, "%.*s", (int)filename_stem(base), base);
    return map_get(&l->index, item->image, &at) || map_get(&l->index, item->stem, &at) ||
                   map_get(&l->index, base, &at) || map_get(&l->index, name, &at)
               ? l->text + at : NULL;
}

/* rule: FILE:COLUMN */
static int look_up_groups(const char *rule, const struct candidate *c, size_t n, char **groups,
                          struct err *e)
{
    const char *column = strrchr(rule, ':'), *group;
    char *file = mem_textf(e, "%.*s", column ? (int)(column - rule) : 0, rule), *rest, *line;
    struct group_list l = {.file = file};
    int rc = !file ? -1 : column ? 0 :
        err_set(e, ERR_CONFIG, "data.group '%s': must be a pattern with the group in parentheses, "
                "such as '^([^_]*)_', or FILE.csv:COLUMN", rule);

    if (rc == 0 && !(l.text = text_file_read(file, MAX_LIST, e)))
        rc = err_prefix(e, "data.group");
    rest = l.text;
    if (rc == 0)
        rc = find_columns(&l, column + 1, text_file_line(&rest), e);
    while (rc == 0 && (line = text_file_line(&rest)))
        rc = *line ? add_line(&l, line, e) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!(group = find_group(&l, &c[i].item)))
            rc = err_set(e, ERR_DATA, "data.group: %s: has no group for %s", file,
                         c[i].item.image);
        else if (!(groups[i] = mem_text(group, e)))
            rc = -1;
    map_destroy(&l.index);
    free(l.text);
    free(file);
    return rc;
}

static int match_groups(const char *pattern, const struct candidate *c, size_t n, char **groups,
                        struct err *e)
{
    size_t nmatches = 0, other = n;
    regmatch_t m[2];
    regex_t re;
    int rc = 0, status = regcomp(&re, pattern, REG_EXTENDED);

    if (status || re.re_nsub != 1 || strstr(pattern, "\\d"))
        rc = err_set(e, ERR_CONFIG, "data.group '%s': must be an extended regular expression with "
                     "one part in parentheses ([0-9] for \\d)", pattern);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *stem = c[i].item.stem;
        if (regexec(&re, stem, 2, m, 0) || m[1].rm_so < 0 || m[1].rm_so == m[1].rm_eo)
            other = other < n ? other : i;
        else if ((groups[i] = mem_textf(e, "%.*s", (int)(m[1].rm_eo - m[1].rm_so),
                                        stem + m[1].rm_so)))
            nmatches++;
        else
            rc = -1;
    }
    if (rc == 0 && other < n)
        rc = err_set(e, ERR_DATA, "data.group '%s': finds a group in %zu of %zu names, but not in "
                     "%s; it must in all", pattern, nmatches, n, c[other].item.stem);
    if (!status)
        regfree(&re);
    return rc;
}

/* The sets that candidates form. The root of a set is the one with the smallest hash. */
struct joining {
    const struct candidate *c;
    size_t n, *parent;
};

static size_t find_root(const struct joining *j, size_t i)
{
    while (j->parent[i] != i)
        i = j->parent[i] = j->parent[j->parent[i]];
    return i;
}

static void join(const struct joining *j, size_t i, size_t k)
{
    i = find_root(j, i);
    k = find_root(j, k);
    if (strcmp(j->c[i].pixels, j->c[k].pixels) < 0)
        j->parent[k] = i;
    else
        j->parent[i] = k;
}

/* Joins candidate i and the first one of this name. */
static int join_first(const struct joining *j, struct map *first, const char *name, size_t i,
                      struct err *e)
{
    size_t k;

    if (!map_get(first, name, &k))
        return map_set(first, name, i) ? mem_fail(e) : 0;
    join(j, i, k);
    return 0;
}

/* Cuts a mark and digits from the end of name[0..*n), as in "-p0002". */
static bool cut_number(const char *name, size_t *n, const char *mark, size_t digits)
{
    size_t k = *n, length = strlen(mark);

    while (k > 0 && isdigit((unsigned char)name[k - 1]))
        k--;
    if (*n - k < digits || k <= length || strncmp(name + k - length, mark, length) != 0)
        return false;
    *n = k - length;
    return true;
}

/* Cuts from the name of an image, without a suffix: with JOIN_ALIKE all from the last number on,
 * otherwise the place of a tile (NAME-y00000-x00128, which earlier versions wrote), or with `page`
 * also the number of a page (prepare/convert.c). Returns the new length. */
static size_t cut_name(const char *name, size_t n, enum join_by by, bool page)
{
    size_t tile = n;

    if (by == JOIN_ALIKE) {
        while (n > 0 && !isdigit((unsigned char)name[n - 1]))
            n--;
        while (n > 0 && isdigit((unsigned char)name[n - 1]))
            n--;
        return n;
    }
    if (cut_number(name, &tile, "-x", 5) && cut_number(name, &tile, "-y", 5))
        n = tile;
    if (page)
        cut_number(name, &n, "-p", 4);
    return n;
}

/* Joins images by their names: tiles of one name, and pages with the first page of their file,
 * whose name has no number; or names that are alike. */
static int join_names(const struct joining *j, enum source_format format, enum join_by by,
                      struct err *e)
{
    struct map first = {0};
    int rc = 0;

    for (int page = 0; page < 2; page++)
        for (size_t i = 0, k; rc == 0 && i < j->n; i++) {
            const char *stem = j->c[i].item.stem;
            size_t n = format == SOURCE_FOLDERS ? filename_stem(stem) : strlen(stem);
            char *name = mem_textf(e, "%.*s%s", (int)cut_name(stem, n, by, page), stem, stem + n);
            if (!name)
                rc = -1;
            else if (!page)
                rc = join_first(j, &first, name, i, e);
            else if (map_get(&first, name, &k))
                join(j, i, k);
            free(name);
        }
    map_destroy(&first);
    return rc;
}

static int join_groups(const struct joining *j, const char *rule, struct err *e)
{
    char **groups = mem_zero(j->n, sizeof *groups, e);
    struct map first = {0};
    int rc = !groups ? -1 : (strchr(rule, '(') ? match_groups : look_up_groups)(rule, j->c, j->n,
                                                                                groups, e);

    for (size_t i = 0; rc == 0 && i < j->n; i++)
        rc = join_first(j, &first, groups[i], i, e);
    for (size_t i = 0; groups && i < j->n; i++)
        free(groups[i]);
    free(groups);
    map_destroy(&first);
    return rc;
}

int candidates_join(const struct split_config *config, enum source_format format, enum join_by by,
                    struct candidate *c, size_t n, struct err *e)
{
    struct joining j = {c, n, mem_alloc(n, sizeof *j.parent, e)};
    bool named = format == SOURCE_PAIRS || format == SOURCE_FOLDERS;
    struct map first = {0};
    int rc = j.parent ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        j.parent[i] = i;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = join_first(&j, &first, c[i].pixels, i, e);
    if (rc == 0 && by != JOIN_GROUPS && named)
        rc = join_names(&j, format, by, e);
    if (rc == 0 && config->group && *config->group)
        rc = join_groups(&j, config->group, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        c[i].key = c[find_root(&j, i)].pixels;
    map_destroy(&first);
    free(j.parent);
    return rc;
}
