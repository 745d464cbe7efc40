// Colour Python code: split each line into parts, with the CSS classes of the page's other code.
const KEYWORDS =
  "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|" +
  "global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield";
const PART = new RegExp(
  [
    "(?<s>" +
      `"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|` +
      `"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?)`,
    "(?<c1>#[^\\n]*)",
    `(?<k>\\b(?:${KEYWORDS})\\b)`,
    "(?<kc>\\b(?:True|False|None)\\b)",
    "(?<mi>\\b\\d[\\w.]*)",
    "\\w+",
  ].join("|"),
  "g",
);

export function colour(source) {
  const lines = [[]];
  const add = (text, name) => {
    text.split("\n").forEach((piece, i) => {
      if (i) lines.push([]);
      if (!piece) return;
      if (!name) return lines.at(-1).push(piece);
      const node = document.createElement("span");
      node.className = name;
      node.textContent = piece;
      lines.at(-1).push(node);
    });
  };
  let at = 0;
  for (const found of source.matchAll(PART)) {
    const kind = Object.entries(found.groups).find(([, text]) => text !== undefined)?.[0];
    if (!kind) continue;
    add(source.slice(at, found.index));
    add(found[0], kind);
    at = found.index + found[0].length;
  }
  add(source.slice(at));
  return lines;
}
