/** The collection: browse it, add pictures, remove some. */

import { call, send } from "./api.js";
import { card, nameOf } from "./card.js";
import { button, count, element, fileButton, loading, nothing, say, title } from "./dom.js";
import { pages } from "./pages.js";
import { address, forget } from "./query.js";
import { markButton, reflect } from "./removal.js";

const PAGE = 48; // pictures
const [ADDED, KNOWN] = ["Added", "Already there"];

const heading = title("Collection");
const add = fileButton("Add pictures", upload, { multiple: true, className: "button main" });
export const outcome = element("div", { className: "outcome" });
export const root = element("div", {}, element("div", { className: "tools bar" }, heading, add), outcome);

/** @param {Map<string, string>} parameters `after`: where the page begins @param {AbortSignal} signal */
export async function show(parameters, signal) {
  const after = parameters.get("after") ?? null;
  outcome.replaceChildren(loading("Loading pictures …"));
  const { images, next, total } = await call("GET", "images", { query: { limit: PAGE, after }, signal });
  heading.textContent = `Collection of ${count(total)}`;
  say(heading.textContent);
  if (!total) {
    const { index } = await call("GET", "health", { signal });
    const command = element("code", {}, `resight index FOLDER --into ${inShell(index)}`);
    const text = element("p", {}, "Drop pictures here, or index a folder on the server by ", command, ".");
    outcome.replaceChildren(nothing("The collection is empty", text));
    return;
  }
  const cards = images.map((picture) => {
    const { key, width, height } = picture;
    const tools = [markButton(key, nameOf(picture))];
    return card(picture, { href: address("search", { key }), lines: [`${width} × ${height}`], tools });
  });
  outcome.replaceChildren(element("ul", { className: "grid" }, ...cards), pages("collection", {}, after, next));
  reflect();
}

/** A path as a shell takes it for one word. @param {string} path */
function inShell(path) {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Send files one by one, and say what became of each. @param {File[]} files */
export async function upload(files) {
  const stopping = new AbortController();
  const bar = element("progress", { max: files.length, value: 0, "aria-label": "Pictures sent" });
  const text = element("p", {}, `Adding ${count(files.length)} …`);
  const stop = button("Stop", () => stopping.abort());
  const fates = files.map(({ name }) => element("li", {}, element("span", {}, name), element("span", {})));
  const head = element("div", { className: "tools bar" }, text, stop);
  const panel = element("section", { className: "uploads", "aria-label": "Uploads" }, head, bar, element("ul", {}, ...fates));
  outcome.before(panel);
  say(text.textContent);
  let added = 0;
  for (const [number, file] of files.entries()) {
    const fate = await fateOf(file, stopping.signal);
    added += fate === ADDED ? 1 : 0;
    fates[number].lastChild.textContent = fate;
    fates[number].classList.toggle("failed", fate !== ADDED && fate !== KNOWN);
    bar.value = number + 1;
  }
  text.textContent = `${added} of ${count(files.length)} added`;
  stop.replaceWith(button("Close", () => panel.remove()));
  say(text.textContent);
  forget();
  document.dispatchEvent(new Event("collection-changed"));
}

/** What became of a file. @param {File} file */
async function fateOf(file, signal) {
  if (signal.aborted) return "Not sent";
  try {
    const { status } = await send("POST", "images", { query: { name: file.name }, body: file, signal });
    return status === 201 ? ADDED : KNOWN;
  } catch (error) {
    return error.name === "AbortError" ? "Stopped" : error.message;
  }
}
