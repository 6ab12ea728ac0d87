/* An actor-critic agent: sizes, memory, and what agent.c does with them. */

#ifndef NGYM_AGENT_H
#define NGYM_AGENT_H

#include "loops.h"

#define STEPS 256      /* steps that are taken at a time, */
#define SIDE_BY_SIDE 8 /* or sequences if those are more steps: their gates stay in the cache */
#define CHUNKS 8
#define MOST_LAYERS 8
#define MOST_DENSE 5 /* layers of a read-out, the last one included */

enum { POLICY, VALUE, ENTROPY, KL, CLIPPED, STATISTICS };
enum { TANH_UNITS, RELU_UNITS };

/* The agent has one or two networks of recurrent layers, and two read-outs: preferences (or means, if actions are
   continuous) from the first network, the value from the last. Read-outs of one layer from one network are one
   product; then `chains` is 1 and the value comes after the preferences. */
struct agent {
    int64_t cell, features, units, layers, networks, actions, continuous, activation;
    int64_t wide;                     /* gates * units */
    int64_t chains, dense[2];         /* read-outs, and how many layers each has */
    int64_t width[2][MOST_DENSE + 1]; /* what goes into a read-out, then what each of its layers gives */
    int64_t weights;                  /* how many there are */
};

/* The weights as they are worked with. */
struct packed {
    struct {
        float *weight;                 /* (gate * unit, unit + input + 1) */
        float *gates, *state, *inputs; /* panels of [h, x, 1] to the gates, and of the gates back to h and to x */
    } layer[2][MOST_LAYERS];
    struct {
        float *weight, *bias;  /* (out, in), (out) */
        float *read, *unread;  /* panels there and back */
    } dense[2][MOST_DENSE];
    float *log_std; /* (action), if actions are continuous */
};

/* Gradients summed over the steps of a chunk, in one piece of memory of `size` numbers. */
struct sums {
    float *memory, *layer[2][MOST_LAYERS]; /* (unit + input + 1, gate * unit) */
    float *weight[2][MOST_DENSE], *bias[2][MOST_DENSE], *log_std;
    int64_t size;
};

/* What is worked on at a time. */
struct work {
    struct loop loop[2][MOST_LAYERS];
    int64_t *counts, *chosen;
    float *x, *moved;  /* (step, feature), (step, action) */
    float *known[5];   /* (step): old log-probabilities, advantages, returns, values, weights */
    float *out[2][MOST_DENSE], *d_in, *dh[2];
    lanes *side, *probability; /* (action + 1): outputs of some steps side by side */
};

enum { OLD, ADVANTAGE, RETURN, BEFORE, WEIGHT };

/* The rollout, with a step at time t of environment e in place t * envs + e. */
struct rollout {
    int64_t envs, times;
    const float *obs, *noise[2];       /* (place, feature), (time, layer, environment, unit); noise may be null */
    float *h[2], *c[2];                /* (time, layer, environment, unit), states before the step; c may be null */
    float *logits, *values;            /* (place, action), (place) */
    int64_t *chosen;                   /* (place): actions, or if they are continuous */
    float *moved;                      /* (place, action) */
    float *old;                        /* (place): log-probabilities of the actions */
    const float *advantages, *returns; /* (place) */
    const uint8_t *counts;             /* (place): whether it is learned from */
    float alpha, noise_scale;
};

struct objective {
    float clip, reach, ent_coef, vf_coef; /* reach: how far values may go from the old ones */
    float mean, scale, share;             /* of advantages, and the weight of a step */
};

/* Sequences of the rollout, the longest first: place of the first step, number of steps. */
struct sequences {
    const int64_t *first, *length;
    int64_t n;
};

/* Each lays arrays out in memory, or if there is none only says how much it takes. */
int64_t lay_packed(const struct agent *a, struct packed *p, float *memory);
int64_t lay_sums(const struct agent *a, struct sums *s, float *memory);
int64_t lay_work(const struct agent *a, int64_t steps, int noisy, struct work *w, float *memory);

int64_t most_steps(int64_t envs, int64_t longest);
int64_t count_groups(const struct sequences *s);
void agent_prepare(const struct agent *a, const float *weights, const struct packed *p);
void agent_act(const struct agent *a, const struct packed *p, const struct rollout *o, struct work *w, int64_t time,
               int64_t first, int64_t end, const float *draws);
void agent_learn(const struct agent *a, const struct packed *p, const struct rollout *o, const struct objective *j,
                 struct work *w, const struct sequences *s, int64_t chunk, int64_t chunks, struct sums *sums,
                 double *numbers);
void agent_collect(const struct agent *a, float *memory, int64_t chunks, int64_t apart, float *gradient);

#endif
