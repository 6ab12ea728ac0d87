/* The networks and heads of an agent, or a recurrent network alone, over packed sequences, as Python calls them
   (network.py): forward to activity and outputs, and back from their gradients to those of weights, inputs and first
   states. */

#include "kernel.h"
#include "passes.h"

#define NETWORK(X)                                                                                                     \
    X(INT, rank) X(INT, threads) X(MAYBE_OUT, team, int64, 96) X(IN, shape, int64, length) X(FLOAT, alpha)             \
    X(FLOAT, noise_scale) X(OUT, packed, float32, packed) X(OUT, work, float32, work) X(IN, counts, int64, times)      \
    X(MAYBE, noise, float32, steps,layers,units) X(MAYBE, critic_noise, float32, steps,layers,units)                   \
    X(IN, h0, float32, layers,sequences,units) X(MAYBE, critic_h0, float32, layers,sequences,units)                    \
    X(MAYBE, c0, float32, layers,sequences,units) X(MAYBE, critic_c0, float32, layers,sequences,units)                 \
    X(MAYBE_OUT, top, float32, steps,units) X(MAYBE_OUT, logits, float32, steps,actions)                               \
    X(MAYBE_OUT, values, float32, steps)
#define NETWORK_SIZES length, packed, work, times, steps, layers, units, sequences, features, actions
STRUCTS(network, NETWORK, NETWORK_SIZES)

static int has_values(const struct agent *a) { return a->joint || a->heads > 1; }

/* What does not fit together in the sequences that Python gave. */
static const char *misfit_of_sequences(const struct network_arguments *given, const struct network_sizes *size,
                                       const struct agent *a) {
    const float *h0[2] = {given->h0, given->critic_h0}, *c0[2] = {given->c0, given->critic_c0};
    const float *noise[2] = {given->noise, given->critic_noise};
    if (size->layers != a->layers || size->units != a->units) return "the states do not fit the network";
    for (int64_t net = 0; net < 2; net++) {
        int64_t exists = net < a->networks;
        if (exists != (h0[net] != 0)) return "the states do not fit the network";
        if ((exists && a->cell == LSTM) != (c0[net] != 0)) return "an LSTM has a state c, others have none";
        if ((exists && given->noise) != (noise[net] != 0)) return "one network has noise, the other has none";
    }
    if (given->noise && a->gate_rows != a->units) return "there is no noise in such a cell";
    if (given->logits && size->actions != a->actions) return "the outputs do not fit the heads";
    if (given->threads < 1 || given->threads > 255 || (given->threads > 1 && !given->team))
        return "there cannot be so many threads";
    int64_t total = 0;
    for (int64_t t = 0; t < size->times; total += given->counts[t++]) {
        int64_t most = t ? given->counts[t - 1] : size->sequences;
        if (given->counts[t] < 1 || given->counts[t] > most || given->counts[t] > size->steps - total)
            return "sequences are not packed";
    }
    return total && total == size->steps && given->counts[0] == size->sequences ? 0 : "sequences are not packed";
}

/* Lays the network out over the sequences; all but the inputs. */
static const char *lay_out_network(const struct call *c, struct agent *a, struct packed_weights *p,
                                   struct workspace *w) {
    TAKE(network);
    const char *problem = parse_agent(a, given.shape, size.length);
    if (!problem) problem = misfit_of_sequences(&given, &size, a);
    if (problem) return problem;
    if (size.packed < layout_weights(a, p, 0)) return BUFFER_TOO_SMALL;
    if (size.work < layout_workspace(a, size.steps, given.noise != 0, w, 0)) return BUFFER_TOO_SMALL;
    layout_weights(a, p, given.packed);
    layout_workspace(a, size.steps, given.noise != 0, w, given.work);
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t k = 0, at = 0; k < a->layers; k++, at += size.sequences * a->units) {
            struct loop *l = &w->loop[net][k];
            l->alpha = given.alpha, l->times = size.times, l->counts = given.counts;
            l->h0 = (net ? given.critic_h0 : given.h0) + at;
            if (given.c0) l->c0 = (net ? given.critic_c0 : given.c0) + at;
        }
    return 0;
}

/* Takes parts of what the leader of a team offers. */
static const char *join_team(struct team *team, int64_t rank) {
    int64_t part, parts;
    while (wait_for_part(team, rank, &part, &parts)) {
        team->work.run(team->work.data, part, parts);
        finish_part(team);
    }
    return 0;
}

/* The team that a thread belongs to, or null. */
static struct team *team_of(int64_t *memory, int64_t threads) {
    struct team *team = threads > 1 ? (void *)memory : 0;
    if (team) team->threads = threads;
    return team;
}

/* Scales the noise (step, layer, unit) of a network. */
static void put_noise(const struct agent *a, struct workspace *w, int64_t net, int64_t steps, const float *noise,
                      float scale) {
    int64_t row = a->units;
    for (int64_t k = 0; noise && k < a->layers; k++)
        for (int64_t i = 0; i < steps * row; i++)
            ((float *)w->loop[net][k].noise)[i] = scale * noise[(i / row * a->layers + k) * row + i % row];
}

