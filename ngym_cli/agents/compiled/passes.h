/* Acting, and the gradient over the sequences of a minibatch; see passes.c. */

#pragma once

#include "objective.h"
#include "team.h"

/* The environments from `first` to before `end` act at this time, with draws (environment, action): fills actions,
   their log-probabilities, preferences, values and the states after the step. None depends on which others act. */
void agent_act(const struct agent *a, const struct packed_weights *p, const struct rollout *o, struct workspace *w,
               int64_t time, int64_t first, int64_t end, const float *draws);

/* All networks over the sequences in the workspace, forward, and back from the gradient at the activity of the top layers,
   `dh` of the workspace, over all n steps. A team may share in both, or null. */
void forward_layers(const struct agent *a, const struct packed_weights *p, struct workspace *w, struct team *team);
void backward_layers(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n,
                     struct gradient_sums *sums, struct team *team);

/* All heads of n steps: their outputs, and back from these, which have become their gradient, to `dh`. */
void forward_heads(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n);
void backward_heads(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n,
                    struct gradient_sums *sums);

/* Keeps the states of the first network after the last steps of n sequences, in these columns (null: in order) of h and
   c (layer, column, unit), of which there are so many; none if h is null. c is null in networks without. */
void keep_last(const struct agent *a, const struct workspace *w, int64_t n, const int64_t *columns, int64_t apart,
               float *h, float *c);

/* Groups of sequences that are taken forward and back one after the other. */
int64_t count_groups(const struct sequences *s);

/* Sums over the sequences of a chunk, in which a team may share, or null. */
void agent_gradient(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                    const struct objective *j, struct workspace *w, const struct sequences *s, int64_t chunk,
                    int64_t chunks, struct gradient_sums *sums, double *statistics, struct team *team);
