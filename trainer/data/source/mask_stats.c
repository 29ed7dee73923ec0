/* SPDX-License-Identifier: BSD-3-Clause */
/* What images and masks of a set contain: remarks of the decoders, and statistics of masks. */
#include "src/base.h"
#include "trainer/data/source/mask_stats.h"

#include "trainer/data/image/classes.h"
#include "trainer/json/cjson.h"

#define NARROW 0.1f /* share of the range; less is remarked on */

/* A text for both roles, or one for images and one for masks. The index is that of the flag. */
static const char *const texts[PIXELS_NFLAGS][2] = {
    {"an EXIF or TIFF orientation, by which a picture is turned if image and mask fit then", NULL},
    {"turned upright, as the EXIF or TIFF orientation says", NULL},
    {"white is zero (TIFF), so that values are inverted, as the standard says",
     "white is zero (TIFF), so that values are inverted, as the standard says. Some programs write "
     "boolean masks so and mean 1 as foreground: if foreground and background are exchanged, use "
     "printf '1-65535 background\\n0 foreground\\n' >classes.txt and data.class_file=classes.txt"},
    {"alpha is dropped, though it is not the same everywhere; if it is the mask, save it as one",
     "alpha is dropped, though it is not the same everywhere; if it is the mask, save it without the colours"},
    {"a band beside grey or RGB that is not alpha; it is used only where data.channels is the "
     "number of bands", "only the first band of a mask is used"},
    {"ImageJ describes several pictures in one TIFF directory, of which the first is shown", NULL},
    {"reduced copies in further pages (overviews) are skipped", NULL},
    {"values outside 0..1 (floats) or 0..65535 (whole numbers), which data.scale=auto, range, "
     "percentile and zscore take, and full refuses", NULL}};

const char *remarks_text(enum remarks_role role, enum pixels_flag flag)
{
    int i = 0;

    while (i < PIXELS_NFLAGS - 1 && !(flag >> i & 1u))
        i++;
    return texts[i][role] ? texts[i][role] : texts[i][0];
}

struct remarks_picture remarks_look(const struct pixels *img, enum remarks_role role)
{
    size_t n = (size_t)img->width * img->height * (size_t)img->channels;
    float full = img->bits == 16 ? 65535.0f : 255.0f;
    unsigned low = role == REMARKS_IMAGE ? UINT32_MAX : 0, high = 0;

