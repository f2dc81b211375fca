// The picture: a machine's beside the interpreter's, with sliders for the uniforms.
import { escape } from "./figures.js";
import { Latest } from "./latest.js";

const SIZE = 192;
/** While time runs. */
const MOVING = 96;
/** Numbers that a uniform may have for sliders. */
const MOST = 16;

const byId = (id) => document.getElementById(id);

/** The range of a slider around a value. */
function bounds(name, value) {
  if (/time/i.test(name)) return [0, 20, 0.05];
  if (/^i32|^u32/.test(name)) return [0, 16, 1];
  const top = Math.max(2, Math.abs(value) * 2);
  return [-top, top, top / 200];
}

export function picture() {
  const machine = byId("machine");
  const mesh = byId("mesh");
  const play = byId("play");
  const note = byId("pictureNote");
  const knobs = byId("uniforms");
  let request = null;
  let values = {};
  let given = {};
  let about = null;
  let moving = null;
  /** The machine that an example is best seen on. */
  let wish = "";

  const worker = new Latest((data) => {
    if (data.failed) note.textContent = data.failed;
    if (data.kind === "about") show(data.about);
    if (data.kind === "picture") paint(data);
    if (data.kind === "drawn" && moving !== null) requestAnimationFrame(draw);
  });

  /** What is drawn where nothing can be. */
  function clear() {
    for (const id of ["ours", "theirs"]) {
      const canvas = byId(id);
      canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
      delete canvas.dataset.drawn;
    }
  }

  function paint({ who, size: [w, h], pixels, error, time }) {
    const canvas = byId(who ? "ours" : "theirs");
    if (error) {
      note.textContent = error;
      canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
      return;
    }
    canvas.width = w;
    canvas.height = h;
    canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), w, h), 0, 0);
    canvas.dataset.drawn = who || "interpreter";
    canvas.dataset.size = w;
    canvas.title = `${w}×${h} in ${time.toFixed(0)} ms`;
    if (who) byId("oursName").textContent = `${who}'s simulator`;
  }

  function draw() {
    if (!request || about?.error) return;
    const view = { size: moving === null ? [SIZE, SIZE] : [MOVING, MOVING], time: now(), mesh: mesh.value, uniforms: uniforms() };
    worker.ask({ kind: "draw", request, machine: machine.value, view, steps: moving === null });
  }

  const now = () => (moving === null ? 0 : (performance.now() - moving) / 1000);

  /** The values that the page gives; time that runs is the worker's. */
  function uniforms() {
    const out = {};
    for (const u of about?.uniforms ?? []) {
      const running = moving !== null && /time/i.test(u.name) && typeof u.value === "number";
      const chosen = values[u.name] ?? given[u.name];
      if (running) out[u.name] = now();
      else if (chosen !== undefined) out[u.name] = chosen;
    }
    return out;
  }

  function show(news) {
    about = news;
    note.textContent = about.error ?? "";
    knobs.replaceChildren();
    byId("meshes").hidden = !about.mesh;
    if (about.error) return clear();
    const kept = wish || machine.value;
    wish = "";
    machine.replaceChildren(...about.machines.map((m) => new Option(m, m)));
    if (about.machines.includes(kept)) machine.value = kept;
    for (const u of about.uniforms) knobs.append(...knob(u));
    draw();
  }

  /** A slider and a number for each component of a uniform; none for matrices and long arrays. */
  function knob(u) {
    const value = values[u.name] ?? given[u.name] ?? u.value;
    const flat = [value].flat(3);
    if (u.type.startsWith("mat") || flat.length > MOST || flat.some((x) => typeof x !== "number")) return [];
    const box = document.createElement("div");
    box.className = "uniform";
    box.innerHTML = `<b>${escape(u.name)}</b> <span class="quiet">${escape(u.type)}</span>`;
    flat.forEach((x, n) => {
      const [min, max, step] = bounds(/^[iu]32/.test(u.type) ? u.type : u.name, x);
      const row = document.createElement("div");
      row.className = "knob";
      row.innerHTML = `<input type="range" min="${min}" max="${max}" step="${step}" value="${x}" aria-label="${escape(u.name)} ${n}"><input type="number" step="any" value="${x}" aria-label="${escape(u.name)} ${n}">`;
      const [slide, number] = row.children;
      const set = (from, to) => {
        if (from.value === "" || Number.isNaN(+from.value)) return;
        to.value = from.value;
        flat[n] = +from.value;
        values[u.name] = Array.isArray(value) ? [...flat] : flat[0];
        draw();
      };
      slide.addEventListener("input", () => set(slide, number));
      number.addEventListener("input", () => set(number, slide));
      box.append(row);
    });
    return [box];
  }

  machine.addEventListener("change", draw);
  mesh.addEventListener("change", draw);
  play.addEventListener("click", () => {
    moving = moving === null ? performance.now() : null;
    play.textContent = moving === null ? "▶ play" : "■ stop";
    draw();
  });

  return {
    /** Another source; an example brings its values and its machine, null keeps what there is. */
    open(source, example) {
      if (example) {
        given = example.uniforms ?? {};
        values = {};
        wish = example.machine;
      }
      request = source;
      about = null;
      // The worker says what uniforms there are; then it is asked for pictures.
      worker.ask({ kind: "draw", request });
    },
    /** The source cannot be compiled: the last picture stays, and says so. */
    stale(why) {
      note.textContent = why;
    },
  };
}
