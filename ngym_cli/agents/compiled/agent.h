/* A recurrent agent, actor-critic or supervised: its sizes, its memory and the order of its weights. */

#pragma once

#include "loops.h"

#define GROUP_STEPS 256       /* steps of the sequences that are learned from at a time, so that their gates stay in */
#define MIN_GROUP_SEQUENCES 8 /* the cache; at least so many sequences, however long they are */
#define MAX_CHUNKS 8
#define MAX_SIZE (1 << 20)
#define MAX_LAYERS 8
#define MAX_HEAD_LAYERS 5 /* the last one included */

enum { TANH_UNITS, RELU_UNITS };

/* The agent has one or two recurrent networks, and two heads: action preferences (means, if actions are continuous)
   read from the first network, the value from the last. Heads of one layer on the same network are computed as one
   product: then `heads` is 1, and the value is its last output (`joint`). A supervised agent has no value. A network
   alone has no heads. */
struct agent {
    int64_t cell, features, units, layers, networks, actions, continuous, activation;
    int64_t gate_rows;                          /* rows of a layer's weights: gates * units */
    int64_t heads, joint, head_layers[2];       /* how many heads, and the layers of each */
    int64_t head_width[2][MAX_HEAD_LAYERS + 1]; /* inputs of a head, then outputs of each of its layers */
    int64_t weights;                            /* numbers in all weights together */
};

/* The weights, and panels of them for products (products.h). */
struct packed_weights {
    struct {
        float *weight;                 /* (gate * unit, unit + input + 1) */
        float *gates, *state, *inputs; /* panels from [h, x, 1] to the gates, and from the gates back to h and to x */
    } layer[2][MAX_LAYERS];
    struct {
        float *weight, *bias;      /* (out, in), (out) */
        float *forward, *backward; /* panels from inputs to outputs, and from outputs back to inputs */
    } head[2][MAX_HEAD_LAYERS];
    float *log_std; /* (action), if actions are continuous */
};

/* Gradients summed over the steps of a chunk, in one piece of memory of `size` numbers. */
struct gradient_sums {
    float *memory, *layer[2][MAX_LAYERS]; /* (unit + input + 1, gate * unit) */
    float *weight[2][MAX_HEAD_LAYERS], *bias[2][MAX_HEAD_LAYERS], *log_std;
    int64_t size;
};

enum { OLD_LOG_PROB, ADVANTAGE, RETURN, OLD_VALUE, WEIGHT, PER_STEP, DUE = OLD_LOG_PROB /* if supervised */ };

/* Buffers for the steps that are computed at a time. */
struct workspace {
    struct loop loop[2][MAX_LAYERS];
    int64_t *counts, *chosen;      /* (time): sequences that have this step; (step): discrete actions */
    int64_t *correct;              /* (step): actions that are imitated */
    float *x, *moved;              /* (step, feature), (step, action): inputs, continuous actions */
    float *per_step[PER_STEP];     /* (step) */
    float *head_out[2][MAX_HEAD_LAYERS], *d_input, *dh[2];
    float *weights;                /* in the order of pack_weights */
    lanes *logits, *probabilities; /* (action + 1), of as many steps as fit into lanes */
};

/* The rollout, with a step at time t of environment e in place t * envs + e. Of what is only learned from, and not
   acted, there are the actions that are right, and states at time 0 that become those after the last step; or none, if
   they are zeros. */
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
    const int64_t *correct;            /* (place): actions that are imitated, or null */
    const float *weight;               /* (place): of the step in the loss of a supervised agent, else null */
    const uint8_t *due;                /* (place): whether an answer is due */
    float alpha, noise_scale;
};

/* Sequences of the rollout, the longest first: place of the first step, number of steps. */
struct sequences {
    const int64_t *first, *length;
    int64_t n;
};

/* Inputs of a layer, and the length of a row of its weights: h, the inputs and a bias. */
static inline int64_t layer_inputs(const struct agent *a, int64_t layer) { return layer ? a->units : a->features; }
static inline int64_t row_length(const struct agent *a, int64_t layer) { return a->units + layer_inputs(a, layer) + 1; }

/* Loops over the layers l of every network, and over the layers d of every head c. */
#define FOR_LAYERS(a, net, l)                                                                                          \
    for (int64_t net = 0; net < (a)->networks; net++)                                                                  \
        for (int64_t l = 0; l < (a)->layers; l++)
#define FOR_HEAD_LAYERS(a, c, d)                                                                                       \
    for (int64_t c = 0; c < (a)->heads; c++)                                                                           \
        for (int64_t d = 0; d < (a)->head_layers[c]; d++)

/* Where the outputs of the heads are, and how far those of one step are from those of the next. */
struct outputs {
    float *logits, *value;
    int64_t logits_apart, value_apart;
};

static inline struct outputs head_outputs(const struct agent *a, const struct workspace *w) {
    float *first = w->head_out[0][a->head_layers[0] - 1];
    if (a->heads == 1) return (struct outputs){first, first + a->actions, a->actions + a->joint, a->actions + a->joint};
    return (struct outputs){first, w->head_out[1][a->head_layers[1] - 1], a->actions, 1};
}

#define HALF_LOG_2_PI 0.918938533f

enum { ACTION_HEAD = 8, VALUE_HEAD, VALUED, HEAD }; /* places among the sizes of an agent */

/* An agent of these sizes: cell, features, units, layers, networks, actions, whether they are continuous, activation of
   heads, hidden layers of the action head and of the value head, whether there is a value, then the sizes of the hidden
   layers. A network alone has no actions. Returns what does not fit, or null. */
const char *parse_agent(struct agent *a, const int64_t *shape, int64_t length);

#define BUFFER_TOO_SMALL "a buffer is too small for the agent"

/* Each points the arrays of a structure into `memory` and returns how many numbers that takes; with no memory it only
   returns how many. */
int64_t layout_weights(const struct agent *a, struct packed_weights *p, float *memory);
int64_t layout_gradient_sums(const struct agent *a, struct gradient_sums *s, float *memory);
int64_t layout_workspace(const struct agent *a, int64_t steps, int noisy, struct workspace *w, float *memory);

/* Most steps that are computed at a time, of so many environments and sequences of at most so many steps. */
int64_t max_group_steps(int64_t envs, int64_t longest);

void pack_weights(const struct agent *a, const float *weights, const struct packed_weights *p);
void collect_gradient(const struct agent *a, float *memory, int64_t chunks, int64_t apart, float *gradient);
