/** One result beside the query: lines between what agrees, or one laid over the other; the same for any two pictures. */

import { call, factsOf } from "./api.js";
import { certainty, corners, isTurned, nameOf, outline, wayTo } from "./card.js";
import { button, count, drawing, element, loading, problem, say, title } from "./dom.js";
import { othersOf } from "./others.js";
import { address, compare, pictureAddress, readQuery, search } from "./query.js";

const LINES = 60; // drawn at most
const GAP = 0.04; // between the pictures, relative to their common side
const SIDE = 1000; // of the drawing: the common height or width of both pictures
const FINEST = 1600; // pixels of the overlay's longer side
const GOLDEN = 222.5; // degrees around the circle of hues that keep successive ones apart
const narrow = matchMedia("(max-width: 700px)");

const heading = title("Match");
const back = element("a", { className: "button" }, "‹ Results");
const previous = element("a", { className: "button" }, "‹", element("span", {}, "Previous"));
const next = element("a", { className: "button" }, element("span", {}, "Next"), "›");
const place = element("span", { className: "hint" });
const turns = element("nav", { className: "tools", "aria-label": "Results" }, previous, place, next);
const facts = element("p", { className: "facts" });
const stage = element("div", { className: "stage" });
const sideBySide = choice("Side by side", true);
const overlay = choice("Overlay", false);
const obstacleText = element("p", { className: "hint", id: "no-overlay" });
overlay.input.setAttribute("aria-describedby", obstacleText.id);
const lines = element("input", { type: "checkbox", checked: true, onchange: draw });
const linesLabel = element("label", { className: "switch" }, lines, "Lines");
const blend = element("input", { type: "range", min: 0, max: 100, value: 50, oninput: draw });
const blendLabel = element("label", { className: "switch" }, "Query", blend, "Result");
blend.setAttribute("aria-label", "How much of the result is seen through the query, in per cent");
const modes = element("div", { className: "tools", role: "group", "aria-label": "View" }, sideBySide.label, overlay.label);
const controls = element("div", { className: "tools controls" }, modes, linesLabel, blendLabel);
const onward = element("a", { className: "button main" }, "Search from here");
export const outcome = element("div", { className: "outcome" });
const top = element("div", { className: "tools bar" }, back, turns);
export const root = element("div", { className: "match" }, top, heading, outcome);

narrow.addEventListener("change", draw);

/** @type {{found: any, one: HTMLImageElement, other: HTMLImageElement} | null} */
let pair = null;

/** @param {Map<string, string>} parameters `with` names the result @param {AbortSignal} signal */
export async function show(parameters, signal) {
  const query = readQuery(parameters);
  const key = parameters.get("with") ?? "";
  const alone = parameters.has("alone"); // two pictures that no search has brought together
  pair = null;
  heading.textContent = nameOf({ key });
  back.hidden = turns.hidden = true;
  outcome.replaceChildren(loading("Comparing …"));
  const seen = call("GET", factsOf(key), { signal });
  const [found, picture, one] = await Promise.all([compare(query, key, signal), seen, pictureAddress(query)]);
  const both = await images(one, picture.links.picture);
  signal.throwIfAborted(); // another match may be on the screen by now
  pair = { found, ...both };
  heading.textContent = nameOf(picture);
  facts.textContent = inWords(found);
  onward.href = address("search", { key });
  const reason = obstacle(pair);
  obstacleText.textContent = reason;
  obstacleText.hidden = !reason;
  overlay.input.disabled = reason !== "";
  if (reason) sideBySide.input.checked = true;
  outcome.replaceChildren(facts, controls, obstacleText, element("div", { className: "easel" }, stage), onward);
  draw();
  say(`${heading.textContent}: ${facts.textContent} ${reason}`);
  const [others] = await Promise.all([othersOf(key, signal), alone ? null : turn(query, key, signal)]);
  if (others && !signal.aborted) outcome.append(others);
}

