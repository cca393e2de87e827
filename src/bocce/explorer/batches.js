// View 2: what a step is worth by batch size, and from which batch on the paper's heavy ball works.

const RATED = ["sgd", "shb", "multi-shb-pan", "nesterov", "best", "mass-avg", "yours"];
const SEARCH = { grid: 25, zooms: 3, halvings: 24 };  // for pictures of many settings

function batch_grid(n, count) {
  const grid = new Set([1, n]);
  for (let i = 1; i < count; i++) grid.add(Math.round(n ** (i / count)));
  return [...grid].sort((a, b) => a - b);
}

// Steps for one more digit, by batch; a constant method ends at its own critical batch.
function speeds(page, draft) {
  const { model } = page, grid = batch_grid(model.n, draft ? 18 : 36), lines = {};
  for (const name of page.shown.filter((method) => RATED.includes(method))) {
    const fixed = name in CONSTANT ? row_of(name, model, model.n) : null;
    const { spectrum, n, L_max } = model;
    const least = fixed ? critical_batch_size({ spectrum, n, L_max, ...fixed }) : 0;
    const near = least >= 1 ? [1.01, 1.03, 1.08, 1.18, 1.4].map((x) => Math.min(x * least, n)) : [];
    const bs = [...grid.filter((b) => b > least), ...near].sort((a, b) => a - b), ys = bs.map((b) => {
      const row = fixed || row_of(name, model, b, SEARCH);
      return steps_per_digit(rate_of(model, row, b, 1e-7));
    });
    const first = Math.max(ys.findIndex((y) => y < Infinity), 0);  // it diverges before
    lines[name] = { bs: bs.slice(first), ys: ys.slice(first), end: least > 1 ? least : first ? bs[first] : null };
  }
  return { lines, done: true };
}

// The error after T steps, by batch: a curve for each method and batch, a few at a time.
function errors_after(page, budget) {
  const { model } = page, grid = batch_grid(model.n, 24), kept = page.kept("errors");
  const stop = performance.now() + budget, lines = {};
  let done = true;
  for (const name of page.shown) {
    const bs = [], ys = [];
    for (const b of grid) {
      const key = `${name} ${b}`;
      if (!(key in kept)) {
        if (performance.now() > stop) { done = false; continue; }
        kept[key] = curve_of(model, table_of(name, model, b), b).error2[model.T];
      }
      bs.push(b);
      ys.push(kept[key]);
    }
    const fine = ys.map((y) => y < 10), first = fine.indexOf(true);
    lines[name] = first < 0 ? { bs: [], ys: [], end: null }
      : { bs: bs.slice(first), ys: ys.slice(first), end: first > 0 ? bs[first] : null };
  }
  return { lines, done };
}

