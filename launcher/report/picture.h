/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures made from an SVG file by librsvg's rsvg-convert, which is found through PATH. */
#ifndef UNETCTL_LAUNCHER_REPORT_PICTURE_H
#define UNETCTL_LAUNCHER_REPORT_PICTURE_H

#include "src/err.h"

#define PICTURE_LIMIT_S 60 /* time limit of one picture */

/* Makes dir/NAME.pdf and dir/NAME.png, 4 times as large as on a screen, from dir/NAME.svg. Returns
 * 0, or -1 with ERR_INTERNAL, whose text says that rsvg-convert is not installed, or what it
 * reported. */
int picture_make(const char *dir, const char *name, struct err *e);

#endif
