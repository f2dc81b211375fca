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
    light(at);
    for (const pre of shader.querySelectorAll("pre")) {
      const first = pre.contains(at) ? null : lines.find((l) => pre.contains(l) && meets(l, at));
      if (first) pre.scrollTo({ top: first.offsetTop - pre.offsetTop - pre.clientHeight / 3, behavior: "smooth" });
    }
  });
}

// The overview's bars show what is chosen, of the shaders that are asked for; each shader has its own scale.
const what = document.getElementById("what");
const entries = [...document.querySelectorAll(".entry")].map((entry) =>
  [...entry.querySelectorAll(".row[data-v]")].map((row) => {
    const value = row.querySelector(".value");
    return { values: row.dataset.v.split(" "), bar: row.querySelector(".bar"), value, bytes: value.innerHTML };
  }),
);
what.addEventListener("change", () => {
  const k = what.selectedIndex;
  for (const rows of entries) {
    const most = Math.max(1e-9, ...rows.map((r) => +r.values[k] || 0));
    for (const r of rows) {
      r.bar.style.setProperty("--share", (+r.values[k] || 0) / most);
      if (k === 0) r.value.innerHTML = r.bytes;
      else r.value.textContent = r.values[k];
    }
  }
});
const find = document.getElementById("find");
const changed = document.getElementById("changed");
const choose = () => {
  const words = find.value.toLowerCase().split(" ");
  for (const entry of document.querySelectorAll(".entry")) {
    const name = entry.querySelector(".name").textContent.toLowerCase();
    entry.hidden = !words.every((w) => name.includes(w)) || (changed?.checked && !entry.querySelector(".helped, .hurt"));
  }
};
find.addEventListener("input", choose);
changed?.addEventListener("change", choose);
