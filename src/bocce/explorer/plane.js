// View 4: the plane of step and momentum, where heavy ball is stable and how fast it is.

const STEPS = { low: 0.01, high: 4 };
const steps_range = (page) => ({ ...STEPS, low: Math.min(STEPS.low, 0.2 * page.best.alpha) });
const SLOWER = [1, 1.25, 2, 4, 8, 16, 32, 64, 128];  // bands: steps over those of the best point

const longest_memory = (kappa) => Math.max(100, 20 * Math.sqrt(kappa));

// The largest stable step at each momentum: `exact` for the rows on the page, `certified` for all.
function edges(page, count) {
  const { model } = page, { spectrum, L_max, n, b, R, mu } = model, z = zeta2(n, b), found = [];
  const high = longest_memory(model.kappa);
  for (let j = 0; j < count; j++) {
    const beta = 1 - high ** (-j / (count - 1));
    const certified = Math.min(...[mu, 1].map((lam) => edge({ beta, lam, zeta2: z, L_max: R })));
    let [stable, unstable] = [certified * (1 - 1e-9), 2 * (1 + beta)];
    for (let i = 0; i < 18 && z > 0; i++) {
      const middle = Math.sqrt(stable * unstable);
      if (loop_gain(spectrum, middle, beta, 0, z, L_max) <= 1) stable = middle;
      else unstable = middle;
    }
    found.push({ beta, exact: z > 0 ? stable : unstable, certified });
  }
  return found;
}

// log2 of the steps for one more digit, on a grid; beyond the edge, continued upwards.
function plane_field(page, nx, ny, edge_at) {
  const { model } = page, values = new Float64Array(nx * ny), high = longest_memory(model.kappa);
  const steps = steps_range(page);
  let best = Infinity;
  for (let j = 0; j < ny; j++) {
    const beta = 1 - high ** (-j / (ny - 1));
    for (let i = 0; i < nx; i++) {
      const alpha = steps.low * (steps.high / steps.low) ** (i / (nx - 1)), at = j * nx + i;
      if (alpha >= edge_at(beta)) {
        values[at] = (i ? values[at - 1] : 10) + 1;
        continue;
      }
      const still = noise_free_radius(model.spectrum, alpha, beta, 0);
      const rate = rate_of(model, { alpha, beta, theta: 0 }, model.b, 1e-3 * (1 - still));
      values[at] = Math.log2(steps_per_digit(rate));
      best = Math.min(best, values[at]);
    }
  }
  return { nx, ny, values, best };
}

