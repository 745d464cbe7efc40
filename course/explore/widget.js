// The face of course.explore.widget.Explorable: native controls above a picture drawn by Python.
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

// Each builder returns the control's element, a function that shows a value in it, and, where it is
// needed, one that ends it.
const builders = {
  Slider({ label, stops, texts }, change) {
    const output = make("output");
    const range = { type: "range", min: 0, max: stops.length - 1, step: 1 };
    const input = make("input", { ...range, "aria-label": label }); // the <label> names the output
    const show = (value) => {
      const at = nearest(stops, value);
      input.value = at;
      output.textContent = texts[at];
      input.setAttribute("aria-valuetext", texts[at]);
    };
    input.addEventListener("input", () => (show(stops[input.value]), change(stops[input.value])));
    return [make("label", {}, make("span", {}, label, output), input), show];
  },

  Choice({ name, label, options }, change) {
    const group = `${name}-${Math.random().toString(36).slice(2)}`; // radio groups are page-wide
    const inputs = options.map((value) => make("input", { type: "radio", name: group, value }));
    inputs.forEach((input) => input.addEventListener("change", () => change(input.value)));
    const labels = inputs.map((input) => make("label", {}, input, make("span", {}, input.value)));
    const className = options.join("").length > 30 ? "wide" : "";
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

  Steps({ label, last, names }, change) {
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
};

// JupyterLab gives this class to the element of a widget whose kernel is gone.
const GONE = "jupyter-widgets-disconnected";

function render({ model, el }) {
  const panel = make("fieldset", { className: "explorable-controls", "aria-label": "Controls" });
  const gone = make("p", { className: "explorable-gone" }, "Run this cell to move the picture.");
  const picture = make("div", { className: "explorable-picture" });
  const spoken = make("p", { className: "explorable-spoken", "aria-live": "polite" });
  // By name: the control's spec as text, its element, and how to show a value and to end it.
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
      const text = JSON.stringify(spec), old = parts[spec.name];
      if (old?.text === text) continue; // a control that stays the same stays in the hand
      const [element, show, end] = builders[spec.kind](spec, (value) => change(spec.name, value));
      // or JupyterLab takes their arrow keys as shortcuts of its own
      element.querySelectorAll("input, button").forEach((node) => {
        node.setAttribute("data-lm-suppress-shortcuts", "");
      });
      parts[spec.name] = { text, element, show, end };
      old?.end?.();
      old ? old.element.replaceWith(element) : panel.append(element);
    }
    showValues();
  };
  const showValues = () => {
    if (timer !== null) return; // the hand is ahead of the kernel
    values = { ...model.get("values") };
    for (const [name, { show }] of Object.entries(parts)) show(values[name]);
  };
  const showLife = () => {
    panel.disabled = el.classList.contains(GONE);
    gone.hidden = !panel.disabled;
  };
  const draw = () => {
    picture.innerHTML = model.get("picture");
    const title = picture.querySelector("svg > title"), desc = picture.querySelector("svg > desc");
    if (!title) return;
    const [, subtitle] = picture.querySelectorAll("svg > text:is([y='32'], [y='52'])");
    spoken.replaceChildren(make("b", {}, title.textContent), " ", subtitle?.textContent ?? "");
    const label = `${title.textContent} ${desc?.textContent ?? ""}`;
    title.parentElement.setAttribute("aria-label", label);
    title.remove(); // or it would pop up wherever the pointer rests
  };

  model.on("change:controls", build);
  model.on("change:values", showValues);
  model.on("change:picture", draw);
  build();
  draw();
  showLife();
  const life = new MutationObserver(showLife);
  life.observe(el, { attributes: true, attributeFilter: ["class"] });
  el.append(make("div", { className: "explorable" }, panel, gone, spoken, picture));
  return () => {
    life.disconnect();
    Object.values(parts).forEach(({ end }) => end?.());
    model.off("change:controls", build);
    model.off("change:values", showValues);
    model.off("change:picture", draw);
  };
}

export default { render };
