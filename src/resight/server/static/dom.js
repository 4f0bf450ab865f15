/** Elements, and the states that every view has: loading, nothing, a problem. Text enters as text, never as HTML. */

const live = document.getElementById("live");

/**
 * An element with these properties (or attributes, where there is no such property) and children; null is no child.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null)} children
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Node} children */
export function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A heading that can be given the focus when its view is opened. @param {string} text */
export function title(text) {
  return element("h1", { tabIndex: -1 }, text);
}

/** @param {string} text @param {() => void} onclick @param {string} [className] */
export function button(text, onclick, className = "") {
  return element("button", { type: "button", className, onclick }, text);
}

/** A button that opens the chooser of files, on phones also the camera. @param {(files: File[]) => void} chosen */
export function fileButton(text, chosen, { multiple = false, camera = false, className = "button" } = {}) {
  const input = element("input", { type: "file", className: "unseen", accept: "image/*,.heic,.heif,.tif,.tiff,.arw,.cr2,.cr3,.dng,.nef,.nrw,.orf,.pef,.raf,.rw2,.srw", multiple });
  if (camera) input.setAttribute("capture", "environment");
  input.onchange = () => {
    const files = [...input.files];
    input.value = ""; // so that the same file can be chosen again
    if (files.length) chosen(files);
  };
  return element("label", { className: camera ? `${className} camera` : className }, input, text);
}

/** Tell those who listen instead of look. @param {string} text */
export function say(text) {
  live.textContent = text;
}

/** @param {string} text */
export function loading(text) {
  say(text);
  return element("p", { className: "loading" }, element("span", { className: "turning" }), text);
}

/** What there is when there is nothing: why, and what can be done. @param {...(Node | string)} children */
export function nothing(heading, ...children) {
  return element("div", { className: "nothing" }, element("h2", {}, heading), ...children);
}

/** @param {{title?: string, message: string}} error @param {() => void} again */
export function problem(error, again) {
  return element(
    "div",
    { className: "problem", role: "alert" },
    element("h2", {}, error.title ?? "Something went wrong in this page"),
    element("p", {}, error.message),
    button("Try again", again),
  );
}

/** "1 picture", "2 pictures". @param {number} number @param {string} [noun] */
export function count(number, noun = "picture") {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