    for (size_t i = 0; role == REMARKS_IMAGE && i < n; i++) {
        unsigned v = pixels_sample(img, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    return (struct remarks_picture){img->flags, (float)low / full, (float)high / full,
                                    role == REMARKS_IMAGE ? pixels_bits(img) : img->bits};
}

static void count_remark(struct remark *r, const char *name)
{
    if (r->count++ == 0)
        filename_escape(name, r->first, sizeof r->first);
}

void remarks_add(struct remarks *r, const struct remarks_picture *p, const char *name)
{
    for (int i = 0; i < PIXELS_NFLAGS; i++)
        if (p->flags >> i & 1u)
            count_remark(&r->of_flag[i], name);
    count_remark(p->bits == 8 ? &r->flat : &r->deep, name);
    r->lowest = r->pictures == 0 || p->lowest < r->lowest ? p->lowest : r->lowest;
    r->highest = p->highest > r->highest ? p->highest : r->highest;
    r->bits = p->bits > r->bits ? p->bits : r->bits;
    r->pictures++;
}

void remarks_log(const struct remarks *r, const char *set)
{
    const char *word = r->role == REMARKS_MASK ? "mask" : "image";
    float full = r->bits == 8 ? 255.0f : 65535.0f;

    for (int i = 0; i < PIXELS_NFLAGS; i++)
        if (r->of_flag[i].count)
            log_warn("%s: %zu %s%s, such as %s: %s", set, r->of_flag[i].count, word,
                     plural((long)r->of_flag[i].count), r->of_flag[i].first,
                     remarks_text(r->role, (enum pixels_flag)(1 << i)));
    if (r->role == REMARKS_IMAGE && r->pictures && r->highest > r->lowest &&
        r->highest - r->lowest < NARROW)
        log_warn("%s: the images hold only values from %.0f to %.0f of 0 to %.0f, less than a "
                 "tenth of the range: data.scale=%srange, percentile or zscore spreads them", set,
                 (double)(r->lowest * full), (double)(r->highest * full), (double)full,
                 r->bits == 8 ? "" : "auto (which init sets), ");
    if (r->role == REMARKS_IMAGE && r->flat.count && r->deep.count &&
        (r->bits < 16 || r->of_flag[PIXELS_NFLAGS - 1].count))
        log_warn("%s: %zu image%s 8 bits, such as %s, and %zu %s, such as %s, with values of up to %d "
                 "bits: data.scale=full and auto show the network two kinds of images; convert them to "
                 "one depth, or use data.scale=range, percentile or zscore", set, r->flat.count,
                 r->flat.count > 1 ? "s have" : " has", r->flat.first, r->deep.count,
                 r->deep.count > 1 ? "have more" : "has more", r->deep.first, r->bits);
}

/* Counts values, colours and connected regions of the masks, then decides by rules of thumb what
 * they mean (mask_stats_propose). A wrong guess is only a wrong proposal: nothing is changed. */

#define PALETTES 16    /* number of first masks, whose palettes are compared */
#define PIECES 24      /* number of first masks, whose regions are counted */
#define MAX_GRID ((size_t)1 << 20)
#define FEW_VALUES 32  /* values other than 0, 1, 2 ... are classes if there are at most so many */
#define SHOWN_VALUES 8
#define EXPLAINED 100  /* masks that are read to explain an error */
#define MAX_JSON ((size_t)16 << 20)
#define NEAR 64        /* lossy values lie at most so far from 0 or 255 */
#define FEW_SHARE 0.1  /* of the pixels: fewer between the extreme values may be edges */
#define ROUGH_SHARE 0.1 /* of the pixels of a value: fewer inside of regions may be edges */

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

static int count_pieces(struct mask_stats *stats, const struct pixels *mask, struct err *e)
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
        stats->regions += pieces[v] > 0;
        stats->single += pieces[v] == 1;
    }
    free(g.stack);
    free(g.values);
    free(pieces);
    return rc;
}

static uint32_t value_at(const struct pixels *mask, size_t i, bool coloured)
{
    return coloured ? pixels_colour(mask, i) : pixels_sample(mask, i);
}

/* Returns whether the neighbours of pixel i, as far as it has them, are equal to it. */
static bool is_flat(const struct pixels *mask, size_t i, bool coloured)
{
    size_t w = mask->width, h = mask->height, y = i / w, x = i % w;
    uint32_t own = value_at(mask, i, coloured);

    for (size_t v = y ? y - 1 : 0; v <= y + 1 && v < h; v++)
        for (size_t u = x ? x - 1 : 0; u <= x + 1 && u < w; u++)
            if (value_at(mask, v * w + u, coloured) != own)
                return false;
    return true;
}

static int add_values(struct mask_stats *stats, const struct pixels *mask, bool pieces,
                      struct err *e)
{
    size_t n = (size_t)mask->width * mask->height, different = 0;
    unsigned full = (1u << mask->source_bits) - 1;
    bool *seen = mem_zero(65536, sizeof *seen, e);

    if (!seen)
        return -1;
    for (size_t i = 0; i < n; i++) {
        unsigned v = pixels_sample(mask, i);
        if (full == 1 && v)
            stats->bit_ones++;
        else
            stats->of_value[v]++;
        stats->flat[v] += is_flat(mask, i, false);
        different += v && !seen[v];
        seen[v] = true;
    }
    stats->one_and_full |= full > 1 && seen[1] && seen[full];
    stats->full = full > stats->full ? full : stats->full;
    if (different < stats->fewest || stats->masks - stats->coloured == 1)
        stats->fewest = different;
    stats->most = different > stats->most ? different : stats->most;
    free(seen);
    return pieces ? count_pieces(stats, mask, e) : 0;
}

