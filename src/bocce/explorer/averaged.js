// Twin of bocce.schedules.mass_averaged: MaSS, then an average over a memory that grows.

function mass_averaged({ T, L, mu, L_max, n, b, kappa_tilde }) {
  const z = zeta2(n, b);
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
