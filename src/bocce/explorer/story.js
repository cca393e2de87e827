// Six screens, each a state of the same page, and settings to start from. The texts hold no results: those
// are read off the curves (words.js), but for `text` functions of the page, whose numbers a test compares.

const SCREENS = [
  {
    name: "Why momentum", view: "curves",
    text: "Every batch here holds all rows, so nothing is random. SGD crosses a valley of condition number "
      + "κ = 1,000 in about κ steps; heavy ball remembers its last steps and needs about √κ.",
    formula: "SGD: ‖w − w*‖ falls as (1 − 1/κ)ᵏ. Heavy ball, α = 1/L and β = (1 − ½/√κ)²: as (1 − ½/√κ)ᵏ.", proof: "accelerated",
    state: { b: 10000, noise: 0, T: 600, show: "sgd,shb,nesterov,best" },
  },
  {
    name: "Why noise breaks it", view: "curves",
    text: "Now a batch holds 30 rows. SGD hardly notices. Heavy ball adds up the errors of many batches before "
      + "they cancel: with the step and momentum that were fast, the error grows without limit, on average over "
      + "all runs. Move the batch size and watch it turn.",
    formula: "A batch's gradient has ζ² = (n − b)/((n − 1) b) times the covariance of a row's.", proof: "exact-dynamics",
    state: { b: 30, noise: 0, T: 600, show: "sgd,shb,nesterov,best" },
  },
  {
    name: "The critical batch", view: "batches",
    text: "Between the two lies one number, the critical batch: above it heavy ball converges in mean square, "
      + "below it diverges. It can be computed exactly. A little above it heavy ball is stable but slow. Beyond the "
      + "useful batch more rows hardly save steps.",
    formula: "Stable above b = n/(1 + (n − 1) ζ²), at the ζ² where noise feeds itself: ρ(α² ζ² N∘G) = 1.", proof: "critical-batch",
    state: { b: 150, noise: 0, T: 600, show: "sgd,shb,best,mass-avg", by: "rate" },
  },
  {
    name: "What the paper proves", view: "batches",
    text: ({ thresholds, model }) => "The paper's own example: each row touches one coordinate, n = 100. Its Theorem 3 says that small "
      + `batches diverge; the exact limit is ${up(thresholds.exact)} rows of ${model.n}. Its Theorem 2 promises acceleration from b*, `
      + `${up(thresholds.paper)} rows here. On these worst rows the certificate is exact: ${up(thresholds.certified)} rows.`,
    formula: "Diverges in mean square exactly if b < n/(1 + φ), φ = (1 − β)(1 + 2β)/(1 + β).", proof: "lower-bound",
    state: { rows: "one", spectrum: "two", d: 2, n: 100, kappa: 100, ratio: 100, b: 90, noise: 0, T: 400, show: "sgd,shb,best" },
  },
  {
    name: "What is exact", view: "curves",
    text: "The thick curves are no averages of simulations: means and covariances obey a recursion that "
      + "closes, so the expectation over all batches is computed in milliseconds. Thin: one random run. The error has "
      + "three parts: bias, the choice of rows, and the noise of the targets.",
    formula: "E‖w − w*‖² = ‖E w − w*‖² + sampling noise (∝ ζ², falls with the error) + target noise (∝ ζ² σ², stays at constant steps).",
    proof: "exact-dynamics",
    state: { b: 300, noise: 0.01, T: 1000, show: "shb,mass-avg", split: 1, run: 1, by: "error" },
  },
  {
    name: "A method that knows the batch", view: "plane",
    text: "MaSS, averaged, looks at the batch: with few rows it takes less momentum, with many all of "
      + "it, always inside what is certified; then it averages the noise out. Drag the violet point into the "
      + "hatched region and compare.",
    formula: "Contracts by r² a step if ζ² g(λ) λ (1 − c₁λ) ≤ r² (c₁λ + c₂) for μ ≤ λ ≤ L, c₁ Lₘₐₓ + c₂ κ̃ = 1.",
    proof: "lookahead",
    state: { b: 100, noise: 0.01, T: 2000, show: "sgd,shb,2p-shb,best,mass-avg,yours", step: 1, momentum: 0.95 },
  },
];

const PLAY = {
  name: "Play", view: "",
  text: "Move the batch size, drag the dots, switch methods on and off; pointing at a curve reads its values. "
    + "Below are the problem's own controls, and settings to start from. The six screens tell the story.",
};

function told_of(page) {
  const { text } = page.state.screen ? SCREENS[page.state.screen - 1] : PLAY;
  return typeof text === "function" ? text(page) : text;
}

// Beside the site's pages a link; in a file of its own the page's name in the repository.
function proof_link(name) {
  if (!location.pathname.includes("/_static/")) return `<code>docs/theory/${name}.md</code>`;
  return `<a href="../theory/${name}.html" target="_top">${name.replace("-", " ")}</a>`;
}

function presets() {
  const all = "sgd,shb,multi-shb,2p-shb,mass-avg";
  const found = [
    ["A plain setting", {}],
    ["The paper's figure 3 (b = 0.9 n, noisy)", {
      spectrum: "linear", b: 9000, T: 7000, noise: 0.01, show: all + ",nesterov",
    }],
    ["The paper's figure 4 (no noise, all batch sizes)", {
      spectrum: "linear", kappa: 512, b: 1000, T: 2000, noise: 0, show: "sgd,shb,best,mass-avg",
    }],
    ["The paper's lower bound (Theorem 3)", { ...SCREENS[3].state }],
    ["Pan et al. with one row a batch (figure 2)", {
      ...SCREENS[3].state, kappa: 5000, b: 1, T: 10000, show: "multi-shb-pan,mass-avg,best",
    }],
  ];
  for (const data of [GALLERY, DATA]) {
    if (!data) continue;
    const { name, n, noise } = data, b = Math.max(1, Math.round(n / 20));
    found.push([`Data: ${name}`, { spectrum: "data", n, noise, b, T: 1000, show: "sgd,shb,best,mass-avg" }, data]);
  }
  return found;
}
