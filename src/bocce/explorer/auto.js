// Twin of bocce.schedules.auto: its whole rule is in this file.

function auto({ T, L, mu, L_max, n, b, kappa_tilde = null }) {
  const z = zeta2(n, b);
  L_max = Math.max(L_max, L);
  if (kappa_tilde === null) return auto_heavy_ball(T, L, mu, L_max, z);
  const constants = 0.5 * T * damped_rule(L, mu, L_max, kappa_tilde, z).slack;
  const suits = z * L_max <= 0.25 * L && (T >= 50 || constants >= 5);
  const rule = !suits ? auto_lookahead : T >= 50 && constants <= 10 ? auto_closing : auto_damped;
  return rule(T, L, mu, L_max, kappa_tilde, z);
}

function damped_rule(L, mu, L_max, kappa_tilde, z, least = 0) {
  const q = z * L_max / L, p = z * Math.max(kappa_tilde, L_max / L);
  let slack = 0, alpha, theta, noise;
  for (let i = 0; i < 100; i++) {
    const share = 1 / (1 + 0.5 * p * slack), lever = share * p * (1 - slack);
    let t = 0;
    if (z > 0) {
      t = Math.sqrt(q * (1 + 3 * lever + lever * lever) / (share * (1 + q * share)));
      if (slack > 0) t = Math.min(t, 2 * (1 - slack) / slack);
    }
    theta = 0.5 * (lever + share * t);
    noise = t === 0 ? 0 : L * q * (theta * (1 + theta) + 0.25 + 0.5 * theta) / t;
    const polyak = 0.25 * (Math.sqrt(L) + Math.sqrt(mu)) ** 2;
    alpha = 1 / ((1 + 2 * theta) * Math.max(polyak, L / (1 + Math.sqrt(1 - slack)) ** 2) + noise);
    const root = Math.min(1, Math.sqrt(alpha * mu)), before = slack;
    slack = Math.max(least, root * (2 - root));
    if (slack - before <= 1e-14 * slack) break;
  }
  return { alpha, theta, slack, noise };
}

function auto_closing(T, L, mu, L_max, kappa_tilde, z) {
  const rule = damped_rule(L, mu, L_max, kappa_tilde, z, 6 / T), wide = 1 + 2 * rule.theta;
  const edge = (slack) => wide / (L * wide / (1 + Math.sqrt(1 - slack)) ** 2 + rule.noise);
  const K = z > 0 ? ((rule.slack / 18) ** 5 + (1 / (0.78 * T)) ** 5) ** -0.2 : T;
  const most = Math.max(0.6, rule.slack), L_m = L + z * L_max;
  const seen = (1 - Math.sqrt(1 - rule.slack)) ** 2 / rule.alpha;
  return table(T, (k) => {
    if (k < K) {
      const slack = Math.max(rule.slack, 2 / (k + 3), Math.min(most, 3 / (K - k)));
      return [Math.min(rule.alpha, edge(slack) / wide), 1 - slack, rule.theta];
    }
    const t = Math.max(k - K, Number.EPSILON), alpha = 1 / (L_m * (1 + 0.5 * t));
    const falling = Math.max(most / (1 + 0.1 * t) ** 2, alpha / Math.max(1 / L_m, 0.5 / (seen * t)));
    const slack = Math.min(most, falling);
    const ahead = 1.75 * (1 - slack) / (L_m * alpha);
    return [alpha, 1 - slack, Math.min(0.5 * Math.max(edge(slack) / alpha - 1, 0), ahead)];
  });
}

function auto_damped(T, L, mu, L_max, kappa_tilde, z) {
  const rule = damped_rule(L, mu, L_max, kappa_tilde, z), wide = 1 + 2 * rule.theta;
  const edge = (slack) => wide / (L * wide / (1 + Math.sqrt(1 - slack)) ** 2 + rule.noise);
  const step = (slack) => Math.min(rule.alpha, edge(slack) / wide);
  const K = z > 0 ? Math.min(12 * 2 / rule.slack, 0.4 * T) : T;
  const first = Math.max(rule.slack, 2 / (K + 3)), s_K = step(first) / first;
  const L_m = L + z * L_max, target = Math.min(s_K, 2 / L_m), least = Math.min(s_K, 0.25 / L_m);
  const power = Math.max(1, Math.log(s_K / target) / Math.log1p(mu * s_K * (T - K)));
  return table(T, (k) => {
    const t = Math.max(k - K, 0);
    if (t === 0) {
      const slack = Math.max(rule.slack, 2 / (k + 3));
      return [step(slack), 1 - slack, rule.theta];
    }
    const slack = 1 / (1 / first + t / 6), falling = s_K * Math.exp(-power * Math.log1p(mu * s_K * t));
    const alpha = slack * Math.max(least, falling, target / (1 + mu * target * t));
    const ahead = Math.max(rule.theta, 1.2 / (L_m * alpha));
    return [alpha, 1 - slack, Math.min(0.5 * Math.max(edge(slack) / alpha - 1, 0), ahead)];
  });
}

function auto_heavy_ball(T, L, mu, L_max, z) {
  const time = Math.max(1, T / 3.5);
  const root = (Math.sqrt(L) + Math.sqrt(L + 4 * time * z * L_max)) / (2 * time);
  const seen = Math.min(L, Math.max(mu, root * root));  // the least curvature that T steps can see
  const [alpha, beta, rate] = minimax_heavy_ball(z, L_max, seen, L, 1 / L);
  const start = Math.min(3.5 / Math.max(1 - rate, Number.EPSILON), 0.5 * T) / T;
  const late = (k) => Math.max(k - start * T, 0) / ((1 - start) * T);
  return table(T, (k) => [z > 0 ? alpha * T ** (-0.9 * late(k)) : alpha, beta, 0]);
}

function auto_lookahead(T, L, mu, L_max, kappa_tilde, z) {
  const L_m = (1 - z) * L + z * L_max;
  const kappa_m = Math.max(1, (1 - z) + z * kappa_tilde);
  const whole = Math.max(1, Math.sqrt(kappa_m * L_m / mu));
  const K = z > 0 ? Math.min(3.5 * 2 * whole, 0.5 * T) : T;
  const c_K = Math.min(whole, K + 2), s_K = 0.5 * (1 + c_K / kappa_m) / L_m;
  const seen = kappa_m * L_m / Math.min(whole, Math.max(1, 0.5 * T / 3.5)) ** 2;
  return table(T, (k) => {
    const t = Math.max(k - K, 0);
    let c = Math.min(whole, k + 2), s = 0.5 * (1 + c / kappa_m) / L_m;
    if (t > 0) {
      c = c_K + t / 3;
      s = Math.max(0.25 / L_m, s_K / (1 + seen * s_K * t / 1.5));
    }
    let alpha = 2 * s / (c + 1);
    const beta = (c - 1) / (c + 1), theta = beta / L_m / alpha;
    if (z > 0.5) alpha = Math.min(alpha, 1 / ((1 + theta) * L_max));
    return [alpha, beta, theta];
  });
}
