// Arrow keys, space, Page Up and Down, Home, End: one slide at a time; the address knows which.
const slides = [...document.querySelectorAll("section")];
const nav = document.body.appendChild(document.createElement("nav"));
let at = Math.min(Math.max(Number(location.hash.slice(1)) - 1, 0) || 0, slides.length - 1);

function go(to) {
  at = Math.min(Math.max(to, 0), slides.length - 1);
  slides.forEach((slide, number) => slide.classList.toggle("here", number === at));
  nav.textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${at + 1}`);
  scrollTo(0, 0);
}

const KEYS = {
  ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1,
  Home: -Infinity, End: Infinity,
};
addEventListener("keydown", (event) => {
  // A slider has keys of its own; of a fold only the space is.
  const held = event.target.closest?.(event.key === " " ? "input, summary" : "input");
  const free = event.key.startsWith("Page") || !held;
  if (event.key in KEYS && free && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.activeElement.blur();
    go(at + KEYS[event.key]);
  }
});

for (const slide of slides) {
  const input = slide.querySelector(".move input");
  if (!input) continue;
  const frames = JSON.parse(slide.querySelector("script").textContent);
  input.oninput = () => {
    const [name, picture] = frames[input.value];
    slide.querySelector("output").textContent = name;
    slide.querySelector(".figure").innerHTML = picture;
  };
  input.onpointerup = () => input.blur(); // so that arrows turn slides again
  input.oninput();
}
document.body.classList.add("walk");
go(at);
