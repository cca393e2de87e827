// Axes, lines and labels: what the four views share.

const DIGITS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const raised = (power) => String(power).replace(/./g, (c) => DIGITS[c]);

// Three digits, as people write them.
function number_text(x) {
  if (!Number.isFinite(x)) return "∞";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 1e7 || size < 1e-3) {
    let power = Math.floor(Math.log10(size)), front = Number((x / 10 ** power).toPrecision(2));
    if (Math.abs(front) >= 10) [front, power] = [front / 10, power + 1];
    return front === 1 ? `10${raised(power)}` : `${front}·10${raised(power)}`;
  }
  if (size >= 999.5) return Math.round(x).toLocaleString("en-US");
  return String(Number(x.toPrecision(3)));
}

const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// A path, and a text, of an SVG.
const stroke = (d, style, kind = "curve") => `<path class="${kind}" style="${style}" d="${d}"/>`;
function words_at(x, y, text, { anchor = "start", kind = "", style = "", dy = "0" } = {}) {
  return `<text x="${x}" y="${y}" dy="${dy}" text-anchor="${anchor}" class="${kind}" style="${style}">${text}</text>`;
}
// White letters with a dark rim, for pictures of any colour.
const ON_PICTURE = "paint-order:stroke;stroke:#10131a;stroke-width:3.5px;stroke-linejoin:round;fill:";
const on_picture = (x, y, text, anchor, colour = "#fff") =>
  words_at(x, y, text, { anchor, kind: "label", style: ON_PICTURE + colour });

// From values to pixels and back; `ticks` are at most `most` round values.
function scale({ log = false, low, high }, from, to) {
  const f = log ? Math.log : (x) => x, back = log ? Math.exp : (x) => x;
  const [a, b] = [f(low), f(high)], slope = (to - from) / (b - a);
  return {
    px: (x) => from + (f(x) - a) * slope,
    at: (p) => back(Math.min(Math.max(a + (p - from) / slope, Math.min(a, b)), Math.max(a, b))),
    ticks: (most) => (log ? log_ticks(low, high, most) : linear_ticks(low, high, most)),
  };
}

function log_ticks(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / most)), ticks = [];
  const parts = last - first < 2 ? [1, 2, 5] : [1];
  for (let p = first - 1; p <= last; p++) {
    if (p % every) continue;
    for (const part of parts) ticks.push(part * 10 ** p);
  }
  return ticks.filter((x) => x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9));
}

function linear_ticks(low, high, most) {
  const raw = (high - low) / most, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw), ticks = [];
  for (let x = Math.ceil(low / step) * step; x <= high * (1 + 1e-9); x += step) ticks.push(x);
  return ticks;
}

