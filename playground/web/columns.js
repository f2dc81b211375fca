// The machines' code side by side; lines that come from the same place in the source light up together.
import { escape } from "./figures.js";

const line = ([text, a, b]) => (a === undefined ? `<i>${escape(text)}</i>` : `<i data-a="${a}" data-b="${b}">${escape(text)}</i>`);

/** Columns of code in `parent`. `pointed` hears which lines of the source the line below the pointer stands for. */
export function columns(parent, pointed) {
  let lines = [];
  const meets = (x, a, b) => +x.dataset.a <= b && a <= +x.dataset.b;
  const range = (event) => {
    const at = event.target.closest?.("i[data-a]");
    return at ? [+at.dataset.a, +at.dataset.b] : null;
  };
  parent.addEventListener("mouseover", (event) => pointed(range(event)));
  parent.addEventListener("mouseleave", () => pointed(null));
  parent.addEventListener("click", (event) => {
    const at = range(event);
    if (at) pointed(at, event.target.closest("pre"));
  });
  return {
    show({ machines, ir }) {
      const made = machines.filter((m) => m.lines);
      const one = (name, title, body) => `<div class="column" data-name="${name}"><h3 class="m-${name}">${title}</h3><pre tabindex="0">${body}</pre></div>`;
      parent.innerHTML = made.map((m) => one(m.name, m.name, m.lines.map(line).join(""))).join("") + one("ir", "IR", ir.trimEnd().split("\n").map((l) => line([l])).join(""));
      lines = [...parent.querySelectorAll("i[data-a]")];
    },
    /** Lights what these lines of the source became; `but` is the column that does not scroll there. */
    light(at, but, scroll) {
      for (const l of lines) l.classList.toggle("lit", at !== null && meets(l, ...at));
      if (!at || !scroll) return;
      for (const pre of parent.querySelectorAll("pre")) {
        const first = pre === but ? null : lines.find((l) => pre.contains(l) && meets(l, ...at));
        if (first) pre.scrollTo({ top: first.offsetTop - pre.offsetTop - pre.clientHeight / 3, behavior: "smooth" });
      }
    },
  };
}
