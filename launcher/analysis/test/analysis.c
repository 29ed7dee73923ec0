/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"
#include "src/rng.h"

static struct results table, other, third;
static struct analysis a;
static struct err e;

static int create(size_t nsources)
{
    static struct analysis_source sources[3] = {{.title = "one"}, {.title = "two"}, {.title = "three"}};
    struct analysis_options options = ANALYSIS_OPTIONS_INIT;

    results_sort(&table);
    results_sort(&other);
    results_sort(&third);
    sources[0].results = table;
    sources[1].results = other;
    sources[2].results = third;
    return analysis_create(&a, sources, nsources, &options, &e);
}

static void refused(enum err_code code, const char *words, const char *what)
{
    int rc = create(1);

    ok(rc == -1 && e.code == (int)code && strstr(e.text, words), "%s: %s", what,
       rc ? e.text : "accepted");
    ok(!a.series && a.nseries == 0, "a refused analysis has no series");
}

static void check_refusals(void)
{
    refused(ERR_DATA, "there is no run in it", "an empty source");
    table_add(&table, "x", 1, 1, 1)->state = RESULT_FAILED;
    refused(ERR_DATA, "no run has a result; the first, x-1-1 (1 GPU), is failed", "all failed");
    table_add(&table, "x", 2, 1, 1);
    refused(ERR_STATS, "ran on 2 GPUs only", "one count");
    ok(strstr(e.text, "the first, x-1-1 (1 GPU), is failed"),
       "the error says why there is no base case");
    table_add(&table, "x", 4, 1, 1);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].median_epoch_s = NAN;
    refused(ERR_STATS, "no steady epoch", "single epochs");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].median_epoch_s = 0;
    refused(ERR_STATS, "no times above 0", "times of 0");
    results_destroy(&table);
}

/* Adds 3 runs each with 1, 2, 4, 8 and 16 GPUs. Their times follow Amdahl's law with a serial
 * fraction of 0.04, multiplied by `factor`, without scatter. */
static void fill(struct results *dst, double factor)
{
    for (int gpus = 1; gpus <= 16; gpus *= 2)
        for (long seed = 1; seed <= 3; seed++)
            table_add(dst, "x", gpus, seed, factor * 20 * (0.96 / gpus + 0.04));
}

static const struct rule *rule(int number)
{
    return &a.rules[number - 1];
}

static void check_all(void)
{
    fill(&table, 1);
    fill(&other, 1.2);
    ok(create(2) == 0 && a.nseries == 2 && a.npairs == 1, "two sources give two series and a pair");
    const struct analysis_series *one = &a.series[0];
    ok(model_is_usable(&one->steady) && one->steady.laws[0].terms[1].kind == MODEL_LAW_SERIAL,
       "the law that the data follow has most evidence");
    ok(model_is_usable(&one->whole), "whole runs have a model");
    ok(one->decision.best && one->decision.best->gpus == 4,
       "4 GPUs are best: efficiency is 0.89 with 4 and 0.78 with 8");
    const struct analysis_pair *pair = &a.pairs[0];
    is_int(pair->ndifferences, 10, "five counts and two quantities give ten differences");
    ok(pair->differences[0].quantity == QUANTITY_STEADY_EPOCH, "differences of times come first");
    near(pair->differences[0].ratio.value, 1 / 1.2, 1e-9, "the second series is slower");
    ok(pair->differences[0].compare.significant, "a difference without scatter is significant");
    ok(pair->differences[5].quantity == QUANTITY_QUALITY &&
           !pair->differences[5].compare.significant,
       "an equal IoU is not significantly different");
    ok(rule(1)->state == RULE_MET && strstr(rule(1)->why, "1 GPU of the same program: 20 s"),
       "rule 1: %s", rule(1)->why);
    ok(rule(2)->state == RULE_MET, "rule 2 is met");
    ok(rule(5)->state == RULE_NOT_MET && strstr(rule(5)->why, "only their range"), "rule 5: %s",
       rule(5)->why);
    ok(rule(6)->state == RULE_NOT_MET && strstr(rule(6)->why, "Not tested: "), "rule 6: %s",
       rule(6)->why);
    ok(rule(9)->state == RULE_NOT_MET && rule(10)->state == RULE_NOT_MET,
       "rules 9 and 10 are not met by logs without their setup");
    for (int i = 0; i < RULES_COUNT; i++)
        ok(a.rules[i].number == i + 1 && a.rules[i].text && *a.rules[i].why, "rule %d has a reason",
           i + 1);
    is_str(a.notes, "", "nothing was left out");
    is_int(pair->differences[0].compare.nfamily, 5, "a pair is compared at five counts");
    analysis_destroy(&a);
    fill(&third, 1.1);
    ok(create(3) == 0 && a.npairs == 3, "three series are three pairs");
    is_int(a.pairs[0].differences[0].compare.nfamily, 15, "the family is all pairs and counts");
    is_int(a.pairs[2].differences[9].compare.nfamily, 15, "for each quantity");
    analysis_destroy(&a);
    for (size_t i = 0; i < other.count; i++)
        other.rows[i].epochs = 40;
    ok(create(2) == 0 && a.pairs[0].differences[0].compare.significant &&
       strstr(a.pairs[0].differences[5].why_not, "different numbers of epochs") &&
       isnan(a.pairs[0].differences[5].compare.difference),
       "the quality of trainings of different lengths is not compared, their epochs are");
    analysis_destroy(&a);

    for (size_t i = 0; i < table.count; i++)
        table.rows[i].batch_per_gpu = table.rows[i].gpus < 4 ? 16 : 64 / table.rows[i].gpus;
    ok(create(1) == 0 && a.nseries >= 1 && strstr(a.notes, "mix"), "mixed batches are noted");
    analysis_destroy(&a);
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].batch_per_gpu = 16;
        table.rows[i].units = 1600 * table.rows[i].gpus;
        table.rows[i].state = table.rows[i].seed == 1 ? RESULT_DONE : RESULT_FAILED;
    }
    ok(create(1) == 0 && a.series[0].series.mode == SERIES_WEAK &&
       a.series[0].steady.fitted && !a.series[0].whole.fitted,
       "in weak scaling only times per image have a model");
    ok(rule(5)->state == RULE_NOT_MET && rule(6)->state == RULE_NOT_APPLICABLE &&
       rule(7)->state == RULE_NOT_MET, "single runs do not meet rules 5 and 7");
    ok(rule(2)->state == RULE_NOT_MET, "lost runs do not meet rule 2");
    analysis_destroy(&a);
    results_destroy(&table);
    results_destroy(&other);
    results_destroy(&third);
}

int main(void)
{
    check_refusals();
    check_all();
    return done_testing();
}
