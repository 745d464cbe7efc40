// The front end of course.explore.widget.Explorable: native controls above a picture by Python.
const SEND_EVERY_MS = 30, PLAY_EVERY_MS = 1000;

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    key in node ? (node[key] = value) : node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const nearest = (stops, value) =>
  stops.reduce((best, stop, i) => {
    return Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best;
  }, 0);

// Each builder returns the control's element, a function that shows a value in it and, if the
// control needs one, a function that stops it.
const builders = {
  Slider({ label, stops, texts }, change) {
    const output = make("output");
    const range = { type: "range", min: 0, max: stops.length - 1, step: 1 };
    const input = make("input", { ...range, "aria-label": label }); // the <label> names the output
    const show = (value) => {
      const at = nearest(stops, value);
      input.value = at;
      // a mark of the picture may set a value between two stops
      output.textContent = stops[at] === value ? texts[at] : `${Number(value.toPrecision(6))}`;
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => (show(stops[input.value]), change(stops[input.value])));
    return [make("label", {}, make("span", {}, label, output), input), show];
  },

  Choice({ name, label, options }, change) {
    const group = `${name}-${Math.random().toString(36).slice(2)}`; // radio groups are page-wide
    const inputs = options.map((value) => make("input", { type: "radio", name: group, value }));
    inputs.forEach((input) => input.addEventListener("change", () => change(input.value)));
    const labels = inputs.map((input) => make("label", {}, input, make("span", {}, input.value)));
    const className = options.join("").length > 22 ? "wide" : "";
    const all = make("div", { className: "options" }, ...labels);
    const set = make("fieldset", { className }, make("legend", {}, label), all);
    return [set, (value) => inputs.forEach((input) => (input.checked = input.value === value))];
  },

  Toggle({ label }, change) {
    const input = make("input", { type: "checkbox", role: "switch" });
    input.addEventListener("change", () => change(input.checked));
    const element = make("label", { className: "toggle" }, input, label);
    return [element, (value) => (input.checked = value)];
  },

  Steps({ label, last, names = [] }, change) { // names: labels for some steps
    let at = 0, timer = null;
    const output = make("output");
    const range = make("input", { type: "range", min: 0, max: last, step: 1, "aria-label": label });
    const button = (name, sign) =>
      make("button", { type: "button", "aria-label": name, title: name }, sign);
    const back = button("Back", "‹"), play = button("Play", "▶"), forward = button("Forward", "›");
    const show = (value) => {
      range.value = at = value;
      output.textContent = names[value] ?? `${value} of ${last}`;
      range.setAttribute("aria-valuetext", output.textContent);
      back.disabled = value === 0;
      forward.disabled = value === last;
    };
    const go = (value) => (show(Math.min(Math.max(value, 0), last)), change(at));
    const setPlaying = (playing) => {
      clearInterval(timer);
      const next = () => (at < last ? go(at + 1) : setPlaying(false));
      timer = playing ? setInterval(next, PLAY_EVERY_MS) : null;
      play.textContent = playing ? "❚❚" : "▶";
      play.title = playing ? "Pause" : "Play";
      play.setAttribute("aria-label", play.title);
    };
    const byHand = (value) => (setPlaying(false), go(value));
    back.onclick = () => byHand(at - 1);
    forward.onclick = () => byHand(at + 1);
    range.oninput = () => byHand(Number(range.value));
    play.onclick = () => {
      if (timer !== null) return setPlaying(false);
      go(at < last ? at + 1 : 0);
      setPlaying(true);
    };
    const row = make("div", { className: "steps" }, back, play, forward, range);
    const head = make("span", {}, label, output);
    const group = make("div", { role: "group", "aria-label": label }, head, row);
    return [group, show, () => setPlaying(false)];
  },

  Fields({ label, names }, change) {
    const inputs = names.map(() => make("input", { type: "text", placeholder: "nothing" }));
    const typed = () => change(inputs.map((input) => input.value));
    inputs.forEach((input) => input.addEventListener("input", typed));
    const labels = inputs.map((input, i) => make("label", {}, names[i], input));
    const all = make("div", { className: "fields" }, ...labels);
    const set = make("fieldset", { className: "wide" }, make("legend", {}, label), all);
    const show = (values) => inputs.forEach((input, i) => {
      if (input.value !== values[i]) input.value = values[i]; // or the caret would move
    });
    return [set, show];
  },

  Button({ label }, change) {
    let presses = 0;
    const button = make("button", { type: "button", className: "press" }, label);
    button.addEventListener("click", () => change((presses += 1)));
    return [button, (value) => (presses = value)];
  },
};

