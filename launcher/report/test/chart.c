/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/chart.h"

#include <math.h>

#include "t/tap.h"

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static struct chart_axis fit(double low, double high)
{
    struct chart_axis a = {0};

    chart_axis_fit(&a, low, high, 8);
    return a;
}

static int count_tics(const struct chart_axis *a)
{
    int n = 0;

    for (double tic = NAN; chart_axis_next(a, &tic);)
        n++;
    return n;
}

static void check_axes(void)
{
    struct chart_axis a = fit(0, 13.5);

    ok(near(a.step, 2), "an axis to 13.5 with 8 tics has steps of 2");
    ok(near(a.high, 14), "it ends at 14");
    is_int(count_tics(&a), 8, "it has 8 tics");
    is_int(chart_axis_decimals(&a, 2), 0, "its tics have no decimals");
    a = fit(0.4858, 0.9678);
    ok(near(a.low, 0.4), "an axis begins at a round number");
    ok(near(a.high, 1), "it ends at a round number");
    is_int(chart_axis_decimals(&a, 0.5), 1, "its tics have one decimal");
    a = fit(5, 5);
    ok(a.low == 0 && a.high >= 5, "equal values have an axis");
    a = fit(0, 0);
    ok(a.high > a.low, "zeros have an axis");
    a = fit(-3, -3);
    ok(a.high > a.low, "negative values have an axis");
    a = (struct chart_axis){.whole = true};
    chart_axis_fit(&a, 0, 3, 10);
    is_int(count_tics(&a), 4, "an axis of counts has tics at whole numbers only");
    a = (struct chart_axis){.low = 0.15, .high = 2.3, .logarithmic = true};
    is_int(count_tics(&a), 4, "a logarithmic axis has tics at 0.2, 0.5, 1, 2");
    is_int(chart_axis_decimals(&a, 0.2), 1, "its tics have a decimal where they need one");
    ok(near(chart_axis_place(&a, sqrt(0.15 * 2.3)), 0.5),
       "the geometric mean is in the middle of a logarithmic axis");
}

/* Points so close together that neither a power of ten nor 2 or 5 times one lies between them. */
static void check_narrow_logarithm(void)
{
    struct chart c;

    chart_init(&c, "n", "T", "caption");
    c.x.logarithmic = true;
    struct chart_series *s = chart_add_series(&c, CHART_MARKS, 0, "s");
    chart_add_point(&c, s, 0.0023, 1, NAN, NAN);
    chart_add_point(&c, s, 0.0041, 2, NAN, NAN);
    chart_fit(&c);
    is_int(count_tics(&c.x), 6, "a narrow logarithmic axis is evenly spaced from 0.002 to 0.0045");
    is_int(chart_axis_decimals(&c.x, 0.003), 4, "its tics have the decimals that distinguish them");
    chart_destroy(&c);
}

/* Fills a chart with two series, each of which lacks a value: marks with an interval and a name
 * that must be escaped, and a line. */
static void fill(struct chart *c)
{
    struct chart_series *s;

    chart_init(c, "n", "T'<", "caption");
    c->counts = true;
    strcpy(c->x.label, "GPUs");
    strcpy(c->y.label, "s");
    c->y.decimals = 1;
    s = chart_add_series(c, CHART_JOINED, 0, "%s", "a<b>'$(x)");
    chart_add_point(c, s, 1, 4, 3.5, 4.5);
    chart_add_point(c, s, 2, NAN, NAN, NAN);
    chart_add_point(c, s, 4, 1, NAN, NAN);
    s = chart_add_series(c, CHART_LINE, CHART_INK, "guide");
    chart_add_point(c, s, 0, 0, NAN, NAN);
    chart_add_point(c, s, 2, NAN, NAN, NAN);
    chart_add_point(c, s, 4, 4, NAN, NAN);
    chart_fit(c);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
        n++;
    return n;
}

