// Each key turns one slide at once; the browser itself handles space, Home, End and the wheel.
const slides = [...document.querySelectorAll("section")];
const KEYS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
addEventListener("keydown", (event) => {
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  const at = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > 1);
  slides[at + KEYS[event.key]]?.scrollIntoView();
});
