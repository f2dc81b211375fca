// Sizes as bars, and the reflection as a table.

export const escape = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** A bar for each machine on one scale, parted into what the code is made of. */
export function bars(parent, machines) {
  const most = Math.max(1, ...machines.map((m) => m.bytes ?? 0));
  parent.innerHTML = machines
    .map((m) => {
      const label = `<span class="label m-${m.name}">${m.name}</span>`;
      if (m.lacks) return `${label}<span class="refused quiet">${escape(m.lacks)}</span>`;
      if (m.bytes === undefined) return `${label}<span class="refused error">${m.messages.map((x) => `error[${escape(x.code)}]: ${escape(x.message)}`).join("<br>")}</span>`;
      const parts = m.shares.filter(([, n]) => n > 0);
      const shades = parts.map(([what, n], k) => `<span style="flex-grow:${n};background:color-mix(in srgb, var(--machine), var(--card) ${k * 18}%)" title="${what}: ${n}">${what} ${n}</span>`);
      const figures = [`${m.instructions} instructions`, `${m.registers} registers`, `${m.bits_per_op.toFixed(1)} bits per IR operation`, ...m.remarks];
      return (
        `${label}<span class="m-${m.name}"><span class="bar-line" style="--share:${(m.bytes / most).toFixed(4)}">${shades.join("")}</span></span>` +
        `<span class="value">${m.bytes} bytes</span><span class="more quiet">${figures.map(escape).join(", ")}</span>`
      );
    })
    .join("");
}

/** Every name of the interface and where each machine has it. */
export function reflection(parent, machines) {
  const made = machines.filter((m) => m.reflection);
  if (made.length === 0) {
    parent.innerHTML = '<p class="quiet">no code yet</p>';
    return;
  }
  const rows = [];
  const section = (title, key, place, detail) => {
    const names = [...new Set(made.flatMap((m) => (m.reflection[key] ?? []).map((x) => x.name)))];
    for (const name of names) {
      const of = made.map((m) => (m.reflection[key] ?? []).find((x) => x.name === name));
      const first = of.find(Boolean);
      const used = of.some((x) => x?.used);
      const cells = of.map((x) => `<td>${escape((x && place(x)) ?? "")}</td>`).join("");
      rows.push(`<tr class="${used ? "" : "unused"}"><td>${title}</td><td>${escape(name)}</td><td>${escape(first.type ?? first.dim ?? "")}</td><td>${escape(detail(first))}</td>${cells}</tr>`);
    }
  };
  const io = (x) => x.builtin ?? (x.location === undefined ? "" : `location ${x.location}`);
  const bound = (x) => `group ${x.group ?? 0}, binding ${x.binding ?? 0}${x.offset === undefined ? "" : `, offset ${x.offset}`}`;
  section("input", "inputs", (x) => x.register, io);
  section("output", "outputs", (x) => x.register, io);
  section("uniform", "uniforms", (x) => x.register, bound);
  section("texture", "textures", (x) => x.unit ?? x.register, bound);
  section("storage", "storage", (x) => x.register ?? x.unit, bound);
  const heads = made.map((m) => `<th class="m-${m.name}">${m.name}</th>`).join("");
  parent.innerHTML = `<table><thead><tr><th></th><th>name</th><th>type</th><th>place</th>${heads}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}
