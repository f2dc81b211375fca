// The page: what is typed becomes code on every machine, and a picture.
import { columns } from "./columns.js";
import { editor } from "./editor.js";
import { bars, reflection } from "./figures.js";
import { Latest } from "./latest.js";
import { picture } from "./picture.js";

const byId = (id) => document.getElementById(id);
const problems = byId("problems");
const state = { examples: [], ending: "wgsl", name: "shader", entry: "", answer: null };

// First of all, since it takes longest.
const worker = new Latest(heard, true);
const pane = editor(byId("editor"), { changed: () => compile(null), pointed: (line) => line !== state.pointed && point(line) });
const code = columns(byId("columns"), (lines, from) => {
  pane.light(lines);
  code.light(lines, from, from !== undefined);
  if (from) pane.show(lines[0]);
});
const drawn = picture();

/** A line of the source below the pointer or cursor. */
function point(line) {
  state.pointed = line;
  pane.light(null);
  code.light(line === null ? null : [line, line]);
}

/** The entry points of a WGSL text: stage and name. Its stages stand in attributes before `fn`. */
function entries(text) {
  const bare = text.replace(/\/\/.*$/gm, "").replace(/\/\*[^]*?\*\//g, "");
  return [...bare.matchAll(/@(vertex|fragment|compute)\b[^{};]*?\bfn\s+(\w+)/g)].map(([, stage, name]) => ({ stage, name }));
}

/** Asks for code of what is in the editor. An example says what its picture wants. */
function compile(example) {
  const text = pane.text();
  const all = state.ending === "wgsl" ? entries(text) : [];
  const entry = byId("entry");
  const chosen = all.some((e) => e.name === state.entry) ? state.entry : (all[0]?.name ?? "");
  entry.replaceChildren(...all.map((e) => new Option(`${e.name} (${e.stage})`, e.name, false, e.name === chosen)));
  byId("entries").hidden = all.length < 2;
  // The chosen entry is its stage's part of the picture; the first one is the other's.
  const of = (stage) => all.find((e) => e.stage === stage && e.name === chosen)?.name ?? all.find((e) => e.stage === stage)?.name ?? "";
  const both = of("vertex") && of("fragment");
  const request = {
    name: `${state.name}.${state.ending}`,
    text,
    entry: chosen,
    vertex: both ? of("vertex") : "",
    fragment: both ? of("fragment") : "",
    level: byId("level").value,
  };
  state.example = example ?? state.example;
  worker.ask({ kind: "code", request });
}

function heard({ kind, request, answer, time, failed }) {
  if (failed) return show([{ severity: "error", code: "", message: failed }]);
  if (kind !== "code") return;
  const wrong = answer.machines.length === 0;
  document.body.classList.toggle("stale", wrong);
  show([...answer.messages, ...answer.machines.flatMap((m) => (m.bytes === undefined ? [] : m.messages.map((x) => ({ ...x, message: x.message }))))]);
  if (wrong) return drawn.stale("the picture is from before the error");
  state.answer = answer;
  bars(byId("bars"), answer.machines);
  code.show(answer);
  reflection(byId("reflection"), answer.machines);
  byId("foot").textContent = `${answer.entry}: ${answer.stage} program, ${answer.ir_ops} IR operations, compiled for every machine in ${time.toFixed(0)} ms`;
  document.body.dataset.compiled = request.name;
  document.body.dataset.time = time.toFixed(0);
  drawn.open(request, state.example ?? null);
  state.example = null;
}

/** Messages under their lines, and below the text as a list. */
function show(messages) {
  const seen = new Set();
  const all = messages.filter((m) => !seen.has(`${m.line} ${m.message}`) && seen.add(`${m.line} ${m.message}`));
  pane.tell(all.filter((m) => m.line).map((m) => ({ line: m.line, severity: m.severity, text: `${m.severity}${m.code ? `[${m.code}]` : ""}: ${m.message}` })));
  problems.replaceChildren(
    ...all.map((m) => {
      const b = document.createElement("button");
      b.type = "button";
      b.className = m.severity;
      b.textContent = `${m.line ? `${m.line}:${m.column}: ` : ""}${m.severity}${m.code ? `[${m.code}]` : ""}: ${m.message}`;
      if (m.line) b.addEventListener("click", () => pane.show(m.line));
      return b;
    }),
  );
}

/** Opens an example by its number. */
function open(n) {
  const e = state.examples[n];
  if (!e) return;
  [, state.name, state.ending] = e.file.match(/([^/]*)\.([^.]*)$/);
  state.entry = "";
  byId("language").value = state.ending;
  byId("mesh").value = e.mesh ?? "sphere";
  pane.open(e.text, state.ending);
  compile(e);
  history.replaceState(null, "", `#${e.name}`);
}

byId("example").addEventListener("change", ({ target }) => open(+target.value));
byId("entry").addEventListener("change", ({ target }) => {
  state.entry = target.value;
  compile(null);
});
byId("level").addEventListener("change", () => compile(null));
byId("language").addEventListener("change", ({ target }) => {
  state.ending = target.value;
  state.name = "shader";
  pane.speak(state.ending);
  compile({});
});
byId("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
});

state.examples = await (await fetch("examples.json")).json();
byId("example").replaceChildren(...state.examples.map((e, n) => new Option(e.title, n)));
const asked = Math.max(0, state.examples.findIndex((e) => `#${e.name}` === location.hash));
byId("example").value = asked;
open(asked);
