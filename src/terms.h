/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that study.yaml and run.json have for settings of a training: what one program lets
 * people write, the other knows. Each list ends with NULL. */
#ifndef UNETCTL_SRC_TERMS_H
#define UNETCTL_SRC_TERMS_H

extern const char *const terms_remainders[]; /* data.remainder */
extern const char *const terms_files[]; /* data.files */
extern const char *const terms_batch_norms[]; /* model.batch_norm */
extern const char *const terms_losses[]; /* train.loss */
extern const char *const terms_optimizers[]; /* train.optimizer */
extern const char *const terms_lr_scalings[]; /* train.lr_scaling */
extern const char *const terms_lr_schedules[]; /* train.lr_schedule */
extern const char *const terms_keeps[]; /* train.keep */
extern const char *const terms_warmups[]; /* train.warmup */
extern const char *const terms_backends[]; /* train.backend */
extern const char *const terms_dtypes[]; /* train.dtype; the usual one first */
extern const char *const terms_compressions[]; /* train.compress */
extern const char *const terms_comms[]; /* train.comm */
extern const char *const terms_allreduces[]; /* train.allreduce; the usual one first */

#endif
