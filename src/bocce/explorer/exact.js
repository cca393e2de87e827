// Twins of bocce.exact on the two families of rows whose moments close in O(d) a step.
//   Gaussian rows (L_max null):  N_jj = lam_j^2 P_jj + lam_j (sum_i lam_i P_ii + noise)
//   one-coordinate rows:         N_jj = lam_j (L_max - lam_j) P_jj + lam_j noise
// where zeta0^2 N is the covariance of a batch gradient. One-coordinate rows have length
// sqrt(L_max) and touch coordinate j with probability lam_j / L_max.

// Expectations at k = 0 .. T under a table; infinite from where they overflow, the bias by itself.
function expected({ spectrum, noise = 0, n = null, b, alpha, beta, theta, L_max = null, start = null }) {
  const T = alpha.length, d = spectrum.length, z = zeta2(n, b), rank_one = L_max === null;
  const [p, c, q, m, v] = [0, 0, 0, 0, 0].map(() => new Float64Array(d));
  const make = () => new Float64Array(T + 1).fill(Infinity);
  const curve = { error2: make(), grad2: make(), gap: make(), bias2: make() };
  for (let j = 0; j < d; j++) m[j] = Math.sqrt(p[j] = start === null ? 1 : start[j]);
  for (let k = 0, lost = false; ; k++) {
    let error2 = 0, grad2 = 0, gap = 0, bias2 = 0;
    for (let j = 0; j < d; j++) {
      const lam = spectrum[j], here = lam * p[j];
      error2 += p[j];
      gap += here;
      grad2 += lam * here;
      bias2 += m[j] * m[j];
    }
    if (!(bias2 < Infinity)) return curve;
    curve.bias2[k] = bias2;
    lost = lost || !(error2 + grad2 < Infinity);
    if (!lost) [curve.error2[k], curve.grad2[k], curve.gap[k]] = [error2, grad2, 0.5 * gap];
    if (k === T) return curve;
    const a = alpha[k], look = theta[k], momentum = beta[k], strength = a * a * z;
    let drive = noise;
    if (rank_one && z > 0) {
      for (let j = 0; j < d; j++) {
        drive += spectrum[j] * (p[j] + 2 * look * c[j] + look * look * q[j]);
      }
    }
    for (let j = 0; j < d; j++) {
      const lam = spectrum[j], x = a * lam, s = momentum - look * x;
      v[j] = s * v[j] - x * m[j];
      m[j] += v[j];
      if (lost) continue;
      if (z === 0) {  // the full batch has no variance
        p[j] = m[j] * m[j];
        continue;
      }
      const at_y = p[j] + 2 * look * c[j] + look * look * q[j];
      const injected = strength * lam * ((rank_one ? lam : L_max - lam) * at_y + drive);
      const cross = s * c[j] - x * p[j];
      const square = s * (s * q[j] - x * c[j]) - x * cross + injected;
      p[j] = Math.max(p[j] + 2 * cross + square, 0);  // rounding may leave -1e-17 of the largest
      c[j] = cross + square;
      q[j] = square;
    }
  }
}

// How noise injected along lam comes back, summed over time at this rate: at y (G) and at w.
function response(lam, alpha, beta, theta, rate = 1) {
  const c2 = theta * alpha * lam - beta, c1 = 1 - alpha * lam - c2;
  const x = rate < 0.5 ? (rate * rate - c1 * rate - c2) / (rate * rate)
    : ((rate - 1) * (rate + 1 - c1) + alpha * lam) / (rate * rate);
  const s = c2 / (rate * rate), look = 1 + theta, back = -theta / rate;
  const scale = rate * rate * x * (1 + s) * (2 * (1 - s) - x);
  return [((look + back) ** 2 * (1 - s) - 2 * look * back * x) / scale, (1 - s) / scale];
}

// The largest |root| of the update without noise.
function noise_free_radius(spectrum, alpha, beta, theta) {
  let radius = 0;
  for (const lam of spectrum) {
    const c2 = theta * alpha * lam - beta, c1 = 1 - alpha * lam - c2, spread = c1 * c1 + 4 * c2;
    radius = Math.max(radius, spread < 0 ? Math.sqrt(-c2) : 0.5 * (Math.abs(c1) + Math.sqrt(spread)));
  }
  return radius;
}

// How much of the noise comes back to itself: stable in mean square at this rate below 1.
function loop_gain(spectrum, alpha, beta, theta, z, L_max, rate = 1) {
  const strength = alpha * alpha * z;
  let gain = 0;
  for (const lam of spectrum) {
    const [G] = response(lam, alpha, beta, theta, rate);
    if (!(G > 0 && G < Infinity)) return Infinity;  // the noise-free update is not so fast
    const u = strength * lam * (L_max === null ? lam : L_max - lam) * G;
    if (u >= 1) return Infinity;
    gain = L_max === null ? gain + u / (1 - u) : Math.max(gain, u);
  }
  return gain;
}

// The factor a step of the root mean square error; pictures take a larger `tol`.
function mean_square_rate({ spectrum, n = null, b, alpha, beta, theta = 0, L_max = null, tol = 1e-13 }) {
  const z = zeta2(n, b), still = noise_free_radius(spectrum, alpha, beta, theta);
  if (z === 0) return still;
  const settles = (rate) => loop_gain(spectrum, alpha, beta, theta, z, L_max, rate) <= 1;
  let low = Math.max(still, 1e-10) * (1 + 1e-10), high = Math.max(low, 1);
  if (settles(low)) return still;
  while (!settles(high)) high *= 2;
  while (high - low > tol * high) {
    const middle = 0.5 * (low + high);
    if (settles(middle)) high = middle;
    else low = middle;
  }
  return 0.5 * (low + high);
}

// The real batch size above which constant parameters are stable in mean square; infinite where
// the full batch is unstable too.
function critical_batch_size({ spectrum, n = null, alpha, beta, theta = 0, L_max = null }) {
  if (alpha >= 2 * (1 + beta) / ((1 + 2 * theta) * Math.max(...spectrum))) return Infinity;
  const gain = (z) => loop_gain(spectrum, alpha, beta, theta, z, L_max);
  let high = 1;
  while (gain(high) <= 1 && high < 1e300) high *= 2;
  if (high >= 1e300) return 0;  // the rows' curvatures do not differ
  while (gain(high / 2) > 1 && high > 1e-300) high /= 2;
  let low = high / 2;
  while (high - low > 1e-13 * high) {
    const middle = 0.5 * (low + high);
    if (gain(middle) <= 1) low = middle;
    else high = middle;
  }
  return fraction_for(n, low);
}

// The limit of E||w - w*||^2; infinite at and below the critical batch.
function stationary({ spectrum, noise = 0, n = null, b, alpha, beta, theta = 0, L_max = null }) {
  const z = zeta2(n, b), gain = loop_gain(spectrum, alpha, beta, theta, z, L_max);
  if (!(gain < 1)) return { error2: Infinity };
  const drive = L_max === null ? noise / (1 - gain) : noise;
  let error2 = 0;
  for (const lam of spectrum) {
    const [G, R] = response(lam, alpha, beta, theta);
    const strength = alpha * alpha * z * lam;
    error2 += R * strength * drive / (1 - strength * (L_max === null ? lam : L_max - lam) * G);
  }
  return { error2 };
}
