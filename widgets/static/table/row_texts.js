// Rows of a table as text that another program reads, and the ways out of the page: the clipboard and a file.

// A cell as it is taken along: all of its text, and numbers without the commas of their thousands.
export function plainCell(cell, isNumber) {
  const { text, whole, after, under } = typeof cell === "object" && cell !== null ? cell : { text: cell };
  const all = whole ?? [text, after, under].filter((part) => part !== undefined && part !== "").join(" ");
  return isNumber && /^-?\d{1,3}(,\d{3})+$/.test(all) ? all.replaceAll(",", "") : String(all ?? "");
}

// Text for a spreadsheet's paste: tabs between cells; what a cell has of tabs and line ends is quoted.
export function tsvOf(names, rows) {
  return linesOf(names, rows, "\t", /[\t\n\r"]/);
}

// RFC 4180.
export function csvOf(names, rows) {
  return linesOf(names, rows, ",", /[,\n\r"]/, "\r\n");
}

function linesOf(names, rows, between, special, end = "\n") {
  const quoted = (text) => (special.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [...(names ? [names] : []), ...rows].map((row) => row.map(quoted).join(between)).join(end);
}

// An array of objects by column; whole numbers that JavaScript has exactly are numbers.
export function jsonOf(names, rows, areNumbers) {
  const valueOf = (text, k) => areNumbers[k] && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(row.map((text, k) => [names[k], valueOf(text, k)]))),
    null,
    1,
  );
}

// Put a text into the clipboard; false where the browser does not let a page do that. The clipboard is closed to pages
// from other hosts without TLS; the old command works there.
export async function toClipboard(text, near) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea"), before = document.activeElement;
    area.className = "klw-quiet";
    area.value = text;
    near.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return isDone;
  }
}

// Let the browser save a text as a file.
export function download(name, text, kind) {
  const link = document.createElement("a"), address = URL.createObjectURL(new Blob([text], { type: kind }));
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
