// The setting in a sentence, as a command and as Python.

const strong = (text, bad) => `<b${bad ? ' class="bad"' : ""}>${text}</b>`;

// Two digits: what a sentence can carry.
function rounded(x) {
  if (x < 10) return String(Number(x.toPrecision(2)));
  const unit = 10 ** (Math.floor(Math.log10(x)) - 1);
  return number_text(Math.round(x / unit) * unit);
}

function sentence({ model, best, thresholds }) {
  const { n, b, T } = model, batch = b === n ? `With all ${number_text(n)} rows in every batch`
    : `With ${strong(number_text(b))} of ${number_text(n)} rows a batch`;
  const gain = best.gain < 1.02 ? "momentum is worth nothing: the best heavy ball is SGD"
    : `momentum makes ${number_text(T)} steps do the work of ${strong(rounded(T * best.gain))}`;
  const least = Math.floor(thresholds.exact) + 1;
  let limit = `below ${strong(number_text(least))} rows the paper's heavy ball diverges`;
  if (thresholds.exact < 1) limit = "the paper's heavy ball is stable at every batch size";
  else if (b < least) limit = `the paper's heavy ball ${strong("diverges", true)}: it needs ${strong(number_text(least))} rows`;
  return `${batch}, ${gain}; ${limit}.`;
}

const digits = (x) => Number(x.toPrecision(6));

function command_text({ model }) {
  const { n, kappa, R, b, T } = model, ratio = Math.min(R, n);
  return `bocce theory -n ${n} --kappa ${digits(kappa)} --ratio ${digits(ratio)} -b ${b} -T ${T}`;
}

const NUMPY = {
  linear: (kappa, d) => `np.linspace(1 / ${kappa}, 1.0, ${d})`,
  geometric: (kappa, d) => `np.geomspace(1 / ${kappa}, 1.0, ${d})`,
  power: (kappa, d) => `np.arange(${d}, 0, -1.0) ** (-np.log(${kappa}) / np.log(${d}))`,
  two: (kappa, d) => `np.repeat([1 / ${kappa}, 1.0], [${Math.floor(d / 2)}, ${d - Math.floor(d / 2)}])`,
};

// Python that prints the numbers of the page: thresholds, the gain, and the error of each method.
function python_text({ state, model, shown }) {
  const { n, b, T, d, noise, R } = model, known = state.spectrum === "data", kappa = digits(model.kappa);
  const head = ["import numpy as np", "import bocce", "from bocce import exact, schedules, theory", ""];
  const rows = known ? data_lines(data_of()) : [
    `spectrum = ${NUMPY[state.spectrum](digits(state.kappa), d)}`,
    `start, R, kappa_tilde = np.full(${d}, 1 / ${d}), spectrum.sum() + 2.0, ${d} + 2.0`,
  ];
  if (state.rows === "one") rows[1] = `start, R, kappa_tilde = np.full(${d}, 1 / ${d}), ${R}, ${R} * ${kappa}`;
  const constants = [
    `n, b, T, mu = ${n}, ${b}, ${T}, spectrum.min()`,
    "known = dict(L=1.0, mu=mu, L_max=R, kappa_tilde=kappa_tilde, n=n, b=b)",
    "best = theory.best_heavy_ball(1 / mu, R, theory.zeta2(n, b))",
    'print("gain of momentum", best.gain)',
    "alpha, beta = (column[0] for column in (schedules.shb(1, 1.0, mu).alpha, schedules.shb(1, 1.0, mu).beta))",
    'print("paper\'s b*", theory.batch_threshold(n, R / mu))',
    'print("certified", theory.certified_batch_size(n, alpha, beta, R, mu, 1.0))',
  ];
  if (state.rows === "one") return [...head, ...rows, ...constants].join("\n") + "\n";
  const lines = [`model = exact.Gaussian(spectrum, noise=${noise}, start=start, n=n)`,
    'print("critical batch", exact.critical_batch_size(model, alpha, beta))'];
  for (const name of shown) {
    const fixed = { best: "best.alpha, best.beta", yours: `${model.step}, ${model.momentum}` }[name];
    lines.push(fixed ? `table = schedules.Schedule(*(np.full(T, x) for x in (${fixed}, 0.0)))`
      : `table = schedules.REGISTRY["${name}"].build(T, known)`,
    `print("${name}", exact.expected(model, table, b).error2[-1])`);
  }
  return [...head, ...rows, ...constants, ...lines].join("\n") + "\n";
}

function data_lines({ source }) {
  return [`data = bocce.explorer.describe(${source})`,
    'spectrum, start = np.array(data["spectrum"]), np.array(data["start"])',
    'R = max(data["R"], spectrum.sum() + 2.0)', 'kappa_tilde = max(data["kappa_tilde"], len(spectrum) + 2.0)'];
}
