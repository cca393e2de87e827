// Six screens, each a state of the same page, and settings to start from.

const SCREENS = [
  {
    name: "Why momentum", view: "curves",
    text: "Every batch here holds all rows, so nothing is random. Gradient descent crosses a valley of "
      + "condition number κ = 1,000 in about κ steps; heavy ball remembers its last steps and needs about √κ. "
      + "The straight lines show it: heavy ball needs sixteen times fewer steps.",
    state: { b: 10000, noise: 0, T: 600, show: "sgd,shb,nesterov,best" },
  },
  {
    name: "Why noise breaks it", view: "curves",
    text: "Now a batch holds 30 rows. SGD hardly notices. Momentum adds up the errors of many batches before "
      + "they cancel: the same step and momentum that were fast now make the error grow without limit, on "
      + "average over all runs. Move the batch size and watch it turn.",
    state: { b: 30, noise: 0, T: 600, show: "sgd,shb,nesterov,best" },
  },
  {
    name: "The critical batch", view: "batches",
    text: "Between the two lies one number, the critical batch: above it heavy ball converges in mean square, "
      + "below it diverges. It can be computed exactly. A little above it heavy ball is stable but slow; a "
      + "few times above it the full speed is there. More rows than that hardly help it.",
    state: { b: 150, noise: 0, T: 600, show: "sgd,shb,best,mass-avg", by: "rate" },
  },
  {
    name: "What the paper proves", view: "batches",
    text: "The paper's own example: each row touches one coordinate, n = 100. Its Theorem 3 says that small "
      + "batches diverge; the exact limit for κ = 100 is 88 rows of 100. Its Theorem 2 promises acceleration "
      + "from b*, which is all 100 rows here. On these worst rows the certificate and the truth are the same "
      + "number.",
    state: { rows: "one", spectrum: "two", d: 2, n: 100, kappa: 100, ratio: 100, b: 90, noise: 0, T: 400, show: "sgd,shb,best" },
  },
  {
    name: "What is exact", view: "curves",
    text: "The thick curves are not averages of simulations: means and covariances obey a recursion that "
      + "closes, so the expectation over all batches is computed in milliseconds. Thin: one random run. With "
      + "bias and noise apart one sees which method still descends, and which only stirs.",
    state: { b: 300, noise: 0.01, T: 1000, show: "shb,mass-avg", split: 1, run: 1, by: "error" },
  },
  {
    name: "A method that knows the batch", view: "plane",
    text: "MaSS, averaged, looks at the batch: with few rows it takes less momentum, with many all of "
      + "it, always inside what is certified; then it averages the noise out. Drag the violet point into the "
      + "hatched region and compare. Nobody had to tune anything.",
    state: { b: 100, noise: 0.01, T: 2000, show: "sgd,shb,2p-shb,best,mass-avg,yours", step: 1, momentum: 0.95 },
  },
];

const PLAY = {
  name: "Play", view: "",
  text: "Move the batch size, drag the dots, switch methods on and off; pointing at a curve reads its values. "
    + "Below are the problem's own controls, and settings to start from. The six screens tell the story.",
};

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
