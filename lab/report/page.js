// Tables sort by the column whose heading is clicked; without this they stay as they are.
for (const heading of document.querySelectorAll("th[data-sort]")) {
  heading.addEventListener("click", () => {
    const table = heading.closest("table");
    const column = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") !== "descending";
    const rows = [...table.tBodies[0].rows];
    const value = (row) => row.cells[column].dataset.value;
    rows.sort((a, b) =>
      heading.dataset.sort === "number"
        ? Number(value(a)) - Number(value(b))
        : value(a).localeCompare(value(b)));
    if (down) rows.reverse();
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  });
}
