/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics from counts of pixels, and the loss of validation images. */
#include "src/base.h"
#include "trainer/metric/metric.h"

#include <math.h>

/* Counts pixels, and computes metrics from the counts. */

int64_t score_union(const struct score_counts *counts)
{
    return counts->pred + counts->truth - counts->intersection;
}

double score_iou(const struct score_counts *counts)
{
    return (double)(counts->intersection + 1) / (double)(score_union(counts) + 1);
}

double score_dice(const struct score_counts *counts)
{
    return (double)(2 * counts->intersection + 1) / (double)(counts->pred + counts->truth + 1);
}

size_t score_size(int classes)
{
    return SCORE_CLASSES + 3 * (size_t)classes;
}

static struct score_counts *class_of(int64_t *score, int i)
{
    return (struct score_counts *)(score + SCORE_CLASSES) + i;
}

const struct score_counts *score_class(const int64_t *score, int i)
{
    return (const struct score_counts *)(score + SCORE_CLASSES) + i;
}

static void add_binary_score(int64_t *score, const float *logits, const float *target, size_t n)
{
    int64_t pixels = 0, correct = 0, intersection = 0, pred = 0, truth = 0;

    for (size_t i = 0; i < n; i++) {
        int counts = target[i] >= 0, p = (logits[i] > 0) & counts, t = target[i] > 0.5f;
        pixels += counts;
        correct += counts & (p == t);
        intersection += p & t;
        pred += p;
        truth += t;
    }
    score[SCORE_PIXELS] += pixels;
    score[SCORE_CORRECT] += correct;
    class_of(score, 0)->intersection += intersection;
    class_of(score, 0)->pred += pred;
    class_of(score, 0)->truth += truth;
}

static int largest_logit(const float *logits, int classes)
{
    int best = -1;

    for (int c = 0; c < classes; c++)
        if (logits[c] == logits[c] && (best < 0 || logits[c] > logits[best]))
            best = c;
    return best;
}

void score_add(int64_t *score, int classes, const float *logits, const float *target, size_t n)
{
    if (classes == 1) {
        add_binary_score(score, logits, target, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (target[i] < 0)
            continue;
        int t = (int)target[i], p = largest_logit(logits + i * (size_t)classes, classes);
        score[SCORE_PIXELS]++;
        score[SCORE_CORRECT] += p == t;
        class_of(score, t)->intersection += p == t;
        class_of(score, t)->truth++;
        if (p >= 0)
            class_of(score, p)->pred++;
    }
}

int score_true_class(float target, int classes)
{
    return target < 0 ? -1 : classes > 1 ? (int)target : target > 0.5f;
}

int score_predicted_class(const float *logits, int classes)
{
    return classes > 1 ? largest_logit(logits, classes) : *logits > 0;
}

int confusion_side(int classes)
{
    return classes > 1 ? classes : 2;
}

void confusion_add(int64_t *pairs, int classes, const float *logits, const float *target, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int t = score_true_class(target[i], classes);
        int p = score_predicted_class(logits + i * (size_t)classes, classes);

        if (t >= 0 && p >= 0)
            pairs[t * confusion_side(classes) + p]++;
    }
}

int score_has(const int64_t *score, int i)
{
    return score_union(score_class(score, i)) > 0;
}

/* Returns part / all; if all is 0, 1 if union_ is 0, too, and else 0. */
static double ratio(int64_t part, int64_t all, int64_t union_)
{
    return all > 0 ? (double)part / (double)all : union_ == 0;
}

struct score_summary score_summarize_class(const int64_t *score, int i)
{
    const struct score_counts *c = score_class(score, i);

    return (struct score_summary){
        .iou = score_iou(c), .dice = score_dice(c),
        .precision = ratio(c->intersection, c->pred, score_union(c)),
        .recall = ratio(c->intersection, c->truth, score_union(c)),
        .accuracy = ratio(score[SCORE_CORRECT], score[SCORE_PIXELS], 0)};
}

/* Returns the mean over the classes from `first` on that occur or are predicted. */
static struct score_summary mean_from(const int64_t *score, int first, int classes)
{
    struct score_summary mean = {0};
    int n = 0;

    for (int i = first; i < classes; i++) {
        if (!score_has(score, i))
            continue;
        struct score_summary s = score_summarize_class(score, i);
        mean.iou += s.iou;
        mean.dice += s.dice;
        mean.precision += s.precision;
        mean.recall += s.recall;
        n++;
    }
    if (n == 0)
        return (struct score_summary){1, 1, 1, 1, 1};
    return (struct score_summary){mean.iou / n, mean.dice / n, mean.precision / n, mean.recall / n,
                                  ratio(score[SCORE_CORRECT], score[SCORE_PIXELS], 0)};
}

struct score_summary score_summarize(const int64_t *score, int classes)
{
    return classes == 1 ? score_summarize_class(score, 0) : mean_from(score, 0, classes);
}

struct score_summary score_summarize_foreground(const int64_t *score, int classes)
{
    return classes == 1 ? score_summarize_class(score, 0) : mean_from(score, 1, classes);
}

struct score_counts score_total(const int64_t *score, int classes)
{
    struct score_counts sum = {0};

    for (int i = 0; i < classes; i++) {
        const struct score_counts *c = score_class(score, i);
        sum.intersection += c->intersection;
        sum.pred += c->pred;
        sum.truth += c->truth;
    }
    return sum;
}

/* Returns the number of pixels of class i; with one class 0 is the background, 1 the foreground. */
static int64_t truth_of(const int64_t *score, int classes, int i)
{
    int64_t truth = score_class(score, classes == 1 ? 0 : i)->truth;

    return classes == 1 && i == 0 ? score[SCORE_PIXELS] - truth : truth;
}

