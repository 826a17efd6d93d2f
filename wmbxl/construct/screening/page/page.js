// Keys of the screening page. Everything works without this script too, by pointer.
"use strict";
(() => {
  const form = document.getElementById("judge");
  if (!form) {
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target === document.body) document.getElementById("start")?.click();
    });
    return;
  }
  const comment = form.elements.comment;
  const meaning = document.getElementById("meaning");
  const levels = [...form.querySelectorAll("input[name=level]")];

  const explain = () => {
    meaning.textContent = levels.find((level) => level.checked)?.closest("label").title ?? "";
  };
  const grow = () => {
    comment.style.height = "auto";
    comment.style.height = `${comment.scrollHeight + 2}px`;
  };
  const choose = (key) => {
    const level = levels.find((each) => each.value === key);
    level.checked = true;
    level.focus();
    explain();
  };
  const actions = {
    a: () => form.querySelector("[value=accept]").click(),
    v: () => form.querySelector("[value=revise]").click(),
    r: () => form.querySelector("[value=reject]").click(),
    c: () => comment.focus(),
    j: () => document.getElementById("after")?.click(),
    k: () => document.getElementById("before")?.click(),
    o: () => document.querySelector(".brand").click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (event.target === comment) {
      if (event.key === "Escape") comment.blur();
      return;
    }
    if ("12345".includes(event.key)) choose(event.key);
    else if (Object.hasOwn(actions, event.key)) actions[event.key]();
    else return;
    event.preventDefault();
  });
  form.addEventListener("change", explain);
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault(); // a second press of the key is no second judgement
    form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => delete form.dataset.sent);
  comment.addEventListener("input", grow);
  explain();
  grow();
})();
