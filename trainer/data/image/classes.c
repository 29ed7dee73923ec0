/* SPDX-License-Identifier: BSD-3-Clause */
/* What the values of masks mean: binary masks, and classes. */
#include "src/base.h"
#include "trainer/data/image/classes.h"

#include "src/atomicfile.h"

#define MARK "\xef\xbb\xbf"

char *text_file_read(const char *path, size_t limit, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, limit, &n, e);

    if (text && memchr(text, 0, n)) {
        err_set(e, ERR_DATA, "%s: is not a text file in UTF-8: it has a NUL byte", path);
        free(text);
        return NULL;
    }
    if (text && strncmp(text, MARK, 3) == 0)
        memmove(text, text + 3, n - 3 + 1);
    return text;
}

char *text_file_line(char **rest)
{
    char *line = strsep(rest, "\n");
    size_t n = line ? strlen(line) : 0;

    if (n && line[n - 1] == '\r')
        line[n - 1] = 0;
    return line;
}

static unsigned full_value(const struct pixels *mask)
{
    return (1u << mask->source_bits) - 1;
}

static void keep_first_channel(struct pixels *img)
{
    size_t npixels = (size_t)img->width * img->height, nbytes = (size_t)img->bits / 8;
    size_t pixel = nbytes * (size_t)img->channels;

    for (size_t i = 0; i < npixels; i++)
        memmove(img->samples + i * nbytes, img->samples + i * pixel, nbytes);
    img->channels = 1;
    img->nbytes = npixels * nbytes;
}

static int refuse_colour(const struct pixels *img, const char *name, struct err *e)
{
    size_t npixels = (size_t)img->width * img->height, nc = (size_t)img->channels;

    for (size_t i = 0; i < npixels; i++) {
        unsigned r = pixels_sample(img, i * nc), g = pixels_sample(img, i * nc + 1);
        unsigned b = pixels_sample(img, i * nc + 2);
        if (r != g || r != b)
            return err_set(e, ERR_DATA,
                           "%s: the mask has colours (%u,%u,%u at column %zu, row %zu); masks are "
                           "grey or indexed: 0 background, 255 (or 1) foreground, unless "
                           "data.class_file says which colour is which class",
                           name, r, g, b, i % img->width, i / img->width);
    }
    return 0;
}

int mask_flatten(struct pixels *img, const char *name, struct err *e)
{
    if (img->channels >= 3 && refuse_colour(img, name, e))
        return -1;
    if (img->channels > 1)
        keep_first_channel(img);
    return 0;
}

void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary)
{
    size_t npixels = (size_t)mask->width * mask->height;
    unsigned full = full_value(mask);

    memset(summary, 0, sizeof *summary);
    for (size_t i = 0; i < npixels; i++) {
        unsigned v = pixels_sample(mask, i);
        if ((int)v == ignore)
            continue;
        if (v > summary->max)
            summary->max = v;
        if (v == 0 || full == 1)
            continue;
        if (v == full)
            summary->has_full = true;
        else if (v == 1)
            summary->has_one = true;
        else if (!summary->has_other) {
            summary->has_other = true;
            summary->other = v;
        }
    }
}

/* Returns a value in the mask that does not belong to the scale, or 0 if there is none. */
static unsigned wrong_value(const struct mask_summary *s, enum mask_scale scale)
{
    if (s->has_other)
        return s->other;
    if (scale == MASK_FULL)
        return s->has_one ? 1 : 0;
    return s->has_full ? s->max : 0;
}

int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e)
{
    struct mask_summary s;

    if (soft)
        return 0;
    mask_summarize(mask, ignore, &s);
    unsigned wrong = wrong_value(&s, scale);
    if (wrong)
        return err_set(
            e, ERR_DATA,
            "%s: the mask contains the value %u; masks of this set contain 0 and %u. For "
            "masks of grey values set soft_masks: true (data split --soft-masks)",
            name, wrong, scale == MASK_FULL ? full_value(mask) : 1);
    return 0;
}

unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale)
{
    return scale == MASK_UNIT ? 1 : full_value(mask);
}

void mask_label(const struct pixels *mask, int ignore, uint8_t *labels)
{
    size_t npixels = (size_t)mask->width * mask->height;

    for (size_t i = 0; i < npixels; i++) {
        unsigned v = pixels_sample(mask, i);
        labels[i] = (int)v == ignore ? CLASSES_IGNORE : v > 0;
    }
}

#define MAX_FILE ((size_t)1 << 20)
#define NAME_SIZE 64
#define MAX_ENTRIES 1024
#define NVALUES 65536
#define UNKNOWN 254 /* not a label: labels are below CLASSES_MAX, or CLASSES_IGNORE */

struct class_entry {
    /* The values from value to last, or in a coloured file value = last = 0xRRGGBB. */
    uint32_t value, last;
    uint8_t label;
};

struct classes {
    int count;
    char *text; /* the class file's content, or NULL without a file */
    bool coloured, named;
    char names[CLASSES_MAX][NAME_SIZE];
    /* In the order of the class file, or without one of the classes; then data.ignore's. */
    struct class_entry entries[MAX_ENTRIES];
    size_t nentries;
    uint8_t of_value[NVALUES]; /* the label of each value; unused when coloured */
};

