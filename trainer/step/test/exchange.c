/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/exchange.h"

#include <stdlib.h>

#include "t/tap.h"
#include "trainer/network/network.h"

int main(void)
{
    struct network_config config = {.model = "unet", .backend = "ref", .base = 8, .depth = 4,
                                    .channels = 1, .classes = 1, .height = 32, .width = 32,
                                    .threads = 1, .batch_norm = BATCH_NORM_LOCAL};
    struct exchange_cuts c = {0};
    struct err e;
    struct network *net = network_create(&config, &e);
    size_t rising = 0;

    if (!net)
        bail_out("%s", e.text);
    const struct weights *w = network_weights(net);
    ok(exchange_cut_buckets(&c, 100, 30, &e) == 0 && c.n == 4 && c.ends[0] == 30 &&
           c.ends[2] == 90 && c.ends[3] == 100, "100 numbers in buckets of 30");
    ok(exchange_cut_buckets(&c, 60, 30, &e) == 0 && c.n == 2 && c.ends[1] == 60,
       "60 in two whole ones");
    ok(exchange_cut_buckets(&c, 60, 1000, &e) == 0 && c.n == 1 && c.ends[0] == 60, "a large one");
    ok(exchange_cut_tensors(&c, w, &e) == 0, "tensors");
    is_int(c.n, 82, "the reference network has 82");
    for (size_t i = 1; i < c.n; i++)
        rising += c.ends[i] > c.ends[i - 1];
    is_int(rising, 81, "none is empty");
    is_int(c.ends[c.n - 1], w->nparams, "the last one ends with the gradients");
    free(c.ends);
    network_destroy(net);
    return done_testing();
}