static void check_encoders(void)
{
    struct chart c;
    struct buf b = {0};

    fill(&c);
    ok(!c.failed, "a chart is made");
    is_int(c.series[0].count, 2, "a mark without a value is left out");
    is_int(c.series[1].count, 3, "a line keeps its gap");
    ok(near(c.y.high, 5), "the axis includes the end of the interval");
    chart_svg_encode(&c, &b);
    is_int(count(b.data, "class=\"hot "), 2, "svg: values to point at, none on the guide");
    is_int(count(b.data, "class=\"bar\""), 1, "svg: one interval");
    ok(strstr(b.data, ">s 4.0 (3.5 to 4.5)</text>"), "svg: a value with its interval in words");
    ok(strstr(b.data, ">1 GPU</text>") && strstr(b.data, ">4 GPUs</text>"), "svg: counts in words");
    ok(!strstr(b.data, "<b>") && strstr(b.data, "a&lt;b&gt;&#39;$(x)"), "svg: names are text");
    ok(!strstr(b.data, "nan"), "svg: no NaN");
    buf_destroy(&b);
    b = (struct buf){0};
    chart_svg_encode_file(&c, &b);
    ok(strstr(b.data, "width=\"8.90cm\"") && strstr(b.data, ">T&#39;&lt;</title>"),
       "file: one column wide, with its title");
    is_int(count(b.data, "class=\"key\""), 2, "file: a key of both series");
    ok(!strstr(b.data, "hot") && !strstr(b.data, "var("), "file: nothing that needs a page");
    ok(strstr(strstr(b.data, "class=\"c14\""), "class=\"mk\""),
       "svg: marks lie over the guide");
    buf_destroy(&b);
    b = (struct buf){0};
    chart_encode_csv(&c, &b);
    is_str(b.data,
           "series,GPUs,axis,value,low,high,line,style,colour,tag\n"
           "a<b>'$(x),1,s,4,3.5,4.5,1,joined circle,#0072b2,\n"
           "a<b>'$(x),4,s,1,,,1,joined circle,#0072b2,\n"
           "guide,0,s,0,,,2,line circle guide,#3a434b,\nguide,2,s,,,,2,line circle guide,#3a434b,\n"
           "guide,4,s,4,,,2,line circle guide,#3a434b,\n", "csv: all points");
    buf_destroy(&b);
    chart_destroy(&c);
}

/* Numbers beside marks: six of one place, of which four find a corner, and one at the left axis. */
static void check_tags(void)
{
    struct chart c;
    struct buf b = {0};

    chart_init(&c, "n", "T", "caption");
    struct chart_series *s = chart_add_series(&c, CHART_MARKS, 0, "s");
    for (int i = 0; i < 7; i++) {
        chart_add_point(&c, s, i < 6 ? 5 : 0, i < 6 ? 5 : 8, NAN, NAN);
        s->points[i].tag = 100 + i;
    }
    chart_add_point(&c, s, 10, 10, NAN, NAN);
    chart_fit(&c);
    chart_svg_encode(&c, &b);
    is_int(count(b.data, "class=\"tag\""), 5, "tags that would touch are omitted");
    const char *edge = strstr(b.data, "class=\"tag\">106<"), *mark = strstr(b.data, "cx=\"");
    double x = 0, left = 1e9, at;
    for (; mark; mark = strstr(mark + 1, "cx=\""))
        if (sscanf(mark, "cx=\"%lf", &at) == 1 && at < left)
            left = at;
    while (edge && strncmp(edge, "<text x=", 8) != 0)
        edge--;
    ok(edge && sscanf(edge, "<text x=\"%lf", &x) == 1 && x > left,
       "a tag at the axis is on the side of the marks");
    buf_destroy(&b);
    chart_destroy(&c);
}

int main(void)
{
    check_tags();
    check_axes();
    check_narrow_logarithm();
    check_encoders();
    return done_testing();
}