static int add_class_entry(struct classes *c, uint32_t value, uint32_t last, int label,
                           struct err *e)
{
    for (size_t i = 0; i < c->nentries; i++)
        if (c->entries[i].value <= last && c->entries[i].last >= value)
            return err_set(e, ERR_DATA, "a value or colour given twice");
    if (c->nentries == MAX_ENTRIES)
        return err_set(e, ERR_DATA, "more than %d values", MAX_ENTRIES);
    c->entries[c->nentries++] = (struct class_entry){value, last, (uint8_t)label};
    return 0;
}

/* Returns the label that a class name stands for. A name that the file has not used yet becomes the
 * next class. Returns -1 when there are too many classes. */
static int label_of_name(struct classes *c, const char *name, struct err *e)
{
    if (strcmp(name, "ignore") == 0)
        return CLASSES_IGNORE;
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return i;
    if (c->count == CLASSES_MAX)
        return err_set(e, ERR_DATA, "more than %d classes", CLASSES_MAX);
    snprintf(c->names[c->count], NAME_SIZE, "%s", name);
    return c->count++;
}

/* Reads up to three numbers from the start of a line into v, returns how many, and sets *rest to
 * the text behind them. The range `1-9` counts as one number, v[0] = 1, with *last = 9. */
static int parse_numbers(const char *line, unsigned long v[3], unsigned long *last,
                         const char **rest)
{
    int n = 0;

    for (*rest = line; n < 3; n++) {
        const char *p = *rest + strspn(*rest, " \t");
        char *end;
        if (!isdigit((unsigned char)*p))
            break;
        v[n] = *last = strtoul(p, &end, 10);
        if (n == 0 && *end == '-' && isdigit((unsigned char)end[1]))
            *last = strtoul(end + 1, &end, 10);
        if (*end && !isspace((unsigned char)*end))
            break;
        *rest = end;
    }
    *rest += strspn(*rest, " \t");
    return n;
}

static int parse_class_line(struct classes *c, char *line, struct err *e)
{
    unsigned long v[3] = {0}, last = 0;
    const char *name;

    line[strcspn(line, "#")] = 0;
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
        line[n - 1] = 0;
    if (!line[strspn(line, " \t")])
        return 0;
    int n = parse_numbers(line, v, &last, &name);
    bool coloured = n == 3;
    if ((n != 1 && n != 3) || !*name || strlen(name) >= NAME_SIZE || (n == 1 && last < v[0]))
        return err_set(e, ERR_DATA,
                       "must be `VALUE NAME`, `FROM-TO NAME` or `RED GREEN BLUE NAME`");
    if (n == 1 && last > v[0])
        v[1] = last;
    for (int i = 0; i < 3; i++)
        if (v[i] > (coloured ? 255 : NVALUES - 1))
            return err_set(e, ERR_DATA, "%lu is more than %d", v[i], coloured ? 255 : NVALUES - 1);
    if (c->nentries && coloured != c->coloured)
        return err_set(e, ERR_DATA, "a file has either values or colours, not both");
    c->coloured = coloured;
    int label = label_of_name(c, name, e);
    if (label < 0)
        return -1;
    if (coloured)
        v[0] = last = v[0] << 16 | v[1] << 8 | v[2];
    return add_class_entry(c, (uint32_t)v[0], (uint32_t)last, label, e);
}

static int parse_class_file(struct classes *c, const char *file, struct err *e)
{
    char *text = mem_text(c->text, e), *rest = text, *line;
    int rc = text ? 0 : -1, number = 0;

    c->named = true;
    c->count = 0;
    while (rc == 0 && (line = text_file_line(&rest))) {
        number++;
        if (parse_class_line(c, line, e))
            rc = err_prefix(e, "%s:%d", file, number);
    }
    free(text);
    return rc;
}

static int fill_classes(struct classes *c, const struct mask_options *options, int ignore,
                        struct err *e)
{
    const char *file = options->class_file;
    int count = options->classes;

    if (file && *file) {
        c->text = options->class_text ? mem_text(options->class_text, e)
                                      : text_file_read(file, MAX_FILE, e);
        if (!c->text || parse_class_file(c, file, e))
            return -1;
        if (c->count < 2)
            return err_set(e, ERR_DATA, "%s: names %d classes; there must be two or more", file,
                           c->count);
        if (count <= 1 && c->count != 2)
            return err_set(e, ERR_DATA, "%s: has %d classes: set data.classes to %d (--classes "
                           "%d); a file for 1 has two, background and foreground", file, c->count,
                           c->count, c->count);
        if (count > 1 && c->count != count)
            return err_set(e, ERR_DATA, "%s: has %d classes, but data.classes says %d", file,
                           c->count, count);
    } else {
        c->count = count;
        for (int i = 0; i < count; i++) {
            snprintf(c->names[i], NAME_SIZE, "%d", i);
            if (i != ignore && add_class_entry(c, (uint32_t)i, (uint32_t)i, i, e))
                return -1;
        }
    }
    if (ignore >= 0 && c->coloured)
        return err_set(e, ERR_DATA,
                       "data.ignore is a value, but %s has colours: give one of them the "
                       "name `ignore` there",
                       file);
    return ignore >= 0 ? add_class_entry(c, (uint32_t)ignore, (uint32_t)ignore, CLASSES_IGNORE, e)
                       : 0;
}

