/** Removing pictures: they are marked first, which can be undone, and go when that is confirmed. */

import { factsOf, send } from "./api.js";
import { button, count, element, problem, say } from "./dom.js";
import { forget } from "./query.js";

/** @type {Set<string>} */
const marked = new Set();
/** @type {string | null} */
let going = null; // the one that is being removed, which can no longer be kept
const text = element("p", {});
const about = element("p", { className: "hint" }, "Uploads are deleted. Files that were indexed from a folder stay there.");
const confirm = button("Remove", removeAll, "danger");
const undo = button("Undo", () => {
  mark([...marked], false);
  document.querySelector("main h1").focus({ preventScroll: true });
});
const failures = element("div", {});
const words = element("div", {}, text, about, failures);
const bar = element("section", { className: "removal", hidden: true, "aria-label": "Removal" }, words, undo, confirm);
document.querySelector("main").after(bar);

/** Mark pictures to be removed, or not to be. @param {string[]} keys @param {boolean} on */
export function mark(keys, on) {
  for (const key of keys) {
    if (on) marked.add(key);
    else if (key !== going) marked.delete(key);
  }
  reflect();
  say(marked.size ? `${text.textContent} Confirm or undo it at the end of the page.` : "Nothing is marked.");
}

/** A button that marks a picture, and unmarks it. @param {string} key @param {string} name */
export function markButton(key, name) {
  const made = button("", () => mark([key], !marked.has(key)));
  made.dataset.mark = key;
  made.setAttribute("aria-label", `Mark ${name} to be removed`);
  return made;
}

/** Show everywhere what is marked. */
export function reflect() {
  for (const made of document.querySelectorAll("[data-mark]")) {
    const on = marked.has(made.dataset.mark);
    made.setAttribute("aria-pressed", String(on));
    made.textContent = on ? "Keep" : "Remove";
    made.disabled = made.dataset.mark === going;
    made.closest(".card").classList.toggle("marked", on);
  }
  bar.hidden = !marked.size;
  text.textContent = `${count(marked.size)} marked to be removed.`;
  confirm.textContent = `Remove ${count(marked.size)}`;
}

async function removeAll() {
  confirm.disabled = undo.disabled = true;
  failures.replaceChildren();
  let removed = 0;
  try {
    for (const key of [...marked]) {
      if (!marked.has(key)) continue; // it was unmarked while others went
      going = key;
      reflect();
      await send("DELETE", factsOf(key)).catch((error) => {
        if (error.status !== 404) throw error; // another has removed it already
      });
      marked.delete(key);
      removed += 1;
    }
  } catch (error) {
    failures.replaceChildren(problem(error, removeAll));
  } finally {
    confirm.disabled = undo.disabled = false;
    going = null;
    reflect();
    forget();
    document.dispatchEvent(new Event("collection-changed"));
    say(`${count(removed)} removed.`);
  }
}
