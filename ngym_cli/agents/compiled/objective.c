/* Objectives of learning, and their gradients with respect to the outputs of the heads (algorithms/rollout.py and
   supervised/objective.py have the plain forms). */

#include "objective.h"

#include <math.h>

static inline lanes logarithm(lanes x) {
    for (int64_t i = 0; i < LANES; i++) x[i] = logf(x[i]);
    return x;
}

/* Log-probability and entropy of some steps side by side. x: preferences, which become log-probabilities; p:
   probabilities. */
static void categorical(const struct agent *a, lanes *x, lanes *p, const int64_t *chosen, int64_t left, lanes *log_prob,
                        lanes *entropy) {
    lanes most = (lanes){0} - INFINITY, total = {0};
    for (int64_t k = 0; k < a->actions; k++) most = choose(x[k] > most, x[k], most);
    for (int64_t k = 0; k < a->actions; k++) total += p[k] = exponential(x[k] - most);
    lanes rest = most + logarithm(total), share = inverse(total);
    for (int64_t k = 0; k < a->actions; k++) {
        x[k] -= rest;
        p[k] *= share;
        *entropy -= p[k] * x[k];
    }
    for (int64_t i = 0; i < left; i++) (*log_prob)[i] = x[chosen[i]][i];
}

/* The same of continuous actions. x: means; z: how many standard deviations the actions are from them. */
static void gaussian(const struct agent *a, const float *log_std, const lanes *x, lanes *z, const float *moved,
                     int64_t left, lanes *log_prob, lanes *entropy) {
    for (int64_t k = 0; k < a->actions; k++) {
        lanes action = {0};
        for (int64_t i = 0; i < left; i++) action[i] = moved[i * a->actions + k];
        z[k] = (action - x[k]) * expf(-log_std[k]);
        *log_prob -= 0.5f * z[k] * z[k] + (log_std[k] + HALF_LOG_2_PI);
        *entropy += 0.5f + log_std[k] + HALF_LOG_2_PI;
    }
}

/* The preferences or means of `left` steps, as far apart as said, side by side; zeros fill the last. */
static void read_outputs(const float *outputs, int64_t apart, int64_t actions, int64_t left, lanes *x) {
    memset(x, 0, sizeof(lanes) * actions);
    for (int64_t i = 0; i < left; i++)
        for (int64_t k = 0; k < actions; k++) x[k][i] = outputs[i * apart + k];
}

