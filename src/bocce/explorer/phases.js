// View 3: what the best heavy ball gains over the best SGD, by batch and condition number.

const GAINS = [1, 1.02, 2, 5, 10, 20, 50, 100, 200, 500];
const KAPPAS = { low: 2, high: 1e6 };

function phase_field(page, nx, ny) {
  const { state, model } = page, values = new Float64Array(nx * ny);
  for (let j = 0; j < ny; j++) {
    const kappa = KAPPAS.low * (KAPPAS.high / KAPPAS.low) ** (j / (ny - 1)), R = ratio_at(state, kappa);
    for (let i = 0; i < nx; i++) {
      const b = model.n ** (i / (nx - 1)), z = i === nx - 1 ? 0 : zeta2(model.n, b);
      values[j * nx + i] = Math.log(best_heavy_ball(kappa, R, z, SEARCH).gain);
    }
  }
  return { nx, ny, values };
}

// L_max/L of the rows on the page, had they this condition number.
function ratio_at(state, kappa) {
  return ratio_of(state, state.spectrum === "data" ? data_of().spectrum : spectrum_of(state.spectrum, kappa, state.d));
}

// Batches by condition number: below the first momentum gains nothing, below the second heavy ball diverges.
function phase_lines(page) {
  const { state, model } = page, none = [], critical = [];
  for (let j = 0; j <= 24; j++) {
    const kappa = KAPPAS.low * (KAPPAS.high / KAPPAS.low) ** (j / 24), mu = 1 / kappa, R = ratio_at(state, kappa);
    const z = (1 - mu * (2 - mu)) / ((2 - mu) * (R - mu) - (R - 1));
    none.push([fraction_for(model.n, z), kappa]);
    if (state.spectrum === "data") continue;
    const spectrum = spectrum_of(state.spectrum, kappa, state.d), L_max = state.rows === "one" ? R : null;
    critical.push([critical_batch_size({ spectrum, n: model.n, L_max, alpha: 1, beta: momentum(1, mu) }), kappa]);
  }
  return { none, critical };
}

const band = (levels, value) => {
  let i = levels.length - 1;
  while (i > 0 && value < levels[i]) i--;
  return i;
};

function draw_phases(page, draft) {
  const { state, model } = page, plot = page.plots.phases, fixed = state.spectrum === "data";
  const x = { log: true, low: 1, high: model.n, title: "rows in a batch" };
  const y = { log: true, ...KAPPAS, title: "condition number κ" };
  const view = frame(plot, x, y, { left: 50, right: 62, top: 24, bottom: 40 }), { X, Y, box } = view;
  const key = JSON.stringify([state.rows, state.spectrum, state.d, state.ratio, model.n, box]);
  const full = page.phases && page.phases.key === key && !page.phases.draft;
  if (!full && !(draft && page.phases && page.phases.key === key)) {
    const field = draft ? phase_field(page, 15, 11) : phase_field(page, 33, 25);
    const logs = GAINS.map(Math.log), colours = GAINS.map((_, i) => ramp(i / (GAINS.length - 1)));
    paint(plot.querySelector("canvas"), box, field, (value) => colours[band(logs, value + 1e-12)], draft ? 2 : 1);
    page.phases = { key, draft, lines: phase_lines(page) };
  }
  const { none, critical } = page.phases.lines;
  const line = (points, style) => {
    const d = points.filter(([b]) => b >= 1 && b <= model.n)
      .map(([b, kappa]) => `${X.px(b).toFixed(1)} ${Y.px(kappa).toFixed(1)}`);
    return d.length > 1 ? stroke(`M${d.join("L")}`, style) : "";
  };
  let svg = view.svg.replace(/<path class="grid"[^>]*>/g, "");
  svg += line(none, "stroke:#fff;stroke-width:2");
  svg += line(critical, "stroke:#ff8a4c;stroke-width:2;stroke-dasharray:6 4");
  const here = none[6], there = critical[17];
  if (here && here[0] > 6) svg += on_picture(X.px(here[0]) - 10, Y.px(here[1]), "no gain", "end");
  if (there && there[0] > 1 && there[0] < model.n) {
    const left = X.px(there[0]) > 0.55 * (box.left + box.right);
    const [x, y] = [X.px(there[0]) + (left ? -10 : 10), Y.px(there[1])], text = "heavy ball diverges";
    svg += left ? on_picture(x, y, text, "end", "#ffb38a") : on_picture(x, y, `← ${text}`, "start", "#ffb38a");
  }
  svg += legend(view, GAINS.map((gain, i) => [i ? `${gain}×` : "none", ramp(i / (GAINS.length - 1))]));
  plot.querySelector("svg").innerHTML = svg;
  const shown = fixed ? model.kappa : state.kappa, best = page.best;
  page.place_handle("phases", X.px(model.b), Y.px(Math.min(Math.max(shown, KAPPAS.low), KAPPAS.high)),
    `batch ${number_text(model.b)}, condition number ${number_text(shown)}: gain ${number_text(best.gain)}`);
  page.views.phases = { ...view };
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `Gain of momentum over SGD by batch and condition number; here ${number_text(best.gain)}`);
  page.note("phases", "Steps of the best SGD that one step of the best heavy ball replaces, certified for all rows "
    + `with this Lₘₐₓ/L. Here: ${number_text(best.gain)}. Drag the dot.`);
}

const css = (pixel) => `rgb(${pixel & 255},${(pixel >> 8) & 255},${(pixel >> 16) & 255})`;

function legend({ box }, entries) {
  const height = (box.bottom - box.top) / entries.length;
  return entries.map(([text, colour], i) => {
    const y = box.bottom - (i + 1) * height;
    return `<rect x="${box.right + 10}" y="${y}" width="12" height="${height}" fill="${css(colour)}"/>`
      + words_at(box.right + 26, y + height / 2, text, { dy: "0.35em" });
  }).join("");
}
