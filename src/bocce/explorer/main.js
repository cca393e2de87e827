// The page: one state, one redraw, and what moves them.

const find = (selector, from = document) => from.querySelector(selector);
const page = { state: null, plots: {}, views: {}, data: DATA || GALLERY };

// -- computing: everything that depends on the state, once a redraw --------------------------------

function compute() {
  const { state } = page, model = page.model = model_of(state);
  page.shown = state.show ? state.show.split(",") : [];
  const { b, screen, measure, split, logk, by, run, theme, ...others } = state;
  page.key = JSON.stringify([others, page.data && page.data.name]);  // all but the batch, and how it is shown
  page.best = best_heavy_ball(model.kappa, model.R, zeta2(model.n, model.b));
  page.thresholds = page.once("thresholds", () => thresholds_of(model));
  page.curves = {};
  page.parts = {};
  page.rows = {};
  page.runs = {};
  for (const name of page.shown) {
    const table = name === "best" ? constant(model.T, page.best.alpha, page.best.beta) : table_of(name, model);
    page.rows[name] = fastest_row(table);
    page.curves[name] = curve_of(model, table);
    if (state.split) page.parts[name] = parts_of(model, table, page.curves[name]);
    if (state.run) {
      const { spectrum, noise, n, b, L_max, start } = model;
      page.runs[name] = sample({ spectrum, noise, n, b, L_max, start, seed: state.run, ...table });
    }
  }
}

// What does not depend on the batch is kept while the batch moves.
let cache = { key: null, found: {} };
page.kept = (name) => {
  if (cache.key !== page.key) cache = { key: page.key, found: {} };
  return cache.found[name] || (cache.found[name] = {});
};
page.once = (name, make) => {
  const kept = page.kept(name);
  if (!("value" in kept)) kept.value = make();
  return kept.value;
};

// -- drawing ----------------------------------------------------------------------------------------

let waiting = null, settled = null;

function redraw(draft) {
  const begin = performance.now();
  compute();
  page.dark = document.documentElement.dataset.theme === "dark";
  find("#words").innerHTML = sentence(page);
  find("#screen-text").textContent = told_of(page);
  draw_methods();
  draw_curves(page);
  const done = draw_batches(page, draft);
  draw_phases(page, draft);
  draw_plane(page, draft);
  show_controls();
  page.redraw_ms = performance.now() - begin;
  clearTimeout(settled);
  if (draft) settled = setTimeout(() => redraw(false), 120);
  else if (!done) settled = setTimeout(() => redraw(false), 0);
  else document.body.dataset.drawn = "1";
}

function set(patch, draft = true) {
  Object.assign(page.state, patch);
  consistent(page.state);
  delete document.body.dataset.drawn;
  if (waiting === null) {
    waiting = requestAnimationFrame(() => {
      waiting = null;
      redraw(draft);
      remember();
    });
  }
}

let remembering = null;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => history.replaceState(null, "", to_address(page.state)), 200);
}

page.note = (name, text) => { find(`#note-${name}`).textContent = text; };

page.place_handle = (name, x, y, text) => {
  const handle = find(".handle", page.plots[name]);
  Object.assign(handle.style, { left: `${x}px`, top: `${y}px` });
  handle.setAttribute("aria-valuetext", text);
  handle.setAttribute("aria-valuenow", Math.round(x));
};

function draw_methods() {
  for (const { name } of METHODS) {
    const chip = find(`#methods [data-method="${name}"]`), on = page.shown.includes(name);
    chip.setAttribute("aria-pressed", on);
    const value = on ? page.curves[name].error2[page.model.T] : null, grown = on && !(value <= 10);
    find("em", chip).textContent = !on ? "" : grown ? "diverges" : number_text(value);
    find("em", chip).classList.toggle("bad", grown);
  }
}

// -- controls ---------------------------------------------------------------------------------------

const NOTCHES = 400;
const SLIDERS = { b: [1, null], n: [10, 1e6], kappa: [2, 1e6], d: [2, 500], ratio: [1, 1e4], noise: [1e-8, 10], T: [10, 20000] };

function slider_range(name) {
  const [low, high] = SLIDERS[name];
  if (name === "b") return [1, page.state.n];
  if (name === "ratio") return [total(page.model.spectrum), high];
  return [low, high];
}

// Sliders are logarithmic; that of noise has 0 at its left end.
function slider_value(name, notch) {
  const [low, high] = slider_range(name);
  if (name === "noise" && notch === 0) return 0;
  const value = low * (high / low) ** (notch / NOTCHES);
  if (!WHOLE.includes(name)) return Number(value.toPrecision(3));
  return value > 100 && value < high ? Number(value.toPrecision(3)) - 0 | 0 : Math.round(value);
}

function slider_notch(name, value) {
  const [low, high] = slider_range(name);
  if (value < low) return 0;
  return Math.round(NOTCHES * Math.log(value / low) / Math.log(high / low));
}

