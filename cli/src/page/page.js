// Lines that come from the same place light up together; a click scrolls the other columns there.
for (const shader of document.querySelectorAll(".shader")) {
  const lines = [...shader.querySelectorAll("i[data-a]")];
  const meets = (x, y) => +x.dataset.a <= +y.dataset.b && +y.dataset.a <= +x.dataset.b;
  const light = (at) => lines.forEach((l) => l.classList.toggle("lit", at !== null && meets(l, at)));
  const place = (event) => event.target.closest?.("i[data-a]") ?? null;
  shader.addEventListener("mouseover", (event) => light(place(event)));
  shader.addEventListener("mouseleave", () => light(null));
  shader.addEventListener("click", (event) => {
    const at = place(event);
    if (!at) return;
    for (const pre of shader.querySelectorAll("pre")) {
      const first = pre.contains(at) ? null : lines.find((l) => pre.contains(l) && meets(l, at));
      if (first) pre.scrollTo({ top: first.offsetTop - pre.offsetTop - pre.clientHeight / 3, behavior: "smooth" });
    }
  });
}
