/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as data, its drawing as SVG, and its numbers as a table. Light colours are attributes of
 * groups of the classes c0 to c14 (series), soft, ink and grid, so a page can replace them. */
#pragma once

#include "src/base.h"

enum {
    /* 0..5 distinguish series, also in grey and for colour-blind readers */
    CHART_COLOURS = 6,
    CHART_SHADES = 8,            /* CHART_SHADE + 0..7 are for small to large numbers */
    CHART_SHADE = CHART_COLOURS,
    CHART_INK = CHART_SHADE + CHART_SHADES, /* neutral, for what is not a measurement */
    CHART_NCOLOURS
};

enum chart_style {
    CHART_MARKS,  /* a mark per point, and a bar if the point has an interval */
    CHART_JOINED, /* the same, with lines between the points */
    CHART_LINE,   /* only the line */
    CHART_BAND,   /* the area between low and high */
    CHART_COLUMN  /* a box from low to high, as wide as the distance to its neighbours allows */
};

struct chart_point {
    double x, y;      /* y NaN: there is no mark here, and a line is interrupted */
    double low, high; /* NaN: there is no interval; of bands and columns the limits */
    bool range;       /* low and high are those of the runs, which are too few for an interval */
    int tag;          /* a number written beside the mark; 0: none */
};

struct chart_series {
    char label[128];
    enum chart_style style;
    int colour;  /* below CHART_NCOLOURS */
    int mark;    /* 0 circle, 1 square, 2 triangle, 3 diamond */
    bool hollow, dashed;
    bool thin;   /* one line of many */
    bool wide;   /* a light, wide line, on which a thin one can be seen */
    bool small;  /* single runs: small marks, left of their x, that show no values */
    bool right;  /* y values belong to the right axis */
    bool unlisted; /* omitted from the key, as it continues the previous series */
    /* Of a line: the value of each listed_step-th point from listed_first on is listed. Step 0: a
     * selection of about 16 points. */
    size_t listed_first, listed_step;
    struct chart_point *points;
    size_t count, capacity;
};

struct chart_axis {
    char label[96];
    double low, high, step; /* range and distance of the tics; set by chart_fit unless set */
    bool whole;             /* tics only at whole numbers */
    bool logarithmic; /* of the x axis; if step is 0, tics are at 1, 2 and 5 times powers of ten */
    int decimals;           /* of listed values */
};

struct chart {
    char name[32];     /* of its files */
    char title[160];   /* its heading */
    char caption[768]; /* how to read it */
    struct chart_axis x, y, right; /* right.label "": there is no right axis */
    bool counts;       /* x values are numbers of GPUs: x starts at 0, and tips say "8 GPUs" */
    bool floats;       /* its y axes need not start at 0 (chart_fit) */
    struct chart_series *series;
    size_t nseries, capacity;
    bool failed;       /* memory ran out, and the chart is incomplete */
    struct chart_series lost; /* the series that there was no memory for */
};

/* Initialises an empty chart. caption is a format for printf. */
void chart_init(struct chart *c, const char *name, const char *title, const char *caption, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a series. Its pointer is valid until the next one is added, and never NULL. */
struct chart_series *chart_add_series(struct chart *c, enum chart_style style, int colour,
                                      const char *label, ...) __attribute__((format(printf, 4, 5)));

/* Adds a point to s, a series of c. Marks, joined or not, whose y is NaN are omitted. */
void chart_add_point(struct chart *c, struct chart_series *s, double x, double y, double low,
                     double high);

/* Returns whether the value of point i of s is listed. That is so for all marks and columns, and
 * for some points of a line (the last one of a thin line), but not for small marks, bands, and
 * series in CHART_INK. */
bool chart_series_lists(const struct chart_series *s, size_t i);

/* Sets the ranges and tics of all axes from the points. Both y axes start at 0, or below if there
 * are negative values; if the chart floats at a round number, at most the smallest value. Ranges
 * that are already set (high > low) are kept. */
void chart_fit(struct chart *c);

/* Sets the range to round numbers around low..high, with at most ntics + 2 tics. */
void chart_axis_fit(struct chart_axis *a, double low, double high, int ntics);

/* Advances *tic to the next tic; NAN starts at the first. Returns false after the last. */
bool chart_axis_next(const struct chart_axis *a, double *tic);

/* Returns the decimals that distinguish the tics near tic. */
int chart_axis_decimals(const struct chart_axis *a, double tic);

/* Returns the position of value on the axis: 0 at a->low, 1 at a->high. */
double chart_axis_place(const struct chart_axis *a, double value);

/* Of light pages, by chart_series.colour. */
extern const char *const chart_colours[CHART_NCOLOURS];

/* Adds all points as lines of CSV: series, x, name of the y axis, value, low, high, number of the
 * series, its style as words (its mark among them), its colour, and the tag, empty if there is
 * none. */
void chart_encode_csv(const struct chart *c, struct buf *b);

/* Adds the drawing for a page. Pointing at a value that is listed (chart_series_lists) shows it,
 * without any script. c has been fitted by chart_fit, and has points. */
void chart_svg_encode(const struct chart *c, struct buf *b);

/* Adds it as a file, as wide as a column of a paper (8.9 cm), light and without values to point
 * at. CHART_SVG_MARK is in its first 200 bytes. */
#define CHART_SVG_MARK "Made by unetctl report"
void chart_svg_encode_file(const struct chart *c, struct buf *b);

/* The rules of lines, marks and texts; a page has them once for all its charts. */
extern const char chart_svg_style[];

void chart_destroy(struct chart *c);