static float sum_of(lanes x) {
    float sum = 0;
    for (int64_t i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

/* Adds to the statistics; the outputs become their gradient. Several steps are looked at side by side. */
void add_ppo_objective(const struct agent *a, const struct packed_weights *packed, const struct objective *o,
                       const struct workspace *w, int64_t n, struct gradient_sums *gradients, double *statistics) {
    int64_t actions = a->actions;
    struct outputs f = head_outputs(a, w);
    lanes *x = w->logits, *p = w->probabilities, sums[STATISTICS];
    memset(sums, 0, sizeof sums);
    for (int64_t at = 0; at < n; at += LANES) {
        int64_t left = n - at < LANES ? n - at : LANES;
        float *logits = f.logits + at * f.logits_apart, *values = f.value + at * f.value_apart;
        const int64_t *chosen = w->chosen + at;
        lanes none = {0}, entropy = none, log_prob = none, value = none, known[PER_STEP];
        for (int64_t k = 0; k < PER_STEP; k++) known[k] = load(w->per_step[k] + at, left);
        read_outputs(logits, f.logits_apart, actions, left, x);
        for (int64_t i = 0; i < left; i++) value[i] = values[i * f.value_apart];
        if (a->continuous) gaussian(a, packed->log_std, x, p, w->moved + at * actions, left, &log_prob, &entropy);
        else categorical(a, x, p, chosen, left, &log_prob, &entropy);

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD_LOG_PROB], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - o->clip, ratio, none + 1.f + o->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes moved = value - known[OLD_VALUE], held = within(none - o->clip_range_vf, moved, none + o->clip_range_vf);
        lanes error = choose(held == moved, value, known[OLD_VALUE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -o->ent_coef * weight;
        lanes by_value = 2 * o->vf_coef * choose(held == moved, error * weight, none);
        for (int64_t k = 0; k < actions && !a->continuous; k++)
            x[k] = -p[k] * (by_log_prob + by_entropy * (x[k] + entropy)) + o->imitation * weight * p[k];
        for (int64_t k = 0; k < actions && a->continuous; k++) {
            x[k] = by_log_prob * p[k] * expf(-packed->log_std[k]);
            gradients->log_std[k] += sum_of(by_log_prob * (p[k] * p[k] - 1.f) + by_entropy);
        }
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) logits[i * f.logits_apart + k] = x[k][i];
            if (!a->continuous) logits[i * f.logits_apart + chosen[i]] += by_log_prob[i];
            if (o->imitation) logits[i * f.logits_apart + w->correct[at + i]] -= o->imitation * weight[i];
            values[i * f.value_apart] = by_value[i];
        }
    }
    for (int64_t k = 0; k < STATISTICS; k++)
        for (int64_t i = 0; i < LANES; i++) statistics[k] += sums[k][i];
}

/* Side by side, which action is preferred most; of equals the first. */
static lanes most_preferred(const lanes *x, int64_t actions) {
    lanes most = x[0], which = {0};
    for (int64_t k = 1; k < actions; k++) {
        ints more = x[k] > most;
        most = choose(more, x[k], most), which = choose(more, (lanes){0} + (float)k, which);
    }
    return which;
}

/* The loss of answers, cross-entropy or squared error: adds to the statistics; the outputs become its gradient. */
void add_supervised_loss(const struct agent *a, const struct workspace *w, int64_t n, double *statistics) {
    int64_t actions = a->actions;
    struct outputs f = head_outputs(a, w);
    lanes *x = w->logits, *p = w->probabilities, sums[SUPERVISED];
    memset(sums, 0, sizeof sums);
    for (int64_t at = 0; at < n; at += LANES) {
        int64_t left = n - at < LANES ? n - at : LANES;
        float *logits = f.logits + at * f.logits_apart;
        const int64_t *chosen = w->chosen + at;
        const float *moved = w->moved + at * actions;
        lanes weight = load(w->per_step[WEIGHT] + at, left), due = load(w->per_step[DUE] + at, left);
        lanes loss = {0}, entropy = {0}, correct = {0};
        read_outputs(logits, f.logits_apart, actions, left, x);
        if (a->continuous) {
            read_outputs(moved, actions, actions, left, p);
            for (int64_t k = 0; k < actions; k++) x[k] -= p[k], loss += x[k] * x[k], x[k] *= 2 * weight;
            correct = -loss;
        } else {
            lanes which = most_preferred(x, actions);
            for (int64_t i = 0; i < left; i++) correct[i] = which[i] == (float)chosen[i];
            categorical(a, x, p, chosen, left, &loss, &entropy);
            loss = -loss;
            for (int64_t k = 0; k < actions; k++) x[k] = weight * p[k];
        }
        sums[LOSS] += weight * loss;
        sums[STEP_LOSS] += loss;
        sums[CORRECT] += due * correct;
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) logits[i * f.logits_apart + k] = x[k][i];
            if (!a->continuous) logits[i * f.logits_apart + chosen[i]] -= weight[i];
        }
    }
    for (int64_t k = 0; k < SUPERVISED; k++) statistics[k] += sum_of(sums[k]);
}

/* Adds the penalty on the activity of the top layer to the statistics, and its gradient to that of the activity. */
void add_penalty_on_rates(const struct agent *a, const struct objective *o, const struct workspace *w, int64_t n,
                          double *statistics) {
    const float *h = w->loop[0][a->layers - 1].h;
    lanes sum = {0}, none = {0};
    for (int64_t i = 0, size = n * a->units; i < size; i += LANES) {
        lanes rate = load(h + i, size - i), above = choose(rate > none, none + 1.f, none);
        lanes sign = choose(rate < none, none - 1.f, above);
        sum += o->l1 * rate * sign + o->l2 * rate * rate;
        store(w->dh[0] + i, load(w->dh[0] + i, size - i) + o->l1 * sign + 2 * o->l2 * rate, size - i);
    }
    statistics[RATES] += sum_of(sum);
}
