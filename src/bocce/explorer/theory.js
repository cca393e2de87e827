// Twins of bocce.theory: thresholds, Theorem S, the best heavy ball, the edge.
// Each function has the name, the arguments and the formula of its Python twin.

// zeta0^2 of a batch of b of n rows without replacement; fresh rows where n is null.
function zeta2(n, b) {
  if (n === null) return 1 / b;
  return b === n ? 0 : (n - b) / ((n - 1) * b);
}

// The real batch size that has this zeta0^2.
function fraction_for(n, zeta2) {
  return n === null ? 1 / zeta2 : n / (1 + (n - 1) * zeta2);
}

// The paper's b* (Theorem 2).
function batch_threshold(n, kappa, a = 1) {
  const C = 15552;
  return Math.max(fraction_for(n, 1 / (C * kappa * kappa)), fraction_for(n, a / 3));
}

// The batch below which the paper's heavy ball diverges on its own example (Theorem 3), exactly.
function lower_bound_threshold(n, kappa) {
  const beta = momentum(1, 1 / kappa);
  return n / (1 + (1 - beta) * (1 + 2 * beta) / (1 + beta));
}

// The batch at which half of the possible speed is reached, a rule.
function useful_batch({ L, R2, gradient_noise = 0, gap = null, momentum_gain = 1 }) {
  const noise = gap === null ? 0 : gradient_noise / (2 * gap);
  return 2 * (R2 + noise) / L * momentum_gain;
}

// Theorem S: the largest zeta0^2 at which heavy ball contracts by `rate` in mean square.
function certificate(alpha, beta, L_max, mu, lam_max, rate = 1) {
  const slack = (1 - rate) * (1 - beta / rate), room = (1 + rate) * (1 + beta / rate);
  const product = (lam) => {
    const top = (alpha - slack / lam) * (room - alpha * lam);
    if (lam < L_max) return top / (L_max - lam);
    return top === 0 ? 0 : Math.sign(top) * Infinity;
  };
  const gain = (rate * rate - beta) / (rate * rate + beta) / (alpha * alpha);
  return gain * Math.min(product(mu), product(lam_max));
}

// The spectral radius of heavy ball at one eigenvalue without noise.
function noise_free_rate(alpha, beta, lam) {
  const t = Math.abs(1 + beta - alpha * lam), discriminant = t * t - 4 * beta;
  return discriminant <= 0 ? Math.sqrt(beta) : 0.5 * (t + Math.sqrt(discriminant));
}

// The smallest rate that Theorem S certifies; infinite where none is.
function certified_rate(alpha, beta, zeta2, L_max, mu, lam_max) {
  let low = Math.max(noise_free_rate(alpha, beta, mu), noise_free_rate(alpha, beta, lam_max));
  if (low >= 1 || certificate(alpha, beta, L_max, mu, lam_max) < zeta2) return Infinity;
  if (zeta2 === 0) return low;
  for (let high = 1; ;) {
    const middle = 0.5 * (low + high);
    if (!(low < middle && middle < high)) return high;
    if (certificate(alpha, beta, L_max, mu, lam_max, middle) >= zeta2) high = middle;
    else low = middle;
  }
}

// The batch from which Theorem S certifies stability.
function certified_batch_size(n, alpha, beta, L_max, mu, lam_max) {
  const limit = certificate(alpha, beta, L_max, mu, lam_max);
  return limit <= 0 ? Infinity : fraction_for(n, limit);
}

// The steps with which Theorem S certifies the rate 1 - slow at both ends of the spectrum.
function certified_steps(slow, beta, zeta2, L_max, mu, lam_max, longest) {
  const r = 1 - slow;
  if (!(r * r > beta)) return [1, 0];
  const s = slow * (1 - beta / r), m = (2 - slow) * (1 + beta / r);
  const K = (r * r + beta) / (r * r - beta);
  let low = 0, high = longest;
  for (let end = 0; end < 2; end++) {
    const lam = end ? lam_max : mu, noise = zeta2 * (L_max - lam) / lam * K;
    const inside = (m - s) ** 2 - 4 * s * m * noise;
    if (!(inside >= 0)) return [1, 0];
    const top = s + m + Math.sqrt(inside);
    low = Math.max(low, 2 * s * m / top / lam);
    high = Math.min(high, 0.5 * top / (1 + noise) / lam);
  }
  return [low, high];
}

