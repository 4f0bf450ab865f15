/** Search: what is searched for, the part of it that counts, and what was found. */

import { call } from "./api.js";
import { askAgain, card, certainty, isConfirmed, isThroughOthers, isTurned, isUnlikely, nameOf, outline, wayTo } from "./card.js";
import { button, count, element, fileButton, loading, nothing, problem, say, title } from "./dom.js";
import { othersOf } from "./others.js";
import { address, ask, givenTogether, isAnswered, pictureAddress, readQuery, search, searchOn } from "./query.js";
import { PartChooser } from "./region.js";

const OFFERED = 12; // pictures of the collection to begin with

const heading = title("Search");
const others = element("div", { className: "linked" });
const asked = element("section", { className: "asked", "aria-label": "Your picture" });
export const outcome = element("section", { className: "found", "aria-label": "Results" });
export const root = element("div", { className: "search" }, heading, element("div", { className: "columns" }, asked, outcome));

const chooser = new PartChooser(settle, reflect);
const choose = button("Choose a part", () => chooser.begin());
const searchPart = button("Search this part", () => settle(chooser.part), "main");
const whole = button("Whole picture", () => settle(null));
const help = element(
  "p",
  { className: "hint", id: "part-help" },
  "Draw a part, or drag its corners. ",
  element("span", { className: "by-mouse" }, "By keyboard: arrows move it, with Shift they resize it, Enter searches."),
);

const turned = element(
  "p",
  { className: "hint", id: "turned", hidden: true },
  "This browser does not show the picture upright, so no part of it can be chosen. As JPEG or PNG it would do.",
);
choose.setAttribute("aria-describedby", turned.id);

/** @type {import("./query.js").Query | null} */
let query = null;
/** @type {{width: number, height: number} | null} */
let size = null; // of the query's picture, upright
/** @type {string | null} */
let listed = null; // the address whose results are shown
/** @type {HTMLElement | null} */
let opened = null; // the card to return to

/** @param {Map<string, string>} parameters @param {AbortSignal} signal */
export async function show(parameters, signal) {
  const before = query;
  query = readQuery(parameters);
  if (!query) return welcome(signal);
  const place = address("search", query);
  if (listed === place && isAnswered(query)) return opened;
  const same = before?.key === query.key && before?.picture === query.picture;
  if (!same) await showPicture(signal);
  if (!same) others.replaceChildren();
  heading.textContent = "Results";
  listed = opened = null;
  outcome.replaceChildren(loading("Searching …"));
  const [found] = await Promise.all([search(query, signal), showOthers(signal)]);
  size = found.query;
  const region = query.region?.split(",").map(Number);
  chooser.set(region ? shares(region) : null);
  allow();
  list(found);
  listed = place;
  return same ? null : undefined;
}

async function welcome(signal) {
  listed = null;
  heading.textContent = "Find every picture of the same thing";
  asked.replaceChildren(
    element(
      "div",
      { className: "welcome" },
      element("p", { className: "by-mouse" }, "Drop a picture anywhere, paste one, or"),
      element("p", { className: "tools" }, ...chooserButtons("main")),
    ),
  );
  outcome.replaceChildren(loading("Looking at the collection …"));
  const { images, total } = await call("GET", "images", { query: { limit: OFFERED }, signal });
  say("");
  if (!images.length) {
    const link = element("a", { href: "#/collection", className: "button main" }, "Add pictures");
    outcome.replaceChildren(nothing("The collection is empty", element("p", {}, "Add pictures first, then search."), link));
    return;
  }
  const cards = images.map((picture) => card(picture, { href: address("search", { key: picture.key }) }));
  const all = element("a", { href: "#/collection" }, `Browse all ${count(total)}`);
  outcome.replaceChildren(
    element("h2", {}, "Or begin with one of the collection"),
    element("ul", { className: "grid small" }, ...cards),
    element("p", {}, all),
  );
}

function chooserButtons(className) {
  const chosen = ([first]) => ask(first);
  return [
    fileButton("Choose a picture", chosen, { className: `button ${className}` }),
    fileButton("Take a photo", chosen, { camera: true }),
  ];
}

/** The query's picture, with what can be done to it. */
async function showPicture(signal) {
  asked.replaceChildren();
  chooser.set(null);
  size = null;
  allow();
  const source = await pictureAddress(query);
  signal.throwIfAborted();
  chooser.image.src = source;
  const { key } = query;
  const unseen = element("p", { className: "gone", hidden: true });
  chooser.frame.hidden = false;
  chooser.image.onload = allow;
  chooser.image.onerror = async () => {
    const foreign = "This browser cannot show this kind of picture.";
    unseen.textContent = key === null ? foreign : await askAgain(chooser.image, "picture", key);
    unseen.hidden = !unseen.textContent;
    chooser.frame.hidden = !unseen.hidden; // rather words than a broken picture
    allow();
  };
  const several = givenTogether(query);
  const alone = `Only the first of the ${several} pictures is searched for. Search for one at a time.`;
  const notice = several > 1 ? element("p", { className: "notice", role: "alert" }, alone) : null;
  const name = key === null ? null : element("p", { className: "name" }, nameOf({ key }));
  const tools = element("p", { className: "tools" }, choose, searchPart, whole);
  const another = element("details", {}, element("summary", {}, "Another picture"));
  another.append(element("p", { className: "tools" }, ...chooserButtons("")));
  const shown = [notice, chooser.frame, unseen, turned, name, tools, help, another, others];
  asked.replaceChildren(...shown.filter((part) => part !== null));
}

