/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the simulations (simulate.h).
 *
 *   simulate.t [--studies N] [--jobs N] [--table] [AREA ...]
 *
 * Without --table, each promise of each case is a check. make check does that with few studies, and
 * with EXHAUSTIVE set six times as many; make simulate prints the tables with many, and fails as
 * well when a promise is broken. */
#include "src/base.h"
#include "launcher/analysis/test/simulate.h"

#include <getopt.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/stat.h"
#include "t/tap.h"

#define TOLERANCE 3 /* standard errors by which a promise may be missed */

static const struct simulate_area *const areas[] = {
    &simulate_speedup, &simulate_efficiency, &simulate_quality, &simulate_collapse,
    &simulate_pairs, &simulate_needed, &simulate_prediction, &simulate_warmup,
    &simulate_sequential, &simulate_published, &simulate_target,
    &simulate_gap};
#define NAREAS (sizeof areas / sizeof *areas)

struct options {
    size_t studies; /* 0: as many as the area says */
    int jobs;
    bool table;
};

/* The mean or median of a statement in a case, over the studies that make it. */
struct estimate {
    double value, error; /* error: the Monte Carlo standard error */
    size_t n;
};

static double *values_of(double *all, const struct simulate_area *a, size_t studies, size_t i,
                         size_t study)
{
    return all + (i * studies + study) * a->nstatements;
}

/* Simulates every jobs-th study, from the job-th on. */
static void simulate_part(double *all, const struct simulate_area *a, size_t area,
                          const struct options *o, int job)
{
    for (size_t i = 0; i < a->ncases; i++)
        for (size_t k = 0; k < o->studies; k++) {
            if ((int)((i * o->studies + k) % (size_t)o->jobs) != job)
                continue;
            uint64_t number = ((uint64_t)area << 56) | ((uint64_t)i << 32) | k;
            a->study(i, number, values_of(all, a, o->studies, i, k));
        }
}

static void simulate_all(double *all, const struct simulate_area *a, size_t area,
                         const struct options *o)
{
    pid_t *children = calloc((size_t)o->jobs, sizeof *children);
    int status;

    fflush(stdout);
    for (int job = 1; job < o->jobs; job++) {
        children[job] = fork();
        if (children[job] < 0)
            bail_out("fork failed");
        if (children[job] == 0) {
            simulate_part(all, a, area, o, job);
            fflush(stdout);
            _exit(0);
        }
    }
    simulate_part(all, a, area, o, 0);
    for (int job = 1; job < o->jobs; job++)
        if (waitpid(children[job], &status, 0) < 0 || status != 0)
            bail_out("%s: a process failed", a->name);
    free(children);
}

static bool is_median(enum simulate_promise p)
{
    return p == SIMULATE_SHOWN_MEDIAN || p == SIMULATE_MEDIAN_WITHIN;
}

/* The error of a mean of values that are all equal is taken to be that of one value that differs by
 * 1 among n + 1, because no study of n does not mean never. */
static struct estimate estimate(const double *known, size_t n, enum simulate_promise p)
{
    struct estimate e = {NAN, NAN, n};

    if (n == 0)
        return e;
    if (is_median(p)) {
        struct interval i = median_interval(known, n, INTERVAL_LEVEL);
        return (struct estimate){median_of_sorted(known, n), (i.high - i.low) / (2 * 1.96), n};
    }
    e.value = stat_mean(known, n);
    e.error = n > 1 ? stat_stddev(known, n) / sqrt((double)n) : NAN;
    if (!(e.error > 0))
        e.error = 1 / (double)(n + 1);
    return e;
}

static struct estimate estimate_of(double *all, const struct simulate_area *a, size_t studies,
                                   size_t i, size_t k)
{
    double *known = calloc(studies, sizeof *known);
    size_t n = 0;

    for (size_t s = 0; s < studies; s++)
        if (!isnan(values_of(all, a, studies, i, s)[k]))
            known[n++] = values_of(all, a, studies, i, s)[k];
    stat_sort(known, n);
    struct estimate e = estimate(known, n, a->statements[k].promise);
    free(known);
    return e;
}

/* Returns whether there is a promise for statement k in case i. */
static bool is_promised(const struct simulate_area *a, size_t i, size_t k)
{
    enum simulate_promise p = a->statements[k].promise;

    return p != SIMULATE_SHOWN && p != SIMULATE_SHOWN_MEDIAN &&
           (!a->promised || a->promised(i, k));
}

/* A statement that no study made keeps every promise, and so does a median of so few that it has no
 * interval. */
static bool is_kept(const struct simulate_statement *s, const struct estimate *e)
{
    double slack = TOLERANCE * e->error;

    if (isnan(e->error))
        return true;
    if (s->promise == SIMULATE_AT_LEAST)
        return e->value >= s->bound - slack;
    if (s->promise == SIMULATE_AT_MOST)
        return e->value <= s->bound + slack;
    return fabs(e->value) <= s->bound + slack;
}

static const char *promise_words(enum simulate_promise p)
{
    static const char *const words[] = {"", "median", "at least", "at most", "median within"};

    return words[p];
}

static void print_head(const struct simulate_area *a, size_t studies)
{
    printf("\n**%s.** %s %zu studies a case.\n\n| case |", a->name, a->what, studies);
    for (size_t k = 0; k < a->nstatements; k++) {
        const struct simulate_statement *s = &a->statements[k];
        printf(" %s", s->name);
        if (s->promise == SIMULATE_SHOWN_MEDIAN)
            printf(" (median)");
        else if (s->promise != SIMULATE_SHOWN)
            printf(" (%s %.4g)", promise_words(s->promise), s->bound);
        printf(" |");
    }
    printf("\n|---|");
    for (size_t k = 0; k < a->nstatements; k++)
        printf("---|");
    putchar('\n');
}

