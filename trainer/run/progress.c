/* SPDX-License-Identifier: BSD-3-Clause */
/* A bar for terminals, log lines elsewhere. */
#include "config.h"
#include "trainer/run/progress.h"

#include <math.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/log.h"

#define REDRAW_S 0.2
#define BAR 24

void progress_open(struct progress *p, FILE *out, int epochs)
{
    *p = (struct progress){.out = out, .epochs = epochs,
                           .terminal = log_shows(LOG_INFO) && isatty(fileno(out)),
                           .began = clock_now(), .loss = NAN};
}

void progress_skip(struct progress *p, double done)
{
    p->skipped = done;
}

static double seconds_left(const struct progress *p, double done)
{
    double share = done - p->skipped;

    return share > 0 ? (clock_now() - p->began) / share * (1 - done) : 0;
}

static void draw_bar(struct progress *p, int epoch, double done)
{
    int filled = (int)(done * BAR), left = (int)(seconds_left(p, done) + 0.5);
    char bar[BAR + 1];

    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    fprintf(p->out, "\r\033[K[%s] epoch %d/%d", bar, epoch + 1, p->epochs);
    if (isfinite(p->loss))
        fprintf(p->out, "  loss %.4f", p->loss);
    fprintf(p->out, "  %d:%02d:%02d left", left / 3600, left / 60 % 60, left % 60);
    fflush(p->out);
    p->last_drawn = clock_now();
}

void progress_step(struct progress *p, int epoch, size_t step, size_t steps)
{
    if (p->terminal && clock_now() - p->last_drawn >= REDRAW_S)
        draw_bar(p, epoch, (epoch + (double)step / (double)steps) / p->epochs);
}

void progress_epoch(struct progress *p, int epoch, double loss, double seconds,
                    double images_per_s)
{
    p->loss = loss;
    if (p->terminal)
        draw_bar(p, epoch, (epoch + 1.0) / p->epochs);
    else
        log_info("epoch %d/%d: loss %.6f, %.2f s, %.1f images/s", epoch + 1, p->epochs, loss,
                 seconds, images_per_s);
}

void progress_close(struct progress *p)
{
    if (p->terminal && p->last_drawn > 0)
        fputs("\r\033[K", p->out);
}
