/** Steps between the pages of a list. */

import { element } from "./dom.js";
import { address } from "./query.js";

/** @type {Map<string, string>} */
const before = new Map(); // the address of the page before each that was reached by "next"

/**
 * @param {string} view @param {Record<string, string>} parameters of the list
 * @param {string | null} after where the page begins @param {string | null} next where the next one does
 */
export function pages(view, parameters, after, next) {
  const [first, here, following] = [null, after, next].map((place) => address(view, parameters, { after: place }));
  const known = before.get(here) ?? first;
  const made = element("nav", { className: "tools pages", "aria-label": "Pages" });
  const step = (text, href) => made.append(element("a", { className: "button", href }, text));
  if (after !== null) step(known === first ? "‹ First page" : "‹ Previous page", known);
  if (next !== null) {
    before.set(following, here);
    step("Next page ›", following);
  }
  return made;
}
