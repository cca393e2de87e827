// The setting in a sentence, as a command and as Python.

const strong = (text, bad) => `<b${bad ? ' class="bad"' : ""}>${text}</b>`;

// What the drawn curves say: where each ends, and when it first is as low as SGD at the end.
function findings({ model, curves, shown, state }) {
  const ends = {}, matched = {}, grown = [], above = [];
  const sgd = curves.sgd && curves.sgd[state.measure][model.T];
  for (const name of shown) {
    const ys = curves[name][state.measure], end = ys[model.T] / ys[0];
    ends[name] = end;
    if (!(end <= 1)) grown.push(name);
    if (name === "sgd" || !(sgd < Infinity)) continue;
    const k = ys.findIndex((y) => y <= sgd);
    if (k >= 0) matched[name] = k;
    if (end <= 1 && ys[model.T] > sgd) above.push(name);
  }
  const lowest = shown.filter((name) => ends[name] <= 1).sort((a, b) => ends[a] - ends[b])[0] || null;
  return { ends, matched, grown, above, lowest };
}

const listed = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);
const labels_of = (names) => listed(names.map((name) => label_of(name)));

function sentence(page) {
  const { model, thresholds } = page, { n, b, T } = model, said = page.found = findings(page);
  const batch = b === n ? `With all ${number_text(n)} rows in every batch`
    : `With ${strong(number_text(b))} of ${number_text(n)} rows a batch`;
  const parts = [];
  if (said.lowest === null) parts.push(`no method that is shown ends below its start after ${number_text(T)} steps`);
  else {
    const end = said.ends[said.lowest], share = end < LOWEST ? "below what is drawn" : `at ${strong(number_text(end))} of its start`;
    parts.push(`${label_of(said.lowest)} ends lowest after ${number_text(T)} steps, ${share}`);
  }
  const reached = Object.entries(said.matched).map(([name, k]) => `${label_of(name)} after ${strong(number_text(k))}`);
  if (reached.length) parts.push(`the level where SGD ends is reached by ${listed(reached)} steps`);
  if (said.above.length) parts.push(`${labels_of(said.above)} ${said.above.length > 1 ? "end" : "ends"} above SGD`);
  if (said.grown.length) parts.push(`${labels_of(said.grown)} ${strong(said.grown.length > 1 ? "end above their start" : "ends above its start", true)}`);
  return `${batch}, ${parts.join("; ")}. ${limit_words(n, b, Math.floor(thresholds.exact) + 1)}`;
}

// On average over all runs, without end: the critical batch of the paper's constants.
function limit_words(n, b, least) {
  if (least <= 1) return "The paper's heavy ball is stable at every batch size.";
  if (least > n) return "The paper's heavy ball diverges at every batch size.";
  const limit = `The paper's heavy ball diverges below ${strong(number_text(least))} rows`;
  return b < least ? `${limit}, so ${strong("here", true)}.` : `${limit}.`;
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
