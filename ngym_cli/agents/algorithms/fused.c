/* How Python calls the agent of agent.c; what is given is checked against the agent's sizes here. */

#include "agent.h"
#include "kernel.h"

#include <math.h>

#define MAX_SIZE (1 << 20)
_Static_assert(sizeof(struct board) <= 8 * 96, "the board is too small");

enum { ACTION_HEAD = 8, VALUE_HEAD, VALUED, HEAD }; /* places among the sizes of an agent */

/* An agent of these sizes: cell, features, units, layers, networks, actions, whether they are continuous, activation of
   heads, hidden layers of the action head and of the value head, whether there is a value, then the sizes of the hidden
   layers. Returns what does not fit, or null. */
static const char *parse_agent(struct agent *a, const int64_t *shape, int64_t length) {
    memset(a, 0, sizeof *a);
    if (length < HEAD) return "the agent has no sizes";
    a->cell = shape[0], a->features = shape[1], a->units = shape[2], a->layers = shape[3], a->networks = shape[4];
    a->actions = shape[5], a->continuous = shape[6] != 0, a->activation = shape[7];
    if (a->cell < LSTM || a->cell > SOFTPLUS) return "there is no such cell";
    if (a->layers < 1 || a->layers > MAX_LAYERS || a->networks < 1 || a->networks > 2) return "there are no layers";
    if (a->features < 0 || a->units < 1 || a->actions < 1) return "there are no units or no actions";
    if (a->features > MAX_SIZE || a->units > MAX_SIZE || a->actions > MAX_SIZE) return "the agent is too large";
    if (a->activation < TANH_UNITS || a->activation > RELU_UNITS) return "there is no such activation";
    const int64_t *hidden = shape + HEAD, *end = shape + length;
    a->gate_rows = GATES[a->cell] * a->units;
    a->joint = shape[VALUED] && a->networks == 1 && !shape[ACTION_HEAD] && !shape[VALUE_HEAD];
    a->heads = shape[VALUED] && !a->joint ? 2 : 1;
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
    for (int64_t l = 0; l < a->layers; l++) {
        int64_t inputs = l ? a->units : a->features;
        a->weights += a->networks * a->gate_rows * (a->units + inputs + 2);
    }
    for (int64_t c = 0; c < a->heads; c++)
        for (int64_t d = 0; d < a->head_layers[c]; d++)
            a->weights += (a->head_width[c][d] + 1) * a->head_width[c][d + 1];
    if (a->continuous) a->weights += a->actions;
    return 0;
}

static const char BUFFER_TOO_SMALL[] = "a buffer is too small for the agent";
static const char SIZE_MISMATCH[] = "the rollout does not fit the sizes of the agent";

static const char *run_sizes(struct call *c) {
    enum { SHAPE, NOISY, ENVS, LONGEST, FOUND };
    const union value *v = c->value;
    int64_t *found = v[FOUND].array;
    struct agent a;
    struct packed_weights p;
    struct gradient_sums s;
    struct workspace w;
    const char *problem = parse_agent(&a, v[SHAPE].array, c->size[0]);
    if (problem) return problem;
    if (v[ENVS].integer < 1 || v[ENVS].integer > MAX_SIZE || v[LONGEST].integer < 1 || v[LONGEST].integer > MAX_SIZE)
        return SIZE_MISMATCH;
    found[0] = a.weights;
    found[1] = layout_weights(&a, &p, 0);
    found[2] = layout_gradient_sums(&a, &s, 0);
    found[3] = layout_workspace(&a, max_group_steps(v[ENVS].integer, v[LONGEST].integer), v[NOISY].integer != 0, &w, 0);
    found[4] = MAX_CHUNKS;
    return 0;
}

static const char *run_prepare(struct call *c) {
    enum { SHAPE, GIVEN, PACKED };
    enum { LENGTH, N, BUFFER_SIZE };
    const union value *v = c->value;
    struct agent a;
    struct packed_weights p;
    const char *problem = parse_agent(&a, v[SHAPE].array, c->size[LENGTH]);
    if (problem) return problem;
    if (c->size[N] != a.weights) return "there are not as many weights as the agent has";
    if (c->size[BUFFER_SIZE] < layout_weights(&a, &p, 0)) return BUFFER_TOO_SMALL;
    layout_weights(&a, &p, v[PACKED].array);
    agent_prepare(&a, v[GIVEN].array, &p);
    return 0;
}

