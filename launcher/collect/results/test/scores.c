/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include "src/atomicfile.h"
#include "t/tap.h"

#define HEADER "image,class,iou,dice,intersection\n"

static char path[] = "/tmp/unetctl-scores.XXXXXX";
static struct err e;

static struct scores *read_text(const char *text)
{
    if (atomicfile_write(path, text, strlen(text), 0600, &e))
        bail_out("%s", e.text);
    return scores_read(path, "iou", &e);
}

static void refused(const char *text, const char *why, const char *what)
{
    struct scores *s = read_text(text);

    ok(!s && e.code == ERR_DATA && strstr(e.text, why), "refused: %s (%s)", what,
       s ? "accepted" : e.text);
    scores_destroy(s);
}

int main(void)
{
    int fd = mkstemp(path);

    close(fd);
    struct scores *a = read_text(HEADER
                                 "c,all,0.7,0,1\n\"a,b\",all,0.5,0,1\n\"a,b\",cell,0.1,0,1\n"
                                 "d,all,1,0,1\n");
    struct scores *b = read_text(HEADER "d,all,0.75,0,1\nx,all,0.2,0,1\n\"a,b\",all,0.25,0,1\n");
    ok(a && b && a->count == 3 && b->count == 3, "only rows of class all count");
    scores_destroy(a);
    scores_destroy(b);
    a = read_text("image,class,iou,intersection,pred,truth\n"
                  "a,all,0.5,1,1,1\na,cell,0.5,3,5,4\na,edge,0.5,1,1,1\n"
                  "b,all,0.5,1,1,1\nb,back,0.5,9,9,9\nb,cell,0.5,1,2,3\n");
    ok(a && a->nclasses == 3 && !strcmp(a->classes[0].name, "back") &&
           !strcmp(a->classes[1].name, "cell") && !strcmp(a->classes[2].name, "edge"),
       "classes keep the order that images list them in");
    ok(a && scores_class_iou(&a->classes[1]) == (4. + 1) / (6 + 4 + 1),
       "the IoU of a class is over the pixels of all images");
    scores_destroy(a);
    refused("image,iou\na,1\n", ":1: there are no columns", "another header");
    refused(HEADER "a,all,0.5,0\n", ":2: the row does not have 5 cells", "a short row");
    refused(HEADER "a,all,nan,0,1\n", ":2: 'nan' is not in 0..1", "NaN");
    refused(HEADER "a,all,1.5,0,1\n", "is not in 0..1", "an IoU above 1");
    refused(HEADER "a,all,0.5,0,1\na,all,0.5,0,1\n", "twice", "an image twice");
    refused(HEADER "a,all,0.5,0,1\nb,all", "no newline", "a cut file");
    refused(HEADER, "there is no image", "no image");
    refused("", "no columns", "an empty file");
    unlink(path);
    return done_testing();
}