function show_controls() {
  const { state, model } = page, known = state.spectrum === "data";
  for (const control of document.querySelectorAll("[data-state]")) {
    const name = control.dataset.state;
    if (control.type === "checkbox") control.checked = !!state[name];
    else if (control.type === "range") {
      const notch = slider_notch(name, state[name]);
      if (document.activeElement !== control || slider_value(name, +control.value) !== state[name]) control.value = notch;
      const value = name === "kappa" ? model.kappa : name === "ratio" ? model.R : name === "d" ? model.d : state[name];
      const text = name === "noise" && !value ? "none" : number_text(value);
      const output = name === "b" ? find("#batch-value") : find("output", control.parentNode);
      output.textContent = name === "b" ? `${text} of ${number_text(state.n)}` : text;
      control.setAttribute("aria-valuetext", output.textContent);
      control.disabled = known && ["n", "kappa", "d"].includes(name) || name === "ratio" && state.rows !== "one";
    } else control.value = state[name];
  }
  find('[data-state="spectrum"] [value="data"]').disabled = !data_of();
  find("#run").textContent = state.run ? "Another run" : "One run";
}

function listen_to_controls() {
  for (const control of document.querySelectorAll("[data-state]")) {
    const name = control.dataset.state;
    if (control.type === "range") {
      control.min = 0;
      control.max = NOTCHES;
      control.addEventListener("input", () => set({ [name]: slider_value(name, +control.value) }));
    } else {
      control.addEventListener("change", () => {
        const value = control.type === "checkbox" ? Number(control.checked) : control.value;
        set({ [name]: value, ...(name === "split" && !value ? { run: 0 } : {}) }, false);
      });
    }
  }
  find("#run").addEventListener("click", () => set({ run: page.state.run + 1, measure: "error2" }, false));
}

function make_methods() {
  find("#methods").innerHTML = METHODS.map(({ name, label, hint }) =>
    `<button type="button" class="method" data-method="${name}" style="--hue:${hue(name)}" title="${escaped(hint)}">`
    + `<i></i>${label}<em></em></button>`).join("");
  find("#methods").addEventListener("click", (event) => {
    const chip = event.target.closest("[data-method]");
    if (!chip) return;
    const name = chip.dataset.method, on = new Set(page.shown);
    if (!on.delete(name)) on.add(name);
    set({ show: METHODS.map((m) => m.name).filter((m) => on.has(m)).join(",") }, false);
  });
}

// -- handles and readouts: pointer, touch and keys --------------------------------------------------

// What the two coordinates of each handle are: where the state puts it, and what a place means.
const batch_at = (view) => (px) => ({ b: Math.max(1, Math.round(page.views[view].X.at(px))) });
const HANDLES = {
  batches: { place: (view, { b }) => [view.X.px(b), view.box.bottom], x: batch_at("batches") },
  phases: {
    place: (view, { b, kappa }) => [view.X.px(b), view.Y.px(kappa)],
    x: batch_at("phases"),
    y: (py) => (page.state.spectrum === "data" ? {} : { kappa: Number(page.views.phases.Y.at(py).toPrecision(3)) }),
  },
  plane: {
    place: (view, { step, momentum }) => [view.X.px(step), view.Y.px(1 / (1 - momentum))],
    x: (px) => ({ step: Number(page.views.plane.X.at(px).toPrecision(4)), ...with_yours() }),
    y: (py) => ({ momentum: Number((1 - 1 / page.views.plane.Y.at(py)).toPrecision(6)), ...with_yours() }),
  },
};
const with_yours = () => (page.shown.includes("yours") ? {} : { show: [...page.shown, "yours"].join(",") });

function listen_to_handles() {
  for (const [name, { place, x, y }] of Object.entries(HANDLES)) {
    const plot = page.plots[name], handle = find(".handle", plot);
    const to = (px, py) => set({ ...x(px), ...(y ? y(py) : {}) });
    const inside = (event) => {
      const { left, top } = plot.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (handle.hasPointerCapture(event.pointerId)) to(...inside(event));
    });
    plot.addEventListener("click", (event) => {
      const { box } = page.views[name], [px, py] = inside(event);
      if (event.target !== handle && px >= box.left && px <= box.right && py >= box.top && py <= box.bottom) to(px, py);
    });
    handle.addEventListener("keydown", (event) => {
      let [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [0, 0];
      if (!dx && !dy) return;
      event.preventDefault();
      if (!y) [dx, dy] = [dx + dy, 0];
      const far = event.shiftKey ? 10 : 2, [px, py] = place(page.views[name], page.state);
      const next = dx ? x(px + far * dx) : y(py - far * dy);
      if (next.b === page.state.b) next.b = Math.min(Math.max(next.b + dx, 1), page.state.n);  // at least one row
      set(next);
    });
  }
}

