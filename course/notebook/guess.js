// The view of course.notebook.guess_form.GuessForm: a field for a guess, then the outcome.
const GONE = "jupyter-widgets-disconnected"; // JupyterLab's, for a widget whose kernel is gone
const STORED = "What the stored run showed";

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function render({ model, el }) {
  let changing = false, sent = false, typed = "", next = null;
  const root = make("div", { className: "guess" });

  const send = (content) => {
    sent = true;
    typed = content.answer ?? "";
    model.send({ ...content, at: Date.now() });
    draw();
    next = el.closest(".jp-Cell")?.nextElementSibling; // so that Shift+Enter runs it
    next?.focus({ preventScroll: true });
  };
  const link = (text, onclick) => make("button", { type: "button", textContent: text, onclick });

  const form = () => {
    const [question, choices, unit] = ["question", "choices", "unit"].map((key) => model.get(key));
    const keep = (text) => send({ answer: text });
    const skip = link("Skip", () => send({ skip: true }));
    skip.className = "quiet";
    if (choices.length) {
      const buttons = choices.map((choice) => link(choice, () => keep(choice)));
      const row = make("div", { className: "ask" }, ...buttons, skip);
      row.setAttribute("role", "group");
      row.setAttribute("aria-label", question);
      return row;
    }
    const input = make("input", { type: "text", autocomplete: "off" });
    input.setAttribute("aria-label", question);
    input.inputMode = unit ? "decimal" : "text";
    input.className = unit ? "number" : "line";
    const words = unit ? [make("span", {}, unit)] : [];
    const take = () => (input.value.trim() ? keep(input.value) : input.focus());
    input.onkeydown = (event) => {
      event.stopPropagation(); // or the notebook takes the key
      if (event.key === "Enter") take();
    };
    const label = make("span", {}, "Your guess:");
    return make("div", { className: "ask" }, label, input, ...words, link("Keep", take), skip);
  };

  const gone = () => {
    const sentence = model.get("sentence"), stored = model.get("stored");
    if (sentence) return make("p", {}, sentence);
    if (stored) return make("details", {}, make("summary", {}, STORED), stored);
    return make("p", {}, "Run this cell to guess.");
  };

  const draw = () => {
    const held = root.contains(document.activeElement);
    typed = root.querySelector("input")?.value ?? typed;
    const [fault, sentence, change] = ["fault", "sentence", "change"].map((key) => model.get(key));
    if (el.classList.contains(GONE)) return root.replaceChildren(gone());
    if (sent) return root.replaceChildren(make("p", {}, "Kept as soon as the kernel is free …"));
    if (sentence && !changing) {
      const again = change ? [link(change, () => ((changing = true), draw(), mend()))] : [];
      for (const button of again) button.className = "quiet";
      return root.replaceChildren(make("p", { ariaLive: "polite" }, sentence, " ", ...again));
    }
    const wrong = fault ? [make("p", { className: "fault", role: "alert" }, fault)] : [];
    root.replaceChildren(form(), ...wrong);
    const input = root.querySelector("input");
    if (input) input.value = typed;
    if (held) root.querySelector("input, button").focus();
    // or JupyterLab takes their keys as its own shortcuts
    for (const node of root.querySelectorAll("input, button")) {
      node.setAttribute("data-lm-suppress-shortcuts", "");
    }
  };

  const mend = () => { // what was typed is selected, so that typing replaces it
    const first = root.querySelector("input, button");
    first.focus();
    first.select?.();
  };

  const replied = () => {
    const wrong = model.get("fault") !== "";
    sent = false;
    changing &&= wrong;
    draw();
    if (wrong && [next, document.body].includes(document.activeElement)) mend();
  };
  model.on("change:turn", replied);
  draw();
  const life = new MutationObserver(draw);
  life.observe(el, { attributes: true, attributeFilter: ["class"] });
  el.append(root);
  return () => {
    life.disconnect();
    model.off("change:turn", replied);
  };
}

export default { render };