// The largest certified 1 - rate at this momentum (-1 if none), and its step.
function best_step(beta, zeta2, L_max, mu, lam_max, longest, halvings = 44) {
  let low = Math.log(1e-4 / (1 + lam_max / mu + zeta2 * L_max / mu));
  let high = Math.log(1 - Math.sqrt(beta));
  for (let i = 0; i < halvings; i++) {
    const middle = 0.5 * (low + high);
    const [a, b] = certified_steps(Math.exp(middle), beta, zeta2, L_max, mu, lam_max, longest);
    if (a <= b) low = middle;
    else high = middle;
  }
  const slow = Math.exp(low);
  const [a, b] = certified_steps(slow, beta, zeta2, L_max, mu, lam_max, longest);
  return [a <= b ? slow : -1, Math.sqrt(a * Math.max(a, b))];
}

// [alpha, beta, rate] of the smallest rate that Theorem S certifies with alpha <= longest.
// Pictures of many settings take a coarser search: `grid` momenta, narrowed `zooms` times.
function minimax_heavy_ball(zeta2, L_max, mu, lam_max, longest = Infinity, { grid = 65, zooms = 5, halvings = 44 } = {}) {
  const tie = 1e-9;
  let width = Math.log(100 * Math.sqrt(lam_max / mu) + 10), centre = -0.5 * width;
  let best = [-1, 0, 0], plain = best;
  for (let zoom = 0; zoom < zooms; zoom++) {
    let top = -Infinity, at = 0;
    for (let i = 0; i < grid; i++) {
      const x = centre + (i / (grid - 1) - 0.5) * width;
      const last = zoom === 0 && i === grid - 1;
      const beta = last ? 0 : -Math.expm1(Math.min(x, 0));
      const [slow, alpha] = best_step(beta, zeta2, L_max, mu, lam_max, longest, halvings);
      if (last) plain = [slow, alpha, 0];
      if (slow > top) [top, at] = [slow, x];
      if (slow > best[0] * (1 + 1e-12)) best = [slow, alpha, beta];
    }
    [centre, width] = [Math.min(at, 0), width * 6 / grid];
  }
  if (plain[0] >= best[0] * (1 - tie)) best = plain;
  return [best[1], best[2], 1 - best[0]];
}

// The best heavy ball on all rows, in closed form.
function best_on_all_rows(kappa) {
  const root = Math.sqrt(1 / kappa), rate = (1 - root) / (1 + root);
  return [4 / (1 + root) ** 2, rate * rate, rate];
}

// The minimax heavy ball, in units where lambda_max = 1.
function best_heavy_ball(kappa, R, zeta2, search = {}) {
  const mu = 1 / kappa;
  const [slow, step] = best_step(0, zeta2, R, mu, 1, Infinity, search.halvings);
  const sgd_rate = 1 - slow;
  const searched = () => minimax_heavy_ball(zeta2, R, mu, 1, Infinity, search);
  let [alpha, beta, rate] = zeta2 === 0 ? best_on_all_rows(kappa) : searched();
  if (rate >= sgd_rate) [alpha, beta, rate] = [step, 0, sgd_rate];
  const gain = rate > 0 ? Math.log(rate) / Math.log(sgd_rate) : 1;
  return { alpha, beta, rate, sgd_rate, gain };
}

// The largest stable alpha, lam or zeta2, whichever is left out; theta is the lookahead.
function edge({ alpha = null, beta = 0, lam = null, zeta2 = null, L_max = null, theta = 0 }) {
  const top = L_max === null ? Infinity : L_max, p = 1 + beta, r = 1 + 2 * theta;
  if (alpha === null) {
    const q = zeta2 ? zeta2 * Math.max(top - lam, 0) : 0, constant = -2 * p * (1 - beta);
    const square = lam * theta * r * (q + lam), slope = q * p + lam * (r * (1 - beta) - 2 * theta * p);
    const spread = Math.sqrt(slope * slope - 4 * square * constant);
    return slope >= 0 ? -2 * constant / (slope + spread) : (spread - slope) / (2 * square);
  }
  if (zeta2 === null) {
    const x = alpha * lam, s = beta - theta * x, left = (1 - s) * (2 * (1 + s) - x), room = Math.max(top - lam, 0);
    if (left < 0) return 0;
    return room ? left / (alpha * room * (1 + s + 2 * theta * (1 + theta) * x)) : Infinity;
  }
  const noise = zeta2 ? zeta2 * top : 0, square = alpha * alpha * theta * r * (1 - zeta2);
  const slope = alpha * (noise * alpha * theta * r - zeta2 * p + r * (1 - beta) - 2 * theta * p);
  const constant = noise * alpha * p - 2 * p * (1 - beta);
  if (zeta2 && square * top * top + slope * top + constant <= 0) return top;
  const spread = slope * slope - 4 * square * constant;
  if (spread < 0 || (square === 0 && slope <= 0)) return 0;
  const root = square === 0 ? -constant / slope : (Math.sqrt(spread) - slope) / (2 * square);
  return Math.min(Math.max(root, 0), top);
}
