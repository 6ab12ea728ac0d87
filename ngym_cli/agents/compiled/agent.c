/* Arrays of an agent and their order: where they lie in memory that Python owns, how weights are packed for products,
   and how sums of gradients become the gradient of the weights.

   Arrays follow each other, each at the beginning of a line of the cache. */

#include "agent.h"

/* -- sizes --------------------------------------------------------------------------------------------------------- */

const char *parse_agent(struct agent *a, const int64_t *shape, int64_t length) {
    memset(a, 0, sizeof *a);
    if (length < HEAD) return "the agent has no sizes";
    a->cell = shape[0], a->features = shape[1], a->units = shape[2], a->layers = shape[3], a->networks = shape[4];
    a->actions = shape[5], a->continuous = shape[6] != 0, a->activation = shape[7];
    if (a->cell < LSTM || a->cell > SOFTPLUS) return "there is no such cell";
    if (a->layers < 1 || a->layers > MAX_LAYERS || a->networks < 1 || a->networks > 2) return "there are no layers";
    if (a->features < 0 || a->units < 1 || a->actions < 0) return "there are no units or no actions";
    if (a->features > MAX_SIZE || a->units > MAX_SIZE || a->actions > MAX_SIZE) return "the agent is too large";
    if (a->activation < TANH_UNITS || a->activation > RELU_UNITS) return "there is no such activation";
    const int64_t *hidden = shape + HEAD, *end = shape + length;
    a->gate_rows = GATES[a->cell] * a->units;
    a->joint = shape[VALUED] && a->networks == 1 && !shape[ACTION_HEAD] && !shape[VALUE_HEAD];
    a->heads = !a->actions ? 0 : shape[VALUED] && !a->joint ? 2 : 1;
    if (!a->heads && (a->networks > 1 || a->continuous || shape[VALUED])) return "networks without heads are alone";
    if (!shape[VALUED] && (a->networks > 1 || shape[VALUE_HEAD])) return "without a value there is no critic";
    for (int64_t c = 0; c < 2; c++) {
        int64_t layers = shape[ACTION_HEAD + c];
        if (layers < 0 || layers >= MAX_HEAD_LAYERS || hidden + layers > end) return "a head has too many layers";
        a->head_layers[c] = layers + 1;
        a->head_width[c][0] = a->units;
        for (int64_t d = 1; d < a->head_layers[c]; d++) {
            a->head_width[c][d] = *hidden++;
            if (a->head_width[c][d] < 1 || a->head_width[c][d] > MAX_SIZE) return "a layer of a head has no units";
        }
        a->head_width[c][a->head_layers[c]] = c ? 1 : a->actions + a->joint;
    }
    FOR_LAYERS(a, net, l) a->weights += a->gate_rows * (row_length(a, l) + 1);
    FOR_HEAD_LAYERS(a, c, d)
        a->weights += (a->head_width[c][d] + 1) * a->head_width[c][d + 1];
    if (a->continuous) a->weights += a->actions;
    return 0;
}

/* -- memory -------------------------------------------------------------------------------------------------------- */

/* Whether the gradient at the inputs of a layer may be asked for. */
static int learns_inputs(const struct agent *a, int64_t layer) { return layer || !a->heads; }

#define PLACE(pointer, size) ((pointer) = (void *)(begin + at), at += ((size) + 15) / 16 * 16)

static float *align_to_cache_line(float *memory) { return (float *)(((uintptr_t)memory + 63) / 64 * 64); }

