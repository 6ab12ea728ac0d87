/* The interface for Python (agent.py): arguments are checked against the agent's sizes. */

#include "kernel.h"
#include "update.h"

_Static_assert(sizeof(struct shared_update) <= 8 * 96, "the memory that threads share is too small");

static const char SIZE_MISMATCH[] = "the rollout does not fit the sizes of the agent";

#define SIZES(X) X(IN, shape, int64, length) X(INT, noisy) X(INT, envs) X(INT, longest) X(OUT, found, int64, 5)
DECLARE(sizes, SIZES, length)

static const char *run_sizes(struct call *c) {
    TAKE(sizes);
    struct agent a;
    struct packed_weights p;
    struct gradient_sums s;
    struct workspace w;
    const char *problem = parse_agent(&a, given.shape, size.length);
    if (problem) return problem;
    if (given.envs < 1 || given.envs > MAX_SIZE || given.longest < 1 || given.longest > MAX_SIZE) return SIZE_MISMATCH;
    given.found[0] = a.weights;
    given.found[1] = layout_weights(&a, &p, 0);
    given.found[2] = layout_gradient_sums(&a, &s, 0);
    given.found[3] = layout_workspace(&a, max_group_steps(given.envs, given.longest), given.noisy != 0, &w, 0);
    given.found[4] = MAX_CHUNKS;
    return 0;
}

#define PREPARE(X) X(IN, shape, int64, length) X(IN, weights, float32, n) X(OUT, packed, float32, packed)
DECLARE(prepare, PREPARE, length, n, packed)

static const char *run_prepare(struct call *c) {
    TAKE(prepare);
    struct agent a;
    struct packed_weights p;
    const char *problem = parse_agent(&a, given.shape, size.length);
    if (problem) return problem;
    if (size.n != a.weights) return "there are not as many weights as the agent has";
    if (size.packed < layout_weights(&a, &p, 0)) return BUFFER_TOO_SMALL;
    layout_weights(&a, &p, given.packed);
    pack_weights(&a, given.weights, &p);
    return 0;
}

/* `act` and `gradient` begin with the agent and its rollout. An agent without a value is supervised. Whether weights,
   actions and values are read or written differs. */
#define AGENT(X, PACKED, ACTION, VALUE)                                                                                \
    X(IN, shape, int64, length) X(FLOAT, alpha) X(FLOAT, noise_scale) X(PACKED, packed, float32, packed)               \
    X(OUT, work, float32, work) X(IN, obs, float32, times,envs,features)                                               \
    X(MAYBE, noise, float32, times,layers,envs,units) X(MAYBE, critic_noise, float32, times,layers,envs,units)         \
    X(MAYBE_OUT, h, float32, moments,layers,envs,units) X(MAYBE_OUT, c, float32, moments,layers,envs,units)            \
    X(MAYBE_OUT, critic_h, float32, moments,layers,envs,units)                                                         \
    X(MAYBE_OUT, critic_c, float32, moments,layers,envs,units) X(ACTION, chosen, int64, times,envs)                    \
    X(ACTION, moved, float32, times,envs,actions) X(VALUE, values, float32, times,envs)                                \
    X(VALUE, old, float32, times,envs)
#define ROLLOUT_SIZES length, packed, work, times, envs, features, layers, units, moments, actions

#define ROLLOUT(X) AGENT(X, OUT, MAYBE_OUT, MAYBE_OUT)
STRUCTS(rollout, ROLLOUT, ROLLOUT_SIZES)

/* Fills in the agent and its rollout. */
static const char *parse_rollout(const struct call *c, struct agent *a, struct rollout *o) {
    TAKE(rollout);
    const char *problem = parse_agent(a, given.shape, size.length);
    if (problem) return problem;
    if (!a->heads) return "a network alone does not act";
    *o = (struct rollout){
        .envs = size.envs, .times = size.times, .obs = given.obs, .noise = {given.noise, given.critic_noise},
        .h = {given.h, given.critic_h}, .c = {given.c, given.critic_c}, .chosen = given.chosen, .moved = given.moved,
        .values = given.values, .old = given.old, .alpha = given.alpha, .noise_scale = given.noise_scale};
    int64_t valued = given.shape[VALUED];
    if (size.features != a->features || size.envs < 1 || size.times < 1) return SIZE_MISMATCH;
    if ((o->noise[0] || o->h[0]) && (size.layers != a->layers || size.units != a->units)) return SIZE_MISMATCH;
    if (valued ? size.moments != o->times + 1 || !o->values || !o->old : o->h[0] && size.moments < 1)
        return SIZE_MISMATCH;
    if (a->continuous ? !o->moved || size.actions != a->actions : !o->chosen) return SIZE_MISMATCH;
    if (o->noise[0] && a->gate_rows != a->units) return "there is no noise in such a cell";
    for (int net = 0; net < a->networks; net++) {
        if (valued && !o->h[net]) return "a network has no states";
        if (a->cell == LSTM ? !o->h[net] != !o->c[net] : o->c[net] != 0)
            return "an LSTM has a state c, others have none";
        if (!o->noise[net] != !o->noise[0]) return "one network has noise, the other has none";
    }
    return 0;
}

