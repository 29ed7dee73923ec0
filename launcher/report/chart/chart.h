/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart as data. chart_svg draws it into the page, chart_gnuplot writes it as a script with its
 * data, so that both show the same numbers. */
#ifndef UNETCTL_LAUNCHER_REPORT_CHART_CHART_H
#define UNETCTL_LAUNCHER_REPORT_CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CHART_COLOURS = 6,           /* 0..5 distinguish series, with any colour vision and in grey */
    CHART_SHADES = 8,            /* CHART_SHADE + 0..7 run from few to many */
    CHART_SHADE = CHART_COLOURS,
    CHART_INK = CHART_SHADE + CHART_SHADES, /* neutral: not a measurement */
    CHART_NCOLOURS
};

enum chart_style {
    CHART_MARKS,  /* a mark per point, a bar where it has an interval */
    CHART_JOINED, /* the same, joined */
    CHART_LINE,   /* the line alone */
    CHART_BAND,   /* the area between low and high */
    CHART_COLUMN  /* a box from low to high, as wide as its neighbours leave room */
};

struct chart_point {
    double x, y;      /* y NaN: nothing is drawn here, and a line is broken */
    double low, high; /* NaN: there is no interval */
    int tag;          /* number written beside the mark; 0: none */
};

struct chart_series {
    char label[128];
    enum chart_style style;
    int colour;  /* below CHART_NCOLOURS */
    int mark;    /* 0 circle, 1 square, 2 triangle, 3 diamond */
    bool hollow, dashed;
    bool small;  /* many single runs: light marks without tips */
    bool right;  /* belongs to the right axis */
    bool unlisted; /* not in the key: it continues the series before */
    size_t listed_first, listed_step; /* of a line, which points are listed; step 0: some */
    struct chart_point *points;
    size_t count;
};

struct chart_axis {
    char label[96];
    double low, high, step; /* ends and distance of the tics, from chart_fit */
    bool whole;             /* no tics between whole numbers */
    bool logarithmic;       /* tics at 1, 2 and 5 times powers of ten where step is 0 */
    int decimals;           /* of the values that are listed */
};

struct chart {
    char name[32];     /* of its files */
    char title[160];   /* a heading */
    char caption[768]; /* how to read it */
    struct chart_axis x, y, right; /* right.label "": there is no right axis */
    bool counts;       /* x are numbers of GPUs: whole tics, listed as "8 GPUs" */
    struct chart_series *series;
    size_t nseries;
    bool failed;       /* no memory: the chart is incomplete */
};

/* An empty chart. caption is printf's. */
void chart_init(struct chart *c, const char *name, const char *title, const char *caption, ...)
    __attribute__((format(printf, 4, 5)));

/* Add a series. The pointer lives until the next one is added; NULL without memory. */
struct chart_series *chart_add_series(struct chart *c, enum chart_style style, int colour,
                                      const char *label, ...) __attribute__((format(printf, 4, 5)));

/* Add a point to s, a series of c (NULL is fine); one whose y and interval are all NaN is left out
 * of marks. */
void chart_add_point(struct chart *c, struct chart_series *s, double x, double y, double low,
                     double high);

/* Is the value of point i of s listed? Of all marks and columns, and of some points of a line. */
bool chart_series_lists(const struct chart_series *s, size_t i);

/* Set the ends and tics of all axes by the points: y from 0 on, unless floor is given (then from a
 * round number below the least value). Ends that are set already (high > low) stay. */
void chart_fit(struct chart *c, bool from_zero);

/* Ends on round numbers around low..high, and at most ntics + 1 tics. */
void chart_axis_fit(struct chart_axis *a, double low, double high, int ntics);

/* The tic behind *tic; NAN starts. false behind the last. */
bool chart_axis_next(const struct chart_axis *a, double *tic);

/* Decimals that distinguish the tics, at tic. */
int chart_axis_decimals(const struct chart_axis *a, double tic);

/* Where value lies between the ends: 0..1. */
double chart_axis_place(const struct chart_axis *a, double value);

void chart_destroy(struct chart *c);

#endif
