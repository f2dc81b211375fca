// A TextMate grammar whose rules are single expressions, as a language of the editor.
import { StreamLanguage } from "@codemirror/language";
import { tags } from "@lezer/highlight";

/** What the scopes of our grammars look like, the most special first. */
const STYLES = [
  ["comment", "comment"],
  ["string", "string"],
  ["constant.numeric", "number"],
  ["constant.language", "marking"],
  ["keyword.operator", "operation"],
  ["keyword", "keyword"],
  ["storage.modifier", "marking"],
  ["storage.type", "kind"],
  ["entity.name.label", "place"],
  ["entity.name.function", "called"],
  ["variable", "named"],
];
// Names that the editor has no older meaning for.
const TOKENS = {
  comment: tags.comment,
  string: tags.string,
  number: tags.number,
  operation: tags.operator,
  keyword: tags.keyword,
  marking: tags.modifier,
  kind: tags.typeName,
  place: tags.labelName,
  called: tags.function(tags.variableName),
  named: tags.variableName,
};

const style = (scope) => STYLES.find(([begin]) => scope === begin || scope.startsWith(begin + "."))?.[1] ?? null;

/** The rules of a grammar in order: an expression, the style of the whole, the styles of its groups. */
function rules(grammar) {
  return grammar.patterns.map(({ include }) => {
    const rule = grammar.repository[include.slice(1)];
    const groups = Object.entries(rule.captures ?? {}).map(([n, { name }]) => [+n, style(name)]);
    return { match: new RegExp(rule.match, "dg"), whole: rule.name ? style(rule.name) : null, groups };
  });
}

/** The coloured stretches of a line: [from, to, style]. */
export function stretches(all, line) {
  const out = [];
  for (let at = 0; at < line.length; ) {
    let best = null;
    for (const r of all) {
      r.match.lastIndex = at;
      const found = r.match.exec(line);
      if (found && found[0].length > 0 && (!best || found.index < best.found.index)) best = { found, r };
    }
    if (!best) break;
    const { found, r } = best;
    const end = found.index + found[0].length;
    if (r.whole) out.push([found.index, end, r.whole]);
    for (const [n, s] of r.groups) if (found.indices[n]) out.push([...found.indices[n], s]);
    // A rule that ends with a blank leaves it to the next.
    at = end;
  }
  return out;
}

/** The language of a grammar. `comment` begins a comment that runs to the end of the line. */
export function language(grammar, comment) {
  const all = rules(grammar);
  return StreamLanguage.define({
    name: grammar.name,
    languageData: { commentTokens: { line: comment }, closeBrackets: { brackets: ["(", "[", "{"] } },
    tokenTable: TOKENS,
    startState: () => ({ line: null, list: [] }),
    copyState: (s) => ({ ...s }),
    token(stream, state) {
      if (state.line !== stream.string) {
        state.line = stream.string;
        state.list = stretches(all, stream.string);
      }
      const next = state.list.find(([, to]) => to > stream.pos);
      if (!next) stream.skipToEnd();
      else if (next[0] > stream.pos) stream.pos = next[0];
      else {
        stream.pos = next[1];
        return next[2];
      }
      return null;
    },
  });
}

export { rules };