/** @param {KeyboardEvent} event */
export function press(event) {
  if (event.target.matches("[type=radio], [type=range]") || event.altKey || event.ctrlKey || event.metaKey) return;
  const link = { ArrowLeft: previous, ArrowRight: next, Escape: back }[event.key];
  if (link && !link.closest("[hidden]") && link.href) link.click();
}

/** Links to the results before and after this one. */
async function turn(query, key, signal) {
  back.href = address("search", query);
  back.hidden = false;
  const { hits } = await search(query, signal);
  const at = hits.findIndex((hit) => hit.key === key);
  turns.hidden = at < 0;
  if (hits[at]?.via.length && !pair?.found.transform) explain(query, hits[at], hits);
  place.textContent = `${at + 1} of ${hits.length}`;
  for (const [link, hit] of [[previous, hits[at - 1]], [next, hits[at + 1]]]) {
    if (hit) link.href = address("match", query, { with: hit.key });
    else link.removeAttribute("href");
  }
}

/** How links have led to a result whose own details do not agree with the query's. */
function explain(query, hit, hits) {
  const way = wayTo(hit, hits).flatMap((name, step) => {
    const link = element("a", { href: address("match", query, { with: hit.via[step] }) }, name);
    return step ? [" → ", link] : [link];
  });
  facts.replaceChildren(`${certainty(hit)} · found through `, ...way, "; their own details do not agree on one arrangement.");
  say(`${heading.textContent}: ${facts.textContent}`);
}

function inWords(found) {
  if (!found.transform) return "Nothing is confirmed: their details do not agree on one arrangement.";
  return `${certainty(found)} · ${count(found.inliers, "detail")} agree${found.inliers === 1 ? "s" : ""}`;
}

/** Why one cannot be laid over the other, or "". */
function obstacle({ found, one, other }) {
  if (!found.transform) return "There is no overlay, as their details do not agree.";
  const unseen = [one, other].filter((image) => !isSeen(image)).map((image) => (image === one ? "the query" : "the result"));
  if (unseen.length) return `There is no overlay, as ${unseen.join(" and ")} cannot be shown.`;
  if (isTurned(one, found.one)) return "There are no lines and no overlay, as this browser does not show the query upright.";
  return "";
}

/** Both pictures, loaded as far as they can be. */
async function images(...sources) {
  const [one, other] = sources.map((src, number) => element("img", { src, alt: number ? "Result" : "Query" }));
  await Promise.all([one, other].map((image) => image.decode().catch(() => {})));
  return { one: isSeen(one) ? one : standIn(one), other: isSeen(other) ? other : standIn(other) };
}

/** Words in place of a picture that did not come. @param {HTMLImageElement} image */
function standIn({ alt }) {
  const name = `${alt}, which cannot be shown`;
  return element("span", { className: "gone", role: "img", "aria-label": name }, "This picture cannot be shown. Its file may be gone.");
}

/** Whether it was loaded; a canvas refuses one that was not. @param {HTMLImageElement} image */
function isSeen(image) {
  return image.naturalWidth > 0;
}

function draw() {
  if (!pair) return;
  const laid = overlay.input.checked;
  linesLabel.hidden = laid;
  blendLabel.hidden = !laid;
  if (laid) drawOverlay();
  else drawSideBySide();
}

