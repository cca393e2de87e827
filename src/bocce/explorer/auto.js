// Twin of bocce.schedules.auto: its whole rule is in this file.

function auto({ T, L, mu, L_max, n, b, kappa_tilde = null }) {
  const z = zeta2(n, b);
  L_max = Math.max(L_max, L);
  return kappa_tilde === null ? auto_heavy_ball(T, L, mu, L_max, z)
    : auto_lookahead(T, L, mu, L_max, kappa_tilde, z);
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
