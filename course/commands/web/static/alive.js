// Explorables on a page: a picture at first, and at the first touch the lab's own widget over
// Python in the browser (Pyodide), which lies beside this file.
import widget from "./widget.js";

const here = new URL(".", import.meta.url);
let python = null; // one for the page, and only if something is touched

async function start() {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", here));
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  const sources = await fetch(new URL("course.zip", here));
  pyodide.unpackArchive(await sources.arrayBuffer(), "zip");
  return pyodide;
}

async function open(name) {
  python ??= start();
  const pyodide = await python;
  pyodide.globals.set("name", name);
  return pyodide.runPython(`
from course import explore
explore.State(*getattr(explore, name).__wrapped__())
`);
}

// What the widget calls its model: in the lab a kernel answers, here Python in the browser.
class Model {
  constructor(state, values) {
    this.state = state;
    this.listeners = {};
    this.shown = JSON.parse(state.as_json(JSON.stringify(values)));
  }
  get(key) {
    return this.shown[key];
  }
  set(key, value) {
    this.asked = { ...this.shown, [key]: value };
  }
  save_changes() {
    this.shown = JSON.parse(this.state.as_json(JSON.stringify(this.asked.values)));
    for (const key of ["controls", "values", "picture"]) {
      for (const listener of this.listeners[`change:${key}`] ?? []) listener();
    }
  }
  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }
  off(event, listener) {
    this.listeners[event] = (this.listeners[event] ?? []).filter((each) => each !== listener);
  }
}

async function bringToLife(place) {
  const button = place.querySelector("button");
  button.disabled = true;
  button.textContent = "Starting Python in your browser …";
  try {
    const state = await open(place.dataset.name);
    const el = document.createElement("div");
    widget.render({ model: new Model(state, JSON.parse(place.dataset.values)), el });
    place.replaceChildren(el);
    place.dataset.alive = "true";
    el.querySelector("input, button")?.focus({ preventScroll: true });
  } catch (error) {
    button.disabled = false;
    button.textContent = "Python did not start here. Try again";
    console.error(error);
  }
}

for (const place of document.querySelectorAll(".explorable-page")) {
  const button = place.querySelector("button");
  button.hidden = false; // without JavaScript there is only the picture
  place.addEventListener("click", () => {
    if (button.isConnected && !button.disabled) bringToLife(place);
  });
}
