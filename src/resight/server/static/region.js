/** A picture on which a part can be chosen by mouse, touch or keyboard. */

import { element, say } from "./dom.js";

const STEP = 0.02; // of a side, for each press of an arrow key
const SMALLEST = 0.03; // of a side
const BEGIN = { x: 0.25, y: 0.25, width: 0.5, height: 0.5 };
const KEYS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
const CORNERS = [[0, 0], [1, 0], [0, 1], [1, 1]]; // prettier-ignore

/** @typedef {{x: number, y: number, width: number, height: number}} Part in shares of the picture's sides */

export class PartChooser {
  /**
   * @param {(part: Part | null) => void} settled hears of a part when the pointer is lifted or Enter is pressed
   * @param {() => void} changed hears of every change
   */
  constructor(settled, changed) {
    this.settled = settled;
    this.changed = changed;
    /** @type {Part | null} */
    this.part = null;
    this.image = element("img", { alt: "The picture that is searched for", draggable: false });
    const handles = CORNERS.map(([x, y]) => element("span", { className: "corner", "data-x": x, "data-y": y }));
    const about = { className: "part", tabIndex: 0, role: "application", "aria-describedby": "part-help" };
    this.box = element("div", { ...about, hidden: true, onkeydown: (event) => this.#press(event) }, ...handles);
    this.frame = element("div", { className: "frame" }, this.image, this.box);
    this.frame.onpointerdown = (event) => this.#grasp(event);
  }

  /** Show this part, or none. @param {Part | null} part */
  set(part) {
    this.part = part;
    this.box.hidden = part === null;
    this.frame.classList.toggle("choosing", part !== null);
    if (part) {
      const { left, top, width, height } = { left: part.x, top: part.y, ...part };
      for (const [name, value] of Object.entries({ left, top, width, height })) this.box.style[name] = `${100 * value}%`;
      this.box.setAttribute("aria-label", `Chosen part: ${words(part)}`);
    }
    this.changed();
  }

  /** Begin with a part in the middle, for those who cannot draw one. */
  begin() {
    this.set(BEGIN);
    this.box.focus();
  }

  /** Draw a new part, or take an old one by its corner or its middle. @param {PointerEvent} event */
  #grasp(event) {
    const scrolling = event.pointerType === "touch" && !this.part; // a finger on the picture scrolls until one is chosen
    if (event.button !== 0 || scrolling) return;
    const before = this.part;
    const start = this.#place(event);
    const { x, y } = event.target.dataset;
    let follow = (here) => between(start, here);
    if (x !== undefined) {
      const opposite = { x: before.x + (1 - x) * before.width, y: before.y + (1 - y) * before.height };
      follow = (here) => between(opposite, here);
    } else if (event.target === this.box) {
      follow = (here) => moved(before, here.x - start.x, here.y - start.y);
    }
    const controller = new AbortController();
    const end = (part) => {
      controller.abort();
      const right = part !== null && part.width >= SMALLEST && part.height >= SMALLEST;
      this.set(right ? part : before);
      if (right) this.settled(part);
    };
    const on = (name, action) => this.frame.addEventListener(name, action, { signal: controller.signal });
    on("pointermove", (moving) => this.set(follow(this.#place(moving))));
    on("pointerup", (lifted) => end(same(start, this.#place(lifted)) ? null : follow(this.#place(lifted))));
    on("pointercancel", () => end(null));
    this.frame.setPointerCapture(event.pointerId);
    event.preventDefault();
    if (!this.box.hidden) this.box.focus();
  }

  /** @param {PointerEvent} event where it is, in shares of the picture, and never outside */
  #place(event) {
    const { left, top, width, height } = this.image.getBoundingClientRect();
    const within = (value) => Math.min(1, Math.max(0, value));
    return { x: within((event.clientX - left) / width), y: within((event.clientY - top) / height) };
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const step = KEYS[event.key];
    if (step) this.set(event.shiftKey ? resized(this.part, ...step) : moved(this.part, ...step));
    else if (event.key === "Enter") this.settled(this.part);
    else if (event.key === "Delete" || event.key === "Escape") this.settled(null);
    else return;
    event.preventDefault();
    if (step) say(words(this.part));
  }
}

/** The box with these opposite corners. */
function between(one, other) {
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  return { x, y, width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y) };
}

/** @param {Part} part */
function moved(part, right, down) {
  const x = Math.min(1 - part.width, Math.max(0, part.x + right));
  const y = Math.min(1 - part.height, Math.max(0, part.y + down));
  return { ...part, x, y };
}

/** @param {Part} part */
function resized(part, wider, higher) {
  const width = Math.min(1 - part.x, Math.max(SMALLEST, part.width + wider));
  const height = Math.min(1 - part.y, Math.max(SMALLEST, part.height + higher));
  return { ...part, width, height };
}

function same(one, other) {
  return one.x === other.x && one.y === other.y;
}

/** @param {Part} part */
function words(part) {
  const [left, top, width, height] = [part.x, part.y, part.width, part.height].map((share) => Math.round(100 * share));
  return `${left} % from the left, ${top} % from the top, ${width} % wide, ${height} % high`;
}