/** Both at one height, or on a narrow screen below each other at one width. Places are in units of the drawing. */
function drawSideBySide() {
  const { found, one, other } = pair;
  const ratios = [found.one, found.other].map(({ width, height }) => width / height);
  const sides = ratios.map((ratio) => (narrow.matches ? [SIDE, SIDE / ratio] : [SIDE * ratio, SIDE]));
  const along = narrow.matches ? 1 : 0; // the axis on which the second follows the first
  const second = [0, 0];
  second[along] = sides[0][along] + GAP * SIDE;
  const total = [0, 1].map((axis) => Math.max(sides[0][axis], second[axis] + sides[1][axis]));
  [one, other].forEach((image, number) => {
    const [left, top] = number ? second : [0, 0];
    const [width, height] = sides[number].map((side, axis) => side / total[axis]);
    const box = { left: left / total[0], top: top / total[1], width, height };
    for (const [name, value] of Object.entries(box)) image.style[name] = `${100 * value}%`;
  });
  const places = [[0, 0], second];
  const onto = (number) => scaled([found.one, found.other][number], sides[number], places[number]);
  const art = drawing("svg", { viewBox: `0 0 ${total.join(" ")}`, "aria-hidden": "true" });
  const upright = !isTurned(one, found.one); // else all of it would be drawn elsewhere
  if (found.transform && upright) {
    const frames = [corners(found.query_region), outline(found)];
    art.append(...frames.map((around, number) => frame(around.map(onto(number)), places[number], sides[number])));
  }
  if (lines.checked && upright) art.append(...matchLines(found.matches, onto(0), onto(1)));
  stage.replaceChildren(one, other, art);
  fit(...total);
}

/** From pixels of a picture to the drawing. A whole number is the centre of a pixel, hence the half. */
function scaled(picture, [width, height], [left, top]) {
  return ([x, y]) => [left + ((x + 0.5) / picture.width) * width, top + ((y + 0.5) / picture.height) * height];
}

/** A frame around points, as far as it lies in its picture. */
function frame(around, [x, y], [width, height]) {
  const points = around.map((point) => point.join(",")).join(" ");
  const lines = ["rim", "mark"].map((name) => drawing("polygon", { points, class: name }));
  return drawing("svg", { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` }, ...lines);
}

/** Let the stage have this shape, and be no larger than the screen. */
function fit(width, height) {
  stage.style.aspectRatio = `${width} / ${height}`;
  stage.style.setProperty("--ratio", String(width / height));
}

/** As many as can still be told apart, from top to bottom, so that neighbours differ in hue. */
function matchLines(matches, onOne, onOther) {
  const sorted = [...matches].sort((one, other) => one[1] - other[1]);
  const step = Math.max(1, sorted.length / LINES);
  const chosen = Array.from({ length: Math.min(LINES, sorted.length) }, (_, n) => sorted[Math.floor(n * step)]);
  return chosen.flatMap(([x, y, x2, y2], number) => {
    const [from, to] = [onOne([x, y]), onOther([x2, y2])];
    const stroke = `hsl(${(number * GOLDEN) % 360} 90% 70%)`;
    const line = drawing("path", { d: `M${from}L${to}`, stroke, class: "line" });
    return [line, drawing("path", { d: `M${from}h0M${to}h0`, stroke, class: "line ends" })];
  });
}

/** The query, moved by the map, over the result. */
function drawOverlay() {
  const { found, one, other } = pair;
  const { width, height } = found.other;
  const scale = Math.min(1, FINEST / Math.max(width, height));
  const canvas = element("canvas", { width: Math.round(scale * width), height: Math.round(scale * height), role: "img" });
  canvas.setAttribute("aria-label", "The query laid over the result, so that what agrees lies on itself");
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.drawImage(other, 0, 0, width, height);
  const [[a, b, c], [d, e, f]] = found.transform;
  pen.globalAlpha = 1 - blend.value / 100;
  // The map is between centres of pixels, which lie half a pixel inside their corners.
  pen.transform(a, d, b, e, c + 0.5 - 0.5 * (a + b), f + 0.5 - 0.5 * (d + e));
  pen.drawImage(one, 0, 0, found.one.width, found.one.height);
  stage.replaceChildren(canvas);
  fit(width, height);
}

/** One of the ways to look at it. */
function choice(text, checked) {
  const input = element("input", { type: "radio", name: "view", checked, onchange: draw, className: "unseen" });
  return { input, label: element("label", { className: "choice" }, input, text) };
}
