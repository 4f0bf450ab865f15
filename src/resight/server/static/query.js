/**
 * What is searched for: a picture of the collection or one that was given, whole or in part; and what was found.
 * Pictures that were given stay in this browser, the latest few, so that a reload or "back" still has them.
 */

import { call, Problem, unquote, written } from "./api.js";

const KEPT = 12; // pictures
const PAGE = 24; // hits asked for at once
const MOST = 500; // hits that the server gives in all

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Region in pixels of the full-size picture
 * @typedef {{key: string | null, picture: string | null, region: string | null}} Query `picture`: the name under which
 *   one that was given is kept; `region`: x,y,width,height
 * @typedef {{query: {width: number, height: number, features: number}, hits: any[], more: boolean}} Found
 */

/** @type {Map<string, Blob>} */
const given = new Map(); // for browsers that keep nothing
/** @type {Map<string, number>} */
const together = new Map(); // how many were given at once, where that were several
/** @type {{name: string, found: Found} | null} */
let last = null;
let shown = { picture: null, url: "" }; // one picture at a time is held in memory for the screen

/** The parameters of an address; unlike URLSearchParams, they keep bytes that are no text. @param {string} [text] */
export function readParameters(text = "") {
  const pairs = text.split("&").map((pair) => pair.split(/=(.*)/s, 2));
  return new Map(pairs.map(([name, value = ""]) => [unquote(name), unquote(value)]));
}

/** @param {Map<string, string>} parameters of an address @returns {Query | null} */
export function readQuery(parameters) {
  const [key, picture, region] = ["key", "picture", "region"].map((name) => parameters.get(name) ?? null);
  return key === null && picture === null ? null : { key, picture, region };
}

/** The address of a view of this query. @param {string} view @param {Partial<Query>} query @param {object} [others] */
export function address(view, query, others = {}) {
  return `#/${view}?${written({ ...query, ...others })}`;
}

/** Search with a picture that was given, the first of so many. @param {Blob} picture @param {number} [pictures] */
export async function ask(picture, pictures = 1) {
  const name = Date.now().toString(36);
  given.set(name, picture);
  if (pictures > 1) together.set(name, pictures);
  await keep(name, picture).catch(() => {}); // in a private window there may be no room
  location.hash = address("search", { picture: name });
}

/** How many pictures were given at once with the query's, itself among them. @param {Query} query */
export function givenTogether({ picture }) {
  return together.get(picture) ?? 1;
}

/** Where the query's picture can be shown from. @param {Query} query */
export async function pictureAddress(query) {
  if (query.key !== null) return `/v1/picture?${written({ key: query.key })}`;
  if (shown.picture !== query.picture) {
    const url = URL.createObjectURL(await pictureOf(query));
    URL.revokeObjectURL(shown.url);
    shown = { picture: query.picture, url };
  }
  return shown.url;
}

/** The first hits, or all that are known if this was asked last. @param {Query} query @returns {Promise<Found>} */
export async function search(query, signal) {
  const name = address("search", query);
  if (last?.name !== name) last = { name, found: await page(query, 0, signal) };
  return last.found;
}

/** More hits of the same query; the new ones are returned. @param {Query} query */
export async function searchOn(query, signal) {
  const found = await search(query, signal);
  const next = await page(query, found.hits.length, signal);
  found.hits.push(...next.hits);
  found.more = next.more;
  return next.hits;
}

/** Whether the next search of this query needs no server. @param {Query} query */
export function isAnswered(query) {
  return last?.name === address("search", query);
}

/** The collection has changed: search anew. */
export function forget() {
  last = null;
}

/** The query, or another picture of the collection, beside one of its results. @param {Query} query @param {string} other */
export async function compare(query, other, signal) {
  const { key, region } = query;
  if (key !== null) return call("GET", "compare", { query: { one: key, other, region }, signal });
  const body = await pictureOf(query);
  return call("POST", "compare", { query: { other, region, name: body.name }, body, signal });
}

/** Nothing that was given stays behind. */
export function forgetPictures() {
  given.clear();
  last = null;
  indexedDB.deleteDatabase("resight");
}

/** @param {Query} query @param {number} offset @returns {Promise<Found>} */
async function page(query, offset, signal) {
  const top = Math.min(PAGE, MOST - offset);
  const wanted = { key: query.key, region: query.region, offset, top };
  const body = query.key === null ? await pictureOf(query) : undefined;
  const found = body
    ? await call("POST", "search", { query: { ...wanted, name: body.name }, body, signal })
    : await call("GET", "search", { query: wanted, signal });
  return { ...found, more: offset + top < found.total };
}

/** With its file's name, if it has one. @param {Query} query @returns {Promise<Blob & {name?: string}>} */
async function pictureOf({ picture }) {
  const kept = given.get(picture) ?? (await pictures("readonly").then((all) => outcome(all.get(picture))).catch(() => null));
  if (kept) return kept;
  throw new Problem(404, "The picture is no longer here", "Only the latest pictures are kept. Choose it once more.");
}

/** @param {string} name @param {Blob} picture */
async function keep(name, picture) {
  const all = await pictures("readwrite");
  all.put(picture, name);
  const names = await outcome(all.getAllKeys()); // in the order of time, as they are named
  for (const old of names.slice(0, -KEPT)) all.delete(old);
}

/** @param {IDBTransactionMode} mode @returns {Promise<IDBObjectStore>} */
async function pictures(mode) {
  const opening = indexedDB.open("resight", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("pictures");
  const database = await outcome(opening);
  const change = database.transaction("pictures", mode);
  change.oncomplete = () => database.close();
  return change.objectStore("pictures");
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function outcome(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
