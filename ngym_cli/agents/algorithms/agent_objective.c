/* The objective and its gradient with respect to the outputs of the heads (objective.py has the plain form). */

#include "agent.h"

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

static float sum_of(lanes x) {
    float sum = 0;
    for (int64_t i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

/* Adds to the statistics; the outputs become their gradient. Several steps are looked at side by side. */
void add_objective(const struct agent *a, const struct packed_weights *packed, const struct objective *o,
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
        memset(x, 0, sizeof(lanes) * actions);
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) x[k][i] = logits[i * f.logits_apart + k];
            value[i] = values[i * f.value_apart];
        }
        if (a->continuous) gaussian(a, packed->log_std, x, p, w->moved + at * actions, left, &log_prob, &entropy);
        else categorical(a, x, p, chosen, left, &log_prob, &entropy);

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD_LOG_PROB], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - o->clip, ratio, none + 1.f + o->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes moved = value - known[OLD_VALUE], held = within(none - o->reach, moved, none + o->reach);
        lanes error = choose(held == moved, value, known[OLD_VALUE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -o->ent_coef * weight;
        lanes by_value = 2 * o->vf_coef * choose(held == moved, error * weight, none);
        for (int64_t k = 0; k < actions && !a->continuous; k++)
            x[k] = -p[k] * (by_log_prob + by_entropy * (x[k] + entropy));
        for (int64_t k = 0; k < actions && a->continuous; k++) {
            x[k] = by_log_prob * p[k] * expf(-packed->log_std[k]);
            gradients->log_std[k] += sum_of(by_log_prob * (p[k] * p[k] - 1.f) + by_entropy);
        }
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) logits[i * f.logits_apart + k] = x[k][i];
            if (!a->continuous) logits[i * f.logits_apart + chosen[i]] += by_log_prob[i];
            values[i * f.value_apart] = by_value[i];
        }
    }
    for (int64_t k = 0; k < STATISTICS; k++)
        for (int64_t i = 0; i < LANES; i++) statistics[k] += sums[k][i];
}
