// The copy button: what has `data-copy` puts that text where it can be pasted from, and says that it did.
"use strict";
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    // Without a secure context there is no clipboard: the whole text is shown and selected instead.
    const whole = button.previousElementSibling;
    whole.textContent = button.dataset.copy;
    getSelection().selectAllChildren(whole);
    return;
  }
  button.classList.add("done");
  button.setAttribute("aria-label", "Copied");
  setTimeout(() => {
    button.classList.remove("done");
    button.setAttribute("aria-label", button.dataset.label ?? "Copy");
  }, 1500);
});
