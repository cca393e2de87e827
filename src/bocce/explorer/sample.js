// One run, drawn at random: what a mean of many would tend to is `expected`.

// Uniform numbers in (0, 1) from a seed (mulberry32).
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

function normals(uniform) {
  let spare = null;
  return () => {
    if (spare !== null) {
      const value = spare;
      spare = null;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

// A gamma variable of this shape, mean equal to the shape (Marsaglia and Tsang 2000).
function gamma(shape, uniform, normal) {
  if (shape < 1) return gamma(shape + 1, uniform, normal) * uniform() ** (1 / shape);
  const d = shape - 1 / 3, c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(), v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

// The gradient of a batch of Gaussian rows at the error e, in O(d). Given u_i = x_i . e - r_i the
// rows are Gaussian again, and only sum u_i^2 counts: a chi-squared variable of b degrees. Rows
// drawn without replacement have 1/zeta0^2 degrees: the same mean and covariance.
function gaussian_gradient(spectrum, noise, z, e, g, uniform, normal) {
  let variance = noise, along = -Math.sqrt(noise) * normal();
  const x = spectrum.map((lam) => Math.sqrt(lam) * normal());
  spectrum.forEach((lam, j) => {
    variance += lam * e[j] * e[j];
    along += x[j] * e[j];
  });
  if (!(variance > 0)) return g.fill(0);
  const square = 2 * z * gamma(0.5 / z, uniform, normal);  // sum u_i^2 / (b variance)
  const spread = Math.sqrt(square * z * variance);
  spectrum.forEach((lam, j) => {
    const mean = lam * e[j];
    g[j] = mean * square + spread * (x[j] - mean * along / variance);
  });
}

// The gradient of a batch of rows that touch one coordinate each. Few rows are drawn one by one,
// without replacement; many by a Gaussian variable of the same mean and covariance.
function one_coordinate_gradient(spectrum, noise, n, b, L_max, e, g, uniform, normal) {
  const drawn = new Float64Array(spectrum.length);
  if (b <= 2000) {
    for (let i = 0; i < b; i++) {
      let place = uniform() * (n - i), j = 0;
      while (j < drawn.length && (place -= n * spectrum[j] / L_max - drawn[j]) >= 0) j++;
      if (j < drawn.length) drawn[j]++;
    }
  } else {
    const z = zeta2(n, b), shares = spectrum.map((lam) => lam / L_max);
    const deviations = shares.map((share) => Math.sqrt(share) * normal());
    const rest = 1 - shares.reduce((sum, share) => sum + share, 0);
    const all = deviations.reduce((sum, x) => sum + x, Math.sqrt(Math.max(rest, 0)) * normal());
    shares.forEach((share, j) => {
      drawn[j] = Math.max(0, b * (share + Math.sqrt(z) * (deviations[j] - share * all)));
    });
  }
  drawn.forEach((count, j) => {
    g[j] = (L_max * count * e[j] + Math.sqrt(L_max * noise * count) * normal()) / b;
  });
}

// The squared error along one run of a table.
function sample({ spectrum, noise = 0, n = null, b, alpha, beta, theta, L_max = null, start = null, seed = 1 }) {
  const T = alpha.length, d = spectrum.length, z = zeta2(n, b);
  const uniform = random(seed), normal = normals(uniform);
  const e = Float64Array.from({ length: d }, (_, j) => Math.sqrt(start === null ? 1 : start[j]));
  const v = new Float64Array(d), y = new Float64Array(d), g = new Float64Array(d);
  const error2 = new Float64Array(T + 1).fill(Infinity);
  for (let k = 0; ; k++) {
    error2[k] = e.reduce((sum, x) => sum + x * x, 0);
    if (k === T || !(error2[k] < 1e300)) return error2;
    for (let j = 0; j < d; j++) y[j] = e[j] + theta[k] * v[j];
    if (z === 0) spectrum.forEach((lam, j) => { g[j] = lam * y[j]; });
    else if (L_max === null) gaussian_gradient(spectrum, noise, z, y, g, uniform, normal);
    else one_coordinate_gradient(spectrum, noise, n, b, L_max, y, g, uniform, normal);
    for (let j = 0; j < d; j++) {
      v[j] = beta[k] * v[j] - alpha[k] * g[j];
      e[j] += v[j];
    }
  }
}