/* The arguments that `act`, `learn` and `teach` have in common, in their order, and the sizes that these name; then
   those that `act` and `learn` have; those of an update, of `learn` and `teach`, follow. */
#define AGENT_ARGUMENTS SHAPE, ALPHA, NOISE_SCALE, PACKED, WORK, OBS, NOISE, H, C, CHOSEN, MOVED
#define CRITIC_ARGUMENTS CRITIC_NOISE, CRITIC_H, CRITIC_C, VALUES, OLD_LOG
#define SHARED_SIZES                                                                                                   \
    LENGTH, PACKED_SIZE, WORKSPACE_SIZE, TIMES, ENVS, FEATURES, LAYERS, UNITS, MOMENTS, ACTIONS

enum { AGENT_ARGUMENTS, CRITIC_ARGUMENTS, OWN, WITHOUT_CRITIC = CRITIC_NOISE };
enum { SHARED_SIZES, OWN_SIZE };

/* Fills in the agent and the rollout, all but the critic's part. */
static const char *parse_shared_arguments(const struct call *c, struct agent *a, struct rollout *o) {
    const union value *v = c->value;
    const int64_t *s = c->size;
    const char *problem = parse_agent(a, v[SHAPE].array, s[LENGTH]);
    if (problem) return problem;
    *o = (struct rollout){
        .envs = s[ENVS], .times = s[TIMES], .obs = v[OBS].array, .noise = {v[NOISE].array}, .h = {v[H].array},
        .c = {v[C].array}, .chosen = v[CHOSEN].array, .moved = v[MOVED].array, .alpha = v[ALPHA].real,
        .noise_scale = v[NOISE_SCALE].real};
    if (s[FEATURES] != a->features || s[ENVS] < 1 || s[TIMES] < 1) return SIZE_MISMATCH;
    if ((o->noise[0] || o->h[0] || o->c[0]) && (s[LAYERS] != a->layers || s[UNITS] != a->units)) return SIZE_MISMATCH;
    if (a->continuous ? !o->moved || s[ACTIONS] != a->actions : !o->chosen) return SIZE_MISMATCH;
    if (o->noise[0] && a->gate_rows != a->units) return "there is no noise in such a cell";
    if (a->cell == LSTM ? !o->h[0] != !o->c[0] : o->c[0] != 0) return "an LSTM has a state c, others have none";
    return 0;
}

/* Fills in the critic's part, too. */
static const char *parse_rollout(const struct call *c, struct agent *a, struct rollout *o) {
    const union value *v = c->value;
    const char *problem = parse_shared_arguments(c, a, o);
    if (problem) return problem;
    o->noise[1] = v[CRITIC_NOISE].array, o->h[1] = v[CRITIC_H].array, o->c[1] = v[CRITIC_C].array;
    o->values = v[VALUES].array, o->old = v[OLD_LOG].array;
    if (!((int64_t *)v[SHAPE].array)[VALUED]) return "the agent has no value";
    if (c->size[MOMENTS] != o->times + 1) return SIZE_MISMATCH;
    for (int net = 0; net < a->networks; net++) {
        if (!o->h[net] || (a->cell == LSTM) != (o->c[net] != 0)) return "a network has no states";
        if (!o->noise[net] != !o->noise[0]) return "one network has noise, the other has none";
    }
    return 0;
}

/* Lays weights and workspace out in the buffers from Python, if these are large enough for so many steps. */
static const char *layout_buffers(const struct call *c, const struct agent *a, int64_t steps, struct packed_weights *p,
                             struct workspace *w) {
    const union value *v = c->value;
    int noisy = v[NOISE].array != 0;
    if (c->size[PACKED_SIZE] < layout_weights(a, p, 0)) return BUFFER_TOO_SMALL;
    if (c->size[WORKSPACE_SIZE] < layout_workspace(a, steps, noisy, w, 0)) return BUFFER_TOO_SMALL;
    layout_weights(a, p, v[PACKED].array);
    layout_workspace(a, steps, noisy, w, v[WORK].array);
    return 0;
}

