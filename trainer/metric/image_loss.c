/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary cross entropy and Dice for one logit, softmax cross entropy and Dice for several. */
#include "config.h"
#include "trainer/metric/image_loss.h"

#include <math.h>

/* The logit of each pixel is that of the foreground; that of the background is 0. */
static void add_binary(struct image_loss *l, const float *weights, const float *z, const float *t,
                       size_t n)
{
    double common = 0, sum = 0; /* of Dice = 2 |P and T| / (|P| + |T|) */

    for (size_t i = 0; i < n; i++) {
        if (t[i] < 0)
            continue;
        float m = expf(-fabsf(z[i])), p = z[i] < 0 ? m / (1 + m) : 1 / (1 + m);
        double w = weights ? (double)(weights[0] + (weights[1] - weights[0]) * t[i]) : 1;
        l->ce += w * (double)(fmaxf(z[i], 0) - z[i] * t[i] + log1pf(m));
        l->weight += w;
        common += (double)(p * t[i]);
        sum += (double)(p + t[i]);
    }
    l->dice += 1 - (2 * common + 1) / (sum + 1);
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

static void add_classes(struct image_loss *l, int classes, const float *weights,
                        const float *dice_weights, const float *z, const float *t, size_t n)
{
    double common[IMAGE_LOSS_CLASSES] = {0}, sum[IMAGE_LOSS_CLASSES] = {0};
    double dice = 0, all_weights = 0;

    for (size_t i = 0; i < n; i++, z += classes) {
        if (t[i] < 0)
            continue;
        int target = (int)t[i];
        double w = weights ? (double)weights[target] : 1, all = log_sum(z, classes);
        l->ce += w * (all - (double)z[target]);
        l->weight += w;
        common[target] += exp((double)z[target] - all);
        sum[target]++;
        for (int c = 0; c < classes; c++)
            sum[c] += exp((double)z[c] - all);
    }
    for (int c = 0; c < classes; c++) {
        double w = dice_weights ? (double)dice_weights[c] : 1;
        dice += w * (2 * common[c] + 1) / (sum[c] + 1);
        all_weights += w;
    }
    l->dice += 1 - dice / all_weights;
}

void image_loss_add(struct image_loss *l, int classes, const float *ce_weights,
                    const float *dice_weights, const float *logits, const float *target, size_t n)
{
    if (classes == 1)
        add_binary(l, ce_weights, logits, target, n);
    else
        add_classes(l, classes, ce_weights, dice_weights, logits, target, n);
    l->images++;
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