static void add_colour(struct mask_stats *stats, uint32_t rgb, bool flat)
{
    size_t i = 0;

    while (i < stats->ncolours && i < MASK_STATS_COLOURS && stats->colours[i].rgb != rgb)
        i++;
    if (i == stats->ncolours && i < MASK_STATS_COLOURS)
        stats->colours[stats->ncolours++] = (struct mask_stats_colour){rgb, 0, 0};
    if (i < MASK_STATS_COLOURS) {
        stats->colours[i].pixels++;
        stats->colours[i].flat += flat;
    } else {
        stats->ncolours = MASK_STATS_COLOURS + 1;
    }
}

static void add_colours(struct mask_stats *stats, const struct pixels *mask)
{
    size_t n = (size_t)mask->width * mask->height;

    for (size_t i = 0; i < n; i++) {
        uint32_t rgb = pixels_colour(mask, i);
        if (rgb >> 16 == (rgb >> 8 & 255) && rgb >> 16 == (rgb & 255))
            stats->of_value[rgb & 255]++;
        else
            add_colour(stats, rgb, is_flat(mask, i, true));
    }
    stats->coloured++;
}

/* If an index has different colours in different files, only the colours have a meaning. of_index:
 * the colour of each index in the masks before, plus 1, or 0. */
static void compare_palette(struct mask_stats *stats, const struct pixels *values,
                            const struct pixels *picture, uint32_t of_index[256])
{
    size_t n = (size_t)values->width * values->height;

    for (size_t i = 0; picture->channels >= 3 && values->bits == 8 && i < n; i++) {
        unsigned v = pixels_sample(values, i);
        uint32_t rgb = pixels_colour(picture, i) + 1; /* 0 means: not seen */
        stats->palettes_differ |= of_index[v] && of_index[v] != rgb;
        of_index[v] = rgb;
    }
}

/* --- examining all masks --- */

static void add_remarks(struct mask_stats *stats, const struct pixels *mask, const char *name)
{
    struct remarks_picture p = remarks_look(mask, REMARKS_MASK);

    stats->remarks.role = REMARKS_MASK;
    remarks_add(&stats->remarks, &p, name);
}

/* Adds a mask of values, or with as_colours, or if its values cannot be read, of colours. */
static int read_mask(struct mask_stats *stats, struct source *source, const char *name,
                     bool as_colours, uint32_t of_index[256], struct err *e)
{
    struct pixels values, picture;
    struct err ignored;
    int rc;

    stats->masks++;
    bool grey =
        !as_colours && source_decode(source, name, SOURCE_VALUES, NULL, NULL, &values, e) == 0;
    if (!grey && source_decode(source, name, SOURCE_COLOURS, NULL, NULL, &picture,
                               as_colours ? e : &ignored))
        return -1; /* *e has the error of the first reading */
    stats->pixels +=
        grey ? (int64_t)values.width * values.height : (int64_t)picture.width * picture.height;
    add_remarks(stats, grey ? &values : &picture, name);
    if (!grey) {
        add_colours(stats, &picture);
        pixels_free(&picture);
        return 0;
    }
    rc = add_values(stats, &values, stats->masks <= PIECES, e);
    if (rc == 0 && stats->masks <= PALETTES &&
        source_decode(source, name, SOURCE_COLOURS, NULL, NULL, &picture, &ignored) == 0) {
        compare_palette(stats, &values, &picture, of_index);
        pixels_free(&picture);
    }
    pixels_free(&values);
    return rc;
}

int mask_stats_read(struct mask_stats *stats, struct source *source, size_t most, struct err *e)
{
    size_t n = source->count < most ? source->count : most;
    uint32_t of_index[256] = {0};

    for (bool as_colours = false;; as_colours = true) {
        memset(stats, 0, sizeof *stats);
        for (size_t i = 0; i < n; i++)
            if (read_mask(stats, source, source->items[i * source->count / n].mask, as_colours,
                          of_index, e))
                return -1;
        stats->palettes_differ |= as_colours;
        if (stats->palettes_differ == as_colours)
            break;
    }
    stats->of_value[stats->full > 1 ? stats->full : 1] += stats->bit_ones;
    return 0;
}

/* --- proposing settings --- */

struct values {
    unsigned v[FEW_VALUES + 1];
    size_t n; /* number of different values; v has the first FEW_VALUES + 1 of them */
    unsigned max, second; /* the two largest values */
};