static const char *run_act(struct call *c) {
    enum { TIME = OWN, BEGIN, END, LOGITS, DRAWS };
    const union value *v = c->value;
    struct agent a;
    struct packed_weights p;
    struct rollout o;
    struct workspace w;
    const char *problem = parse_rollout(c, &a, &o);
    if (!problem) problem = layout_buffers(c, &a, o.envs, &p, &w);
    if (problem) return problem;
    if (v[TIME].integer < 0 || v[TIME].integer >= o.times) return "there is no such step";
    if (c->size[ACTIONS] != a.actions) return SIZE_MISMATCH;
    if (v[BEGIN].integer < 0 || v[END].integer > o.envs || v[BEGIN].integer >= v[END].integer)
        return "there are no such environments";
    o.logits = v[LOGITS].array;
    agent_act(&a, &p, &o, &w, v[TIME].integer, v[BEGIN].integer, v[END].integer, v[DRAWS].array);
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

/* Lets a thread take its part in an update, whose arguments begin with that in place `first`: the thread of rank 0
   leads, and finds how many minibatches it looked at; others help. `u` says what is minimised. */
static const char *share_update(struct call *c, const struct agent *a, const struct rollout *o, struct update *u,
                                int64_t first) {
    enum { RANK, THREADS, BOARD, FIRST, LENGTHS, BEGIN, SUMS, NUMBERS, WEIGHTS, SLOPES, PLACE, PART_SIZE, GRADIENT,
           VECTOR, MEAN, SQUARE, STEP, RATE, KEEP_MEAN, KEEP_SQUARE, SMALL, MOST };
    enum { SEQUENCES = OWN_SIZE, BOUNDS, CHUNKS, SUMS_SIZE, MINIBATCHES, N, PARTS, ALL };
    const union value *v = c->value + first;
    const int64_t *s = c->size;
    struct minibatches m = {v[FIRST].array, v[LENGTHS].array, v[BEGIN].array, s[MINIBATCHES]};
    struct packed_weights p;
    struct workspace w;
    struct gradient_sums sums;
    const char *problem;
    if (s[BOUNDS] != m.n + 1) return "each minibatch begins somewhere, and the last ends";
    if ((problem = misplaced(&m, s[SEQUENCES], o))) return problem;
    for (int64_t i = 0; o->weight && o->h[0] && i < s[SEQUENCES]; i++)
        if (m.first[i] >= o->envs) return "states are known at the beginning only";
    for (int64_t i = 0; !a->continuous && i < o->envs * o->times; i++)
        if ((uint64_t)o->chosen[i] >= (uint64_t)a->actions) return "there is no such action";
    if (s[N] != a->weights) return "there are not as many weights as the agent has";
    if (s[CHUNKS] < MAX_CHUNKS || s[SUMS_SIZE] < layout_gradient_sums(a, &sums, 0)) return BUFFER_TOO_SMALL;
    int64_t longest = 0, threads = v[THREADS].integer;
    for (int64_t k = 0; k < m.n; k++) longest = m.length[m.begin[k]] > longest ? m.length[m.begin[k]] : longest;
    if ((problem = layout_buffers(c, a, max_group_steps(o->envs, longest), &p, &w))) return problem;
    u->weights = v[WEIGHTS].array, u->slopes = v[SLOPES].array;
    u->place = v[PLACE].array, u->size = v[PART_SIZE].array, u->parts = v[VECTOR].array ? s[PARTS] : 0;
    u->adam = (struct adam){v[VECTOR].array, v[MEAN].array, v[SQUARE].array, v[STEP].array, v[GRADIENT].array,
                            v[RATE].real, v[KEEP_MEAN].real, v[KEEP_SQUARE].real, v[SMALL].real, v[MOST].real};
    u->gradient = v[GRADIENT].array, u->vector = s[ALL], u->sums = v[SUMS].array, u->sums_apart = s[SUMS_SIZE];
    u->numbers = v[NUMBERS].array;
    if (threads < 1 || threads > MAX_CHUNKS) return "there cannot be so many threads";
    if (u->adam.weights && !(u->adam.mean && u->adam.square && u->adam.step)) return "Adam has no state";
    if ((problem = misfit(u, a))) return problem;
    if (!v[RANK].integer) c->result = agent_update(a, &p, o, &m, u, &w, v[BOARD].array, threads);
    else agent_help(a, &p, o, &m, u, &w, v[BOARD].array, v[RANK].integer);
    return 0;
}

enum { UPDATE_ARGUMENTS = 22 };

static const char *run_learn(struct call *c) {
    enum { ADVANTAGES = OWN + UPDATE_ARGUMENTS, RETURNS, COUNTS, NORMALIZE, CLIP, REACH, ENT_COEF, VF_COEF, MOST_KL };
    const union value *v = c->value;
    struct agent a;
    struct rollout o;
    const char *problem = parse_rollout(c, &a, &o);
    if (problem) return problem;
    o.advantages = v[ADVANTAGES].array, o.returns = v[RETURNS].array, o.counts = v[COUNTS].array;
    struct update u = {
        .normalize = v[NORMALIZE].integer, .most_kl = v[MOST_KL].real,
        .objective = {v[CLIP].real, v[REACH].real, v[ENT_COEF].real, v[VF_COEF].real, .scale = 1}};
    return share_update(c, &a, &o, &u, OWN);
}

static const char *run_teach(struct call *c) {
    enum { WEIGHT_OF_STEP = WITHOUT_CRITIC + UPDATE_ARGUMENTS, IS_DUE, L1, L2 };
    const union value *v = c->value;
    struct agent a;
    struct rollout o;
    const char *problem = parse_shared_arguments(c, &a, &o);
    if (problem) return problem;
    if (a.heads + a.joint > 1) return "an agent that is taught has no value";
    if (o.h[0] && c->size[MOMENTS] < 1) return SIZE_MISMATCH;
    o.weight = v[WEIGHT_OF_STEP].array, o.due = v[IS_DUE].array;
    struct update u = {.most_kl = INFINITY, .objective = {.l1 = v[L1].real, .l2 = v[L2].real}};
    return share_update(c, &a, &o, &u, WITHOUT_CRITIC);
}

#define AGENT(packs, steps, acts)                                                                                      \
    "shape int64[length]; alpha float; noise_scale float; packed float32[packed]" packs "; work float32[work] out; "   \
    "obs float32[times,envs,features]; noise float32[times,layers,envs,units] optional; "                              \
    "h float32[moments,layers,envs,units] optional" steps "; c float32[moments,layers,envs,units] optional" steps "; " \
    "chosen int64[times,envs] optional" acts "; moved float32[times,envs,actions] optional" acts "; "
#define CRITIC(acts)                                                                                                   \
    "critic_noise float32[times,layers,envs,units] optional; "                                                         \
    "critic_h float32[moments,layers,envs,units] optional" acts "; "                                                   \
    "critic_c float32[moments,layers,envs,units] optional" acts "; "                                                   \
    "values float32[times,envs]" acts "; old float32[times,envs]" acts "; "
#define UPDATE                                                                                                         \
    "rank int; threads int; board int64[96] out; first int64[sequences]; length int64[sequences]; "                    \
    "begin int64[bounds]; sums float32[most,sums] out; numbers float64[minibatches,6] out; weights float32[n]; "       \
    "slopes float32[n] out; place int64[parts]; size int64[parts]; gradient float32[all] out; "                        \
    "vector float32[all] optional out; mean float32[all] optional out; square float32[all] optional out; "             \
    "step float32 optional out; rate float; keep_mean float; keep_square float; small float; most float; "

const struct kernel FUSED_KERNELS[] = {
    {"sizes", "shape int64[length]; noisy int; envs int; longest int; found int64[5] out", run_sizes, 0},
    {"prepare", "shape int64[length]; weights float32[n]; packed float32[packed] out", run_prepare, 0},
    {"act",
     AGENT("", " out", " out") CRITIC(" out") "time int; begin int; end int; "
     "logits float32[times,envs,actions] out; draws float32[envs,actions]",
     run_act, 1},
    {"learn",
     AGENT(" out", "", "") CRITIC("") UPDATE "advantages float32[times,envs]; returns float32[times,envs]; "
     "counts uint8[times,envs]; normalize int; clip float; reach float; ent_coef float; vf_coef float; most_kl float",
     run_learn, 1},
    {"teach",
     AGENT(" out", " out", "") UPDATE "weight float32[times,envs]; due uint8[times,envs]; l1 float; l2 float",
     run_teach, 1},
    {0}};