// The marks of a picture that can be touched. data-set="step=3" makes a mark a button that sets the
// control `step` to 3; data-set="memory+=0.4" makes it a handle that adds 0.4 to `memory` for each
// pixel that it is dragged to the right. data-label describes the effect.
const MARK = "[data-set]";
const BUTTON = "[data-set][role=button]", HANDLE = "[data-set][role=slider]";
const AHEAD = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }; // among buttons
const MORE = { ArrowLeft: -1, ArrowUp: 1, ArrowRight: 1, ArrowDown: -1 }; // of a handle

function read(mark) {
  const [, name, adds, value] = mark.dataset.set.match(/^(\w+)(\+?)=(.*)$/);
  return { name, adds: adds === "+", value: JSON.parse(value) };
}

function middle(mark) {
  const { x, y, width, height } = mark.getBBox();
  return [x + width / 2, y + height / 2];
}

// `control(name)` returns a control's spec and value; `set` gives it a value. `touch` returns two
// functions: one makes the marks of a new picture touchable, the other makes them ordinary again.
function touch(picture, control, set) {
  let at = [0, 0]; // the middle of the mark that has the focus, or had it last
  const far = (mark) => Math.hypot(...middle(mark).map((place, i) => place - at[i]));
  const nearby = (marks) => [...marks].sort((a, b) => far(a) - far(b))[0];
  const press = (mark) => mark && set(read(mark).name, read(mark).value);
  const drag = (name, value) => {
    const { stops } = control(name).spec;
    set(name, stops[nearest(stops, value)]);
  };

  function prepare(mark) {
    const { name, adds } = read(mark), tip = document.createElementNS(mark.namespaceURI, "title");
    mark.setAttribute("role", adds ? "slider" : "button");
    mark.setAttribute("tabindex", adds ? 0 : -1); // arrow keys move between buttons
    mark.setAttribute("aria-label", (tip.textContent = mark.dataset.label));
    mark.setAttribute("data-lm-suppress-shortcuts", "");
    mark.querySelector("title")?.remove();
    mark.prepend(tip);
    if (!adds) return;
    const { spec: { stops, texts }, value } = control(name);
    const now = nearest(stops, value), last = stops.length - 1;
    const aria = { valuemin: 0, valuemax: last, valuenow: now, valuetext: texts[now] };
    for (const [key, text] of Object.entries(aria)) mark.setAttribute(`aria-${key}`, text);
  }
  const wake = (focused) => {
    const marks = picture.querySelectorAll(MARK);
    marks.forEach(prepare);
    if (marks.length) marks[0].ownerSVGElement.setAttribute("role", "group"); // not an image
    nearby(picture.querySelectorAll(BUTTON))?.setAttribute("tabindex", 0);
    if (focused) nearby(marks)?.focus(); // the one nearest to where the focus was
  };
  const sleep = () => {
    picture.querySelector("svg")?.setAttribute("role", "img");
    for (const mark of picture.querySelectorAll(MARK)) {
      for (const name of ["role", "tabindex"]) mark.removeAttribute(name);
    }
  };

  picture.addEventListener("click", ({ target }) => press(target.closest(BUTTON)));
  picture.addEventListener("focusin", ({ target }) => {
    if (target.matches(MARK)) at = middle(target);
  });
  picture.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (target.matches(BUTTON) && ["Enter", " "].includes(key)) press(target);
    else if (target.matches(BUTTON) && AHEAD[key]) {
      const buttons = [...picture.querySelectorAll(BUTTON)];
      buttons[buttons.indexOf(target) + AHEAD[key]]?.focus();
    } else if (target.matches(HANDLE) && MORE[key]) {
      const { name } = read(target), { spec: { stops }, value } = control(name);
      drag(name, stops[nearest(stops, value) + MORE[key]] ?? value);
    } else return;
    event.preventDefault();
  });
  // or a finger on a handle would scroll the page, which would end the drag
  const keep = (event) => event.target.closest(HANDLE) && event.preventDefault();
  picture.addEventListener("touchstart", keep, { passive: false });
  picture.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(HANDLE);
    if (!handle) return;
    event.preventDefault();
    handle.focus();
    picture.setPointerCapture(event.pointerId);
    const { name, value: perPixel } = read(handle), from = control(name).value;
    const wide = handle.ownerSVGElement.getScreenCTM().a; // screen pixels for each pixel of the SVG
    const follow = ({ clientX }) => {
      drag(name, from + (perPixel * (clientX - event.clientX)) / wide);
    };
    const end = () => picture.removeEventListener("pointermove", follow);
    picture.addEventListener("pointermove", follow);
    picture.addEventListener("lostpointercapture", end, { once: true });
  });
  return { wake, sleep };
}

