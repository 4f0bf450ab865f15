/** A picture of the collection as a card, what is known of it in words, and where the query was seen in it. */

import { send } from "./api.js";
import { drawing, element } from "./dom.js";

const CONFIRMED = 0.5; // confidence from which a hit is shown among the confirmed ones
const WORDS = [
  [0.99, "Almost certain"],
  [0.9, "Very likely"],
  [CONFIRMED, "Likely"],
  [0, "Possible"],
];

/** What to call a picture: the name it was uploaded under, or the end of its key. */
export function nameOf({ key, metadata }) {
  return (typeof metadata?.name === "string" && metadata.name) || key.split("/").pop() || key;
}

/** Whether its own details agree with the query's, clearly. */
export function isConfirmed(hit) {
  return isSure(hit) && !hit.via.length;
}

/** Whether it was found through other pictures: links lead to it, and its own details do not agree with the query's. */
export function isThroughOthers(hit) {
  return isSure(hit) && hit.via.length > 0;
}

function isSure({ confidence, transform }) {
  return transform !== null && confidence >= CONFIRMED;
}

/** Whether its confidence rounds to 0 %; where nothing was checked, nobody knows. */
export function isUnlikely({ confidence }) {
  return confidence !== null && Math.round(100 * confidence) === 0;
}

/** The names of the pictures that led to a hit. @param {{via: string[]}} hit @param {{key: string}[]} hits that have names */
export function wayTo({ via }, hits) {
  return via.map((key) => nameOf(hits.find((hit) => hit.key === key) ?? { key }));
}

/** How sure it is that both show the same thing, in words and per cent. */
export function certainty({ confidence, transform }) {
  if (confidence === null) return transform ? "Confirmed" : "Not confirmed";
  const word = transform ? WORDS.find(([least]) => confidence >= least)[1] : "Not confirmed";
  return `${word} · ${percent(confidence)}`;
}

/** Never 100 % of what is only nearly certain, never 0 % of what is possible. @param {number} share */
export function percent(share) {
  const whole = Math.round(100 * share);
  return whole === 100 && share < 1 ? ">99\u202f%" : whole === 0 && share > 0 ? "<1\u202f%" : `${whole}\u202f%`;
}

/** The corners of a box, clockwise. @param {import("./query.js").Region} box @returns {[number, number][]} */
export function corners({ x, y, width, height }) {
  return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]; // prettier-ignore
}

/** Where the map takes the query's matched part, or else the box around the matches; null if nothing is confirmed. */
export function outline({ transform, query_region, region }) {
  if (!transform || !query_region) return region && corners(region);
  const [[a, b, c], [d, e, f]] = transform;
  return corners(query_region).map(([x, y]) => [a * x + b * y + c, d * x + e * y + f]);
}

/**
 * Whether the browser shows a picture lying that the server has standing, or the other way round: of WebP files, browsers
 * do not heed how the camera was held.
 * @param {HTMLImageElement} image @param {{width: number, height: number}} size upright
 */
export function isTurned({ naturalWidth, naturalHeight }, { width, height }) {
  return (naturalWidth - naturalHeight) * (width - height) < 0;
}

/**
 * Ask once more for a picture that did not come, as long as the server is busy.
 * @param {HTMLImageElement} image @param {"thumbnail" | "picture"} path @param {string} key
 * @returns {Promise<string>} why it cannot be shown, or "" if it is
 */
export async function askAgain(image, path, key) {
  const failed = image.src;
  image.onerror = null;
  try {
    const answer = await send("GET", path, { query: { key } });
    const url = URL.createObjectURL(await answer.blob());
    image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
    if (image.src === failed) image.src = url; // else it is to show another by now
    return "";
  } catch (error) {
    return error.status === 404 ? "The file is no longer there" : (error.title ?? error.message);
  }
}

/**
 * @param {{key: string, width: number, height: number, metadata?: object, links: {thumbnail: string}}} picture
 * @param {{href: string, lines?: string[], note?: string, around?: [number, number][] | null, tools?: Node[], stacked?: boolean}} shown
 *   `lines` stand above the name and `note` below it, `tools` below the link; `stacked`: it stands for several
 */
export function card(picture, { href, lines = [], note = "", around = null, tools = [], stacked = false }) {
  const { key, width, height, links } = picture;
  const name = nameOf(picture);
  const thumbnail = element("img", { src: links.thumbnail, alt: "", loading: "lazy", decoding: "async", width, height });
  const frame = element("span", { className: stacked ? "thumbnail stacked" : "thumbnail" }, thumbnail);
  thumbnail.onerror = async () => {
    const reason = await askAgain(thumbnail, "thumbnail", key);
    if (reason) frame.replaceChildren(element("span", { className: "gone" }, reason));
  };
  if (around) {
    // A whole number is the centre of a pixel, hence the half.
    const points = around.map(([x, y]) => `${x + 0.5},${y + 0.5}`).join(" ");
    const lines = ["rim", "mark"].map((name) => drawing("polygon", { points, class: name }));
    const inside = drawing("svg", { width, height }, ...lines); // cut off where the picture ends
    frame.append(drawing("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, inside));
  }
  const words = lines.map((line) => element("span", { className: "line" }, line));
  const link = element("a", { href, title: key }, frame, ...words, element("span", { className: "name" }, name));
  if (note) link.append(element("span", { className: "note" }, note));
  const below = tools.length ? element("p", { className: "tools" }, ...tools) : null;
  return element("li", { className: "card", "data-key": key }, link, below);
}
