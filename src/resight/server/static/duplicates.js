/** Duplicates: groups of copies or of pictures of one scene; keep one of each and remove the others. */

import { call, pause, quote, send } from "./api.js";
import { card, nameOf, percent } from "./card.js";
import { button, count, element, loading, nothing, problem, say, title } from "./dom.js";
import { address } from "./query.js";
import { mark, markButton, reflect } from "./removal.js";

const KINDS = { identical: "Identical", copy: "Copies", scene: "Same scene" };
const ABOUT = {
  identical: "Identical pictures have the same pixels, perhaps in files of different formats.",
  copy: "Copies are one photograph: resized, compressed, recoloured, cropped, framed, mirrored or turned, perhaps.",
  scene: "These are different photographs of the same thing. Open one to compare it.",
};
const NONE = {
  identical: "No two pictures have the same pixels.",
  copy: "No picture is a copy of another.",
  scene: "No two show the same thing.",
};
const POLL = 0.7; // seconds

const links = Object.entries(KINDS).map(([kind, name]) =>
  element("a", { className: "choice", href: address("duplicates", { kind }) }, name),
);
const about = element("p", { className: "hint" });
export const outcome = element("div", { className: "outcome" });
const kinds = element("nav", { className: "tools", "aria-label": "Kind of groups" }, ...links);
export const root = element("div", {}, element("div", { className: "tools bar" }, title("Duplicates"), kinds), about, outcome);

/** @param {Map<string, string>} parameters `kind` and, for later groups, `after` @param {AbortSignal} signal */
export async function show(parameters, signal) {
  const asked = parameters.get("kind");
  const kind = asked in KINDS ? asked : "copy";
  const after = parameters.get("after");
  Object.keys(KINDS).forEach((name, n) => links[n].setAttribute("aria-current", name === kind ? "page" : "false"));
  about.textContent = ABOUT[kind];
  outcome.replaceChildren(loading("Loading groups …"));
  const look = () => call("GET", "duplicates", { query: { kind, after }, signal });
  let found = await look();
  if (found.state === "running") found = await wait(found, look, signal);
  const { commit } = await call("GET", "health", { signal });
  if (found.state === "idle") outcome.replaceChildren(invitation(kind, signal));
  else if (found.state === "failed") outcome.replaceChildren(failure(kind, signal));
  else list(kind, found, found.commit !== commit, signal);
}

/** Show progress until it is done. */
async function wait(found, look, signal) {
  const bar = element("progress", { max: Math.max(1, found.total), "aria-label": "Work done" });
  const text = element("p", {});
  outcome.replaceChildren(element("div", { className: "nothing" }, text, bar));
  say("Comparing every picture with the others …");
  while (found.state === "running") {
    bar.value = found.done;
    text.textContent = `Comparing: ${percent(found.total ? found.done / found.total : 0)} …`;
    await pause(POLL, signal);
    found = await look();
  }
  return found;
}

function invitation(kind, signal) {
  say("Not looked for yet.");
  const text = "Every picture is compared with the others. This takes a while in a large collection; you may leave the page.";
  return nothing("Not looked for yet", element("p", {}, text), starter("Look for groups", kind, signal));
}

function failure(kind, signal) {
  say("Looking for groups has failed.");
  const text = "The server could not go on; its log says why.";
  return nothing("Looking for groups has failed", element("p", {}, text), starter("Try again", kind, signal));
}

function starter(text, kind, signal) {
  const made = button(text, start, "main");
  async function start() {
    made.disabled = true;
    try {
      await send("POST", "duplicates", { query: { kind }, signal });
      await show(new Map([["kind", kind]]), signal);
    } catch (error) {
      if (!signal.aborted) outcome.replaceChildren(problem(error, start));
    }
  }
  return made;
}

function list(kind, { groups, next, dismissed, unread }, stale, signal) {
  const again = starter("Look again", kind, signal);
  const parts = [];
  if (stale) parts.push(element("p", { className: "notice" }, "The collection has changed since. ", again));
  if (!groups.length) {
    parts.push(nothing("Nothing belongs together", element("p", {}, NONE[kind])));
  }
  parts.push(...groups.map((group, number) => groupOf(kind, group, number + 1)));
  if (dismissed) parts.push(element("p", { className: "hint" }, `${count(dismissed, "group")} left out: no duplicates, you said.`));
  if (unread) parts.push(element("p", { className: "notice" }, `${count(unread)} could not be compared: the file is gone or has changed.`));
  if (next) parts.push(element("p", { className: "more" }, pageLink(kind, next)));
  outcome.replaceChildren(...parts);
  reflect();
  say(groups.length ? count(groups.length, "group") : "Nothing belongs together.");
}

function pageLink(kind, after) {
  return element("a", { className: "button", href: address("duplicates", { kind, after }) }, "More groups ›");
}

/** A group, the picture with the most pixels first. Of copies one is suggested, and the others can be marked at once. */
function groupOf(kind, { pictures, keep: kept }, number) {
  const keys = pictures.map((one) => one.key);
  const cards = pictures.map((picture, at) => {
    const { key, width, height, confidence, correlation } = picture;
    const name = nameOf(picture);
    const href = address("match", { key: pictures[at ? 0 : 1].key }, { with: key, alone: 1 });
    const lines = [`${width} × ${height} · ${confidence === null ? `${percent(correlation)} alike` : percent(confidence)}`];
    const tools = [markButton(key, name)];
    if (kept) {
      if (key === kept.key) lines.push(`Best: ${kept.reason}`);
      const keep = button("Keep only this", () => {
        mark([key], false);
        mark(keys.filter((other) => other !== key), true); // prettier-ignore
      }, key === kept.key ? "main" : "");
      keep.setAttribute("aria-label", `Keep only ${name}, and mark the others to be removed`);
      tools.unshift(keep);
    }
    return card(picture, { href, lines, tools });
  });
  const failures = element("div", {});
  const grid = element("ul", { className: "grid" }, ...cards);
  const dismissal = button("Not duplicates", () => dismiss(true));
  const head = element("div", { className: "tools bar" }, element("h2", {}, count(pictures.length)), dismissal);
  const section = element("section", { className: "group", "aria-label": `Group ${number}` }, head, failures, grid);
  /** Leave the group out from now on, or take that back. */
  async function dismiss(on) {
    dismissal.disabled = true;
    failures.replaceChildren();
    try {
      const named = keys.map((key) => `key=${quote(key)}`).join("&");
      await send(on ? "POST" : "DELETE", `duplicates/dismissed?kind=${kind}&${named}`);
      if (on) mark(keys, false);
      grid.hidden = on;
      dismissal.textContent = on ? "Undo" : "Not duplicates";
      dismissal.onclick = () => dismiss(!on);
      say(on ? "The group is left out until it gains a picture." : "The group is shown again.");
    } catch (error) {
      failures.replaceChildren(problem(error, () => dismiss(on)));
    } finally {
      dismissal.disabled = false;
    }
  }
  return section;
}