#define FORWARD(X)                                                                                                     \
    NETWORK(X) X(IN, x, float32, steps,features) X(MAYBE_OUT, h, float32, layers,sequences,units)                      \
    X(MAYBE_OUT, c, float32, layers,sequences,units)
DECLARE(forward, FORWARD, NETWORK_SIZES)

static const char *run_forward(struct call *c) {
    TAKE(forward);
    struct agent a;
    struct packed_weights p;
    struct workspace w;
    const char *problem = lay_out_network(c, &a, &p, &w);
    if (problem) return problem;
    if (size.features != a.features) return "the inputs do not fit the network";
    if (!given.top || (a.heads && !given.logits) || (has_values(&a) && !given.values)) return "an output is missing";
    if (given.h && (a.cell == LSTM) != (given.c != 0)) return "an LSTM has a state c, others have none";
    if (given.rank) return join_team((struct team *)given.team, given.rank);
    for (int64_t net = 0; net < a.networks; net++) {
        w.loop[net][0].x = given.x;
        put_noise(&a, &w, net, size.steps, net ? given.critic_noise : given.noise, given.noise_scale);
    }
    struct team *team = team_of(given.team, given.threads);
    forward_layers(&a, &p, &w, team);
    if (team) end_work(team);
    memcpy(given.top, w.loop[0][a.layers - 1].h, 4 * size.steps * a.units);
    keep_last(&a, &w, size.sequences, 0, size.sequences, given.h, given.c);
    if (!a.heads) return 0;
    forward_heads(&a, &p, &w, size.steps);
    struct outputs f = head_outputs(&a, &w);
    for (int64_t r = 0; r < size.steps; r++) {
        memcpy(given.logits + r * a.actions, f.logits + r * f.logits_apart, 4 * a.actions);
        if (has_values(&a)) given.values[r] = f.value[r * f.value_apart];
    }
    return 0;
}

/* Goes back over the heads from gradients at their outputs, of which each may be missing. */
static void run_heads_backward(const struct agent *a, const struct packed_weights *p, struct workspace *w,
                               int64_t steps, const float *logits, const float *values, struct gradient_sums *sums) {
    struct outputs f = head_outputs(a, w);
    for (int64_t r = 0; r < steps; r++) {
        for (int64_t k = 0; k < a->actions; k++)
            f.logits[r * f.logits_apart + k] = logits ? logits[r * a->actions + k] : 0;
        if (has_values(a)) f.value[r * f.value_apart] = values ? values[r] : 0;
    }
    backward_heads(a, p, w, steps, sums);
}

/* `top`, `logits` and `values` are gradients at the activity and the outputs; `h` and `c` are gradients at the last
   states, and become those at the first; `slopes` are those of the weights. */
#define BACKWARD(X)                                                                                                    \
    NETWORK(X) X(MAYBE_OUT, h, float32, layers,sequences,units) X(MAYBE_OUT, c, float32, layers,sequences,units)       \
    X(MAYBE_OUT, x, float32, steps,features) X(OUT, sums, float32, sums) X(OUT, slopes, float32, n)
DECLARE(backward, BACKWARD, NETWORK_SIZES, sums, n)

static const char *run_backward(struct call *c) {
    TAKE(backward);
    struct agent a;
    struct packed_weights p;
    struct workspace w;
    struct gradient_sums sums;
    const char *problem = lay_out_network(c, &a, &p, &w);
    if (problem) return problem;
    if (a.heads && (given.x || given.h)) return "heads know no gradients at inputs and states";
    if (given.x && size.features != a.features) return "the inputs do not fit the network";
    if (given.h && (a.cell == LSTM) != (given.c != 0)) return "an LSTM has a state c, others have none";
    if (size.sums < layout_gradient_sums(&a, &sums, 0)) return BUFFER_TOO_SMALL;
    if (size.n != a.weights) return "there are not as many weights as the network has";
    if (given.rank) return join_team((struct team *)given.team, given.rank);
    layout_gradient_sums(&a, &sums, given.sums);
    memset(sums.memory, 0, 4 * sums.size);
    if (a.heads) run_heads_backward(&a, &p, &w, size.steps, given.logits, given.values, &sums);
    else memset(w.dh[0], 0, 4 * size.steps * a.units);
    for (int64_t i = 0; given.top && i < size.steps * a.units; i++) w.dh[0][i] += given.top[i];
    for (int64_t k = 0; given.h && k < a.layers; k++) {
        struct loop *l = &w.loop[0][k];
        l->h0_fixed = 0, l->dh0 = given.h + k * size.sequences * a.units;
        if (given.c) l->dc0 = given.c + k * size.sequences * a.units;
    }
    struct team *team = team_of(given.team, given.threads);
    backward_layers(&a, &p, &w, size.steps, &sums, team);
    if (team) end_work(team);
    if (given.x)
        multiply(w.loop[0][0].gates, size.steps, a.gate_rows, p.layer[0][0].inputs, given.x, a.features, 0);
    collect_gradient(&a, given.sums, 1, 0, given.slopes);
    return 0;
}

const struct kernel NETWORK_KERNELS[] = {KERNEL(forward, 1), KERNEL(backward, 1), {0}};