/* Lays weights and workspace out in the buffers from Python, if these are large enough for so many steps. */
static const char *layout_buffers(const struct call *c, const struct agent *a, int64_t steps, struct packed_weights *p,
                                  struct workspace *w) {
    TAKE(rollout);
    int noisy = given.noise != 0;
    if (size.packed < layout_weights(a, p, 0)) return BUFFER_TOO_SMALL;
    if (size.work < layout_workspace(a, steps, noisy, w, 0)) return BUFFER_TOO_SMALL;
    layout_weights(a, p, given.packed);
    layout_workspace(a, steps, noisy, w, given.work);
    return 0;
}

#define ACT(X)                                                                                                         \
    AGENT(X, IN, MAYBE_OUT, OUT) X(INT, time) X(INT, begin) X(INT, end)                                                \
    X(OUT, logits, float32, times,envs,actions) X(IN, draws, float32, envs,actions)
DECLARE(act, ACT, ROLLOUT_SIZES)

static const char *run_act(struct call *c) {
    TAKE(act);
    struct agent a;
    struct packed_weights p;
    struct rollout o;
    struct workspace w;
    const char *problem = parse_rollout(c, &a, &o);
    if (!problem) problem = layout_buffers(c, &a, o.envs, &p, &w);
    if (problem) return problem;
    if (!given.shape[VALUED]) return "the agent has no value";
    if (given.time < 0 || given.time >= o.times) return "there is no such step";
    if (size.actions != a.actions) return SIZE_MISMATCH;
    if (given.begin < 0 || given.end > o.envs || given.begin >= given.end) return "there are no such environments";
    o.logits = given.logits;
    agent_act(&a, &p, &o, &w, given.time, given.begin, given.end, given.draws);
    return 0;
}

/* Whether sequences lie in the rollout, the longest first. */
static int in_rollout(const struct sequences *s, int64_t envs, int64_t times) {
    for (int64_t k = 0; k < s->n; k++) {
        if (s->length[k] < 1 || s->length[k] > times || s->first[k] < 0 || s->first[k] >= envs * times) return 0;
        if (s->first[k] / envs + s->length[k] > times || (k && s->length[k] > s->length[k - 1])) return 0;
    }
    return s->n > 0;
}

/* What of minibatches does not fit into the rollout. */
static const char *misplaced(const struct minibatches *m, int64_t sequences, const struct rollout *o) {
    if (m->begin[0] != 0 || m->begin[m->n] != sequences) return "minibatches do not have all sequences";
    for (int64_t k = 0; k < m->n; k++) {
        int64_t from = m->begin[k], to = m->begin[k + 1];
        struct sequences s = sequences_of(m, k);
        if (from < 0 || from >= to || to > sequences || !in_rollout(&s, o->envs, o->times))
            return "sequences do not lie in the rollout, the longest of a minibatch first";
    }
    return 0;
}

/* What of an update does not fit the agent. */
static const char *misfit(const struct update *u, const struct agent *a) {
    int64_t weights = 0;
    for (int64_t k = 0; k < u->parts; k++) {
        if (u->size[k] < 0 || u->place[k] < 0 || u->place[k] + u->size[k] > u->vector)
            return "the parts of the agent do not lie in the vector of weights";
        weights += u->size[k];
    }
    return u->parts && weights != a->weights ? "the parts are not those of the agent" : 0;
}

/* An update: thread and minibatches, weights and gradient, what Adam needs, then what PPO learns from and what
   supervised agents do. */
