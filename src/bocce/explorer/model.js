// From the setting to what the functions of theory, schedules and exact take; lambda_max = 1.

const METHODS = [
  { name: "sgd", label: "SGD", hint: "plain stochastic gradient descent, step 1/L" },
  { name: "shb", label: "heavy ball", hint: "the paper's heavy ball, constant (Theorem 2)" },
  { name: "shb-exp", label: "SHB-EXP", hint: "noise-adaptive heavy ball (Theorem 1)" },
  { name: "2p-shb", label: "two-phase", hint: "heavy ball, then averages the noise out" },
  { name: "multi-shb", label: "multi-stage", hint: "halves the step in stages (Theorem 4)" },
  { name: "multi-shb-pan", label: "Pan et al.", hint: "their multi-stage heavy ball" },
  { name: "nesterov", label: "Nesterov", hint: "Nesterov's constant scheme" },
  { name: "best", label: "best heavy ball", hint: "the step and momentum of the smallest certified rate" },
  { name: "mass-avg", label: "MaSS, averaged", hint: "accelerates as far as the batch allows, then averages" },
  { name: "yours", label: "yours", hint: "the point that you drag on the plane of step and momentum" },
];

// The data set in use: the one that the page was written for (bocce explore --data), or the gallery's.
function data_of() { return page.data; }

function spectrum_of(kind, kappa, d) {
  const share = (j) => j / (d - 1);
  const value = {
    linear: (j) => 1 / kappa + (1 - 1 / kappa) * share(j),
    geometric: (j) => kappa ** (share(j) - 1),
    power: (j) => (d - j) ** (-Math.log(kappa) / Math.log(d)),
    two: (j) => (j < Math.floor(d / 2) ? 1 / kappa : 1),
  }[kind];
  return Float64Array.from({ length: d }, (_, j) => value(j));
}

const total = (values) => values.reduce((sum, x) => sum + x, 0);

// L_max/L that certificates need: for Gaussian rows E[A_i^2] <= (tr A + 2 L) A stands for it. With
// data, what holds for the data and for their Gaussian twin.
function ratio_of(state, spectrum) {
  if (state.rows === "one") return Math.max(state.ratio, total(spectrum));
  return Math.max(total(spectrum) + 2, state.spectrum === "data" ? data_of().R : 0);
}

function model_of(state) {
  const { n, b, T, noise } = state, data = state.spectrum === "data" ? data_of() : null;
  const spectrum = data ? Float64Array.from(data.spectrum) : spectrum_of(state.spectrum, state.kappa, state.d);
  const d = spectrum.length, mu = Math.min(...spectrum), kappa = 1 / mu;
  const R = ratio_of(state, spectrum), one = state.rows === "one";
  return {
    n, b, T, noise, spectrum, d, mu, kappa, R, L: 1,
    start: data ? Float64Array.from(data.start) : new Float64Array(d).fill(1 / d),
    L_max: one ? R : null,
    kappa_tilde: one ? R * kappa : Math.max(d + 2, data ? data.kappa_tilde : 0),
    step: state.step, momentum: state.momentum,
  };
}

// What a method takes for its table; `yours` is the point that is dragged.
function table_of(name, model, b = model.b) {
  const { T, n, L, mu, R, kappa_tilde } = model;
  if (name === "yours") return constant(T, model.step, model.momentum);
  return schedule(name, { T, n, b, L, mu, L_max: R, kappa_tilde });
}

function curve_of(model, table, b = model.b) {
  const { spectrum, noise, n, L_max, start } = model;
  return expected({ spectrum, noise, n, b, L_max, start, ...table });
}

// The row of a table with the largest effective step alpha/(1 - beta): its fastest part.
function fastest_row(table) {
  let at = 0, longest = 0;
  for (let k = 0; k < table.alpha.length; k++) {
    const effective = table.alpha[k] / (1 - table.beta[k]);
    if (effective > longest * (1 + 1e-9)) [longest, at] = [effective, k];
  }
  return { alpha: table.alpha[at], beta: table.beta[at], theta: table.theta[at] };
}

const CONSTANT = { sgd: 1, shb: 1, "multi-shb-pan": 1, nesterov: 1, yours: 1 };  // at every batch the same

// The row that a method takes in its fastest part at batch b, without the whole table where it is constant.
function row_of(name, model, b, search) {
  if (name === "best") {
    const { alpha, beta } = best_heavy_ball(model.kappa, model.R, zeta2(model.n, b), search);
    return { alpha, beta, theta: 0 };
  }
  return fastest_row(table_of(name, name in CONSTANT ? { ...model, T: 2 } : model, b));
}

function rate_of(model, row, b, tol) {
  const { spectrum, n, L_max } = model;
  return mean_square_rate({ spectrum, n, b, L_max, tol, ...row });
}

// Steps that divide the error by ten; infinite where it grows.
const steps_per_digit = (rate) => (rate < 1 ? -Math.LN10 / Math.log(rate) : Infinity);

// The useful batch of n rows; momentum multiplies it by what it saves in steps on all rows.
function useful_of({ n, L, R }, momentum_gain) {
  return fraction_for(n, 1 / useful_batch({ L, R2: R * L, momentum_gain }));
}

// From which batch on the paper's heavy ball is stable: by the paper, certified, and in truth.
function thresholds_of(model) {
  const { n, spectrum, L_max, R, mu, kappa } = model, row = row_of("shb", model, n);
  return {
    exact: critical_batch_size({ spectrum, n, L_max, ...row }),
    certified: certified_batch_size(n, row.alpha, row.beta, R, mu, 1),
    paper: batch_threshold(n, R * kappa),  // Theorem 2 holds for kappa = L_max/mu
    useful: useful_of(model, 1),
    useful_momentum: useful_of(model, best_heavy_ball(kappa, R, 0).gain),
  };
}
