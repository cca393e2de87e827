// The setting on the page. It lives in the address: a link shows what its sender saw.

const DEFAULTS = {
  screen: 1, rows: "gaussian", spectrum: "geometric", d: 20, n: 10000, kappa: 1000, ratio: 30,
  noise: 1e-3, T: 1000, b: 300, show: "sgd,shb,nesterov,best,mass-avg", step: 0.5, momentum: 0.8,
  measure: "error2", split: 0, logk: 0, by: "rate", run: 0, theme: "",
};
const CHOICES = {
  rows: ["gaussian", "one"], spectrum: ["linear", "geometric", "power", "two", "data"],
  measure: ["error2", "gap", "grad2"], by: ["rate", "error"], theme: ["", "light", "dark"],
};
const RANGES = {
  screen: [0, 6], d: [2, 500], n: [10, 1e6], kappa: [1.01, 1e6], ratio: [1, 1e6], noise: [0, 100],
  T: [10, 20000], b: [1, 1e6], step: [0.001, 4], momentum: [0, 0.99999], split: [0, 1],
  logk: [0, 1], run: [0, 1e6],
};
const WHOLE = ["screen", "d", "n", "T", "b", "split", "logk", "run"];

// The value that a text stands for, or null where it is none.
function parsed(name, text) {
  if (name in CHOICES) return CHOICES[name].includes(text) ? text : null;
  if (name === "show") {
    return text.split(",").filter((method) => METHODS.some((m) => m.name === method)).join(",");
  }
  const number = text === "" ? NaN : Number(text);
  if (!Number.isFinite(number)) return null;
  const [low, high] = RANGES[name], kept = Math.min(Math.max(number, low), high);
  return WHOLE.includes(name) ? Math.round(kept) : kept;
}

function from_address(hash) {
  const state = { ...DEFAULTS };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const value = name in DEFAULTS ? parsed(name, text) : null;
    if (value !== null) state[name] = value;
  }
  return consistent(state);
}

function to_address(state) {
  const said = Object.keys(DEFAULTS).filter((name) => state[name] !== DEFAULTS[name]);
  const parts = said.map((name) => {
    const value = state[name];
    const short = typeof value === "number" ? Number(value.toPrecision(6)) : value;
    return `${name}=${encodeURIComponent(short).replace(/%2C/g, ",")}`;
  });
  return "#" + parts.join("&");
}

// A batch has at most n rows; a spectrum of data needs data.
function consistent(state) {
  if (state.spectrum === "data" && !data_of(state)) state.spectrum = DEFAULTS.spectrum;
  if (state.spectrum === "data") state.n = data_of(state).n;
  if (state.spectrum === "data") state.rows = "gaussian";
  state.b = Math.min(state.b, state.n);
  return state;
}