static struct values list_values(const struct mask_stats *stats)
{
    struct values all = {.n = 0};

    for (unsigned v = 0; v < 65536; v++) {
        if (!stats->of_value[v])
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

#define describe(p, ...) append_text((p)->text, sizeof(p)->text, __VA_ARGS__)
#define add_line(p, ...) append_text((p)->class_file, sizeof(p)->class_file, __VA_ARGS__)

static void describe_values(struct mask_proposal *p, const struct values *all)
{
    describe(p, "the masks contain %zu value%s (", all->n, plural(all->n));
    for (size_t i = 0; i < all->n && i < SHOWN_VALUES; i++)
        describe(p, "%s%u", i ? ", " : "", all->v[i]);
    describe(p, all->n > SHOWN_VALUES ? " ... %u)" : ")", all->max);
}

/* Shell commands that write a class file of background 0 and foreground `from`. */
#define TWO_NAMES(from) "printf '0 background\\n" from " foreground\\n' >classes.txt, then -s " \
                        "data.class_file=classes.txt"

/* Returns whether values are object numbers: nearly each value of a mask is a single region, and
 * masks have different numbers of values. */
static bool is_numbered(const struct mask_stats *stats)
{
    return stats->regions && 10 * stats->single >= 9 * stats->regions && stats->most >= 4 &&
           stats->most > stats->fewest;
}

static void propose_numbered(const struct values *all, struct mask_proposal *p)
{
    p->meaning = MASK_MEANS_UNKNOWN;
    describe_values(p, all);
    describe(p,
             ", each a single region, and not every mask has the same number of values: these "
             "seem to be object numbers (instance masks), not classes. If all values above 0 are "
             "foreground: " TWO_NAMES("1-65535"));
    if (all->max < CLASSES_MAX)
        describe(p, ". If the values are classes: -s data.classes=%u", all->max + 1);
}

/* Returns whether nearly all values are close to 0 or 255, some next to them, as a lossy format
 * leaves them. */
static bool is_lossy(const struct mask_stats *stats)
{
    int64_t near = 0, high = 0;

    for (unsigned v = 0; v < 256; v++) {
        near += v <= NEAR || v >= 255 - NEAR ? stats->of_value[v] : 0;
        high += v >= 255 - NEAR ? stats->of_value[v] : 0;
    }
    return stats->full == 255 && high && stats->of_value[1] + stats->of_value[254] &&
           stats->of_value[0] + stats->of_value[255] >= stats->pixels / 4 &&
           (double)near >= 0.995 * (double)stats->pixels;
}

static void propose_grey(const struct mask_stats *stats, const struct values *all,
                         struct mask_proposal *p)
{
    describe_values(p, all);
    if (is_lossy(stats)) {
        p->meaning = MASK_MEANS_CLASSES;
        p->classes = 1;
        add_line(p, "0-127 background\n128-255 foreground\n");
        describe(p, ", nearly all of them close to 0 or 255, as a lossy format (JPEG) leaves them: "
                    "values up to 127 are background, from 128 foreground");
        return;
    }
    p->meaning = MASK_MEANS_UNKNOWN;
    describe(p, ": these are not classes. If a value is the share of foreground: -s "
                "data.soft_masks=true. If all values from 128 are foreground: printf '0-127 "
                "background\\n128-65535 foreground\\n' >classes.txt, then -s "
                "data.class_file=classes.txt");
}

/* Returns whether the largest possible value occurs far above all others, as data sets mark pixels
 * to ignore. */
static bool has_ignored(const struct mask_stats *stats, const struct values *all)
{
    return all->n > 2 && all->max == stats->full && all->max > 2 * all->second;
}

/* Returns whether values are class numbers: 0, 1, ... with few gaps, because a rare class may be
 * absent. */
static bool are_numbers(const struct mask_stats *stats, const struct values *all)
{
    bool ignored = has_ignored(stats, all);
    unsigned top = ignored ? all->second : all->max;

    return all->n > 2 && all->v[0] == 0 && all->v[1] == 1 && top < CLASSES_MAX &&
           top < 2 * (all->n - ignored);
}

static void propose_classes(const struct mask_stats *stats, const struct values *all,
                            struct mask_proposal *p)
{
    bool ignored = has_ignored(stats, all);
    unsigned top = ignored ? all->second : all->max;

    p->meaning = MASK_MEANS_CLASSES;
    p->classes = top > 1 ? (int)top + 1 : 1;
    if (ignored)
        snprintf(p->ignore, sizeof p->ignore, "%u", all->max);
    describe_values(p, all);
    if (p->classes > 1)
        describe(p, ": %d classes", p->classes);
    else
        describe(p, ": 1 is foreground");
    if (ignored)
        describe(p, ", and %u is taken as the value to ignore (data.ignore)", all->max);
    else if (p->classes > 2)
        describe(p,
                 "; if the last value is to be ignored: -s data.classes=%u -s "
                 "data.ignore=%u",
                 top, top);
    if (p->classes > 1 && p->classes < 12)
        describe(p, "; if these are object numbers instead: " TWO_NAMES("1-65535"));
}

/* Proposes a class for each of a few values that are not class numbers. */
static void propose_listed(const struct mask_stats *stats, const struct values *all,
                           struct mask_proposal *p)
{
    describe_values(p, all);
    if (all->n == 2 && all->v[0] != 0) {
        p->meaning = MASK_MEANS_UNKNOWN;
        describe(
            p,
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
        describe(p, ": %u is foreground", all->v[1]);
    else {
        describe(p, ": each is a class; rename the classes, or use `ignore` for values to ignore");
        if (stats->of_value[0] && stats->of_value[stats->full])
            describe(p, ". If a value is the share of foreground: -s data.soft_masks=true");
    }
}

/* Returns whether the values between the smallest and the largest hardly occur inside of a region.
 * share: set to their share of the pixels. */
static bool are_rough(const struct mask_stats *stats, const struct values *all, double *share)
{
    double between = 0, flat = 0;

    for (unsigned v = all->v[0] + 1; v < all->max; v++) {
        between += (double)stats->of_value[v];
        flat += (double)stats->flat[v];
    }
    *share = between / (double)stats->pixels;
    return flat < ROUGH_SHARE * between;
}

static void propose_edges(const struct values *all, bool ignored, struct mask_proposal *p)
{
    unsigned low = all->v[0], half = (low + all->max + 1) / 2;

    p->meaning = MASK_MEANS_UNKNOWN;
    describe_values(p, all);
    describe(p, ", those between %u and %u at few pixels or at edges only: a mask of two values that "
                "was resized or smoothed, or classes, such as borders? If it has two values: printf "
                "'%u-%u background\\n%u-%u foreground\\n' >classes.txt, then -s "
                "data.class_file=classes.txt. If each is a class: ", low, all->max, low, half - 1,
             half, all->max);
    if (all->n > SHOWN_VALUES)
        describe(p, "a line VALUE NAME for each in classes.txt");
    else
        describe(p, "printf '");
    for (size_t i = 0; all->n <= SHOWN_VALUES && i < all->n; i++)
        describe(p, all->v[i] ? "%u value_%u\\n" : "0 background\\n", all->v[i], all->v[i]);
    describe(p, "%s, then -s data.class_file=classes.txt -s data.classes=%zu. If a value is the share "
                "of foreground: -s data.soft_masks=true",
             all->n > SHOWN_VALUES ? "" : "' >classes.txt", all->n);
    if (ignored)
        describe(p, ". If %u marks pixels to ignore: -s data.ignore=%u", all->max, all->max);
}

/* Returns whether most colours hardly occur inside of a region: they are mixed at edges. */
static bool are_colours_mixed(const struct mask_stats *stats)
{
    size_t mixed = 0;

    for (size_t i = 0; i < stats->ncolours && i < MASK_STATS_COLOURS; i++)
        mixed += (double)stats->colours[i].flat < ROUGH_SHARE * (double)stats->colours[i].pixels;
    return stats->ncolours > 2 && 2 * mixed > stats->ncolours;
}

static void propose_colours(const struct mask_stats *stats, struct mask_proposal *p)
{
    struct values grey = list_values(stats);
    size_t n = stats->ncolours + grey.n;

    if (stats->ncolours <= MASK_STATS_COLOURS && are_colours_mixed(stats)) {
        p->meaning = MASK_MEANS_UNKNOWN;
        describe(p, "the masks contain %zu colours, most of them at edges only: smoothing or a lossy "
                    "format (JPEG) mixed them. Write them as PNG with one value or colour per class; or "
                    "if each is a class: a line RED GREEN BLUE NAME for each in classes.txt, then -s "
                    "data.class_file=classes.txt -s data.classes=%zu", n, n);
        return;
    }
    if (stats->ncolours > MASK_STATS_COLOURS || n > MASK_STATS_COLOURS) {
        p->meaning = MASK_MEANS_UNKNOWN;
        describe(p,
                 "the masks contain more than %d colours: a lossy format (JPEG), smoothed edges or "
                 "one colour per object. Write them as PNG with one value or colour per class",
                 MASK_STATS_COLOURS);
        return;
    }
    p->meaning = n > 1 ? MASK_MEANS_CLASSES : MASK_MEANS_ONE_CLASS;
    p->classes = n == 2 && stats->of_value[0] ? 1 : (int)n;
    for (unsigned v = 0; v < 256; v++)
        if (stats->of_value[v])
            add_line(p, v ? "%u %u %u grey_%u\n" : "%u %u %u background\n", v, v, v, v);
    for (size_t i = 0; i < stats->ncolours; i++) {
        uint32_t c = stats->colours[i].rgb;
        add_line(p, "%u %u %u colour_%zu\n", c >> 16, c >> 8 & 255, c & 255, i + 1);
    }
    describe(p, "the masks contain %zu colour%s: %s", n, plural(n),
             n == 1 ? "there is nothing to learn"
                    : "each is a class; rename the classes, or use `ignore` for colours to ignore");
    if (stats->palettes_differ)
        describe(p, ". The palettes of the files differ, so that the colours are used, not the indices");
}

void mask_stats_propose(const struct mask_stats *stats, struct mask_proposal *dst)
{
    struct values all = list_values(stats);
    bool two = all.n == 2 && all.v[0] == 0, ignored = has_ignored(stats, &all);
    bool lossy = is_lossy(stats);
    double share;
    /* Values at edges only are those of a mask that was resized or smoothed, or a class of borders,
     * a trimap, thin structures. */
    bool rough = are_rough(stats, &all, &share), edges = all.n > 2 && (share < FEW_SHARE || rough);

    *dst = (struct mask_proposal){.meaning = MASK_MEANS_FOREGROUND, .classes = 1};
    if (stats->coloured)
        propose_colours(stats, dst);
    else if (all.n == 1) {
        dst->meaning = MASK_MEANS_ONE_CLASS;
        describe(dst, "all masks contain only the value %u: there is nothing to learn", all.max);
    } else if (two && (all.max == 1 || all.max == stats->full))
        describe_values(dst, &all);
    else if (is_numbered(stats))
        propose_numbered(&all, dst);
    else if (all.n == 3 && all.second == 1 && all.max == stats->full && !stats->one_and_full) {
        dst->meaning = MASK_MEANS_UNKNOWN;
        describe(dst,
                 "some masks contain 0 and 1, others 0 and %u. If both are foreground: " TWO_NAMES(
                     "1-65535"),
                 all.max);
    } else if (are_numbers(stats, &all) && !(rough && (ignored || all.n > FEW_VALUES)))
        propose_classes(stats, &all, dst);
    else if (all.n <= FEW_VALUES && edges && (ignored || !lossy))
        propose_edges(&all, ignored, dst);
    else if (all.n <= FEW_VALUES && !(lossy && (rough || all.n > 4)))
        propose_listed(stats, &all, dst);
    else
        propose_grey(stats, &all, dst);
}

/* Names of values, from the labels of nnU-Net's dataset.json. */
struct label_names {
    const char *of[CLASSES_MAX];
    int shares[CLASSES_MAX]; /* number of values that have this name because of one label */
    bool overlap;            /* some label is a region of several values */
};

static void name_value(struct label_names *names, double value, const char *name, int shares)
{
    unsigned v = value >= 0 && value < CLASSES_MAX ? (unsigned)value : CLASSES_MAX;

    if (v == CLASSES_MAX || value != (double)v || !name || !*name || strlen(name) >= 64 ||
        strpbrk(name, "#\n\r") || (names->of[v] && names->shares[v] <= shares))
        return;
    names->of[v] = name;
    names->shares[v] = shares;
}

/* Stores a label: "NAME": VALUE, or in older files "VALUE": "NAME", or a region, "NAME": [VALUE,
 * ...]. Regions overlap, and classes do not, so a value has the name of its smallest region. */
static void add_label(const cJSON *label, struct label_names *names)
{
    const cJSON *value;
    char *end;

    if (cJSON_IsString(label)) {
        double number = strtod(label->string, &end);
        name_value(names, number, *end ? NULL : label->valuestring, 1);
    } else if (cJSON_IsNumber(label)) {
        name_value(names, label->valuedouble, label->string, 1);
    } else if (cJSON_IsArray(label)) {
        names->overlap = true;
        cJSON_ArrayForEach(value, label)
        {
            if (cJSON_IsNumber(value))
                name_value(names, value->valuedouble, label->string, cJSON_GetArraySize(label));
        }
    }
}

static void propose_names(const struct mask_stats *stats, const struct label_names *labels,
                          struct mask_proposal *p)
{
    const char *const *names = labels->of;
    struct values all = list_values(stats);
    struct mask_proposal named = {.meaning = MASK_MEANS_CLASSES};
    int ignored = 0;

    for (unsigned v = 0; v < 65536; v++)
        if (stats->of_value[v] && (v >= CLASSES_MAX || !names[v]))
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
    describe_values(&named, &all);
    describe(&named, ", with class names from dataset.json");
    if (labels->overlap)
        describe(&named, ", whose regions overlap: a value is named after its smallest region, and "
                         "scores are those of classes, not of regions");
    *p = named;
}

void mask_stats_name(const struct mask_stats *stats, const char *dir, struct mask_proposal *p)
{
    struct label_names names = {.overlap = false};
    char path[PATH_MAX];
    struct err ignored;

    snprintf(path, sizeof path, "%.4000s/dataset.json", dir);
    if (stats->coloured || p->meaning == MASK_MEANS_FOREGROUND ||
        p->meaning == MASK_MEANS_ONE_CLASS)
        return;
    cJSON *root = cjson_read(path, MAX_JSON, ERR_DATA, &ignored);
    const cJSON *label, *labels = cJSON_GetObjectItemCaseSensitive(root, "labels");
    cJSON_ArrayForEach(label, labels)
    {
        if (label->string)
            add_label(label, &names);
    }
    propose_names(stats, &names, p);
    cJSON_Delete(root);
}

static void describe_class_file(struct mask_proposal *p)
{
    describe(p, " printf '");
    for (const char *c = p->class_file; *c; c++)
        describe(p, *c == '\n' ? "\\n" : "%c", *c);
    describe(p, "' >classes.txt, then -s data.class_file=classes.txt");
}

void mask_stats_explain(struct source *source, struct err *e)
{
    struct mask_stats *stats = malloc(sizeof *stats);
    struct mask_proposal *p = malloc(sizeof *p);
    struct err ignored;
    bool read = stats && p && mask_stats_read(stats, source, EXPLAINED, &ignored) == 0;

    if (read) {
        mask_stats_propose(stats, p);
        mask_stats_name(stats, source->dir, p);
    }
    if (read && p->meaning == MASK_MEANS_CLASSES) {
        describe(p, ". To use them so:");
        if (*p->class_file)
            describe_class_file(p);
        if (p->classes > 1)
            describe(p, " -s data.classes=%d", p->classes);
        if (*p->ignore)
            describe(p, " -s data.ignore=%s", p->ignore);
    }
    if (read && *p->text)
        append_text(e->text, sizeof e->text, ". In total, %s (unet-train: --classes, "
                    "--class-file, --ignore, --soft-masks)", p->text);
    free(p);
    free(stats);
}