/** What is known already of a picture of the collection, while it is searched for. */
async function showOthers(signal) {
  const section = query.key === null ? null : await othersOf(query.key, signal);
  others.replaceChildren(...(section ? [section] : []));
}

/** A part can be chosen once the picture's size is known, if the browser shows what the server sees. */
function allow() {
  turned.hidden = !(size && isTurned(chooser.image, size));
  if (!turned.hidden && chooser.part) chooser.set(null); // it would be drawn elsewhere
  chooser.frame.inert = choose.disabled = !size || !turned.hidden || chooser.frame.hidden;
}

/** Search the part that was chosen, or the whole picture. @param {import("./region.js").Part | null} part */
function settle(part) {
  const target = address("search", { ...query, region: part && pixels(part).join(",") });
  chooser.set(part);
  if (!part) choose.focus(); // the button that was pressed has gone
  location.hash = target;
}

/** The buttons that make sense now. */
function reflect() {
  const part = chooser.part !== null;
  [choose.hidden, searchPart.hidden, whole.hidden, help.hidden] = [part, !part, !part, !part];
}

/** At least one each way, and inside the picture. @param {import("./region.js").Part} part */
function pixels({ x, y, width, height }) {
  const begin = (share, side) => Math.min(Math.round(share * side), side - 1);
  const length = (share, side) => Math.max(Math.round(share * side), 1);
  return [begin(x, size.width), begin(y, size.height), length(width, size.width), length(height, size.height)];
}

/** @param {number[]} region in pixels */
function shares([x, y, width, height]) {
  return { x: x / size.width, y: y / size.height, width: width / size.width, height: height / size.height };
}

/** @param {import("./query.js").Found} found */
function list({ hits, query: used, more }) {
  if (!hits.length) {
    const advice = used.features
      ? "No picture of the collection shares enough details with this one."
      : "There are too few details in it. Choose a larger part, or a sharper picture.";
    outcome.replaceChildren(nothing("Nothing was found", element("p", {}, advice)));
    say("Nothing was found");
    return;
  }
  const confirmed = group("confirmed", "Confirmed", "The same details, in the same arrangement.");
  const through = group("through", "Found through others", "They are linked to pictures above, which show the same thing.");
  const weak = group("weak", "Weak candidates", "They come nearest, but their details do not clearly agree.");
  const pictures = element("ol", { className: "grid small" });
  const unlikely = element("details", { className: "weak unlikely", hidden: true }, element("summary", {}), pictures);
  const groups = [confirmed, through, weak, unlikely];
  const next = element("p", { className: "more" }, button("More results", () => goOn(next, groups)));
  next.hidden = !more;
  outcome.replaceChildren(...groups, next);
  fill(groups, hits, hits);
  if (!unlikely.hidden) unlikely.append(next); // what follows is no likelier
  sum({ hits, more });
}

/** Say how many were found. */
function sum({ hits, more }) {
  const through = hits.filter(isThroughOthers).length;
  const sure = hits.filter(isConfirmed).length + through;
  const perhaps = more && sure === hits.length ? ", perhaps more" : "";
  heading.textContent = sure ? `${count(sure)} found${perhaps}` : "Nothing is confirmed";
  const slight = hits.filter(isUnlikely).length;
  const below = slight ? `, ${slight} more below 1\u202f%` : "";
  const led = through ? `, ${through} through others` : "";
  say(`${heading.textContent}${led}. ${count(hits.length - sure - slight, "weak candidate")}${below}.`);
}

/** A part of the results, hidden as long as nothing is in it. */
function group(className, name, about) {
  const head = element("div", { className: "head" }, element("h2", {}, name), element("p", { className: "hint" }, about));
  const pictures = element("ol", { className: className === "weak" ? "grid small" : "grid" });
  return element("section", { className, hidden: true, "aria-label": name }, head, pictures);
}

/** @param {HTMLElement[]} groups the confirmed, those found through others, the weak, and those shown on demand */
function fill(groups, hits, all) {
  const cards = hits.map((hit) => {
    const made = card(hit, {
      href: address("match", query, { with: hit.key }),
      lines: [certainty(hit)],
      note: hit.via.length ? `found through ${wayTo(hit, all).join(" → ")}` : "",
      around: outline(hit),
    });
    made.firstChild.addEventListener("click", () => (opened = made.firstChild));
    const target = groups[isConfirmed(hit) ? 0 : isThroughOthers(hit) ? 1 : isUnlikely(hit) ? 3 : 2];
    target.hidden = false;
    target.querySelector("ol").append(made);
    return made;
  });
  const unlikely = groups.at(-1);
  const below = unlikely.querySelectorAll(".card").length;
  unlikely.querySelector("summary").textContent = `Show all: ${count(below, "more candidate")} below 1\u202f%`;
  return cards[0];
}

/** The next page of results, below those that are there. */
async function goOn(next, groups) {
  const [pressed] = next.children;
  pressed.disabled = true;
  next.parentNode.querySelector(".problem")?.remove();
  try {
    const asking = address("search", query);
    const hits = await searchOn(query);
    if (asking !== address("search", query)) return;
    const found = await search(query);
    const first = fill(groups, hits, found.hits);
    next.hidden = !found.more;
    sum(found);
    const free = [document.body, pressed].includes(document.activeElement); // nothing else was turned to in between
    if (free) first?.firstChild.focus({ preventScroll: true });
  } catch (error) {
    next.after(problem(error, () => goOn(next, groups)));
  } finally {
    pressed.disabled = false;
  }
}
