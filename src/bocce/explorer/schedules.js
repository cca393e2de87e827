// Twins of bocce.schedules: a method is a table of alpha, beta and theta, one of each a step.

const constant = (T, alpha, beta, theta = 0) => table(T, () => [alpha, beta, theta]);

function table(T, row) {
  const [alpha, beta, theta] = [0, 0, 0].map(() => new Float64Array(T));
  for (let k = 0; k < T; k++) [alpha[k], beta[k], theta[k]] = row(k);
  return { alpha, beta, theta };
}

function then(first, second) {
  second.beta[0] = second.theta[0] = 0;
  const join = (a, b) => Float64Array.from([...a, ...b]);
  return Object.fromEntries(Object.keys(first).map((c) => [c, join(first[c], second[c])]));
}

// The paper's momentum for a constant step: (1 - sqrt(alpha mu)/2)^2.
function momentum(alpha, mu) {
  return (1 - 0.5 * Math.sqrt(alpha * mu)) ** 2;
}

const decay = (T) => (1 / T) ** (1 / T);

function sgd({ T, L }) { return constant(T, 1 / L, 0); }

function sgd_exponential({ T, L }) {
  const gamma = decay(T);
  return table(T, (k) => [gamma ** (k + 1) / L, 0, 0]);
}

function shb({ T, L, mu }) { return constant(T, 1 / L, momentum(1 / L, mu)); }

function shb_exponential({ T, L, mu }) {
  const gamma = decay(T), eta = (k) => gamma ** (k + 1) / (4 * L);
  const lambda = (k) => (1 - gamma / 2) / (eta(k) * mu) * -Math.expm1(k * Math.log1p(-eta(k) * mu));
  return table(T, (k) => {
    const next = 1 + lambda(k + 1);
    return [eta(k) / next, lambda(k) / next * (1 - eta(k) * mu), 0];
  });
}

function two_phase({ T, L, mu }) {
  const T_0 = Math.ceil(0.5 * T);
  return then(shb({ T: T_0, L, mu }), shb_exponential({ T: T - T_0, L, mu }));
}

// I, the stages after stage 0 under the theorem's rule.
function stage_count(T, kappa) {
  let i = 0;
  while ((384 * (i + 1)) ** 2 * 2 ** (i + 1) * kappa <= T * T) i++;
  return i;
}

function stage_lengths(T, kappa) {
  const stages = stage_count(T, kappa), lengths = [stages ? Math.floor(T / 2) : T];
  for (let i = 1; i <= stages; i++) {
    const logs = (i / 2 + 5) * Math.log(2) + 0.5 * Math.log(kappa);
    lengths.push(Math.ceil(4 / (2 - Math.SQRT2) * 2 ** (i / 2) * Math.sqrt(kappa) * logs));
  }
  lengths[stages] += T - lengths.reduce((sum, length) => sum + length);
  return lengths;
}

function multistage({ T, L, mu }) {
  const rows = [];
  stage_lengths(T, L / mu).forEach((length, i) => {
    const alpha = 0.5 ** i / L, beta = momentum(alpha, mu);
    for (let j = 0; j < length; j++) rows.push([alpha, j ? beta : 0, 0]);
  });
  return table(T, (k) => rows[k]);
}

function pan({ T, L, mu }) {
  const K = Math.ceil(T / (Math.log(T * Math.sqrt(L / mu)) / Math.log(2)));
  const beta = (1 - Math.sqrt(mu / L)) ** 2;
  return table(T, (k) => [0.5 ** Math.floor(k / K) / L, beta, 0]);
}

function polyak({ T, L, mu }) {
  const [l, m] = [Math.sqrt(L), Math.sqrt(mu)];
  return constant(T, 4 / (l + m) ** 2, ((l - m) / (l + m)) ** 2);
}

function nesterov({ T, L, mu }) {
  const [l, m] = [Math.sqrt(L), Math.sqrt(mu)], beta = (l - m) / (l + m);
  return constant(T, 1 / L, beta, beta);
}

function nesterov_exponential({ T, L, mu }) {
  const gamma = decay(T), r = (k) => Math.sqrt(mu / L) * gamma ** (0.5 * k);
  return table(T, (k) => {
    const beta = (1 - r(k)) * r(k) * gamma / (r(k + 1) + gamma * r(k) ** 2);
    return [gamma ** (k + 1) / L, beta, beta];
  });
}

// theory.best_heavy_ball as a schedule.
function best({ T, L, mu, L_max, n, b }) {
  const { alpha, beta } = best_heavy_ball(L / mu, L_max / L, zeta2(n, b));
  return constant(T, alpha / L, beta);
}

const SCHEDULES = {
  sgd, "sgd-exp": sgd_exponential, shb, "shb-exp": shb_exponential, "multi-shb": multistage,
  "2p-shb": two_phase, nesterov, "nesterov-exp": nesterov_exponential, "multi-shb-pan": pan,
  hb: polyak, best, "mass-avg": mass_averaged,
};

// bocce.schedules.REGISTRY[name].build(T, constants).
function schedule(name, given) { return SCHEDULES[name](given); }
