// Twin of bocce.schedules.auto: its whole rule is in this file.

function auto({ T, L, mu, L_max, n, b, kappa_tilde = null }) {
  const z = zeta2(n, b);
  L_max = Math.max(L_max, L);
  if (kappa_tilde === null) return auto_heavy_ball(T, L, mu, L_max, z);
  const long = T >= 50 || (z === 0 && T >= 5 + 2.5 * Math.sqrt(L / mu));
  const rule = z * L_max <= 0.5 * L && long ? auto_damped : auto_lookahead;
  return rule(T, L, mu, L_max, kappa_tilde, z);
}

// The longest certified alpha L at a momentum of 1 - slack and a lookahead theta.
function damped_longest(slack, theta, q, p, ratio) {
  const h = 2 - slack, w = 1 + 2 * theta, D = (1 + Math.sqrt(1 - slack)) ** 2;
  const A = Math.max(h - w * slack, 0) * theta / (2 * h * theta + w * slack);
  const B = h * w * w / (w * slack + 2 * h * theta);
  const square = theta * (w + q * B) - A * p * w;
  const linear = ratio * slack * (w + q * B) + D * (A * p - theta);
  const constant = D * ratio * slack, root = Math.sqrt(linear * linear + 4 * square * constant);
  return linear > 0 ? 2 * constant / (linear + root) : (root - linear) / (2 * square);
}

function auto_damped(T, L, mu, L_max, kappa_tilde, z) {
  const q = z * L_max / L, p = z * kappa_tilde, ratio = kappa_tilde * L / L_max;
  const p_m = 1.2 * p, q_m = 1.2 * q, theta_0 = 0.5 * (p_m + (1 + p_m) * Math.sqrt(q_m / (1 + q_m)));
  const lookahead = (slack) => theta_0 / (1 + 6 * slack * Math.sqrt(1 + theta_0));
  const longest = (slack) => damped_longest(slack, lookahead(slack), q_m, p_m, ratio) / L;
  const least = Math.min(1, 6 / T);
  let next = Math.max(least, Math.min(1, Math.sqrt(mu / L))), damping, step;
  for (let i = 0; i < 100; i++) {
    damping = next;
    step = longest(damping);
    const root = Math.min(1, Math.sqrt(step * mu));
    next = 0.5 * (damping + Math.max(least, root * (2 - root)));
  }
  const K = z > 0 ? ((16 / damping + 0.05 * T) ** -4 + (0.8 * T) ** -4) ** -0.25 : T;
  const most = Math.max(0.75, damping), L_m = L + 3 * z * L_max;
  const seen = (1 - Math.sqrt(1 - damping)) ** 2 / step;
  return table(T, (k) => {
    if (k < K) {
      const slack = Math.max(damping, 2 / (k + 3), Math.min(most, 3 / (K - k)));
      return [Math.min(step, longest(slack)), 1 - slack, lookahead(slack)];
    }
    const t = Math.max(k - K, Number.EPSILON), alpha = 1 / (L_m * (1 + 0.5 * t));
    const falling = Math.max(most / (1 + 0.1 * t) ** 2, alpha / Math.max(1 / L_m, 0.5 / (seen * t)));
    const slack = Math.min(most, falling), ahead = 1.75 * (1 - slack) / (L_m * alpha);
    return [Math.min(alpha, damped_longest(slack, ahead, q, p, ratio) / L), 1 - slack, ahead];
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
