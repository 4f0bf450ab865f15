/** Other pictures of what one of the collection shows, as links tell: at once, nothing is searched. */

import { call, factsOf } from "./api.js";
import { card, certainty, isConfirmed } from "./card.js";
import { count, element } from "./dom.js";
import { address } from "./query.js";

const SHOWN = 8; // pictures

/**
 * A section with them, or null if there are none. It is an addition: where it fails, the rest of the view still works.
 * @param {string} key @param {AbortSignal} signal
 */
export async function othersOf(key, signal) {
  try {
    if (!(await call("GET", "health", { signal })).linked) return null;
    const { hits, total } = await call("GET", `${factsOf(key)}/links`, { query: { limit: SHOWN }, signal });
    const sure = hits.filter(isConfirmed);
    return sure.length ? section(key, sure, total) : null;
  } catch (error) {
    if (signal.aborted || error.status === 401) throw error;
    return null;
  }
}

function section(key, hits, total) {
  const cards = hits.map((hit) =>
    card(hit, { href: address("match", { key }, { with: hit.key }), lines: [certainty(hit)] }),
  );
  const name = "Other pictures of this";
  const said = total > hits.length ? `The ${hits.length} surest of ${count(total)}` : count(total);
  const head = element("div", { className: "head" }, element("h2", {}, name));
  head.append(element("p", { className: "hint" }, said));
  return element("section", { className: "others", "aria-label": name }, head, element("ul", { className: "grid strip" }, ...cards));
}
