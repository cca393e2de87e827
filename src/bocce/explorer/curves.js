// View 1: expected curves by step, their two parts, and single runs.

const AXES = { error2: "E‖w − w*‖², the start is 1", gap: "E f − f*", grad2: "E‖∇f‖²" };
const LOWEST = 1e-18;  // of the start: curves are not followed further down

function draw_curves(page) {
  const { state, model, curves, runs } = page, plot = page.plots.curves, T = model.T;
  const measured = page.shown.map((name) => [name, curves[name][state.measure]]);
  const first = measured.length ? measured[0][1][0] : 1;
  const values = measured.flatMap(([, ys]) => [Math.min(...ys), last_finite(ys)]).filter((v) => v > 0);
  const low = 10 ** Math.floor(Math.log10(Math.max(Math.min(...values, first / 10), LOWEST * first)));
  const grown = measured.some(([, ys]) => !(ys[T] <= 2 * first));
  const peaks = measured.filter(([, ys]) => ys[T] <= 2 * first).map(([, ys]) => Math.max(...ys));
  const high = Math.max(first * (grown ? 300 : 3), ...peaks.map((peak) => Math.min(2 * peak, 1e6 * first)));
  const narrow = plot.clientWidth < 480;
  const x = { log: !!state.logk, low: state.logk ? 1 : 0, high: T, title: "step k" };
  const y = { log: true, low, high, title: AXES[state.measure] };
  const view = frame(plot, x, y, { left: 50, right: narrow ? 102 : 112, top: 24, bottom: 40 });
  const ks = Float64Array.from({ length: T + 1 }, (_, k) => k), from = state.logk ? 1 : 0;
  const cut = (ys) => ys.subarray(from);
  let svg = view.svg;
  const labels = [];
  const line = (name, ys, style, cls = "curve") => {
    const path = path_of(view, cut(ks), cut(ys));
    if (path.d) svg += stroke(path.d, `stroke:${hue(name)};${style}`, cls);
    return path;
  };
  for (const [name, ys] of measured) {
    if (runs[name] && state.measure === "error2") line(name, runs[name], "opacity:.55", "curve thin");
    if (state.split && state.measure === "error2") {
      const { bias, sampling, targets } = page.parts[name];
      line(name, bias, "stroke-dasharray:1 4", "curve thin");
      line(name, sampling, "stroke-dasharray:6 4", "curve thin");
      line(name, targets, "stroke-dasharray:9 3 2 3", "curve thin");
    }
    const path = line(name, ys, dash(name) + (name === "mass-avg" ? ";stroke-width:3" : ""));
    if (!path.end) continue;
    if (path.left) svg += cross(path.end, hue(name));
    const text = path.left ? `${label_of(name)} ✕` : label_of(name);
    labels.push({ x: Math.min(path.end[0] + 7, view.box.right + 6), y: path.end[1], text, colour: hue(name) });
  }
  plot.querySelector("svg").innerHTML = svg + end_labels(labels, view);
  page.views.curves = {
    ...view, low: from, high: T, at: (px) => Math.round(view.X.at(px)),
    lines: (k) => [`step ${number_text(k)}`, measured.map(([name, ys]) => [name, ys[k]])],
  };
  plot.setAttribute("aria-label", `${AXES[state.measure]} after ${T} steps: `
    + measured.map(([name, ys]) => `${label_of(name)} ${number_text(ys[T])}`).join(", "));
  page.note("curves", curves_note(state, runs));
}

// The error as a sum: of the mean of all runs, of a batch's choice of rows, and of the noise of the targets.
// Second moments are linear in the variance of the targets, so the last part is the whole less that without it.
function parts_of(model, table, { error2, bias2 }) {
  const exact = model.noise > 0 ? curve_of({ ...model, noise: 0 }, table).error2 : error2;
  return {
    bias: bias2,
    sampling: exact.map((e, k) => Math.max(e - bias2[k], 0)),
    targets: error2.map((e, k) => Math.max(e - exact[k], 0)),
  };
}

function last_finite(ys) {
  for (let k = ys.length - 1; k > 0; k--) if (ys[k] < Infinity) return ys[k];
  return ys[0];
}

function curves_note(state, runs) {
  if (state.measure !== "error2" && (state.split || state.run)) {
    return "The parts of the error and single runs are shown for E‖w − w*‖².";
  }
  if (state.split) {
    return "Thick: the error, a sum of three. Dotted: bias, what the mean of all runs leaves. Dashed: sampling noise, which "
      + "rows are in the batch; it falls with the error. Dash-dot: target noise, no model fits all rows; constant steps keep it.";
  }
  if (state.run) return `Thin: one run of each (number ${state.run}). Thick: the mean over all runs, computed and not sampled.`;
  return "Means over all batches, computed and not sampled. A cross: the error grows without limit.";
}
