/* Objectives of learning and their gradients; see objective.c. */

#pragma once

#include "agent.h"

enum { POLICY, VALUE, ENTROPY, KL, CLIPPED, RATES, STATISTICS };
enum { LOSS, STEP_LOSS, CORRECT, SUPERVISED }; /* the first places, of a supervised agent */

struct objective {
    float clip, clip_range_vf, ent_coef, vf_coef; /* clip_range_vf: how far values may go from the old ones */
    float imitation;                              /* weight of the cross-entropy of the correct actions */
    float mean, scale, share;                     /* of advantages, and the weight of a step */
    float l1, l2;                                 /* penalties on |h| and h^2 of a unit at a step */
};

void add_ppo_objective(const struct agent *a, const struct packed_weights *packed, const struct objective *o,
                       const struct workspace *w, int64_t n, struct gradient_sums *gradients, double *statistics);
void add_supervised_loss(const struct agent *a, const struct workspace *w, int64_t n, double *statistics);
void add_penalty_on_rates(const struct agent *a, const struct objective *o, const struct workspace *w, int64_t n,
                          double *statistics);