// A plot of the page: its size, its two scales and the SVG of its axes.
function frame(plot, x, y, margin) {
  const width = plot.clientWidth, height = plot.clientHeight;
  const box = { left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
  const X = scale(x, box.left, box.right), Y = scale(y, box.bottom, box.top);
  const show = (axis, v) => (axis.text ? axis.text(v) : axis.log ? power_text(v) : number_text(v));
  let svg = "";
  for (const v of x.values || X.ticks(Math.max(3, Math.floor((box.right - box.left) / 70)))) {
    const px = X.px(v).toFixed(1);
    svg += stroke(`M${px} ${box.top}V${box.bottom}`, "", "grid");
    svg += words_at(px, box.bottom + 16, show(x, v), { anchor: "middle" });
  }
  for (const v of y.values || Y.ticks(6)) {
    const px = Y.px(v).toFixed(1);
    svg += stroke(`M${box.left} ${px}H${box.right}`, "", "grid");
    svg += words_at(box.left - 6, px, show(y, v), { anchor: "end", dy: "0.35em" });
  }
  svg += stroke(`M${box.left} ${box.top}V${box.bottom}H${box.right}`, "", "axis");
  svg += words_at(box.right, box.bottom + 33, x.title, { anchor: "end" });
  svg += words_at(box.left - 6, box.top - 10, y.title);
  return { width, height, box, X, Y, svg };
}

// 1, 10, 100, 1,000 as they are, and powers of ten beyond.
function power_text(x) {
  const power = Math.round(Math.log10(x)), whole = Math.abs(x / 10 ** power - 1) < 1e-9;
  return whole && (power < -1 || power > 4) ? `10${raised(power)}` : number_text(x);
}

// The path of y over x inside the box, one point a pixel; it ends where y leaves the box upwards
// for good.
function path_of(view, xs, ys) {
  const { X, Y, box } = view, gone = Y.at(box.top), grows = ys.length && !(ys[ys.length - 1] <= gone);
  let d = "", last = -9, end = null, under = false;
  for (let i = 0; i < xs.length; i++) {
    if (!(ys[i] > 0)) { last = -9; continue; }
    const px = X.px(xs[i]), py = Math.max(Y.px(Math.min(ys[i], 1e300)), grows ? -1e9 : box.top);
    if (py < box.top - 1) {
      if (d && end) {  // up to the edge of the box
        const share = (box.top - end[1]) / (py - end[1] || 1);
        const cut = [end[0] + (px - end[0]) * share, box.top];
        return { d: `${d}L${cut[0].toFixed(1)} ${cut[1]}`, end: cut, left: true };
      }
      continue;
    }
    if (px - last < 0.8 && i + 1 < xs.length) continue;
    const low = Math.min(py, box.bottom), below = py > box.bottom;
    if (!(below && under)) d += `${d && !under ? "L" : "M"}${px.toFixed(1)} ${low.toFixed(1)}`;
    [last, end, under] = [px, [px, low], below];
  }
  return { d, end, left: false };
}

const cross = ([x, y], colour) =>
  stroke(`M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, `stroke:${colour};stroke-width:2.5`, "mark");

// Labels beside the ends of curves, moved apart so that none covers another.
function end_labels(labels, { box }, gap = 14) {
  labels.sort((a, b) => a.y - b.y);
  for (let i = 0; i < labels.length; i++) {
    labels[i].y = Math.max(labels[i].y, i ? labels[i - 1].y + gap : box.top);
  }
  for (let i = labels.length - 1; i >= 0; i--) {
    labels[i].y = Math.min(labels[i].y, i + 1 < labels.length ? labels[i + 1].y - gap : box.bottom);
  }
  return labels.map(({ x, y, text, colour }) =>
    words_at(x, y.toFixed(1), text, { kind: "label halo", dy: "0.35em", style: `fill:${colour}` })).join("");
}

const hue = (method) => `var(--${method})`;
const label_of = (method) => METHODS.find((m) => m.name === method).label;
const DASHES = { "shb-exp": "6 3", "multi-shb": "7 3 2 3", "multi-shb-pan": "2 3", yours: "1 4", nesterov: "9 3" };
const dash = (method) => (DASHES[method] ? `stroke-dasharray:${DASHES[method]}` : "");

// A field on a grid of nodes, drawn as bands of colour: pixels between nodes are interpolated.
// A draft has pixels of `size` by `size`.
function paint(canvas, box, field, colour_of, size = 1) {
  const { nx, ny, values } = field, w = Math.round((box.right - box.left) / size), h = Math.round((box.bottom - box.top) / size);
  Object.assign(canvas.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${w * size}px`, height: `${h * size}px` });
  [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d"), image = context.createImageData(w, h), pixels = new Uint32Array(image.data.buffer);
  for (let j = 0; j < h; j++) {
    const v = (1 - (j + 0.5) / h) * (ny - 1), row = Math.min(Math.floor(v), ny - 2), t = v - row;
    for (let i = 0; i < w; i++) {
      const u = (i + 0.5) / w * (nx - 1), column = Math.min(Math.floor(u), nx - 2), s = u - column;
      const at = row * nx + column;
      const value = (1 - t) * ((1 - s) * values[at] + s * values[at + 1])
        + t * ((1 - s) * values[at + nx] + s * values[at + nx + 1]);
      pixels[j * w + i] = colour_of(value, i, j);
    }
  }
  context.putImageData(image, 0, 0);
}

// Cividis, which colour-blind readers see as others do, as little-endian pixels.
const CIVIDIS = ["00204d", "00336f", "39486b", "575c6d", "707173", "8a8779", "a69d75", "c4b56c", "e4cf5b", "ffea46"];
function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1), i = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const part = (hex, k) => parseInt(hex.slice(2 * k, 2 * k + 2), 16);
  const mix = [0, 1, 2].map((k) => Math.round(part(CIVIDIS[i], k) + (at - i) * (part(CIVIDIS[i + 1], k) - part(CIVIDIS[i], k))));
  return (255 << 24 | mix[2] << 16 | mix[1] << 8 | mix[0]) >>> 0;
}
