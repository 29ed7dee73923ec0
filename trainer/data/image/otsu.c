/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/otsu.h"

int otsu_threshold(const uint8_t *grey, size_t n)
{
    size_t count[256] = {0};
    double total = 0, below = 0, sum = 0, best = 0;
    int threshold = 255;

    for (size_t i = 0; i < n; i++)
        count[grey[i]]++;
    for (int v = 0; v < 256; v++)
        total += (double)v * (double)count[v];
    for (int t = 0; t < 255; t++) {
        below += (double)count[t];
        sum += (double)t * (double)count[t];
        double above = (double)n - below;
        if (below == 0 || above == 0)
            continue;
        double apart = sum / below - (total - sum) / above;
        double variance = below * above * apart * apart;
        if (variance > best) {
            best = variance;
            threshold = t;
        }
    }
    return threshold;
}