function draw_batches(page, draft) {
  const { state, model } = page, plot = page.plots.batches, by_rate = state.by === "rate";
  const found = by_rate ? page.once(`speeds ${draft}`, () => speeds(page, draft)) : errors_after(page, draft ? 2 : 12);
  const all = Object.values(found.lines).flatMap(({ ys }) => [...ys]).filter((v) => v > 0 && v < Infinity);
  // all rows leave no noise, and an error that may be a matter of rounding
  const noisy = by_rate ? all
    : Object.values(found.lines).flatMap(({ bs, ys }) => ys.filter((v, i) => v > 0 && bs[i] < model.n));
  const bottom = noisy.length ? Math.min(...noisy) : 1, top = all.length ? Math.max(...all) : 10;
  const y = by_rate
    ? { log: true, low: bottom * 0.7, high: Math.min(top * 2, bottom * 1e6), title: "steps for one more digit" }
    : { log: true, low: Math.max(bottom / 30, LOWEST), high: 10, title: `E‖w − w*‖² after ${number_text(model.T)} steps` };
  const x = { log: true, low: 1, high: model.n, title: "rows in a batch" };
  const narrow = plot.clientWidth < 480;
  const view = frame(plot, x, y, { left: 50, right: narrow ? 102 : 112, top: 24, bottom: 40 });
  let svg = view.svg + threshold_lines(page, view);
  const labels = [], { box, X } = view;
  for (const [name, { bs, ys, end }] of Object.entries(found.lines)) {
    const path = path_of(view, bs, ys.map((v) => Math.min(v, y.high)));
    if (!path.d) continue;
    let start = "";
    if (end) {  // up to the top, where it diverges
      const from = X.px(bs[0]), px = X.px(Math.min(Math.max(end, 1), model.n));
      start = `M${px} ${box.top}L${from} ${view.Y.px(Math.min(ys[0], y.high)).toFixed(1)}`;
      svg += cross([px, box.top], hue(name));
    }
    svg += stroke(start + path.d, `stroke:${hue(name)};${dash(name)}`);
    labels.push({ x: box.right + 6, y: path.end[1], text: label_of(name), colour: hue(name) });
  }
  const at = X.px(model.b);
  svg += stroke(`M${at.toFixed(1)} ${box.top}V${box.bottom}`, "stroke:var(--accent)", "mark");
  plot.querySelector("svg").innerHTML = svg + end_labels(labels, view);
  page.place_handle("batches", at, box.bottom, `${number_text(model.b)} of ${number_text(model.n)} rows`);
  page.views.batches = {
    ...view, low: 1, high: model.n, at: (px) => Math.round(X.at(px)), stretch: 1.1,
    lines: (b) => [`${number_text(b)} rows`,
      Object.entries(found.lines).map(([name, { bs, ys }]) => [name, nearest(bs, ys, b)])],
  };
  plot.setAttribute("aria-label", `${y.title} by batch size. ${batches_note(page)}`);
  page.note("batches", batches_note(page));
  return found.done;
}

function nearest(xs, ys, x) {
  if (!xs.length || x < xs[0] * 0.98) return Infinity;
  let best = 0;
  xs.forEach((v, i) => { if (Math.abs(Math.log(v / x)) < Math.abs(Math.log(xs[best] / x))) best = i; });
  return ys[best];
}

function threshold_lines(page, { X, box }) {
  const { exact, certified, paper, useful, useful_momentum } = page.thresholds;
  const marks = [
    [exact, "exact", "--ink", ""], [certified, "certified", "--best", "5 4"], [paper, "paper's b*", "--warn", "2 3"],
    [useful, "useful, SGD", "--accent", "1 4"], [useful_momentum, "useful, momentum", "--accent", "8 3"],
  ];
  return marks.map(([b, text, colour, dashes], i) => {
    if (!(b >= 1 && b <= page.model.n)) return "";
    const px = X.px(b), right = px > 0.5 * (box.left + box.right), y = box.top + 12 + 15 * i;
    const words = { anchor: right ? "end" : "start", kind: "halo", style: `fill:var(${colour})` };
    return stroke(`M${px.toFixed(1)} ${box.top}V${box.bottom}`, `stroke:var(${colour});stroke-dasharray:${dashes}`, "mark")
      + words_at(px + (right ? -5 : 5), y, `${text} ${number_text(up(b))}`, words);
  }).join("");
}

// The smallest whole batch that is not below a threshold.
const up = (b) => Math.ceil(b - 1e-9);

function batches_note(page) {
  const { exact, certified, paper, useful, useful_momentum } = page.thresholds, n = page.model.n;
  const said = (b) => (b > n ? "no batch" : b < 1 ? "every batch" : `${number_text(up(b))} rows`);
  return `The paper's heavy ball is stable from ${said(exact)} on in truth, ${said(certified)} certified, `
    + `${said(paper)} by the paper's b*. A cross: diverges to its left. The best constant steps have half of their speed `
    + `from about ${said(useful)} on without momentum, ${said(useful_momentum)} with it: momentum saves steps, not rows.`;
}