static double constant_iou(const int64_t *score, int classes, int k)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < classes; i++) {
        bool predicted = classes == 1 ? k == 1 : i == k;
        struct score_counts c = {.truth = score_class(score, i)->truth};
        c.pred = predicted ? score[SCORE_PIXELS] : 0;
        c.intersection = predicted ? c.truth : 0;
        if (classes > 1 && score_union(&c) == 0)
            continue;
        sum += score_iou(&c);
        n++;
    }
    return n ? sum / n : 1;
}

double score_constant(const int64_t *score, int classes, bool by_accuracy, int *class)
{
    double best = -1;

    for (int k = 0; k < (classes == 1 ? 2 : classes); k++) {
        double value = by_accuracy ? ratio(truth_of(score, classes, k), score[SCORE_PIXELS], 0)
                                   : constant_iou(score, classes, k);
        if (value > best) {
            best = value;
            *class = k;
        }
    }
    return best;
}

/* Binary cross entropy and Dice for one logit, softmax cross entropy and Dice for several. */

/* Returns the factor of a cross entropy; q: the probability of what is not true. */
static double focus(const struct loss_terms *terms, double q)
{
    return terms->gamma > 0 ? pow(q, terms->gamma) : 1;
}

/* Returns Dice or Tversky times w. common: sum p t; sum: sum 2 alpha p + 2 beta t. */
static double overlap(const struct loss_terms *terms, double w, double common, double sum)
{
    return w * (2 * common + 1) / (sum + 2 * (1 - terms->alpha - terms->beta) * common + 1);
}

/* The logit of each pixel is that of the foreground; that of the background is 0. */
static void add_binary_image_loss(struct image_loss *l, struct image_loss_dice *d,
                                  const struct loss_terms *terms, const float *z, const float *t,
                                  size_t n)
{
    const float *weights = terms->ce_weights;
    float pred = (float)(2 * terms->alpha), truth = (float)(2 * terms->beta);

    for (size_t i = 0; i < n; i++) {
        if (t[i] < 0)
            continue;
        float m = expf(-fabsf(z[i])), s = 1 / (1 + m), p = z[i] < 0 ? m / (1 + m) : s;
        float q = p + ((z[i] < 0 ? s : m * s) - p) * t[i];
        double w = weights ? (double)(weights[0] + (weights[1] - weights[0]) * t[i]) : 1;
        l->ce += w * (double)(fmaxf(z[i], 0) - z[i] * t[i] + log1pf(m)) *
                 focus(terms, (double)q);
        l->weight += w;
        d->common[0] += (double)(p * t[i]);
        d->sum[0] += (double)(pred * p + truth * t[i]);
    }
}

static double log_sum(const float *z, int classes)
{
    float largest = z[0], sum = 0;

    for (int c = 1; c < classes; c++)
        largest = fmaxf(largest, z[c]);
    for (int c = 0; c < classes; c++)
        sum += expf(z[c] - largest); /* the largest one is 1 */
    return (double)(largest + logf(fmaxf(sum, 1)));
}

static void add_classes(struct image_loss *l, struct image_loss_dice *d, int classes,
                        const struct loss_terms *terms, const float *z, const float *t, size_t n)
{
    const float *weights = terms->ce_weights;

    for (size_t i = 0; i < n; i++, z += classes) {
        if (t[i] < 0)
            continue;
        int target = (int)t[i];
        double w = weights ? (double)weights[target] : 1, all = log_sum(z, classes), q = 0;
        l->weight += w;
        d->common[target] += exp((double)z[target] - all);
        d->sum[target] += 2 * terms->beta;
        for (int c = 0; c < classes; c++) {
            double p = exp((double)z[c] - all);
            d->sum[c] += 2 * terms->alpha * p;
            q += c == target ? 0 : p;
        }
        l->ce += w * (all - (double)z[target]) * focus(terms, q);
    }
}

void image_loss_add_part(struct image_loss *l, struct image_loss_dice *d, int classes,
                         const struct loss_terms *terms, const float *logits, const float *target,
                         size_t n)
{
    if (classes == 1)
        add_binary_image_loss(l, d, terms, logits, target, n);
    else
        add_classes(l, d, classes, terms, logits, target, n);
}

void image_loss_end(struct image_loss *l, const struct image_loss_dice *d, int classes,
                    const struct loss_terms *terms)
{
    double dice = 0, weights = 0;

    for (int c = 0; c < classes; c++) {
        double w = classes > 1 && terms->dice_weights ? (double)terms->dice_weights[c] : 1;
        dice += overlap(terms, w, d->common[c], d->sum[c]);
        weights += w;
    }
    l->dice += 1 - dice / weights;
    l->images++;
}

void image_loss_add(struct image_loss *l, int classes, const struct loss_terms *terms,
                    const float *logits, const float *target, size_t n)
{
    struct image_loss_dice d = {{0}, {0}};

    image_loss_add_part(l, &d, classes, terms, logits, target, n);
    image_loss_end(l, &d, classes, terms);
}

void image_loss_sum(struct image_loss *dst, const struct image_loss *l)
{
    dst->ce += l->ce;
    dst->weight += l->weight;
    dst->dice += l->dice;
    dst->images += l->images;
}

double image_loss_mean(const struct image_loss *l, bool has_ce, bool has_dice)
{
    if (!(l->images > 0))
        return NAN;
    return (has_ce ? l->ce / fmax(l->weight, 1e-30) : 0) + (has_dice ? l->dice / l->images : 0);
}
