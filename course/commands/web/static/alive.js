// Explorables on a page: the labs' widget, driven by Python in the browser (Pyodide), which is next
// to this file. It starts at the first move or, on a page that is marked as eager, when the browser
// is idle.
import widget from "./widget.js";

const here = new URL(".", import.meta.url);
const WAKING = "Python is starting in your browser …";
const ASLEEP = "Python did not start here.";
const states = {}; // by name: the Python object that draws an explorable
let python = null; // one for the page

async function start() {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", here));
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  const sources = await fetch(new URL("course.zip", here));
  pyodide.unpackArchive(await sources.arrayBuffer(), "zip");
  return pyodide;
}

function started() {
  python ??= start().catch((error) => {
    python = null; // the next move tries again
    throw error;
  });
  return python;
}

async function stateOf(name) {
  const pyodide = await started();
  pyodide.globals.set("name", name);
  return (states[name] ??= pyodide.runPython(`
from course import explore
explore.State(*getattr(explore, name).__wrapped__())
`));
}

// The widget's model: in a lab a kernel answers, here Python in the browser does.
class Model {
  constructor(place, say) {
    this.place = place;
    this.say = say;
    this.listeners = {};
    this.shown = JSON.parse(place.dataset.state);
    this.shown.picture = place.querySelector("svg").outerHTML;
    const ready = JSON.parse(place.querySelector("script")?.textContent ?? "[]");
    this.ready = new Map(ready.map((state) => [JSON.stringify(state.values), state]));
  }
  get(key) {
    return this.shown[key];
  }
  set(key, value) {
    this.request = { [key]: value };
  }
  async save_changes() {
    const request = this.request, text = JSON.stringify(request.values);
    if (this.ready.has(text)) return this.show(this.ready.get(text));
    this.say(WAKING);
    let state;
    try {
      state = await stateOf(this.place.dataset.name);
    } catch (error) {
      console.error(error);
      return this.say(ASLEEP, () => this.save_changes());
    }
    if (request !== this.request) return; // a later move is under way
    try {
      this.show(JSON.parse(state.as_json(text)));
      this.place.dataset.alive = "true";
    } catch (error) {
      this.say(error.message.trim().split("CourseError: ").at(-1)); // the address is wrong
    }
  }
  show(state) {
    this.say("");
    Object.assign(this.shown, state);
    for (const key of ["controls", "values", "picture"]) {
      for (const listener of this.listeners[`change:${key}`] ?? []) listener();
    }
    this.moved?.(this.shown.values);
  }
  move(values) {
    this.set("values", values);
    return this.save_changes();
  }
  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }
  off(event, listener) {
    this.listeners[event] = (this.listeners[event] ?? []).filter((each) => each !== listener);
  }
}

function bringToLife(place) {
  const el = document.createElement("div"), status = document.createElement("p");
  status.className = "explorable-status";
  status.setAttribute("role", "status");
  const model = new Model(place, (text, again) => {
    status.textContent = text;
    if (!again) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Try again";
    button.onclick = again;
    status.append(" ", button);
  });
  widget.render({ model, el });
  place.replaceChildren(el, status);
  if ("address" in place.dataset) followAddress(model);
}

// The state in the address, such as #ranks=64&cap=8: the values that are not the initial ones.
function followAddress(model) {
  const first = model.get("first");
  const read = {
    Slider: Number,
    Steps: Number,
    Choice: String,
    Toggle: (text) => text === "true",
  };
  const follow = () => {
    const state = { ...first }, query = new URLSearchParams(location.hash.slice(1));
    const named = model.get("controls").filter(({ name }) => query.has(name));
    for (const { name, kind } of named) state[name] = read[kind](query.get(name));
    if (named.length) model.move(state);
  };
  model.moved = (values) => {
    const moved = Object.entries(values).filter(([name, value]) => value !== first[name]);
    const hash = new URLSearchParams(moved.map(([name, value]) => [name, String(value)]));
    history.replaceState(null, "", moved.length ? `#${hash}` : location.pathname + location.search);
  };
  addEventListener("hashchange", follow);
  follow();
}

document.querySelectorAll(".explorable-page").forEach(bringToLife);
if (document.querySelector("[data-eager], [data-address]") && !navigator.connection?.saveData) {
  const idle = window.requestIdleCallback ?? setTimeout;
  addEventListener("load", () => idle(() => started().catch(() => {})));
}
