/** The page: which view the address names, and what is dropped, pasted or pressed anywhere. */

import { call, send } from "./api.js";
import * as collection from "./collection.js";
import { problem, say } from "./dom.js";
import * as duplicates from "./duplicates.js";
import * as groups from "./groups.js";
import * as match from "./match.js";
import { ask, forgetPictures, readParameters } from "./query.js";
import * as search from "./search.js";
import { signIn } from "./signin.js";

const VIEWS = { search, match, collection, groups, duplicates };
const main = document.getElementById("main");
const drop = document.getElementById("drop");
const signOut = document.getElementById("sign-out");

let current = { view: null, hash: "" };
let leaving = new AbortController();
/** @type {Map<string, number>} */
const scrolled = new Map(); // how far each address was

/**
 * Show what the address names. A view shows its parameters; it may return what to give the focus to, or null if the
 * reader should stay where he is.
 */
async function route() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [name, parameters] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : search;
  const [first, arriving] = [current.view === null, current.view !== view];
  scrolled.set(current.hash, scrollY);
  for (const link of document.querySelectorAll("header nav a")) {
    link.setAttribute("aria-current", VIEWS[link.hash.slice(2)] === view ? "page" : "false");
  }
  const heading = view.root.querySelector("h1");
  if (arriving) main.replaceChildren(view.root);
  if (arriving && !first) heading.focus({ preventScroll: true });
  const moved = current.hash !== location.hash;
  current = { view, hash: location.hash };
  try {
    const focus = await view.show(readParameters(parameters), signal);
    if (signal.aborted) return;
    focus?.focus({ preventScroll: true });
    if (!first && document.activeElement === document.body) heading.focus({ preventScroll: true }); // what had it is gone
    if (moved && focus !== null) scrollTo(0, scrolled.get(location.hash) ?? 0);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) return enter();
    say("");
    view.outcome.replaceChildren(problem(error, route));
  }
  document.title = `${heading.textContent} – resight`;
}

/** Ask for the token, then go on. */
function enter() {
  current = { view: null, hash: "" };
  main.replaceChildren(signIn(start));
  main.querySelector("input").focus();
}

async function start() {
  try {
    const { token_needed, signed_in } = await call("GET", "session");
    signOut.hidden = !(token_needed && signed_in);
    if (token_needed && !signed_in) enter();
    else await route();
  } catch (error) {
    main.replaceChildren(problem(error, start));
  }
}

/** Pictures that were dropped or pasted: added in the collection's view, else searched for. @param {DataTransfer} data */
function take(data) {
  const files = [...data.files];
  if (!files.length) return false;
  if (current.view === collection) collection.upload(files);
  else ask(files[0], files.length);
  return true;
}

addEventListener("hashchange", route);
document.addEventListener("collection-changed", () => current.view && current.view !== match && route());
document.addEventListener("keydown", (event) => current.view === match && match.press(event));
document.addEventListener("paste", (event) => take(event.clipboardData) && event.preventDefault());
document.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  drop.hidden = false;
  drop.firstChild.textContent = current.view === collection ? "Drop to add to the collection" : "Drop to search";
});
document.addEventListener("dragleave", (event) => (drop.hidden = event.relatedTarget === null || drop.hidden));
document.addEventListener("drop", (event) => {
  drop.hidden = true;
  if (take(event.dataTransfer)) event.preventDefault();
});
document.getElementById("skip").onclick = () => main.querySelector("h1")?.focus();
signOut.onclick = async () => {
  main.replaceChildren(); // its pictures would be refused
  await send("DELETE", "session").catch(() => {});
  forgetPictures();
  location.reload();
};
history.scrollRestoration = "manual";
start();