// JupyterLab gives this class to the element of a widget whose kernel is gone.
const GONE = "jupyter-widgets-disconnected";

function render({ model, el }) {
  const panel = make("fieldset", { className: "explorable-controls", "aria-label": "Controls" });
  const gone = make("p", { className: "explorable-gone" }, "Run this cell to move the picture.");
  const picture = make("div", { className: "explorable-picture" });
  if (matchMedia("(max-width: 40em)").matches) picture.tabIndex = 0; // there it scrolls
  const spoken = make("p", { className: "explorable-spoken", "aria-live": "polite" });
  const note = make("p", { className: "explorable-touch", "aria-live": "polite" });
  // By name: the control's spec, its element, and the functions that show a value and stop it.
  const parts = {};
  let values = { ...model.get("values") }, timer = null;

  const send = () => {
    timer = null;
    model.set("values", values);
    model.save_changes();
  };
  const change = (name, value) => {
    values = { ...values, [name]: value };
    timer ??= setTimeout(send, SEND_EVERY_MS);
  };
  const build = () => {
    for (const spec of model.get("controls")) {
      const old = parts[spec.name], same = JSON.stringify(old?.spec) === JSON.stringify(spec);
      if (same) continue; // or the control that is being moved would be lost
      const [element, show, end] = builders[spec.kind](spec, (value) => change(spec.name, value));
      // or JupyterLab would take their arrow keys as its own shortcuts
      element.querySelectorAll("input, button").forEach((node) => {
        node.setAttribute("data-lm-suppress-shortcuts", "");
      });
      parts[spec.name] = { spec, element, show, end };
      old?.end?.();
      old ? old.element.replaceWith(element) : panel.append(element);
    }
    showValues();
  };
  const showValues = () => {
    if (timer !== null) return; // the user is ahead of the kernel
    values = { ...model.get("values") };
    for (const [name, { show }] of Object.entries(parts)) show(values[name]);
  };
  const control = (name) => ({ spec: parts[name].spec, value: values[name] });
  const marks = touch(picture, control, (name, value) => {
    if (value === values[name]) return;
    parts[name].show(value);
    change(name, value);
  });
  const showLife = (focused = false) => {
    panel.disabled = el.classList.contains(GONE);
    gone.hidden = !panel.disabled;
    const words = picture.querySelector("svg")?.dataset.touch ?? "";
    if (note.textContent !== words) note.textContent = words; // or it would be read out again
    note.hidden = panel.disabled || !words;
    panel.disabled ? marks.sleep() : marks.wake(focused);
  };
  const draw = () => {
    const focused = picture.querySelector(":focus") !== null;
    picture.innerHTML = model.get("picture");
    const title = picture.querySelector("svg > title"), desc = picture.querySelector("svg > desc");
    if (!title) return;
    const [, subtitle] = picture.querySelectorAll("svg > text:is([y='32'], [y='52'])");
    const words = [make("b", {}, title.textContent), " ", subtitle?.textContent ?? ""];
    if (spoken.textContent !== `${title.textContent} ${words[2]}`) spoken.replaceChildren(...words);
    const label = `${title.textContent} ${desc?.textContent ?? ""}`;
    title.parentElement.setAttribute("aria-label", label);
    title.remove(); // or it would pop up wherever the pointer rests
    showLife(focused);
  };

  model.on("change:controls", build);
  model.on("change:values", showValues);
  model.on("change:picture", draw);
  build();
  draw();
  const life = new MutationObserver(() => showLife());
  life.observe(el, { attributes: true, attributeFilter: ["class"] });
  el.append(make("div", { className: "explorable" }, panel, gone, spoken, note, picture));
  return () => {
    life.disconnect();
    Object.values(parts).forEach(({ end }) => end?.());
    model.off("change:controls", build);
    model.off("change:values", showValues);
    model.off("change:picture", draw);
  };
}

export default { render };
