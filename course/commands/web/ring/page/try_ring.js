// The editor of the page try_ring. The widget of the explorables shows what its ranks did.
import { colour } from "./python_colours.js";
import widget from "./widget.js";

const LIMIT_MS = 10_000, KEPT = "try_ring";
const LOADING = "Python is on its way to your browser, about 6 MB, once …";
const READY = "Python is here.";
const ENDLESS = "Stopped after 10 seconds. Is there a loop that never ends?";
const ASLEEP = "Python did not start here. Press Run to try again, or try another browser.";
const NO_PYTHON = "This browser cannot run Python in a page. Try another one.";
const KINDS = new Map([
  [true, ["holds", "holds"]],
  [false, ["fails", "does not hold"]],
  [null, ["open", "not judged"]],
]);

const [text, shown, run, again, status, verdicts, picture, printed] = [
  "textarea", ".trial-shown", ".trial-run", ".trial-again", ".trial-status",
  ".trial-verdicts", ".trial-picture", ".trial-printed",
].map((selector) => document.querySelector(`.trial ${selector}`));
const begun = text.value;
let worker = null, ready = false, running = false, timer = null, marks = [], end = null;

const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const say = (words) => (status.textContent = words);

// The worker.
function wake() {
  ready = false;
  try {
    worker = new Worker(new URL("ring_worker.js", import.meta.url), { type: "module" });
  } catch {
    return fail();
  }
  worker.onerror = (event) => (event.preventDefault(), fail());
  worker.onmessage = ({ data }) => {
    if (data.ready) {
      ready = true;
      if (running) send();
      else if (status.textContent === LOADING) say(READY);
    } else if (data.failed) {
      console.warn(data.failed);
      fail();
    } else {
      stop("");
      show(data.answer);
    }
  };
}
function fail() {
  worker?.terminate();
  worker = null; // the next run tries again
  stop(ASLEEP);
}
function send() {
  say("Running …");
  worker.postMessage(text.value);
  timer = setTimeout(() => halt(ENDLESS), LIMIT_MS);
}
function halt(words) {
  worker?.terminate();
  stop(words);
  wake();
}
function stop(words) {
  clearTimeout(timer);
  running = false;
  run.textContent = "Run on 4 ranks";
  say(words);
}
function start() {
  if (running) return halt("Stopped.");
  running = true;
  run.textContent = "Stop";
  clear();
  if (!worker) wake();
  if (!running) return;
  ready ? send() : say(LOADING);
}

// The results.
function clear() {
  marks = [];
  verdicts.replaceChildren();
  printed.hidden = true;
  draw();
}
function show({ passed, verdicts: lines, pictures, rounds, printed: words, marks: found }) {
  marks = found;
  draw();
  verdicts.replaceChildren(...lines.map(verdict));
  if (passed) say("All of it holds. Now on real processes: see below.");
  printed.textContent = words.join("\n");
  printed.hidden = !words.length;
  if (!pictures.length) return;
  end?.();
  picture.replaceChildren();
  end = widget.render({ model: new Rounds(pictures, rounds), el: picture });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!still) picture.querySelector("[title=Play]")?.click();
}
function verdict({ claim, holds, why }) {
  const [kind, sign] = KINDS.get(holds);
  const item = make("li", { className: kind }, make("b", {}, sign), " ", claim);
  if (why.length) item.append(make("ul", {}, ...why.map((line) => make("li", {}, line))));
  return item;
}

// The widget's model: the pictures of a run, one for each round.
class Rounds {
  constructor(pictures, rounds) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const last = pictures.length - 1;
    const names = rounds.map((round) => (round ? `${round} of ${rounds.at(-1)}` : "before"));
    const steps = { name: "round", kind: "Steps", label: "Round", last, names };
    this.pictures = pictures;
    this.values = { round: still ? last : 0 };
    this.controls = last ? [steps] : [];
    this.listeners = {};
  }
  get(key) {
    return key === "picture" ? this.pictures[this.values.round] : this[key];
  }
  set(key, value) {
    this[key] = value;
  }
  save_changes() {
    this.listeners["change:picture"]();
  }
  on(event, listener) {
    this.listeners[event] = listener;
  }
  off(event) {
    delete this.listeners[event];
  }
}

// The editor: a text area with invisible letters, on top of the same text in colours.
function draw() {
  const lines = colour(text.value);
  shown.replaceChildren(
    ...lines.map((parts, i) => {
      const at = marks.filter(({ line }) => line === i + 1);
      const chips = at.map(({ rank }) =>
        make("span", { className: `chip rank-${rank}` }, `${rank}`),
      );
      return make("span", { className: "line" }, ...parts, ...chips, "\n");
    }),
  );
  text.rows = lines.length;
}
function changed() {
  if (marks.length) marks = [];
  draw();
  try {
    text.value === begun ? localStorage.removeItem(KEPT) : localStorage.setItem(KEPT, text.value);
  } catch {} // private windows may store nothing
}
function type(words) {
  document.execCommand("insertText", false, words); // the user can undo it, unlike a new value
}
function newLine() {
  const line = text.value.slice(0, text.selectionStart).split("\n").at(-1);
  type("\n" + line.match(/^ */)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : ""));
}
function move(deeper) {
  const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
  const to = Math.max(text.selectionEnd, from), old = text.value.slice(from, to);
  text.setSelectionRange(from, to);
  type(deeper ? old.replace(/^/gm, "    ") : old.replace(/^ {1,4}/gm, ""));
}
text.addEventListener("input", changed);
text.addEventListener("keydown", (event) => {
  const control = event.ctrlKey || event.metaKey;
  const keys = { "]": () => move(true), "[": () => move(false), Enter: start };
  const action = control ? keys[event.key] : event.key === "Enter" && !event.shiftKey && newLine;
  if (!action || event.isComposing) return;
  event.preventDefault();
  action();
});
run.onclick = start;
again.onclick = () => {
  text.focus();
  text.select();
  type(begun);
};

try {
  text.value = localStorage.getItem(KEPT) ?? begun;
} catch {}
draw();
run.disabled = again.disabled = false;
if (window.WebAssembly && window.Worker) {
  say(LOADING);
  wake();
} else {
  run.disabled = true;
  say(NO_PYTHON);
}