static int decode_ignore(const char *text, int *ignore, struct err *e)
{
    *ignore = -1;
    if (!text || !*text)
        return 0;
    size_t n = strlen(text);
    if (n > 5 || strspn(text, "0123456789") != n || atoi(text) > 65535)
        return err_set(e, ERR_CONFIG, "data.ignore: '%s' is not a mask value (0 to 65535)", text);
    *ignore = atoi(text);
    return 0;
}

int classes_open(const struct mask_options *options, int *ignore, struct classes **dst,
                 struct err *e)
{
    *dst = NULL;
    if (decode_ignore(options->ignore, ignore, e))
        return -1;
    if (options->classes < 2 && (!options->class_file || !*options->class_file))
        return 0;
    struct classes *c = mem_zero(1, sizeof *c, e);
    if (!c || fill_classes(c, options, *ignore, e)) {
        classes_destroy(c);
        return -1;
    }
    memset(c->of_value, UNKNOWN, sizeof c->of_value);
    for (size_t i = 0; !c->coloured && i < c->nentries; i++)
        memset(c->of_value + c->entries[i].value, c->entries[i].label,
               c->entries[i].last - c->entries[i].value + 1);
    *dst = c;
    return 0;
}

void classes_destroy(struct classes *c)
{
    if (c)
        free(c->text);
    free(c);
}

const char *classes_text(const struct classes *c)
{
    return c->text ? c->text : "";
}

int classes_count(const struct classes *c)
{
    return c->count;
}

const char *classes_name(const struct classes *c, int i)
{
    return c->names[i];
}

bool classes_are_coloured(const struct classes *c)
{
    return c->coloured;
}

bool classes_colour(const struct classes *c, int i, uint32_t *rgb)
{
    for (size_t k = 0; c->coloured && k < c->nentries; k++)
        if (c->entries[k].label == i) {
            *rgb = c->entries[k].value;
            return true;
        }
    return false;
}

static int refuse_value(const struct classes *c, const struct pixels *mask, size_t at,
                        const char *name, struct err *e)
{
    unsigned v = pixels_sample(mask, at);

    if (c->named)
        return err_set(e, ERR_DATA,
                       "%s: the mask contains the value %u at column %zu, row %zu, which "
                       "has no class in data.class_file",
                       name, v, at % mask->width, at / mask->width);
    return err_set(e, ERR_DATA, "%s: the mask contains the value %u at column %zu, row %zu; of %d "
                   "classes the last is %d. Set data.classes, data.ignore, or data.class_file when "
                   "values are not class numbers", name, v, at % mask->width, at / mask->width,
                   c->count, c->count - 1);
}

static int label_values(const struct classes *c, const struct pixels *mask, const char *name,
                        uint8_t *labels, struct err *e)
{
    size_t npixels = (size_t)mask->width * mask->height;

    for (size_t i = 0; i < npixels; i++) {
        labels[i] = c->of_value[pixels_sample(mask, i)];
        if (labels[i] == UNKNOWN)
            return refuse_value(c, mask, i, name, e);
    }
    return 0;
}

static int label_colours(const struct classes *c, const struct pixels *mask, const char *name,
                         uint8_t *labels, struct err *e)
{
    size_t npixels = (size_t)mask->width * mask->height, last = 0;

    for (size_t i = 0; i < npixels; i++) {
        uint32_t colour = pixels_colour(mask, i);
        size_t k = last; /* neighbouring pixels mostly have the same colour */
        if (c->entries[k].value != colour)
            for (k = 0; k < c->nentries && c->entries[k].value != colour; k++)
                ;
        if (k == c->nentries)
            return err_set(e, ERR_DATA,
                           "%s: the mask contains the colour %u %u %u at column %zu, row "
                           "%zu, which has no class in data.class_file",
                           name, colour >> 16, colour >> 8 & 255, colour & 255, i % mask->width,
                           i / mask->width);
        labels[i] = c->entries[k].label;
        last = k;
    }
    return 0;
}

int classes_label(const struct classes *c, const struct pixels *mask, const char *name,
                  uint8_t *labels, struct err *e)
{
    return (c->coloured ? label_colours : label_values)(c, mask, name, labels, e);
}

void classes_encode(const struct classes *c, struct buf *dst)
{
    buf_addf(dst, "%d %d", c->count, c->coloured);
    for (size_t i = 0; i < c->nentries; i++)
        if (c->entries[i].last > c->entries[i].value)
            buf_addf(dst, " %u-%u=%u", c->entries[i].value, c->entries[i].last,
                     c->entries[i].label);
        else
            buf_addf(dst, " %u=%u", c->entries[i].value, c->entries[i].label);
}
