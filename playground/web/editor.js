// The editor: CodeMirror with our languages, messages under their lines, and lines that light up.
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter, tagHighlighter, tags } from "@lezer/highlight";
import { language } from "./grammar.js";
import glsl from "./glsl.tmLanguage.json";
import wgsl from "./wgsl.tmLanguage.json";
import ir from "../../editors/vscode/syntaxes/retroshade-ir.tmLanguage.json";

const GLSL = language(glsl, "//");
const LANGUAGES = { wgsl: language(wgsl, "//"), ir: language(ir, ";"), vert: GLSL, frag: GLSL, comp: GLSL };

/** The classes that `classHighlighter` has none for. */
const more = tagHighlighter([
  { tag: tags.modifier, class: "tok-modifier" },
  { tag: tags.function(tags.variableName), class: "tok-function" },
]);

/** A message below its line. */
class Told extends WidgetType {
  constructor(text, severity) {
    super();
    this.text = text;
    this.severity = severity;
  }
  eq(other) {
    return other.text === this.text && other.severity === this.severity;
  }
  toDOM() {
    const p = document.createElement("div");
    p.className = `told ${this.severity}`;
    p.textContent = this.text;
    return p;
  }
}

const tell = StateEffect.define();
const told = StateField.define({
  create: () => Decoration.none,
  update(old, tr) {
    let now = old.map(tr.changes);
    for (const e of tr.effects.filter((e) => e.is(tell))) {
      const doc = tr.state.doc;
      const placed = e.value.filter((m) => m.line >= 1 && m.line <= doc.lines);
      now = Decoration.set(
        placed.map((m) => Decoration.widget({ widget: new Told(m.text, m.severity), block: true, side: 1 }).range(doc.line(m.line).to)),
        true,
      );
    }
    return now;
  },
  provide: (f) => EditorView.decorations.from(f),
});

const light = StateEffect.define();
const lit = StateField.define({
  create: () => Decoration.none,
  update(old, tr) {
    let now = old.map(tr.changes);
    for (const e of tr.effects.filter((e) => e.is(light))) {
      const doc = tr.state.doc;
      const [a, b] = e.value ?? [1, 0];
      const lines = [];
      for (let n = a; n <= Math.min(b, doc.lines); n++) lines.push(Decoration.line({ class: "lit" }).range(doc.line(n).from));
      now = Decoration.set(lines);
    }
    return now;
  },
  provide: (f) => EditorView.decorations.from(f),
});

/** An editor in `parent`. `changed` hears of new text, `pointed` of the line below the pointer or cursor (null: none). */
export function editor(parent, { changed, pointed }) {
  const spoken = new Compartment();
  let quiet = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        indentUnit.of("    "),
        keymap.of([indentWithTab, { key: "Mod-/", run: toggleComment }, ...defaultKeymap, ...historyKeymap]),
        syntaxHighlighting(more),
        syntaxHighlighting(classHighlighter),
        spoken.of([]),
        told,
        lit,
        EditorView.contentAttributes.of({ "aria-label": "source" }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged && !quiet) changed();
          if (u.selectionSet && !u.docChanged) pointed(u.state.doc.lineAt(u.state.selection.main.head).number);
        }),
        EditorView.domEventHandlers({
          mousemove(event, view) {
            const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
            pointed(at === null ? null : view.state.doc.lineAt(at).number);
          },
          mouseleave: () => pointed(null),
        }),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    /** Another text in a language (`wgsl ir vert frag comp`). */
    open(text, ending) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, effects: spoken.reconfigure(LANGUAGES[ending] ?? []) });
      quiet = false;
      view.scrollDOM.scrollTop = 0;
    },
    speak: (ending) => view.dispatch({ effects: spoken.reconfigure(LANGUAGES[ending] ?? []) }),
    tell: (messages) => view.dispatch({ effects: tell.of(messages) }),
    light: (lines) => view.dispatch({ effects: light.of(lines) }),
    show(line) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
      view.focus();
    },
  };
}