function listen_to_readouts() {
  for (const name of ["curves", "batches"]) {
    const plot = page.plots[name], box = find(".readout", plot);
    let at = null;
    const show = (value) => {
      const view = page.views[name];
      at = Math.min(Math.max(value, view.low), view.high);
      const [head, lines] = view.lines(at), px = view.X.px(Math.max(at, name === "curves" && page.state.logk ? 1 : view.low));
      box.innerHTML = `<strong>${head}</strong>` + lines.sort((a, b) => a[1] - b[1]).map(([method, y]) =>
        `<div style="--hue:${hue(method)}"><i></i>${label_of(method)} `
        + `${y < Infinity ? number_text(y) : "diverges"}</div>`).join("");
      box.classList.add("on");
      const side = px > view.width / 2 ? { left: "auto", right: `${view.width - px + 14}px` } : { left: `${px + 14}px`, right: "auto" };
      Object.assign(box.style, { ...side, top: `${view.box.top + 4}px` });
    };
    const hide = () => box.classList.remove("on");
    plot.addEventListener("pointermove", (event) => {
      const x = event.clientX - plot.getBoundingClientRect().left, view = page.views[name];
      if (event.target.closest(".handle") || x < view.box.left || x > view.box.right) return hide();
      show(view.at(x));
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.target !== plot) return;
      event.preventDefault();
      const view = page.views[name], start = at === null ? view.high : at;
      show(view.stretch ? Math.round(start * view.stretch ** step + 0.5 * step) : start + step * Math.ceil(view.high / 50));
    });
  }
}

// -- story, presets, copies, theme ------------------------------------------------------------------

function mark_figure(number) {
  const { name, view, formula, proof } = number ? SCREENS[number - 1] : PLAY;
  find("#screen-title").textContent = number ? `${number}. ${name}` : name;
  find("#screen-formula").innerHTML = formula ? `${formula} <span>Proof: ${proof_link(proof)}</span>` : "";
  document.querySelectorAll("#screens button").forEach((button, i) => {
    if (i + 1 !== number) return button.removeAttribute("aria-current");
    button.setAttribute("aria-current", "step");
    find("#screens").scrollLeft = button.offsetLeft - 40;
  });
  document.querySelectorAll("figure").forEach((figure) => figure.classList.toggle("marked", figure.id === `view-${view}`));
  find("#back").disabled = number <= 1;
  find("#next").textContent = number === 0 ? "The story →" : number === SCREENS.length ? "Play" : "Next →";
}

function go(number) {
  const theme = page.state.theme;
  Object.assign(page.state, DEFAULTS, { theme }, SCREENS[number - 1].state, { screen: number });
  mark_figure(number);
  set({}, false);
}

function listen_to_story() {
  find("#screens").innerHTML = SCREENS.map(({ name }, i) => `<li><button type="button">${i + 1} ${name}</button></li>`).join("");
  document.querySelectorAll("#screens button").forEach((button, i) => button.addEventListener("click", () => go(i + 1)));
  find("#back").addEventListener("click", () => go(Math.max(page.state.screen - 1, 1)));
  find("#next").addEventListener("click", () => {
    if (page.state.screen < SCREENS.length) return go(page.state.screen + 1);
    page.state.screen = 0;
    mark_figure(0);
    find("#batch").focus();
  });
  const list = presets(), preset = find("#preset");
  preset.innerHTML = ["choose a setting …", ...list.map(([name]) => name)].map((name, i) =>
    `<option value="${i || ""}">${escaped(name)}</option>`).join("");
  preset.addEventListener("change", () => {
    if (preset.value === "") return;
    const [, patch, data] = list[preset.value - 1];
    if (data) page.data = data;
    set({ ...DEFAULTS, theme: page.state.theme, ...patch, screen: 0 }, false);
    mark_figure(0);
    preset.value = "";
  });
}

function say(text) {
  const box = find("#said");
  box.textContent = text;
  box.classList.add("on");
  setTimeout(() => box.classList.remove("on"), 1800);
}

async function copy(kind) {
  history.replaceState(null, "", to_address(page.state));
  const text = { link: () => location.href, command: () => command_text(page), python: () => python_text(page) }[kind]();
  page.copied = text;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page from a file may not have a clipboard
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied.");
}

function use_theme() {
  const dark = page.state.theme ? page.state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function start() {
  for (const name of ["curves", "batches", "phases", "plane"]) page.plots[name] = find(`#view-${name} .plot`);
  const asked = location.hash.length > 1;
  page.state = from_address(location.hash);
  if (!asked) Object.assign(page.state, DATA ? presets().at(-1)[1] : SCREENS[0].state, DATA ? { screen: 0 } : {});
  make_methods();
  listen_to_controls();
  listen_to_handles();
  listen_to_readouts();
  listen_to_story();
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button.dataset.copy)));
  find("#theme").addEventListener("click", () => {
    set({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }, false);
    use_theme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { use_theme(); set({}, false); });
  addEventListener("hashchange", () => {
    page.state = from_address(location.hash);
    use_theme();
    mark_figure(page.state.screen);
    set({}, false);
  });
  new ResizeObserver(() => set({}, false)).observe(find(".views"));
  addEventListener("beforeprint", () => redraw(false));
  use_theme();
  mark_figure(page.state.screen);
  redraw(true);
}

window.bocce = {
  zeta2, batch_threshold, lower_bound_threshold, certificate, certified_rate, certified_batch_size,
  best_heavy_ball, edge, useful_batch, stage_count, schedule, expected, mean_square_rate, critical_batch_size, stationary, sample,
  explorer: { page, set, go, redraw, findings, texts: () => [command_text(page), python_text(page)] },
};
start();