/* Prints a row of the table: value, standard error in brackets, "*" if nothing is promised here,
 * "!" if the promise is broken, and the number of studies if not all made the statement. */
static void print_row(double *all, const struct simulate_area *a, size_t studies, size_t i)
{
    char name[160];

    a->describe(i, name, sizeof name);
    printf("| %s |", name);
    for (size_t k = 0; k < a->nstatements; k++) {
        const struct simulate_statement *s = &a->statements[k];
        struct estimate e = estimate_of(all, a, studies, i, k);
        bool shown = s->promise == SIMULATE_SHOWN || s->promise == SIMULATE_SHOWN_MEDIAN;
        if (e.n == 0)
            printf(" - |");
        else
            printf(" %.3f (%.3f)%s%s", e.value, e.error,
                   !shown && !is_promised(a, i, k) ? "*" : "",
                   is_promised(a, i, k) && !is_kept(s, &e) ? " !" : "");
        if (e.n && e.n < studies)
            printf(" of %zu", e.n);
        if (e.n)
            printf(" |");
    }
    putchar('\n');
    fflush(stdout);
}

static void check_case(double *all, const struct simulate_area *a, size_t studies, size_t i)
{
    char name[160];

    a->describe(i, name, sizeof name);
    for (size_t k = 0; k < a->nstatements; k++) {
        const struct simulate_statement *s = &a->statements[k];
        struct estimate e = estimate_of(all, a, studies, i, k);
        if (is_promised(a, i, k))
            ok(is_kept(s, &e), "%s, %s: %s: %.3f (%.3f) of %zu, %s %.3g", a->name, name, s->name,
               e.value, e.error, e.n, promise_words(s->promise), s->bound);
    }
}

/* Checks promises of means over the studies of all cases that make them: few studies of one case
 * show gross errors only. */
static void check_together(double *all, const struct simulate_area *a, size_t studies)
{
    double *known = calloc(a->ncases * studies, sizeof *known);

    for (size_t k = 0; k < a->nstatements; k++) {
        const struct simulate_statement *s = &a->statements[k];
        size_t n = 0;
        for (size_t i = 0; i < a->ncases; i++)
            for (size_t study = 0; is_promised(a, i, k) && study < studies; study++)
                if (!isnan(values_of(all, a, studies, i, study)[k]))
                    known[n++] = values_of(all, a, studies, i, study)[k];
        struct estimate e = estimate(known, n, s->promise);
        if (n && !is_median(s->promise))
            ok(is_kept(s, &e), "%s, all cases: %s: %.3f (%.3f) of %zu, %s %.3g", a->name, s->name,
               e.value, e.error, e.n, promise_words(s->promise), s->bound);
    }
    free(known);
}

/* Simulates an area. Returns the number of broken promises. */
static size_t run_area(size_t area, const struct options *given)
{
    const struct simulate_area *a = areas[area];
    size_t studies = given->studies * (given->table && a->times ? a->times : 1);
    size_t quick = getenv("EXHAUSTIVE") ? 3 * a->quick : (a->quick + 1) / 2;
    const struct options own = {studies ? studies : quick, given->jobs, given->table}, *o = &own;
    size_t n = a->ncases * o->studies * a->nstatements, broken = 0;
    double *all = mmap(NULL, n * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);

    if (all == MAP_FAILED)
        bail_out("not enough memory");
    for (size_t i = 0; i < n; i++)
        all[i] = NAN;
    simulate_all(all, a, area, o);
    if (o->table)
        print_head(a, o->studies);
    for (size_t i = 0; i < a->ncases; i++) {
        if (!o->table)
            check_case(all, a, o->studies, i);
        else
            print_row(all, a, o->studies, i);
        for (size_t k = 0; k < a->nstatements; k++) {
            struct estimate e = estimate_of(all, a, o->studies, i, k);
            broken += is_promised(a, i, k) && !is_kept(&a->statements[k], &e);
        }
    }
    if (!o->table)
        check_together(all, a, o->studies);
    munmap(all, n * sizeof *all);
    return broken;
}

static bool is_wanted(const char *name, char **wanted)
{
    for (char **w = wanted; *w; w++)
        if (strcmp(*w, name) == 0)
            return true;
    return !*wanted;
}

static void check_names(char **wanted)
{
    for (char **w = wanted; *w; w++) {
        bool found = false;
        for (size_t i = 0; i < NAREAS; i++)
            found |= strcmp(*w, areas[i]->name) == 0;
        if (found)
            continue;
        fprintf(stderr, "simulate.t: no area is called %s; there are:", *w);
        for (size_t i = 0; i < NAREAS; i++)
            fprintf(stderr, " %s", areas[i]->name);
        fputc('\n', stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"studies", required_argument, NULL, 's'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"table", no_argument, NULL, 't'},
                                          {0}};
    struct options o = {.jobs = 2};
    size_t broken = 0;

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 't')
            o.table = true;
        else if (c == 's' && atoi(optarg) > 0)
            o.studies = (size_t)atoi(optarg);
        else if (c == 'j' && atoi(optarg) > 0)
            o.jobs = atoi(optarg);
        else
            return 2;
    }
    check_names(argv + optind);
    for (size_t i = 0; i < NAREAS; i++)
        if (is_wanted(areas[i]->name, argv + optind))
            broken += run_area(i, &o);
    if (o.table)
        return broken > 0;
    return done_testing();
}
