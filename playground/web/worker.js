// Both workers: one compiles, the other draws. Each has a compiler of its own.
import init, { Session } from "../glue/compiler.js";
import { words } from "./glsl.js";

const NONE = new Uint8Array();
/** Width and height of a first, quick picture. */
const QUICK = 64;
let ready = null;
let session = null;
let opened = "";
let hurry = false;

/** The text's SPIR-V, where it is GLSL; messages, where that is wrong. */
async function translated({ name, text }) {
  return /\.(vert|frag|comp)$/.test(name) ? await words(name, text) : { words: NONE };
}

async function compile(request) {
  const begin = performance.now();
  const { words, messages } = await translated(request);
  const answer = messages ? { messages, machines: [] } : JSON.parse(session.compile(JSON.stringify(request), words));
  postMessage({ kind: "code", request, answer, time: performance.now() - begin, last: true });
}

async function draw({ request, machine, view, steps }) {
  const key = JSON.stringify(request);
  if (key !== opened) {
    const { words, messages } = await translated(request);
    const about = messages ? { error: messages[0].message } : JSON.parse(session.open(key, words));
    opened = key;
    postMessage({ kind: "about", about, request });
  }
  if (!view) return postMessage({ kind: "drawn", last: true });
  const [w, h] = view.size;
  const sizes = steps && Math.max(w, h) > QUICK ? [[QUICK, Math.round((QUICK * h) / w)], [w, h]] : [[w, h]];
  hurry = false;
  for (const size of sizes) {
    for (const who of [machine, ""]) {
      const begin = performance.now();
      try {
        const pixels = session.draw(who, JSON.stringify({ ...view, size }));
        postMessage({ kind: "picture", who, size, pixels, time: performance.now() - begin }, [pixels.buffer]);
      } catch (e) {
        if (e instanceof WebAssembly.RuntimeError) throw e;
        postMessage({ kind: "picture", who, size, error: String(e) });
      }
      // Something newer may have come meanwhile.
      await new Promise((go) => setTimeout(go));
      if (hurry) return postMessage({ kind: "drawn", last: true });
    }
  }
  postMessage({ kind: "drawn", last: true });
}

onmessage = async ({ data }) => {
  if (data.hurry) {
    hurry = true;
    return;
  }
  try {
    ready ??= init({ module_or_path: new URL("compiler.wasm", import.meta.url) });
    await ready;
    if (data.early) return;
    session ??= new Session();
    await (data.kind === "code" ? compile(data.request) : draw(data));
  } catch (e) {
    postMessage({ kind: data.kind, failed: `the compiler broke (a bug): ${e}`, broken: true });
  }
};