#define GRADIENT(X)                                                                                                    \
    AGENT(X, OUT, MAYBE, MAYBE) X(INT, rank) X(INT, threads) X(OUT, team, int64, 96) X(IN, first, int64, sequences)    \
    X(IN, length, int64, sequences) X(IN, begin, int64, bounds) X(OUT, sums, float32, most,sums)                       \
    X(OUT, numbers, float64, minibatches,7) X(IN, weights, float32, n) X(OUT, slopes, float32, n)                      \
    X(IN, place, int64, parts) X(IN, size, int64, parts) X(OUT, gradient, float32, all)                                \
    X(MAYBE_OUT, vector, float32, all) X(MAYBE_OUT, mean, float32, all) X(MAYBE_OUT, square, float32, all)             \
    X(MAYBE_OUT, step, float32) X(FLOAT, rate) X(FLOAT, keep_mean) X(FLOAT, keep_square) X(FLOAT, small)               \
    X(FLOAT, most) X(FLOAT, l1) X(FLOAT, l2) X(MAYBE, advantages, float32, times,envs)                                 \
    X(MAYBE, returns, float32, times,envs) X(MAYBE, counts, uint8, times,envs) X(INT, normalize) X(FLOAT, clip)        \
    X(FLOAT, clip_range_vf) X(FLOAT, ent_coef) X(FLOAT, vf_coef) X(FLOAT, most_kl) X(FLOAT, imitation)                 \
    X(MAYBE, correct, int64, times,envs) X(MAYBE, weight, float32, times,envs) X(MAYBE, due, uint8, times,envs)
DECLARE(gradient, GRADIENT, ROLLOUT_SIZES, sequences, bounds, most, sums, minibatches, n, parts, all)

/* Lets a thread take its part in an update: the thread of rank 0 leads, and finds how many minibatches it looked at;
   others help. */
static const char *run_gradient(struct call *c) {
    TAKE(gradient);
    struct agent a;
    struct rollout o;
    struct packed_weights p;
    struct workspace w;
    struct gradient_sums sums;
    struct minibatches m = {given.first, given.length, given.begin, size.minibatches};
    const char *problem = parse_rollout(c, &a, &o);
    if (problem) return problem;
    int is_taught = !given.shape[VALUED];
    if (is_taught ? !given.weight || !given.due : !given.advantages || !given.returns || !given.counts)
        return "what is learned from is missing";
    o.advantages = given.advantages, o.returns = given.returns, o.counts = given.counts, o.correct = given.correct;
    if (is_taught) o.weight = given.weight, o.due = given.due;
    if (given.imitation && (!o.correct || a.continuous)) return "there are no correct actions to imitate";
    if (size.bounds != m.n + 1) return "each minibatch begins somewhere, and the last ends";
    if ((problem = misplaced(&m, size.sequences, &o))) return problem;
    for (int64_t i = 0; is_taught && o.h[0] && i < size.sequences; i++)
        if (m.first[i] >= o.envs) return "states are known at the beginning only";
    for (int64_t i = 0; !a.continuous && i < o.envs * o.times; i++)
        if ((uint64_t)o.chosen[i] >= (uint64_t)a.actions ||
            (o.correct && (uint64_t)o.correct[i] >= (uint64_t)a.actions))
            return "there is no such action";
    if (size.n != a.weights) return "there are not as many weights as the agent has";
    if (size.most < MAX_CHUNKS || size.sums < layout_gradient_sums(&a, &sums, 0)) return BUFFER_TOO_SMALL;
    int64_t longest = 0;
    for (int64_t k = 0; k < m.n; k++) longest = m.length[m.begin[k]] > longest ? m.length[m.begin[k]] : longest;
    if ((problem = layout_buffers(c, &a, max_group_steps(o.envs, longest), &p, &w))) return problem;
    struct update u = {
        .normalize = given.normalize, .most_kl = given.most_kl, .l1 = given.l1, .l2 = given.l2,
        .objective = {given.clip, given.clip_range_vf, given.ent_coef, given.vf_coef, given.imitation, .scale = 1},
        .weights = given.weights, .slopes = given.slopes, .place = given.place, .size = given.size,
        .parts = given.vector ? size.parts : 0, .gradient = given.gradient, .vector = size.all, .sums = given.sums,
        .sums_apart = size.sums, .numbers = given.numbers,
        .adam = {given.vector, given.mean, given.square, given.step, given.gradient, given.rate, given.keep_mean,
                 given.keep_square, given.small, given.most}};
    if (given.threads < 1 || given.threads > MAX_CHUNKS) return "there cannot be so many threads";
    if (u.adam.weights && !(u.adam.mean && u.adam.square && u.adam.step)) return "Adam has no state";
    if ((problem = misfit(&u, &a))) return problem;
    if (!given.rank) c->result = lead_update(&a, &p, &o, &m, &u, &w, (void *)given.team, given.threads);
    else join_update(&a, &p, &o, &m, &u, &w, (void *)given.team, given.rank);
    return 0;
}

const struct kernel AGENT_KERNELS[] = {KERNEL(sizes, 0), KERNEL(prepare, 0), KERNEL(act, 1), KERNEL(gradient, 1), {0}};
