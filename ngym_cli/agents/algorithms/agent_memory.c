/* Where the arrays of an agent lie: one after the other in memory that Python owns, each at the beginning of a line of
   the cache. */

#include "agent.h"

#define PLACE(pointer, size) ((pointer) = (void *)(begin + at), at += ((size) + 15) / 16 * 16)

static float *align_to_cache_line(float *memory) { return (float *)(((uintptr_t)memory + 63) / 64 * 64); }

int64_t layout_weights(const struct agent *a, struct packed_weights *p, float *memory) {
    float *begin = align_to_cache_line(memory);
    int64_t at = 0;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) {
            PLACE(p->layer[net][l].weight, a->gate_rows * row_length(a, l));
            PLACE(p->layer[net][l].gates, packed_size(row_length(a, l), a->gate_rows));
            PLACE(p->layer[net][l].state, packed_size(a->gate_rows, a->units));
            PLACE(p->layer[net][l].inputs, l ? packed_size(a->gate_rows, a->units) : 0);
        }
    for (int64_t c = 0; c < a->heads; c++)
        for (int64_t d = 0; d < a->head_layers[c]; d++) {
            int64_t in = a->head_width[c][d], out = a->head_width[c][d + 1];
            PLACE(p->head[c][d].weight, out * in);
            PLACE(p->head[c][d].bias, out);
            PLACE(p->head[c][d].forward, packed_size(in, out));
            PLACE(p->head[c][d].backward, packed_size(out, in));
        }
    PLACE(p->log_std, a->actions);
    return at + 16;
}

int64_t layout_gradient_sums(const struct agent *a, struct gradient_sums *s, float *memory) {
    float *begin = s->memory = align_to_cache_line(memory);
    int64_t at = 0;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) PLACE(s->layer[net][l], row_length(a, l) * a->gate_rows);
    for (int64_t c = 0; c < a->heads; c++)
        for (int64_t d = 0; d < a->head_layers[c]; d++) {
            PLACE(s->weight[c][d], a->head_width[c][d] * a->head_width[c][d + 1]);
            PLACE(s->bias[c][d], a->head_width[c][d + 1]);
        }
    PLACE(s->log_std, a->actions);
    s->size = at;
    return at + 16;
}

static void layout_loop(const struct agent *a, int64_t layer, int64_t steps, int noisy, struct loop *l,
                        float **memory) {
    float *begin = *memory;
    int64_t at = 0, units = steps * a->units, c = a->cell == LSTM ? units : 0;
    PLACE(l->noise, noisy ? steps * a->gate_rows : 0);
    PLACE(l->h0, units);
    PLACE(l->c0, c);
    PLACE(l->dh0, units);
    PLACE(l->dc0, c);
    PLACE(l->rows, steps * row_length(a, layer));
    PLACE(l->gates, steps * a->gate_rows);
    PLACE(l->h, units);
    PLACE(l->c, c);
    PLACE(l->squashed, c);
    if (!noisy) l->noise = 0;
    l->cell = a->cell, l->features = layer_inputs(a, layer), l->units = a->units;
    *memory = begin + at;
}

int64_t layout_workspace(const struct agent *a, int64_t steps, int noisy, struct workspace *w, float *memory) {
    float *begin = align_to_cache_line(memory), *start = begin;
    int64_t at = 0, widest = a->units;
    memset(w, 0, sizeof *w);
    for (int64_t c = 0; c < a->heads; c++)
        for (int64_t d = 0; d < a->head_layers[c]; d++) {
            PLACE(w->head_out[c][d], steps * a->head_width[c][d + 1]);
            if (a->head_width[c][d] > widest) widest = a->head_width[c][d];
        }
    PLACE(w->d_input, steps * widest);
    PLACE(w->weights, a->weights);
    for (int64_t net = 0; net < a->networks; net++) PLACE(w->dh[net], steps * a->units);
    PLACE(w->counts, 2 * steps);
    PLACE(w->chosen, 2 * steps);
    PLACE(w->moved, a->continuous ? steps * a->actions : 0);
    PLACE(w->x, steps * a->features);
    for (int k = 0; k < PER_STEP; k++) PLACE(w->per_step[k], steps);
    PLACE(w->logits, (a->actions + 1) * LANES);
    PLACE(w->probabilities, (a->actions + 1) * LANES);
    begin += at;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) {
            layout_loop(a, l, steps, noisy, &w->loop[net][l], &begin);
            w->loop[net][l].counts = w->counts;
            w->loop[net][l].x = l ? w->loop[net][l - 1].h : w->x;
        }
    return begin - start + 16;
}

int64_t max_group_steps(int64_t envs, int64_t longest) {
    int64_t steps = GROUP_STEPS > envs ? GROUP_STEPS : envs;
    return steps > MIN_GROUP_SEQUENCES * longest ? steps : MIN_GROUP_SEQUENCES * longest;
}
