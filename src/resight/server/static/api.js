/** The server's answers, or a Problem that says what to do. */

const TRIES = 4; // while the server says that it is busy
const UTF8 = /%[CD][0-9A-F]%[89AB][0-9A-F]|%E[0-9A-F](%[89AB][0-9A-F]){2}|%F[0-9A-F](%[89AB][0-9A-F]){3}|%[0-9A-F]{2}/gi;

/** What the server refused, and why (RFC 9457). */
export class Problem extends Error {
  /** @param {number} status of HTTP, 0 if the server did not answer @param {string} title @param {string} detail */
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

/**
 * @param {"GET" | "POST" | "DELETE"} method
 * @param {string} path below /v1/
 * @param {{query?: Record<string, any>, body?: Blob, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<Response>} an answer that is no refusal
 */
export async function send(method, path, { query = {}, body, headers, signal } = {}) {
  const parameters = written(query);
  const address = `/v1/${path}${parameters && `?${parameters}`}`;
  for (let tried = 1; ; tried++) {
    const answer = await fetch(address, { method, body, headers, signal }).catch(silent);
    if (answer.ok) return answer;
    const busy = answer.status === 429 || answer.status === 503;
    if (!busy || tried === TRIES) throw await refusal(answer);
    await pause(Number(answer.headers.get("Retry-After")) || 1, signal);
  }
}

/** The JSON that is answered; parameters as for `send`. @returns {Promise<any>} */
export async function call(method, path, options) {
  return (await send(method, path, options)).json();
}

/** Where a picture's facts are. @param {string} key */
export function factsOf(key) {
  return `images/${quote(key)}`;
}

/** Text in an address. Bytes of a key that are no text, which are lone surrogates in JSON, are themselves in it. */
export function quote(text) {
  return text.replace(/([\udc80-\udcff])|[^\udc80-\udcff]+/gu, (part, byte) =>
    byte ? `%${(byte.charCodeAt(0) - 0xdc00).toString(16).toUpperCase()}` : encodeURIComponent(part),
  );
}

/** What `quote` has written, or a form; `UTF8` finds characters and, where there is none, single bytes. */
export function unquote(text) {
  return text.replaceAll("+", " ").replace(UTF8, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes.replace(/%(..)/g, (_, byte) => String.fromCharCode(0xdc00 + parseInt(byte, 16)));
    }
  });
}

/** Parameters of an address, without those that are null. @param {Record<string, any>} values */
export function written(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return given.map(([name, value]) => `${name}=${quote(String(value))}`).join("&");
}

/** @param {number} seconds @param {AbortSignal} [signal] that ends the pause early, with its reason */
export function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** @param {Error} error */
function silent(error) {
  if (error.name === "AbortError") throw error;
  throw new Problem(0, "The server does not answer", "See whether resight serve is still running, then try again.");
}

/** @param {Response} answer */
async function refusal(answer) {
  const told = await answer.json().catch(() => ({}));
  const detail = told.detail || "The server gave no reason. Look at what it printed.";
  return new Problem(answer.status, told.title || `The server answered ${answer.status}`, detail);
}