int64_t layout_weights(const struct agent *a, struct packed_weights *p, float *memory) {
    float *begin = align_to_cache_line(memory);
    int64_t at = 0;
    FOR_LAYERS(a, net, l) {
        PLACE(p->layer[net][l].weight, a->gate_rows * row_length(a, l));
        PLACE(p->layer[net][l].gates, packed_size(row_length(a, l), a->gate_rows));
        PLACE(p->layer[net][l].state, packed_size(a->gate_rows, a->units));
        PLACE(p->layer[net][l].inputs, learns_inputs(a, l) ? packed_size(a->gate_rows, layer_inputs(a, l)) : 0);
    }
    FOR_HEAD_LAYERS(a, c, d) {
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
    FOR_LAYERS(a, net, l) PLACE(s->layer[net][l], row_length(a, l) * a->gate_rows);
    FOR_HEAD_LAYERS(a, c, d) {
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
    l->h0_fixed = 1;
    l->cell = a->cell, l->features = layer_inputs(a, layer), l->units = a->units;
    *memory = begin + at;
}

int64_t layout_workspace(const struct agent *a, int64_t steps, int noisy, struct workspace *w, float *memory) {
    float *begin = align_to_cache_line(memory), *start = begin;
    int64_t at = 0, widest = a->units;
    memset(w, 0, sizeof *w);
    FOR_HEAD_LAYERS(a, c, d) {
        PLACE(w->head_out[c][d], steps * a->head_width[c][d + 1]);
        if (a->head_width[c][d] > widest) widest = a->head_width[c][d];
    }
    PLACE(w->d_input, steps * widest);
    PLACE(w->weights, a->weights);
    for (int64_t net = 0; net < a->networks; net++) PLACE(w->dh[net], steps * a->units);
    PLACE(w->counts, 2 * steps);
    PLACE(w->chosen, 2 * steps);
    PLACE(w->correct, 2 * steps);
    PLACE(w->moved, a->continuous ? steps * a->actions : 0);
    PLACE(w->x, steps * a->features);
    for (int k = 0; k < PER_STEP; k++) PLACE(w->per_step[k], steps);
    PLACE(w->logits, (a->actions + 1) * LANES);
    PLACE(w->probabilities, (a->actions + 1) * LANES);
    begin += at;
    FOR_LAYERS(a, net, l) {
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

/* -- weights ------------------------------------------------------------------------------------------------------- */

static void pack_layer(const struct agent *a, const struct packed_weights *p, int64_t net, int64_t l,
                          const float **at) {
    int64_t units = a->units, inputs = layer_inputs(a, l), depth = row_length(a, l), gate_rows = a->gate_rows;
    const float *of_h = *at, *of_x = of_h + gate_rows * units, *bias = of_x + gate_rows * inputs;
    const float *second = bias + gate_rows;
    float *weight = p->layer[net][l].weight;
    for (int64_t r = 0; r < gate_rows; r++) {
        float *row = weight + r * depth;
        memcpy(row, of_h + r * units, 4 * units);
        memcpy(row + units, of_x + r * inputs, 4 * inputs);
        row[depth - 1] = bias[r] + second[r];
    }
    pack(weight, 1, depth, depth, gate_rows, p->layer[net][l].gates);
    pack(weight, depth, 1, gate_rows, units, p->layer[net][l].state);
    if (learns_inputs(a, l)) pack(weight + units, depth, 1, gate_rows, inputs, p->layer[net][l].inputs);
    *at = second + gate_rows;
}

/* Weights: for each network and layer those of h (gate * unit, unit), of the inputs (gate * unit, input) and two biases
   (gate * unit); for each read-out and its layers (out, in) and a bias (out); logarithms of standard deviations. */
void pack_weights(const struct agent *a, const float *weights, const struct packed_weights *p) {
    const float *at = weights;
    FOR_LAYERS(a, net, l) pack_layer(a, p, net, l, &at);
    FOR_HEAD_LAYERS(a, c, d) {
        int64_t in = a->head_width[c][d], out = a->head_width[c][d + 1];
        for (int64_t row = 0, rows; row < out; row += rows) { /* preferences and value follow each other */
            rows = a->joint && !row ? out - 1 : out - row;
            memcpy(p->head[c][d].weight + row * in, at, 4 * rows * in);
            memcpy(p->head[c][d].bias + row, at + rows * in, 4 * rows);
            at += rows * in + rows;
        }
        pack(p->head[c][d].weight, 1, in, in, out, p->head[c][d].forward);
        pack(p->head[c][d].weight, in, 1, out, in, p->head[c][d].backward);
    }
    if (a->continuous) memcpy(p->log_std, at, 4 * a->actions);
}

/* Writes the transpose of a matrix (rows, columns), in squares that the nearest cache holds; returns where it ends. */
static float *transpose(const float *from, int64_t rows, int64_t columns, float *to) {
    enum { SIDE = 16 };
    for (int64_t j = 0; j < columns; j += SIDE)
        for (int64_t i = 0; i < rows; i += SIDE)
            for (int64_t c = j; c < columns && c < j + SIDE; c++)
                for (int64_t r = i; r < rows && r < i + SIDE; r++) to[c * rows + r] = from[r * columns + c];
    return to + rows * columns;
}

/* Hands the sums of all chunks over, in the order of the weights; those of the first become those of all. */
void collect_gradient(const struct agent *a, float *memory, int64_t chunks, int64_t apart, float *gradient) {
    struct gradient_sums all, more;
    float *to = gradient;
    layout_gradient_sums(a, &all, memory);
    for (int64_t k = 1; k < chunks; k++) {
        layout_gradient_sums(a, &more, memory + k * apart);
        for (int64_t i = 0; i < all.size; i++) all.memory[i] += more.memory[i];
    }
    FOR_LAYERS(a, net, l) {
        int64_t gate_rows = a->gate_rows, units = a->units, inputs = layer_inputs(a, l);
        const float *sum = all.layer[net][l];
        to = transpose(sum, units, gate_rows, to);
        to = transpose(sum + units * gate_rows, inputs, gate_rows, to);
        for (int twice = 0; twice < 2; twice++, to += gate_rows)
            memcpy(to, sum + (units + inputs) * gate_rows, 4 * gate_rows);
    }
    FOR_HEAD_LAYERS(a, c, d) {
        int64_t in = a->head_width[c][d], out = a->head_width[c][d + 1];
        for (int64_t row = 0, rows; row < out; row += rows) {
            rows = a->joint && !row ? out - 1 : out - row;
            memcpy(to, all.weight[c][d] + row * in, 4 * rows * in);
            memcpy(to + rows * in, all.bias[c][d] + row, 4 * rows);
            to += rows * in + rows;
        }
    }
    if (a->continuous) memcpy(to, all.log_std, 4 * a->actions);
}
