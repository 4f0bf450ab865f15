/** Sign in with the server's token; a cookie that scripts cannot read remembers it. */

import { send } from "./api.js";
import { button, element, title } from "./dom.js";

/** @param {() => void} done */
export function signIn(done) {
  const token = element("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const wrong = element("p", { className: "wrong", role: "alert" });
  const enter = button("Sign in", () => {}, "main");
  enter.type = "submit";
  const label = element("label", { htmlFor: "token" }, "Token");
  const hint = element("p", { className: "hint" }, "The server was started with it, by --token or $RESIGHT_TOKEN.");
  const form = element("form", { className: "sign-in" }, title("Sign in"), label, token, hint, wrong, enter);
  form.onsubmit = async (event) => {
    event.preventDefault();
    enter.disabled = true;
    try {
      await send("POST", "session", { headers: { Authorization: `Bearer ${token.value}` } });
      done();
    } catch (error) {
      wrong.textContent = `${error.title}: ${error.message}`;
      enter.disabled = false;
      token.select();
    }
  };
  return form;
}
