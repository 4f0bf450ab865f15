/** Groups: the collection by thing shown, as the links between its pictures tell; one group with all of its pictures. */

import { call } from "./api.js";
import { card } from "./card.js";
import { count, element, loading, nothing, say, title } from "./dom.js";
import { pages } from "./pages.js";
import { address } from "./query.js";

const PAGE = 48; // groups, or pictures of one

const heading = title("Groups");
const back = element("a", { className: "button", href: "#/groups", hidden: true }, "‹ All groups");
const about = element("p", { className: "hint" });
export const outcome = element("div", { className: "outcome" });
export const root = element("div", { className: "groups" }, element("div", { className: "tools bar" }, heading, back), about, outcome);

/** @param {Map<string, string>} parameters `key`: of a picture whose group is shown; `after` @param {AbortSignal} signal */
export async function show(parameters, signal) {
  const key = parameters.get("key") ?? null;
  const after = parameters.get("after") ?? null;
  heading.textContent = "Groups";
  back.hidden = key === null;
  about.textContent = "";
  outcome.replaceChildren(loading("Loading groups …"));
  const { linked } = await call("GET", "health", { signal });
  if (!linked) outcome.replaceChildren(invitation());
  else if (key === null) await list(after, signal);
  else await open(key, after, signal);
}

function invitation() {
  say("There are no links yet.");
  const text = element("p", {}, "Pictures are grouped by the links between them. Find these on the server by ");
  text.append(element("code", {}, "resight link"), ", then come back.");
  return nothing("There are no links yet", text);
}

async function list(after, signal) {
  const { groups, total, next, unlinked } = await call("GET", "groups", { query: { limit: PAGE, after }, signal });
  heading.textContent = total ? count(total, "group") : "Groups";
  about.textContent = "Pictures that show the same thing, the largest groups first.";
  const parts = [];
  if (unlinked) parts.push(waiting(unlinked));
  if (total) parts.push(element("ul", { className: "grid" }, ...groups.map(groupCard)), pages("groups", {}, after, next));
  else parts.push(nothing("Every picture is alone", element("p", {}, "No two are known to show the same thing.")));
  outcome.replaceChildren(...parts);
  say(total ? heading.textContent : "Every picture is alone.");
}

/** Pictures that have not looked for others yet. */
function waiting(pictures) {
  const text = element("span", {}, `${count(pictures)} not linked yet. Find what they show on the server by `);
  text.append(element("code", {}, "resight link"), ".");
  return element("p", { className: "notice" }, text);
}

function groupCard({ size, pictures: [first] }) {
  return card(first, { href: address("groups", { key: first.key }), lines: [count(size)], stacked: true });
}

async function open(key, after, signal) {
  const { size, pictures, next } = await call("GET", "group", { query: { key, limit: PAGE, after }, signal });
  heading.textContent = `${count(size)} of the same thing`;
  about.textContent = "The picture with the most links stands first, then those with the strongest ones.";
  const cards = pictures.map((picture) => {
    const lines = [picture.inliers ? `${count(picture.inliers, "detail")} agree` : "The same file"];
    return card(picture, { href: address("search", { key: picture.key }), lines });
  });
  outcome.replaceChildren(element("ul", { className: "grid" }, ...cards), pages("groups", { key }, after, next));
  say(heading.textContent);
}