function draw_plane(page, draft) {
  const { model } = page, plot = page.plots.plane, high = longest_memory(model.kappa);
  const momenta = [0, 0.5, 0.9, 0.99, 0.999, 0.9999].map((beta) => 1 / (1 - beta)).filter((m) => m <= high * 1.001);
  const steps = steps_range(page), ticks = [1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3].filter((v) => v >= steps.low);
  const x = { log: true, ...steps, title: "step α, in units of 1/L", values: ticks, text: String };
  const beta_text = (memory) => String(Number((1 - 1 / memory).toPrecision(4)));
  const y = { log: true, low: 1, high, values: momenta, title: "momentum β", text: beta_text };
  const view = frame(plot, x, y, { left: 50, right: 62, top: 24, bottom: 40 }), { X, Y, box } = view;
  const count = draft ? 25 : 49, key = page.key + JSON.stringify([model.b, box, count, page.dark, steps.low]);
  if (page.plane_key !== key) {
    page.plane_key = key;
    const line = page.edges = edges(page, count);
    const edge_at = (beta) => {  // between two momenta, on the logarithmic scale of the picture
      const at = -Math.log(1 - beta) / Math.log(high) * (count - 1), j = Math.min(Math.floor(at), count - 2);
      return line[j].exact ** (1 - at + j) * line[j + 1].exact ** (at - j);
    };
    const field = plane_field(page, draft ? 21 : 61, draft ? 15 : 47, edge_at);
    const levels = SLOWER.map(Math.log2), colours = SLOWER.map((_, i) => ramp(1 - i / (SLOWER.length - 1)));
    const blank = page.dark ? 0xff2d2520 : 0xfff4f2f1, hatch = page.dark ? 0xff3d332b : 0xffe2dedb;
    const ends = {}, size = draft ? 2 : 1;
    paint(plot.querySelector("canvas"), box, field, (value, i, j) => {
      if (!(j in ends)) ends[j] = (X.px(edge_at(1 - 1 / Y.at(box.top + (j + 0.5) * size))) - box.left) / size;
      if (i > ends[j]) return (i + j) % 8 ? blank : hatch;
      return colours[band(levels, value - field.best + 1e-9)];
    }, size);
  }
  let svg = view.svg.replace(/<path class="grid"[^>]*>/g, "");
  const inside = ([px]) => px >= box.left && px <= box.right;
  const line = (side, style) => {
    const points = page.edges.map((e) => [X.px(e[side]), Y.px(1 / (1 - e.beta))]).filter(inside);
    const d = points.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L");
    return points.length > 1 ? stroke(`M${d}`, style) : "";
  };
  if (!model.L_max) svg += line("certified", "stroke:#fff;stroke-dasharray:5 4;stroke-width:1.6");
  svg += line("exact", "stroke:var(--warn);stroke-width:3");
  const room = X.px(page.edges.at(-1).exact) < box.right - 80;
  if (room) {
    const words = { anchor: "end", kind: "label", style: "fill:var(--warn)" };
    svg += words_at(box.right - 8, box.top + 18, "diverges", words);
  }
  svg += method_points(page, view);
  svg += legend(view, SLOWER.map((s, i) => [`${s}×`, ramp(1 - i / (SLOWER.length - 1))]).reverse());
  plot.querySelector("svg").innerHTML = svg;
  const said = plane_words(page);
  page.place_handle("plane", X.px(model.step), Y.px(Math.min(1 / (1 - model.momentum), high)), said);
  page.views.plane = { ...view };
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `Plane of step and momentum. ${said}`);
  const certified = model.L_max ? "" : "; dashed: what is certified";  // the same where rows are extremal
  page.note("plane", `${said} Colours: steps over the best point's. Orange: the edge of stability${certified}. Rings look ahead.`);
}

// Where the methods stand; a ring takes its gradient ahead (theta > 0).
function method_points(page, { X, Y, box }) {
  const taken = [];
  const points = page.shown.filter((name) => RATED.includes(name) && name !== "yours").map((name) => {
    const { alpha, beta, theta } = page.rows[name], ahead = theta > 0, text = label_of(name);
    const px = Math.min(Math.max(X.px(alpha), box.left), box.right), py = Math.max(Y.px(1 / (1 - beta)), box.top);
    const left = px > box.right - 90 || (ahead && px > box.left + 60), x = px + (left ? -9 : 9);
    const ends = [x - (left ? 8 * text.length : 0), x + (left ? 0 : 8 * text.length)];
    let y = py + (ahead ? 4 : -7);
    while (taken.some((t) => Math.abs(t.y - y) < 13 && t.ends[0] < ends[1] && ends[0] < t.ends[1])) y += 13;
    taken.push({ y, ends });
    const look = ahead ? `fill:none;stroke:${hue(name)};stroke-width:3` : `fill:${hue(name)};stroke:#fff;stroke-width:1.5`;
    return `<circle cx="${px}" cy="${py}" r="5.5" style="${look}"/>` + on_picture(x, y, text, left ? "end" : "start");
  });
  return points.join("");
}

function plane_words(page) {
  const { model } = page, row = { alpha: model.step, beta: model.momentum, theta: 0 };
  const steps = steps_per_digit(rate_of(model, row, model.b));
  const what = `Step ${number_text(row.alpha)}/L, momentum ${Number(row.beta.toPrecision(4))}:`;
  if (steps < Infinity) return `${what} ${number_text(Math.ceil(steps))} steps for one more digit.`;
  const { spectrum, n, L_max } = model, least = critical_batch_size({ spectrum, n, L_max, ...row });
  if (least > n) return `${what} diverges at every batch size.`;
  return `${what} diverges; it needs ${number_text(Math.floor(least) + 1)} rows a batch.`;
}
